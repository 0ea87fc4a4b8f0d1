"""Memory for E and Ep: rows padded to 16 floats, 64-byte aligned, on huge pages where offered.

The padding stays zero and is seen by the kernels alone. NumPy only.
"""

from __future__ import annotations

import mmap
from contextlib import suppress

import numpy as np
import numpy.typing as npt

__all__ = ["PAD", "aligned_matrix", "padded", "padded_dim"]

PAD = 16  # floats: one cache line, and the widest vector
HUGE_PAGE = 2 << 20  # bytes

Matrix = npt.NDArray[np.float32]


def padded_dim(dim: int) -> int:
    """Return D, dim rounded up to whole cache lines of 16 floats."""
    return -(-dim // PAD) * PAD


def aligned_matrix(rows: int, dim: int) -> Matrix:
    """Return zeros of shape (rows, dim): a view of (rows, D) floats aligned to a huge page.

    Memory is taken page by page as it is first written, and given back with the array.
    """
    stride = padded_dim(dim)
    size = rows * stride * 4
    memory = _private_memory(size + HUGE_PAGE)
    if size >= HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without huge pages: slower by 10–20 %, equal otherwise
            memory.madvise(mmap.MADV_HUGEPAGE)
    raw = np.frombuffer(memory, np.uint8)
    start = -raw.ctypes.data % (HUGE_PAGE if size >= HUGE_PAGE else 64)
    return raw[start : start + size].view(np.float32).reshape(rows, stride)[:, :dim]


def _private_memory(size: int) -> mmap.mmap:
    """Return anonymous memory of this process alone: shared memory gets no huge pages."""
    if hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, size)


def padded(matrix: Matrix, more: int = 0) -> Matrix:
    """Return the (rows, D) array behind an aligned (rows, dim) view.

    more: columns beside the view that were asked for when the memory was made.

    Raises:
        ValueError: the matrix does not come from :func:`aligned_matrix`.
    """
    rows, dim = matrix.shape
    stride = padded_dim(dim + more) * 4
    if matrix.dtype != np.float32 or matrix.strides != (stride, 4) or matrix.ctypes.data % 64:
        raise ValueError("kernels need a matrix made by aligned_matrix")
    return np.lib.stride_tricks.as_strided(matrix, (rows, stride // 4), (stride, 4))
