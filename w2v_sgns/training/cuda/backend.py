"""The backend for one NVIDIA GPU: part after part of the text, each some launches of kernels.

E and Ep are on the device while an epoch runs; they are brought back at its end, or where it is
stopped. Two parts are under way at a time, so that the device need not wait for Python.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import cuda

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.cuda.shape import LANES, shape_for
from w2v_sgns.kernels.cuda.train import train_kernel
from w2v_sgns.kernels.cuda.warp import SIMULATED
from w2v_sgns.kernels.step import shift_table
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.training.backends import Matrix, Tick, Totals, TrainingData
from w2v_sgns.training.chunked import ChunkedBackend
from w2v_sgns.training.cuda.feed import TokenFeed
from w2v_sgns.training.cuda.lists import WindowLists
from w2v_sgns.training.cuda.needs import needs_of
from w2v_sgns.training.cuda.view import View
from w2v_sgns.training.devices import Device, compiling, device_errors
from w2v_sgns.training.schedule import Schedule

__all__ = ["CudaBackend", "shorter"]

LAUNCHES = 20  # parts of an epoch, at least: between two the run can be watched and stopped
MOST_CHUNKS = 512  # of a part: 8 million tokens
PATIENCE = 0.5  # seconds a part may take; longer ones are halved
WARPS = 4  # of a block: one for each scheduler of a multiprocessor
IN_FLIGHT = 2


class CudaBackend(ChunkedBackend):
    """`streams` warps update the same E and Ep with atomic additions; one alone is exact.

    The draws of a chunk depend on (seed, epoch, chunk) alone and are those of the CPU.
    """

    def __init__(
        self,
        E: Matrix,
        Ep: Matrix,
        *,
        data: TrainingData,
        config: TrainConfig,
        schedule: Schedule,
        device: Device,
        streams: int,
        window: int | None = None,
    ) -> None:
        """Take what is trained; nothing is on the device before warm_up.

        Raises:
            ResourceError: the device has too little memory.
        """
        super().__init__(E, Ep, data=data, config=config, schedule=schedule, window=window)
        self.device, self.streams = device, streams
        self.part = max(1, min(-(-self.chunks // LAUNCHES), MOST_CHUNKS))
        self.view = min(self.part + 2 * self.halo, self.chunks)  # most chunks seen at a time
        self._unwatched = self.after_chunk
        rows, floats = self.matrices[0].shape
        reach = max(1, min(self.window, len(data.tokens) - 1))
        self.shape = shape_for(floats, config.negative, reach)
        self.needs = needs_of(
            self.shape,
            words=rows,
            tokens=len(data.tokens),
            view=self.view * CHUNK,
            streams=streams,
            shifted=config.objective != "sgns",
        )
        self.resident = self.needs.check(device)
        self.device_seconds = 0.0  # of all parts; the simulator has no such clock
        self._memory: _Memory | None = None

    def warm_up(self) -> None:
        """Compile the kernels, take memory on the device, copy there what stays.

        Raises:
            ResourceError: the device or its compiler refuses.
        """
        if self._memory is None:
            with device_errors(), compiling():
                memory = _Memory(self)
                memory.upload(self.matrices)
                nothing = View(0, 0, 0, 1)
                memory.feed.fetch(nothing)
                memory.launch(self, 0, nothing)
                memory.stream.synchronize()
                self._memory = memory

    def run_epoch(
        self, epoch: int, tick: Tick, *, first: int = 0, end: int | None = None
    ) -> Totals:
        """Train on the chunks from `first` on (see :class:`~..backends.Backend`)."""
        self.warm_up()
        assert self._memory is not None
        with device_errors(), self._uploaded(self._memory):
            end = self.chunks if end is None else end
            return self._run(self._memory, epoch, tick, first, end)

    def _run(self, memory: _Memory, epoch: int, tick: Tick, first: int, end: int) -> Totals:
        """Keep two parts under way until the end, or until tick asks to stop."""
        memory.clear()
        size, next_chunk, stopped = self.part, first, False
        flights: deque[_Flight] = deque()
        totals, told = Totals(0, 0, 0, 0.0, first), time.monotonic()
        while flights or (next_chunk < end and not stopped):
            while len(flights) < IN_FLIGHT and next_chunk < end and not stopped:
                last = min(next_chunk + size, end)
                view = View.around(next_chunk, last, halo=self.halo, chunks=self.chunks)
                memory.feed.fetch(view)
                flights.append(memory.launch(self, epoch, view))
                next_chunk = last
            flight = flights.popleft()
            sums = flight.wait()
            self.device_seconds += flight.seconds()
            tokens = totals.tokens + flight.tokens
            totals = Totals(tokens, int(sums[0]), int(sums[1]), float(sums[2]), next_chunk)
            self._between_parts(memory)
            stopped |= bool(tick(totals))
            size = shorter(size, seconds=time.monotonic() - told)
            told = time.monotonic()
        return totals

    def _between_parts(self, memory: _Memory) -> None:
        """Let whoever watches change the matrices: they come back for it."""
        if self.after_chunk is not self._unwatched:
            memory.download(self.matrices)
            self.after_chunk()
            memory.upload(self.matrices)

    @contextmanager
    def _uploaded(self, memory: _Memory) -> Iterator[None]:
        """Have the matrices on the device, and back at the end, whatever happens."""
        memory.upload(self.matrices)
        try:
            yield
        finally:
            memory.download(self.matrices)
            self.after_chunk()

    def window_seeds(self, epoch: int, view: View) -> npt.NDArray[np.uint64]:
        """Return uint64[view.seen]: the streams that decide keep and window."""
        seeds = [self.seeds(self.config.seed, epoch, n)[0] for n in range(view.begin, view.end)]
        return np.array(seeds, np.uint64)

    def noise_seeds(self, epoch: int, view: View) -> npt.NDArray[np.uint64]:
        """Return uint64[trained chunks]: the streams of the noise."""
        seeds = [self.seeds(self.config.seed, epoch, n)[1] for n in range(view.first, view.last)]
        return np.array(seeds, np.uint64)

    def rates(self, epoch: int, view: View) -> npt.NDArray[np.float32]:
        """Return float32[trained chunks]: the learning rate at each one's first token."""
        chunks = range(view.first, view.last)
        return np.array([self.schedule.at(epoch, n * CHUNK) for n in chunks], np.float32)


def shorter(chunks: int, *, seconds: float) -> int:
    """Return the chunks of the next part after one that took so long."""
    return max(1, chunks // 2) if seconds > PATIENCE else chunks


class _Flight(NamedTuple):
    """A part under way."""

    tokens: int
    begun: Any  # the event before it
    done: Any  # the event after it
    sums: npt.NDArray[np.float64]  # of the epoch so far: there once it is done

    def wait(self) -> npt.NDArray[np.float64]:
        """Return the sums as soon as they are there."""
        self.done.synchronize()
        return self.sums

    def seconds(self) -> float:
        """Return how long the device had to do with it; 0 on the simulator."""
        return 0.0 if SIMULATED else cuda.event_elapsed_time(self.begun, self.done) / 1e3


class _Memory:
    """What lies on the device, and the stream its kernels run in."""

    def __init__(self, backend: CudaBackend) -> None:
        data, config = backend.data, backend.config
        tokens = min(backend.view * CHUNK, len(data.tokens))
        self.stream = cuda.stream()
        self.feed = TokenFeed(data.tokens, resident=backend.resident, most=tokens)
        self.lists = WindowLists(
            data.keep,
            window=backend.window,
            fixed=backend.fixed,
            halo=backend.halo,
            chunks=backend.view,
            tokens=tokens,
        )
        log_kq = np.zeros(1) if data.log_kq is None else data.log_kq
        self.noise = cuda.to_device(data.noise)
        self.shift = cuda.to_device(shift_table(config.objective, log_kq))
        self.rates = cuda.device_array(backend.part, np.float32)
        self.seeds = cuda.device_array(backend.part, np.uint64)
        size = backend.matrices[0].size
        self.E, self.Ep = (cuda.device_array(size, np.float32) for _ in range(2))
        self.scratch = cuda.device_array(
            max(1, backend.shape.scratch * backend.streams), np.float32
        )
        self.sums = cuda.device_array(3, np.float64)
        self.told = [cuda.pinned_array(3, np.float64) for _ in range(IN_FLIGHT)]
        self.kernel = train_kernel(
            backend.shape,
            config.objective,
            config.dim if config.bias else None,
            config.collisions == "drop",
            backend.device.adds_vectors,
        )

    def clear(self) -> None:
        """Begin new sums."""
        self.sums.copy_to_device(np.zeros(3), stream=self.stream)

    def upload(self, matrices: tuple[Matrix, Matrix]) -> None:
        """Copy E and Ep to the device."""
        for there, here in zip((self.E, self.Ep), matrices, strict=True):
            there.copy_to_device(here.reshape(-1), stream=self.stream)
        self.stream.synchronize()

    def download(self, matrices: tuple[Matrix, Matrix]) -> None:
        """Bring E and Ep back, once all work is done."""
        for there, here in zip((self.E, self.Ep), matrices, strict=True):
            there.copy_to_host(here.reshape(-1), stream=self.stream)
        self.stream.synchronize()

    def launch(self, backend: CudaBackend, epoch: int, view: View) -> _Flight:
        """Begin a part; one that trains no chunk compiles the kernels."""
        own = view.last - view.first
        begun, done = cuda.event(), cuda.event()
        begun.record(self.stream)
        tokens = self.feed.tokens_of(view, self.stream)
        windows = self.lists.fill(tokens, view, backend.window_seeds(epoch, view), self.stream)
        if own:
            self.rates[:own].copy_to_device(backend.rates(epoch, view), stream=self.stream)
            self.seeds[:own].copy_to_device(backend.noise_seeds(epoch, view), stream=self.stream)
        warps = min(WARPS, backend.streams)
        blocks = -(-backend.streams // warps)
        shared = 4 * warps * backend.shape.shared
        self.kernel[blocks, LANES * warps, self.stream, shared](
            *windows,
            view.first - view.begin,
            own,
            self.rates,
            self.seeds,
            self.noise,
            self.shift,
            self.E,
            self.Ep,
            backend.streams,
            self.scratch,
            self.sums,
        )
        self.told.append(self.told.pop(0))
        self.sums.copy_to_host(self.told[-1], stream=self.stream)
        done.record(self.stream)
        trained = sum(map(backend.chunk_tokens, range(view.first, view.last)))
        return _Flight(trained, begun, done, self.told[-1])
