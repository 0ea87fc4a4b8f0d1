"""What lies on the device while a run lasts, and the stream in which kernels work on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import cuda

from w2v_sgns.kernels.step import shift_table
from w2v_sgns.training.backends import Matrix, TrainingData
from w2v_sgns.training.cuda.feed import TokenFeed
from w2v_sgns.training.cuda.lists import WindowLists
from w2v_sgns.training.cuda.view import View

__all__ = ["Memory", "Part"]


class Part(NamedTuple):
    """What training kernels take, up to the matrices: device arrays but for the two numbers."""

    words: Any
    low_edge: Any
    high_edge: Any
    offsets: Any
    before: int  # the first chunk that is trained, of those that are seen
    own: int  # how many are trained
    rates: Any
    seeds: Any
    noise: Any
    shifts: Any
    E: Any
    Ep: Any

    def by_chunks(self) -> Iterator[Part]:
        """Yield the same, a chunk at a time."""
        for n in range(self.own):
            rates, seeds = self.rates[n : n + 1], self.seeds[n : n + 1]
            yield self._replace(before=self.before + n, own=1, rates=rates, seeds=seeds)


class Memory:
    """E, Ep, the tables, the text's views and their windows."""

    def __init__(
        self,
        data: TrainingData,
        objective: str,
        lists: WindowLists,
        *,
        floats: int,
        chunks: int,
        tokens: int,
        resident: bool,
        parts: int,
    ) -> None:
        """Take room for matrices of so many floats, `chunks` trained at a time, `tokens` seen.

        resident: the whole text stays; parts: how many are under way at a time.
        """
        self.stream, self.lists = cuda.stream(), lists
        self.feed = TokenFeed(data.tokens, resident=resident, most=tokens)
        log_kq = np.zeros(1) if data.log_kq is None else data.log_kq
        self.tables = cuda.to_device(data.noise), cuda.to_device(shift_table(objective, log_kq))
        self.rates = cuda.device_array(chunks, np.float32)
        self.seeds = cuda.device_array(chunks, np.uint64)
        self.matrices = tuple(cuda.device_array(floats, np.float32) for _ in range(2))
        self.sums = cuda.device_array(3, np.float64)
        self._told: list[npt.NDArray[np.float64]] = [
            cuda.pinned_array(3, np.float64) for _ in range(parts)
        ]

    def clear(self) -> None:
        """Begin new sums."""
        self.sums.copy_to_device(np.zeros(3), stream=self.stream)

    def upload(self, matrices: tuple[Matrix, Matrix]) -> None:
        """Copy E and Ep to the device."""
        for there, here in zip(self.matrices, matrices, strict=True):
            there.copy_to_device(here.reshape(-1), stream=self.stream)
        self.stream.synchronize()

    def download(self, matrices: tuple[Matrix, Matrix]) -> None:
        """Bring E and Ep back, once all work is done."""
        for there, here in zip(self.matrices, matrices, strict=True):
            there.copy_to_host(here.reshape(-1), stream=self.stream)
        self.stream.synchronize()

    def prepare(
        self,
        view: View,
        window_seeds: npt.NDArray[np.uint64],
        noise_seeds: npt.NDArray[np.uint64],
        rates: npt.NDArray[np.float32],
    ) -> Part:
        """List a view's windows; return what training kernels take."""
        own = view.last - view.first
        tokens = self.feed.tokens_of(view, self.stream)
        windows = self.lists.fill(tokens, view, window_seeds, self.stream)
        if own:
            self.rates[:own].copy_to_device(rates, stream=self.stream)
            self.seeds[:own].copy_to_device(noise_seeds, stream=self.stream)
        before = view.first - view.begin
        return Part(*windows, before, own, self.rates, self.seeds, *self.tables, *self.matrices)

    def tell(self) -> npt.NDArray[np.float64]:
        """Return the sums so far: they are there once the stream has come to this point."""
        self._told.append(self._told.pop(0))
        self.sums.copy_to_host(self._told[-1], stream=self.stream)
        return self._told[-1]
