"""The MPI engine on ranks in threads that talk as MPI's do, and what its messages may hold."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns import ConfigError, CorpusError, ResourceError, TrainConfig, train
from w2v_sgns.cluster import mpi
from w2v_sgns.cluster.engine import LostNodeError
from w2v_sgns.cluster.messages import safe_loads
from w2v_sgns.cluster.mpi import MPIEngine
from w2v_sgns.cluster.node import Node


class World:
    """The mail between ranks; every message is pickled and read as the program's."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.mail: dict[tuple[int, int, int], deque[bytes]] = defaultdict(deque)
        self.rows: list[Any] = [None] * size
        self.barrier = threading.Barrier(size)


class Comm:
    def __init__(self, world: World, rank: int) -> None:
        self.world, self.rank, self.size = world, rank, world.size

    def send(self, value: Any, dest: int, tag: int) -> None:
        self.world.mail[self.rank, dest, tag].append(pickle.dumps(value))

    def iprobe(self, source: int, tag: int) -> bool:
        return bool(self.world.mail[source, self.rank, tag])

    def recv(self, source: int, tag: int) -> Any:
        return safe_loads(self.world.mail[source, self.rank, tag].popleft())

    def alltoall(self, given: list[Any]) -> list[Any]:
        self.world.rows[self.rank] = given
        self.world.barrier.wait(120)
        received = [
            safe_loads(pickle.dumps(self.world.rows[rank][self.rank])) for rank in range(self.size)
        ]
        self.world.barrier.wait(120)
        return received


@pytest.fixture
def two_ranks(monkeypatch: pytest.MonkeyPatch) -> Iterator[MPIEngine]:
    world = World(2)
    other = threading.Thread(target=mpi._serve, args=(Comm(world, 1),))
    other.start()
    monkeypatch.setattr(mpi, "_world", lambda: Comm(world, 0))
    with mpi.ranks() as is_first:
        assert is_first
        engine = MPIEngine()
        yield engine
        engine.close()
    other.join(120)
    assert not other.is_alive()


def test_trains_what_nodes_in_threads_do(two_ranks: MPIEngine, runs: Any, undisturbed: Any) -> None:
    backend = runs.backend(two_ranks, sync_words=16_384)
    backend.warm_up()
    for epoch in range(2):
        backend.run_epoch(epoch, lambda totals: None)
    assert np.array_equal(backend.matrices[0], undisturbed.E)
    assert np.array_equal(backend.matrices[1], undisturbed.Ep)


@pytest.mark.parametrize("who", [0, 1])
def test_errors_of_any_rank_come_back(
    two_ranks: MPIEngine, monkeypatch: pytest.MonkeyPatch, who: int
) -> None:
    def refuse(self: Node, *_: Any) -> Any:
        if self.rank == who:
            raise CorpusError("no such text")
        return [1, 2]

    monkeypatch.setattr(Node, "where", refuse)
    with pytest.raises(CorpusError, match="no such text"):
        two_ranks.call("where")
    with pytest.raises(CorpusError, match="no such text"):
        two_ranks.exchange("where", "where")
    assert two_ranks.call("process") == [os.getpid()] * 2  # and all goes on


def test_what_watch_raises_stops_all_ranks(
    two_ranks: MPIEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(self: Node) -> None:
        while not self._stop:
            time.sleep(0.01)

    def watch(done: frozenset[int]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Node, "where", wait)
    with pytest.raises(KeyboardInterrupt):
        two_ranks.call("where", watch=watch)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_rank_that_serves_leaves_signals_to_the_first(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A launcher passes Ctrl-C on to all of them; the first one saves before it ends them."""
    former = signal.getsignal(number)

    def serve(comm: Any) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr(mpi, "_world", lambda: Comm(World(2), 1))
    monkeypatch.setattr(mpi, "_serve", serve)
    with mpi.ranks() as is_first:
        assert not is_first
        assert signal.getsignal(number) == former


def test_no_rank_is_put_back(two_ranks: MPIEngine) -> None:
    with pytest.raises(LostNodeError, match="MPI puts no rank back"):
        two_ranks.revive(1)


class Evil:
    def __reduce__(self) -> Any:
        return os.getcwd, ()


@pytest.mark.parametrize("value", [Evil(), os.getcwd, deque([1]), train])
def test_nothing_else_is_unpickled(value: Any) -> None:
    with pytest.raises(pickle.UnpicklingError, match="has no place in a message"):
        safe_loads(pickle.dumps(value))


def test_what_is_sent_comes_through() -> None:
    config = TrainConfig(keep_words=Path("words.txt"))
    assert safe_loads(pickle.dumps(config)) == config
    for array in (np.arange(5.0), np.zeros((3, 2), np.int8)[:, :1], np.array(7, np.uint64)[()]):
        assert np.array_equal(safe_loads(pickle.dumps(array)), array)
        assert np.array_equal(safe_loads(pickle.dumps(array, protocol=5)), array)


def test_outside_mpiexec_one_sentence_says_how() -> None:
    with pytest.raises(ConfigError, match="mpiexec -n RANKS w2v train"):
        train([["a"]], engine="mpi")


def test_without_mpi4py_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
    with pytest.raises(ResourceError, match=r"pip install 'w2v-sgns\[mpi\]'"), mpi.ranks():
        pass


def test_an_address_is_rays() -> None:
    with pytest.raises(ConfigError, match="--engine mpi has none"):
        train([["a"]], engine="mpi", cluster="here:1")
