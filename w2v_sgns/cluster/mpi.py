"""Nodes as the ranks of an MPI job: `mpiexec -n 4 w2v train CORPUS --engine mpi`.

Rank 0 decides, and is a node as well; the others serve it until it is done. A rank that dies ends
the job, as MPI has it: no node is ever put back. Messages are pickled, and nothing is unpickled
but this package's classes and NumPy's arrays.
"""

from __future__ import annotations

import importlib
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from w2v_sgns.cluster.engine import TICK, Each, LostNodeError, Watch
from w2v_sgns.cluster.messages import safe_loads
from w2v_sgns.cluster.node import Node
from w2v_sgns.errors import ConfigError, ResourceError, W2VError
from w2v_sgns.machine import single_threaded_blas

__all__ = ["MPIEngine", "ranks"]

TASK, DONE, STOP = 1, 2, 3  # tags of messages
NAP = 0.002  # seconds between two looks at the mail: MPI itself waits at full speed

_first: list[bool] = []  # whether ranks() is entered


def _world() -> Any:
    """Return all ranks.

    Raises:
        ResourceError: mpi4py or the MPI library is not there.
    """
    try:
        MPI: Any = importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise ResourceError(
            "--engine mpi needs mpi4py and an MPI library: pip install 'w2v-sgns[mpi]'"
        ) from error
    MPI.pickle.__init__(pickle.dumps, safe_loads)
    return MPI.COMM_WORLD


@contextmanager
def ranks() -> Iterator[bool]:
    """Yield True on rank 0; serve it on the others until it leaves, and then yield False there."""
    comm = _world()
    if comm.rank:
        with _unsignalled():
            _serve(comm)
        yield False
        return
    _first.append(True)
    try:
        yield True
    finally:
        _first.clear()
        for rank in range(1, comm.size):
            comm.send((0, "end", ()), dest=rank, tag=TASK)


@contextmanager
def _unsignalled() -> Iterator[None]:
    """Leave Ctrl-C and SIGTERM, which a launcher sends to all ranks, to the first: it saves."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in former:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _serve(comm: Any) -> None:
    """Do what rank 0 says, until it says end."""
    node = Node(comm.rank, comm.size)
    with single_threaded_blas(), ThreadPoolExecutor(1) as pool:
        while True:
            while not comm.iprobe(source=0, tag=TASK):
                time.sleep(NAP)
            number, task, arguments = comm.recv(source=0, tag=TASK)
            if task == "end":
                return
            if task == "exchange":
                answer = _exchanged(comm, node, *arguments)
            else:
                work = pool.submit(getattr(node, task), *arguments)
                answer = _answered(comm, node, work, number)
            comm.send(answer, dest=0, tag=DONE)


def _answered(
    comm: Any, node: Node, work: Future[Any], number: int
) -> tuple[Any, Exception | None]:
    """Wait for a task; stop it if that is asked for."""
    stopping = False
    while not work.done():
        if comm.iprobe(source=0, tag=STOP):  # or meant for one that has ended by itself
            stopping |= comm.recv(source=0, tag=STOP) == number
        if stopping:  # again and again: it may not have begun yet
            node.stop()
        time.sleep(NAP)
    return _result(work.result)


def _result(get: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """Return a result, or an error that can be sent."""
    try:
        return get(), None
    except W2VError as error:
        return None, error
    except Exception:
        return None, W2VError(f"a rank failed: {traceback.format_exc().splitlines()[-1]}")


def _exchanged(comm: Any, node: Node, stages: Sequence[str], argument: Any) -> Any:
    """Do this rank's part of an exchange. An error goes to all ranks, or they would wait for it."""
    given, error = _result(lambda: getattr(node, stages[0])(argument))
    for stage in stages[1:]:
        received = comm.alltoall([error] * comm.size if error else given)
        errors = [answer for answer in received if isinstance(answer, Exception)]
        if errors:
            return None, errors[0]
        given, error = _result(partial(getattr(node, stage), received, argument))
    return given, error


class MPIEngine:
    """An :class:`~w2v_sgns.cluster.engine.Engine` on the ranks of a job; made on rank 0."""

    def __init__(self) -> None:
        """Raise ConfigError outside :func:`ranks`."""
        if not _first:
            raise ConfigError(
                "--engine mpi: start `mpiexec -n RANKS w2v train … --engine mpi`, the flag given "
                "with --resume too"
            )
        self._comm = _world()
        self.size = self._comm.size
        self._node = Node(0, self.size)
        self._number = 0  # of the task that the ranks do: a stop is meant for one
        self._pool = ThreadPoolExecutor(1)
        self._blas = single_threaded_blas()
        self._blas.__enter__()

    def call(
        self,
        task: str,
        *arguments: Any,
        ranks: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[Any]:
        """See Engine."""
        ranks = range(self.size) if ranks is None else ranks
        self._number += 1
        for rank in ranks:
            if rank:
                told = self._number, task, Each.told(arguments, rank)
                self._comm.send(told, dest=rank, tag=TASK)
        own = None
        if 0 in ranks:
            own = self._pool.submit(getattr(self._node, task), *Each.told(arguments, 0))
        answers: dict[int, Any] = {}
        try:
            self._collect(answers, ranks, own, watch)
        except BaseException:
            for rank in ranks:
                self.stop(rank)
            self._collect(answers, ranks, own, lambda done: self.stop(0))
            raise
        return [_value(answers[rank]) for rank in ranks]

    def _collect(
        self,
        answers: dict[int, Any],
        ranks: Sequence[int],
        own: Future[Any] | None,
        watch: Watch | None,
    ) -> None:
        """Take the answers as they come."""
        told = 0.0
        while len(answers) < len(ranks):
            for rank in (rank for rank in ranks if rank and rank not in answers):
                if self._comm.iprobe(source=rank, tag=DONE):
                    answers[rank] = self._comm.recv(source=rank, tag=DONE)
            if own is not None and own.done() and 0 not in answers:
                answers[0] = _result(own.result)
            if watch is not None and time.monotonic() - told > TICK:
                told = time.monotonic()
                watch(frozenset(answers))
            time.sleep(NAP)

    def exchange(self, *stages: str, argument: Any = None) -> list[Any]:
        """See Engine."""
        self._number += 1
        for rank in range(1, self.size):
            told = self._number, "exchange", (stages, argument)
            self._comm.send(told, dest=rank, tag=TASK)
        answers = {0: _exchanged(self._comm, self._node, stages, argument)}
        self._collect(answers, range(self.size), None, None)
        return [_value(answers[rank]) for rank in range(self.size)]

    def stop(self, rank: int) -> None:
        """See Engine."""
        if rank:
            self._comm.send(self._number, dest=rank, tag=STOP)
        else:
            self._node.stop()

    def revive(self, rank: int) -> None:
        """Raise LostNodeError: MPI puts no rank back."""
        raise LostNodeError([rank], "MPI puts no rank back", {})

    def close(self) -> None:
        """See Engine; the ranks end with :func:`ranks`."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._blas.__exit__(None, None, None)


def _value(answer: tuple[Any, Exception | None]) -> Any:
    value, error = answer
    if error is not None:
        raise error
    return value
