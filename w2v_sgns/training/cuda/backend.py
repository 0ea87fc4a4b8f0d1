"""The backend for one NVIDIA GPU: part after part of the text, each some launches of kernels.

E and Ep are on the device while an epoch runs; they are brought back at its end, or where it is
stopped. Two parts are under way at a time, so that the device need not wait for Python.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt
from numba import cuda

from w2v_sgns.kernels.cuda.warp import SIMULATED
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.training.backends import Matrix, Tick, Totals
from w2v_sgns.training.chunked import ChunkedBackend, Given
from w2v_sgns.training.cuda.frozen import FrozenRows
from w2v_sgns.training.cuda.lists import WindowLists
from w2v_sgns.training.cuda.memory import Memory, Part
from w2v_sgns.training.cuda.needs import needs_of
from w2v_sgns.training.cuda.view import View
from w2v_sgns.training.cuda.work import work_for
from w2v_sgns.training.devices import Device, compiling, device_errors
from w2v_sgns.training.state import Frozen

__all__ = ["CudaBackend", "next_size"]

LAUNCHES = 20  # parts of an epoch, at least: between two the run can be watched and stopped
MOST_CHUNKS = 512  # of a part: 8 million tokens
FIRST = 1  # chunks of an epoch's first part: how fast the device is shows then
PATIENCE = 0.5  # seconds a part may take; longer ones are halved, far shorter ones doubled
IN_FLIGHT = 2


class CudaBackend(ChunkedBackend):
    """`streams` warps or blocks add to the same E and Ep atomically; one alone is exact.

    The draws of a chunk depend on (seed, epoch, chunk) alone and are those of the CPU.
    """

    cut = "a part under way was trained to its end, but is not in the epoch's sums"

    def __init__(
        self,
        E: Matrix,
        Ep: Matrix,
        *,
        device: Device,
        streams: int,
        **given: Unpack[Given],
    ) -> None:
        """Take what is trained; nothing is on the device before warm_up.

        Raises:
            ResourceError: the device has too little memory.
        """
        super().__init__(E, Ep, **given)
        config = self.config
        self.device = device
        self.part = max(1, min(-(-self.chunks // LAUNCHES), MOST_CHUNKS))
        self.view = min(self.part + 2 * self.halo, self.chunks)  # most chunks seen at a time
        self._unwatched = self.after_chunk
        rows, floats = self.matrices[0].shape
        tokens = len(self.data.tokens)
        self.work = work_for(
            config,
            words=rows,
            floats=floats,
            tokens=tokens,
            window=self.window,
            line=given.get("window") is not None,
            streams=streams,
            vectors=device.adds_vectors,
        )
        self.needs = needs_of(
            words=rows,
            floats=floats,
            tokens=tokens,
            view=self.view * CHUNK,
            scratch=self.work.bytes,
            shifted=config.objective != "sgns",
        )
        self.resident = self.needs.check(device)
        self.device_seconds = 0.0  # of all parts; the simulator has no such clock
        self._memory: Memory | None = None
        self._frozen: Frozen | None = None
        self._rows: FrozenRows | None = None

    def freeze(self, frozen: Frozen) -> None:
        """Put these rows back after each chunk: on the device, and when they have come back.

        Raises:
            ResourceError: the device has too little memory.
        """
        super().freeze(frozen)
        self._unwatched, self._frozen = self.after_chunk, frozen
        self.needs = self.needs.with_frozen(len(frozen.rows), outputs=frozen.outputs)
        self.resident = self.needs.check(self.device)

    def warm_up(self) -> None:
        """Compile the kernels, take memory on the device, copy there what stays.

        Raises:
            ResourceError: the device or its compiler refuses.
        """
        if self._memory is None:
            with device_errors(), compiling():
                memory = self._take_memory()
                memory.upload(self.matrices)
                if self._frozen is not None:
                    self._rows = FrozenRows(self._frozen, self.matrices)
                nothing = View(0, 0, 0, 1)
                memory.feed.fetch(nothing)
                self._launch(memory, 0, nothing)
                memory.stream.synchronize()
                self._memory = memory

    def _take_memory(self) -> Memory:
        self.work.take_memory()
        tokens = min(self.view * CHUNK, len(self.data.tokens))
        lists = WindowLists(
            self.data.keep,
            window=self.window,
            fixed=self.fixed,
            halo=self.halo,
            chunks=self.view,
            tokens=tokens,
        )
        return Memory(
            self.data,
            self.config.objective,
            lists,
            floats=self.matrices[0].size,
            chunks=self.part,
            tokens=tokens,
            resident=self.resident,
            parts=IN_FLIGHT,
        )

    def run_epoch(
        self, epoch: int, tick: Tick, *, first: int = 0, end: int | None = None
    ) -> Totals:
        """Train on the chunks from `first` on (see :class:`~..backends.Backend`)."""
        self.warm_up()
        assert self._memory is not None
        with device_errors(), self._uploaded(self._memory):
            end = self.chunks if end is None else end
            return self._run(self._memory, epoch, tick, first, end)

    def tokens_per_second(self, seconds: float) -> float:
        """Train the text's beginning for about so long; return the rate.

        Changes E and Ep: meant for estimates.
        """
        begun = time.perf_counter()
        totals = self.run_epoch(0, lambda totals: time.perf_counter() - begun > seconds)
        return totals.tokens / (time.perf_counter() - begun)

    def _run(self, memory: Memory, epoch: int, tick: Tick, first: int, end: int) -> Totals:
        """Keep two parts under way until the end, or until tick asks to stop."""
        memory.clear()
        size, next_chunk, stopped = min(FIRST, self.part), first, False
        flights: deque[_Flight] = deque()
        totals, told = Totals(0, 0, 0, 0.0, first), time.monotonic()
        while flights or (next_chunk < end and not stopped):
            while len(flights) < IN_FLIGHT and next_chunk < end and not stopped:
                last = min(next_chunk + size, end)
                view = View.around(next_chunk, last, halo=self.halo, chunks=self.chunks)
                memory.feed.fetch(view)
                flights.append(self._launch(memory, epoch, view))
                next_chunk = last
            flight = flights.popleft()
            sums = flight.wait()
            self.device_seconds += flight.seconds()
            tokens = totals.tokens + flight.tokens
            totals = Totals(tokens, int(sums[0]), int(sums[1]), float(sums[2]), next_chunk)
            self._between_parts(memory)
            # asked no more once it is to end: what is under way is trained to its end
            stopped = stopped or bool(tick(totals))
            size = next_size(size, seconds=time.monotonic() - told, most=self.part)
            told = time.monotonic()
        return totals

    def _launch(self, memory: Memory, epoch: int, view: View) -> _Flight:
        """Begin a part; one that trains no chunk compiles the kernels."""
        begun, done = cuda.event(), cuda.event()
        begun.record(memory.stream)
        seen, own = range(view.begin, view.end), range(view.first, view.last)
        rates = np.array([self.schedule.at(epoch, n * CHUNK) for n in own], np.float32)
        windows, noise = self._seeds(epoch, seen, 0), self._seeds(epoch, own, 1)
        self._train(memory, memory.prepare(view, windows, noise, rates))
        sums = memory.tell()
        done.record(memory.stream)
        return _Flight(sum(map(self.chunk_tokens, own)), begun, done, sums)

    def _train(self, memory: Memory, part: Part) -> None:
        """Launch a part's training; chunk by chunk where rows are put back after each."""
        if self._rows is None:
            self.work.launch(memory.stream, *part, totals=memory.sums)
            return
        for piece in part.by_chunks() if part.own else (part,):
            self.work.launch(memory.stream, *piece, totals=memory.sums)
            self._rows.put_back(memory)

    def _seeds(self, epoch: int, chunks: range, kind: int) -> npt.NDArray[np.uint64]:
        """Return uint64[chunks]: the streams of their windows (kind 0) or noise (1)."""
        return np.array([self.seeds(self.config.seed, epoch, n)[kind] for n in chunks], np.uint64)

    def _between_parts(self, memory: Memory) -> None:
        """Let whoever watches change the matrices: they come back for it."""
        if self.after_chunk is not self._unwatched:
            memory.download(self.matrices)
            self.after_chunk()
            memory.upload(self.matrices)

    @contextmanager
    def _uploaded(self, memory: Memory) -> Iterator[None]:
        """Have the matrices on the device, and back at the end, whatever happens."""
        memory.upload(self.matrices)
        try:
            yield
        finally:
            memory.download(self.matrices)
            self.after_chunk()


def next_size(chunks: int, *, seconds: float, most: int) -> int:
    """Return the chunks of the next part after one that took so long."""
    if seconds > PATIENCE:
        return max(1, chunks // 2)
    return min(2 * chunks, most) if seconds < PATIENCE / 4 else chunks


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
