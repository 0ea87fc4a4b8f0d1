"""The backend of the processor: threads that update the same matrices without locks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from w2v_sgns.kernels.hogwild import train_chunk
from w2v_sgns.kernels.simd import tile_for
from w2v_sgns.kernels.step import shift_table
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.kernels.workspace import workspace
from w2v_sgns.training.backends import TICK, Matrix, Tick, Totals, TrainingData
from w2v_sgns.training.chunked import ChunkedBackend, Given
from w2v_sgns.training.workers import Chunks, Worker

__all__ = ["HogwildBackend"]


class HogwildBackend(ChunkedBackend):
    """All threads update the same E and Ep without locks, a chunk of tokens at a time.

    Any thread may train any chunk: the draws of a chunk depend on (seed, epoch, chunk) alone.
    """

    def __init__(self, E: Matrix, Ep: Matrix, *, threads: int, **given: Unpack[Given]) -> None:
        """Make a worker a thread."""
        super().__init__(E, Ep, **given)
        config, data = self.config, self.data
        self.tile = tile_for(config.negative + 1, form=config.objective, bias=config.bias)
        log_kq = np.zeros(1) if data.log_kq is None else data.log_kq
        self.shift = shift_table(config.objective, log_kq)
        self.workers = self._team_of(threads)

    def _team_of(self, threads: int) -> Sequence[Worker]:
        """Return a worker a thread; none has less than a chunk to do."""
        config = self.config
        rows = {"window": self.window, "outputs": config.negative + 1, "dim": config.dim}
        return [
            Worker(workspace(self.tile, **rows)) for _ in range(max(1, min(threads, self.chunks)))
        ]

    def warm_up(self) -> None:
        """Compile the kernel, or load it from the cache, on a chunk that holds no pair."""
        token = np.array([1 << 31], np.uint32)
        token.flags.writeable = self.data.tokens.flags.writeable  # part of the compiled type
        line_of_one = TrainingData(tokens=token, keep=self.data.keep, noise=self.data.noise)
        self._train(self.workers[0], line_of_one, 0, 0)
        self.workers[0].reset()

    def run_epoch(
        self, epoch: int, tick: Tick, *, first: int = 0, end: int | None = None
    ) -> Totals:
        """Train on the chunks from `first` on (see :class:`~.backends.Backend`)."""
        queue = Chunks(first, self.chunks if end is None else end)
        self._run(epoch, queue, tick)
        return self._finish(queue.next)

    def _run(self, epoch: int, queue: Chunks, tick: Tick) -> None:
        """Let all workers train the chunks of a queue."""
        for worker in self.workers:
            worker.start(lambda w: self._work(w, epoch, queue))
        try:
            while any(worker.is_busy(TICK) for worker in self.workers):
                if tick(self._totals(queue.next)):
                    queue.close()
        finally:
            for worker in self.workers:
                worker.stop[0] = 1
            for worker in self.workers:
                worker.join()
            self.after_chunk()  # once more, now that nobody trains

    def _work(self, worker: Worker, epoch: int, queue: Chunks) -> None:
        while not worker.stop[0] and (chunk := queue.take()) is not None:
            self._train(worker, self.data, epoch, chunk)
            self.after_chunk()

    def _train(self, worker: Worker, data: TrainingData, epoch: int, chunk: int) -> None:
        """Train one chunk with the streams and the learning rate that are its own."""
        train_chunk(*self._arguments(worker, data, epoch, chunk, self.matrices))
        worker.tokens += min(CHUNK, len(data.tokens) - chunk * CHUNK)

    def _arguments(
        self,
        worker: Worker,
        data: TrainingData,
        epoch: int,
        chunk: int,
        matrices: tuple[Matrix, ...],
    ) -> tuple[Any, ...]:
        """Return what the kernel takes for a chunk."""
        config = self.config
        return (
            self.tile,
            data.tokens,
            chunk,
            data.keep,
            data.noise,
            self.shift,
            *matrices,
            config.dim,
            self.window,
            self.fixed,
            config.negative,
            config.collisions == "drop",
            np.float32(self.schedule.at(epoch, chunk * CHUNK)),
            self.chunk_seeds(epoch, chunk),
            worker.stop,
            worker.workspace,
            worker.sums,
        )

    def tokens_per_second(self, seconds: float) -> float:
        """Train chunks spread over the text for about so long; return the rate of all threads.

        Changes E and Ep: meant for estimates.
        """
        begun, step = time.perf_counter(), max(1, self.chunks // 64)
        queue = Chunks(0, self.chunks, step)
        self._run(0, queue, lambda totals: time.perf_counter() - begun > seconds)
        return self._finish(queue.next).tokens / (time.perf_counter() - begun)

    def _totals(self, next_chunk: int) -> Totals:
        kept, pairs, loss = np.sum([worker.sums for worker in self.workers], axis=0)
        tokens = sum(worker.tokens for worker in self.workers)
        return Totals(tokens, int(kept), int(pairs), float(loss), next_chunk)

    def _finish(self, next_chunk: int) -> Totals:
        """Raise what a worker raised, else return the sums and clear them."""
        for worker in self.workers:
            if worker.error is not None:
                raise worker.error
        totals = self._totals(next_chunk)
        for worker in self.workers:
            worker.reset()
        return totals
