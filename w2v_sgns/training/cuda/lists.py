"""Lists of kept words and their windows on the device: the launches of kernels/cuda/select.py."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import cuda

from w2v_sgns.kernels.cuda.select import add_up, count_kept, list_kept, set_windows
from w2v_sgns.kernels.cuda.warp import SIMULATED
from w2v_sgns.training.cuda.view import View

__all__ = ["WindowLists", "Windows"]

THREADS = 4 if SIMULATED else 256  # of a block: each has a run of a chunk's tokens


class Windows(NamedTuple):
    """Device arrays: see kernels/cuda/select.py."""

    words: Any
    low_edge: Any
    high_edge: Any
    offsets: Any


class WindowLists:
    """Room for the windows of one view."""

    def __init__(
        self,
        keep: npt.NDArray[np.uint32],
        *,
        window: int,
        fixed: bool,
        halo: int,
        chunks: int,
        tokens: int,
    ) -> None:
        """Take room for views of `chunks` chunks and `tokens` tokens."""
        self._keep = cuda.to_device(keep)
        self._window, self._fixed, self._halo = window, fixed, halo
        self._seeds = cuda.device_array(chunks, np.uint64)
        self._counts = cuda.device_array(chunks * THREADS, np.int64)
        self._starts = cuda.device_array(chunks + 1, np.int64)
        self._lines, self._reach = (cuda.device_array(tokens, np.int32) for _ in range(2))
        words, low_edge, high_edge = (cuda.device_array(tokens, np.int32) for _ in range(3))
        offsets = cuda.device_array(chunks + 1, np.int64)
        self._windows = Windows(words, low_edge, high_edge, offsets)

    def fill(self, tokens: Any, view: View, seeds: npt.NDArray[np.uint64], stream: Any) -> Windows:
        """List the windows of a view's trained chunks; seeds uint64[view.seen] of all it sees."""
        chunks, windows = view.seen, self._windows
        self._seeds[:chunks].copy_to_device(seeds, stream=stream)
        blocks = chunks, THREADS, stream
        count_kept[blocks](tokens, self._seeds, self._keep, self._counts)
        add_up[1, THREADS, stream](self._counts, THREADS, chunks, self._starts, windows.offsets)
        list_kept[blocks](
            tokens,
            self._seeds,
            self._keep,
            self._window,
            self._fixed,
            self._counts,
            self._starts,
            windows.words,
            self._lines,
            self._reach,
        )
        set_windows[max(1, view.last - view.first), THREADS, stream](
            self._lines,
            self._reach,
            windows.offsets,
            chunks,
            self._halo,
            view.first - view.begin,
            windows.low_edge,
            windows.high_edge,
        )
        return windows
