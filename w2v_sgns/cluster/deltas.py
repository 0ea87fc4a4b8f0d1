"""How rows travel between nodes: a byte a number with a scale a row, or as they are.

int8 is a quarter of the bytes. A row's largest number becomes ±127, so no number is off by more
than 1/254 of the largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Block", "pack", "sync_bytes", "unpack_into"]

PART = 4096  # rows at a time: stays in the cache
SMALLEST = np.finfo(np.float32).tiny  # below it a scale has too few bits

Matrix = npt.NDArray[np.float32]


class Block(NamedTuple):
    """Numbers of successive rows.

    numbers: (R, d) int8 or float32. scales: float32 (R,), what an int8 counts; empty for float32.
    """

    numbers: npt.NDArray[np.int8] | Matrix
    scales: Matrix

    @property
    def finite(self) -> bool:
        """Whether every number is."""
        told = self.scales if self.numbers.dtype == np.int8 else self.numbers
        return bool(np.isfinite(told).all())


def pack(rows: Matrix, base: Matrix | None = None, *, int8: bool) -> Block:
    """Return rows − base, (R, d), or the rows, ready to travel."""
    if not int8:
        whole = np.array(rows) if base is None else rows - base
        return Block(np.ascontiguousarray(whole), np.zeros(0, np.float32))
    numbers, scales = np.empty(rows.shape, np.int8), np.empty(len(rows), np.float32)
    with np.errstate(all="ignore"):  # what is not finite is told by its scale
        for start in range(0, len(rows), PART):
            part = slice(start, start + PART)
            delta = rows[part] if base is None else rows[part] - base[part]
            scale = np.abs(delta).max(axis=1, initial=0) / np.float32(127)
            scale[scale < SMALLEST] = 0
            step = np.where(scale > 0, scale, 1)
            numbers[part] = np.rint(delta / step[:, None]).astype(np.int8)
            scales[part] = scale
    return Block(numbers, scales)


def unpack_into(block: Block, rows: Matrix, *, add: bool = True) -> None:
    """Add the block to rows (R, d), or put it in their place."""
    if not add:
        rows[:] = 0
    for start in range(0, len(rows), PART):
        part = slice(start, start + PART)
        if block.numbers.dtype == np.int8:
            rows[part] += block.numbers[part] * block.scales[part, None]
        else:
            rows[part] += block.numbers[part]


def sync_bytes(rows: int, dim: int, nodes: int, *, int8: bool) -> int:
    """Return what a node sends in one merge of so many rows of E and of Ep.

    Its moves go to their owners and the merged rows of its own to all others: (P − 1)/P of both
    matrices each time.
    """
    row = dim + 4 if int8 else 4 * dim
    return 2 * 2 * rows * row * (nodes - 1) // nodes
