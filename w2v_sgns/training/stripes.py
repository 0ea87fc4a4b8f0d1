"""The backend whose threads work in step: the same vectors in every run, without replicas.

All threads train the same chunk, each its stripes of columns (see
:mod:`w2v_sgns.kernels.stripes`). The vectors depend on the number of stripes, not on how many
threads share them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Unpack

from w2v_sgns.kernels.lockstep import ENDED
from w2v_sgns.kernels.stripes import train_striped
from w2v_sgns.kernels.team import (
    block_windows,
    force_on_a_row,
    put_back,
    striped,
    striped_workspace,
    team,
)
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.kernels.workspace import Workspace
from w2v_sgns.training.backends import Matrix, Tick, TrainingData
from w2v_sgns.training.chunked import Given
from w2v_sgns.training.hogwild import HogwildBackend
from w2v_sgns.training.pace import Pace
from w2v_sgns.training.state import Frozen
from w2v_sgns.training.workers import Chunks, Worker

__all__ = ["StripedBackend"]


class Member(Worker):
    """One thread of the team, its number, and its stripes: first, …, last − 1."""

    def __init__(self, room: Workspace, number: int, first: int, last: int) -> None:
        super().__init__(room)
        self.number, self.first, self.last = number, first, last


class StripedBackend(HogwildBackend):
    """Threads that train every chunk together, each some columns of both matrices.

    While they do, the matrices are held a second time, cut into stripes.
    """

    workers: Sequence[Member]

    def __init__(
        self, E: Matrix, Ep: Matrix, *, stripes: int, threads: int, **given: Unpack[Given]
    ) -> None:
        """`stripes`: into how many the columns are cut, at most one a cache line."""
        self._asked = stripes
        self._frozen: Frozen | None = None
        self._parts: tuple[Matrix, ...] = ()
        self._pace = Pace()
        super().__init__(E, Ep, threads=threads, **given)

    def freeze(self, frozen: Frozen) -> None:
        """Put these rows back after each chunk: the matrices that were cut still hold them."""
        self._frozen = frozen

    def _team_of(self, threads: int) -> Sequence[Member]:
        """Return a worker a thread; none has less than a stripe to do."""
        window, outputs = self.window, self.config.negative + 1
        words, dim = self.matrices[0].shape
        self.block = self._block_of(words, window, outputs)
        rows = {"window": window, "outputs": outputs, "block": self.block}
        self.team = team(self.tile, dim=dim, stripes=self._asked, threads=threads, **rows)
        stripes, threads = len(self.team.columns) - 1, len(self.team.posted)
        firsts = [stripes * n // threads for n in range(threads + 1)]
        return [
            Member(striped_workspace(self.tile, dim=dim, **rows), n, firsts[n], firsts[n + 1])
            for n in range(threads)
        ]

    def _block_of(self, words: int, window: int, outputs: int) -> int:
        """Return how many windows exchange their scores at once, at most."""
        lr, form = self.config.lr, self.config.objective
        force = force_on_a_row(window=window, fixed=self.fixed, outputs=outputs, lr=lr, form=form)
        return block_windows(self.tile, window=window, outputs=outputs, words=words, force=force)

    def warm_up(self) -> None:
        """Compile the kernel, or load it from the cache, on a chunk that holds no pair."""
        few = tuple(matrix[:1] for matrix in self.matrices)
        self._parts = tuple(striped(matrix, self.team.columns) for matrix in few)
        self._pace.together = False
        super().warm_up()
        self._pace.together = True

    def _run(self, epoch: int, queue: Chunks, tick: Tick) -> None:
        """Let all workers train the chunks of a queue, one after another."""
        columns = self.team.columns
        self._parts = tuple(striped(matrix, columns) for matrix in self.matrices)
        self._chunk: int | None = None  # what all of them train now; None: nothing is left
        self._begun = 0.0
        self._meeting = threading.Barrier(len(self.workers), action=lambda: self._next(queue))
        try:
            super()._run(epoch, queue, tick)
        finally:
            for parts, matrix in zip(self._parts, self.matrices, strict=True):
                put_back(parts, matrix, columns)
            self._parts = ()  # their memory, until they are needed again

    def _next(self, queue: Chunks) -> None:
        """Between two chunks, while all threads wait: see to what is next."""
        now = time.perf_counter()
        if self._chunk is not None and len(self.workers) > 1:
            self._pace.took((now - self._begun) / self.chunk_tokens(self._chunk))
        self._restore()
        self.team.posted[:] = 0
        self._begun = now
        self._chunk = None if self.workers[0].stop[0] else queue.take()

    def _restore(self) -> None:
        """Put the frozen rows back."""
        if self._frozen is None:
            return
        rows, columns = self._frozen.rows, self.team.columns
        for parts, matrix in list(zip(self._parts, self.matrices, strict=True))[
            : 1 + self._frozen.outputs
        ]:
            for part, low, high in zip(parts, columns[:-1], columns[1:], strict=True):
                part[rows, : high - low] = matrix[rows, low:high]

    def _work(self, worker: Worker, epoch: int, queue: Chunks) -> None:
        assert isinstance(worker, Member)
        try:
            while self._meeting.wait() >= 0 and self._chunk is not None:
                if self._pace.together or worker.number == 0:
                    self._train(worker, self.data, epoch, self._chunk)
        except threading.BrokenBarrierError:  # another thread has failed, and says why
            return
        except BaseException:
            self.team.posted[worker.number, 0] = ENDED
            self._meeting.abort()
            raise

    def _train(self, worker: Worker, data: TrainingData, epoch: int, chunk: int) -> None:
        """Train a worker's share of one chunk, or all of it alone."""
        assert isinstance(worker, Member)
        given = self._arguments(worker, data, epoch, chunk, self._parts)
        if self._pace.together:
            share = len(self.workers), worker.number, worker.first, worker.last
        else:
            share = 1, 0, 0, len(self.team.columns) - 1
        train_striped(*given, self.team, self.block, *share)
        if worker.number == 0:
            worker.tokens += min(CHUNK, len(data.tokens) - chunk * CHUNK)
