"""Who does the work: a backend runs one epoch over the token ids and changes E and Ep.

Here is the CPU, Hogwild on threads; others have modules of their own. A backend prints nothing
and knows no files.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.hogwild import train_chunk
from w2v_sgns.kernels.matrices import padded
from w2v_sgns.kernels.rng import stream_seeds
from w2v_sgns.kernels.simd import tile_for
from w2v_sgns.kernels.step import shift_table
from w2v_sgns.kernels.windows import CHUNK, count_pairs
from w2v_sgns.kernels.workspace import Workspace, aligned_floats, workspace
from w2v_sgns.training.schedule import Schedule

if TYPE_CHECKING:
    from w2v_sgns.training.init import Frozen

__all__ = [
    "Backend",
    "ChunkedBackend",
    "Chunks",
    "HogwildBackend",
    "Tick",
    "Totals",
    "TrainingData",
    "Worker",
]

TICK = 0.1  # seconds between two looks at the workers
SPARE = 20  # kept tokens; see halo_chunks
MOST_HALO = 64  # chunks: a million tokens on either side

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """What every epoch reads."""

    tokens: npt.NDArray[np.uint32]  # (n,) ids; the high bit ends a line
    keep: npt.NDArray[np.uint32]  # (n,) of the n most frequent words: sampling.keep_thresholds
    noise: npt.NDArray[np.uint64]  # (V,) alias table
    log_kq: npt.NDArray[np.float64] | None = None  # (V,) log(k·q(w)); SGNS needs none
    kept_share: float = 1.0  # expected share of tokens that subsampling keeps


@dataclass(frozen=True)
class Totals:
    """Sums over what has been trained."""

    tokens: int  # read, before subsampling
    kept: int  # centres: tokens that subsampling kept
    pairs: int  # positive pairs
    loss: float  # Σ over pairs, float64; of 1 + k terms each, where there is noise
    next_chunk: int  # first chunk not begun; the number of chunks once the epoch is complete


Tick = Callable[[Totals], bool | None]  # True: begin no more chunks


class Backend(Protocol):
    """The seam between the trainer and the machine."""

    chunks: int  # of an epoch: pieces of CHUNK tokens

    def warm_up(self) -> None:
        """Compile whatever the first epoch needs."""

    def run_epoch(
        self, epoch: int, tick: Tick, *, first: int = 0, end: int | None = None
    ) -> Totals:
        """Train on every token of the chunks from `first` on; call tick about ten times a second.

        `end`: the first chunk that is left alone; None: the epoch's end.

        Where tick returns True, no further chunk is begun and those that run are finished: what
        is returned says which chunk is next, and E and Ep hold exactly the chunks before it.
        KeyboardInterrupt, or any exception from tick, ends the work within a second, anywhere.
        """


class ChunkedBackend:
    """What all backends of this machine share: a text cut into chunks, each with its streams."""

    def __init__(
        self,
        E: Matrix,
        Ep: Matrix,
        *,
        data: TrainingData,
        config: TrainConfig,
        schedule: Schedule,
        window: int | None = None,
    ) -> None:
        """Take what is trained; `window`: how far a whole-line window reaches."""
        self.matrices = padded(E, config.bias), padded(Ep, config.bias)
        if config.bias:  # the input whose weights are the biases
            self.matrices[0][:, config.dim] = 1
        self.data, self.config, self.schedule = data, config, schedule
        self.window = int(config.window) if window is None else window
        self.fixed = config.fixed_window or window is not None
        # a whole-line window holds its line however few of its tokens are kept
        self.halo = halo_chunks(self.window, data.kept_share if window is None else 1.0)
        self.chunks = -(-len(data.tokens) // CHUNK)
        self.seeds = lru_cache(maxsize=1024)(stream_seeds)
        # called by whoever has trained a chunk, and at the very end
        self.after_chunk: Callable[[], None] = lambda: None

    def freeze(self, frozen: Frozen) -> None:
        """Put these rows back after each chunk."""
        self.after_chunk = frozen.restore

    @property
    def output_bias(self) -> Matrix | None:
        """A view of the output biases, float32 (V,); None where there are none."""
        return self.matrices[1][:, self.config.dim] if self.config.bias else None

    def chunk_seeds(self, epoch: int, chunk: int) -> npt.NDArray[np.uint64]:
        """Return uint64[2h + 2]: what train_chunk draws from."""
        near = range(chunk - self.halo, chunk + self.halo + 1)
        windows = [self.seeds(self.config.seed, epoch, n)[0] if n >= 0 else 0 for n in near]
        return np.array([*windows, self.seeds(self.config.seed, epoch, chunk)[1]], np.uint64)

    def chunk_tokens(self, chunk: int) -> int:
        """Return the tokens of a chunk, before subsampling."""
        return min(CHUNK, len(self.data.tokens) - chunk * CHUNK)

    def count_pairs(self, chunk: int) -> int:
        """Return the pairs that the first epoch forms in a chunk."""
        start = chunk * CHUNK
        room = np.zeros((3, CHUNK + 2 * self.window + 1), np.int32)
        seeds = self.chunk_seeds(0, chunk)
        end = start + self.chunk_tokens(chunk)
        keep, window = self.data.keep, self.window
        return int(
            count_pairs(self.data.tokens, start, end, window, self.fixed, seeds, keep, *room)
        )


class HogwildBackend(ChunkedBackend):
    """All threads update the same E and Ep without locks, a chunk of tokens at a time.

    Any thread may train any chunk: the draws of a chunk depend on (seed, epoch, chunk) alone.
    """

    def __init__(
        self,
        E: Matrix,
        Ep: Matrix,
        *,
        data: TrainingData,
        config: TrainConfig,
        schedule: Schedule,
        threads: int,
        window: int | None = None,
    ) -> None:
        """Make a worker a thread; `window`: how far a whole-line window reaches."""
        super().__init__(E, Ep, data=data, config=config, schedule=schedule, window=window)
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
        """Train on the chunks from `first` on (see :class:`Backend`)."""
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


def halo_chunks(window: int, share: float) -> int:
    """Return h, how many chunks on either side a chunk's windows may look into.

    Where a share below 1 is kept, h chunks are expected to keep twice what a window needs, and
    `SPARE` more, so that one that keeps less is rare; never more than `MOST_HALO`.
    """
    tokens = window if share >= 1 else (2 * window + SPARE) / max(share, 1e-9)
    return max(-(-window // CHUNK), min(math.ceil(tokens / CHUNK), MOST_HALO))


class Chunks:
    """The chunks that wait, handed out in order to whichever thread asks, until closed."""

    def __init__(self, first: int, end: int, step: int = 1) -> None:
        self.next, self._end, self._step = first, end, step
        self._lock = threading.Lock()

    def take(self) -> int | None:
        """Return the next one, None if there is none."""
        with self._lock:
            if self.next >= self._end:
                return None
            self.next += self._step
            return self.next - self._step

    def close(self) -> None:
        """Hand out no more."""
        with self._lock:
            self._end = self.next


class Worker:
    """One thread's memory and sums; the thread itself lives for one epoch."""

    def __init__(self, room: Workspace) -> None:
        self.workspace = room
        own = aligned_floats(32)  # a cache line that no other thread writes to
        self.sums = own[:6].view(np.float64)  # kept, pairs, loss: exact below 2^53
        self.stop = own[16:].view(np.uint8)[:1]
        self.reset()

    def reset(self) -> None:
        """Forget what was trained."""
        self.sums[:] = 0
        self.stop[0] = 0
        self.tokens = 0
        self.error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self, work: Callable[[Worker], None]) -> None:
        """Do the work in a thread."""
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[Worker], None]) -> None:
        try:
            work(self)
        except BaseException as error:
            self.error = error

    def is_busy(self, seconds: float) -> bool:
        """Wait up to `seconds`; tell whether the thread still runs."""
        if self._thread is None:
            return False
        self._thread.join(seconds)
        return self._thread.is_alive()

    def join(self) -> None:
        """Wait until the thread has ended."""
        if self._thread is not None:
            self._thread.join()
