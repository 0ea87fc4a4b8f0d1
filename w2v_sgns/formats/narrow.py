"""Rows of float16 or int8: how they are made, what that loses, how they become float32 again.

A row of int8 has a float32 scale of its own. Which files hold them is their modules' business.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import OutputError

__all__ = ["NARROW", "as_int8", "from_int8", "largest_error"]

NARROW = (np.dtype(np.float16), np.dtype(np.int8))
BLOCK_ROWS = 1 << 14
TINY = np.float32(2.0**-126)  # the smallest normal float32

Matrix = NDArray[np.float32]


def as_int8(matrix: Matrix) -> tuple[NDArray[np.int8], Matrix]:
    """Return whole numbers from -127 to 127 and each row's scale: row ≈ numbers · scale."""
    numbers, scale = np.empty(matrix.shape, np.int8), np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), BLOCK_ROWS):
        rows = matrix[start : start + BLOCK_ROWS]
        largest = np.abs(rows).max(axis=1, initial=0)
        scales = np.where(largest > 127 * TINY, largest / np.float32(127), np.float32(1))
        scale[start : start + BLOCK_ROWS] = scales
        numbers[start : start + BLOCK_ROWS] = np.rint(rows / scales[:, None]).clip(-127, 127)
    return numbers, scale


def from_int8(numbers: NDArray[np.int8], scale: Matrix) -> Matrix:
    """Return numbers · scale, row by row."""
    matrix = numbers.astype(np.float32)
    matrix *= scale[:, None]
    return matrix


def largest_error(matrix: Matrix, dtype: str) -> float:
    """Return the largest |row - stored row| / |row| over all rows; `dtype` is float16 or int8.

    Raises:
        OutputError: a number is not finite, or too large for the dtype.
    """
    largest = 0.0
    for start in range(0, len(matrix), BLOCK_ROWS):
        rows = np.ascontiguousarray(matrix[start : start + BLOCK_ROWS])
        if dtype == "int8":
            stored = from_int8(*as_int8(rows))
        else:
            with np.errstate(over="ignore"):
                stored = rows.astype(np.float16).astype(np.float32)
        wrong = np.flatnonzero(~np.isfinite(stored).all(axis=1) | ~np.isfinite(rows).all(axis=1))
        if len(wrong):
            raise OutputError(
                f"row {start + int(wrong[0]) + 1:,} holds numbers that {dtype} cannot; "
                "use --dtype float32"
            )
        lengths = np.linalg.norm(rows, axis=1)
        losses = np.linalg.norm(rows - stored, axis=1)
        largest = max(largest, float((losses / np.where(lengths > 0, lengths, 1)).max(initial=0)))
    return largest
