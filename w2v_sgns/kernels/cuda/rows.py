"""Rows of E and Ep on the lanes of a warp: loading, adding, scoring. Written for one shape.

A lane has `held` floats of a row: `width` at a time, every 32·width floats. Local arrays hold
some rows one after another; indices into them become constants, and the arrays registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from w2v_sgns.kernels.cuda.shape import GROUPS, LANES, Shape
from w2v_sgns.kernels.cuda.warp import device, prefetch, row_access, shuffle, shuffle_xor

__all__ = ["Rows", "rows_for", "warp_sum"]

LINE = 32  # floats of a cache line
ZERO = np.float32(0)


class Rows(NamedTuple):
    """Device functions."""

    take: Any  # (local, first, matrix, start, lane): local[first:] = a row's part
    give: Any  # (matrix, start, local, first, lane): the row += the part
    lay_down: Any  # the same arguments: the row = the part
    start_of: Any  # (word, q): where the row of a tile's output q begins
    score: Any  # (x, h, z, lane): x·h[lane // 4]; z is room
    ask_for: Any  # (word, matrix, lane): a tile's rows will be needed soon


@device
def fold(a, b, upper, distance):
    """Go on with b's sum in the lanes marked `upper`, with a's in the others."""
    mine = b if upper else a
    other = a if upper else b
    return mine + shuffle_xor(other, distance)


@device
def group_sums(z, lane):
    """Return the sum over all lanes of z[lane // 4]: 9 shuffles for 8 sums."""
    for q in range(4):
        z[q] = fold(z[q], z[q + 4], (lane & 16) != 0, 16)
    for q in range(2):
        z[q] = fold(z[q], z[q + 2], (lane & 8) != 0, 8)
    total = fold(z[0], z[1], (lane & 4) != 0, 4)
    total += shuffle_xor(total, 2)
    return total + shuffle_xor(total, 1)


@device
def warp_sum(value):
    """Return the sum over all lanes."""
    for bit in range(5):
        value += shuffle_xor(value, 1 << bit)
    return value


def rows_for(shape: Shape, *, vectors: bool) -> Rows:
    """Return the functions for rows of one shape; vectors: see row_access."""
    floats, width, accesses, tile = shape.floats, shape.width, shape.accesses, shape.tile
    held = shape.held
    full = floats // (LANES * width)  # accesses that no lane leaves out
    lines = -(-floats // LINE)
    load, store, add = row_access(width, vectors=vectors)

    @device
    def take(local, first, matrix, start, lane):
        """Load this lane's part of the row that begins at `start`; beyond the row are zeros."""
        for v in range(accesses):
            at = first + v * width
            place = (v * LANES + lane) * width
            if v >= full:
                for u in range(width):
                    local[at + u] = ZERO
            if v < full or place < floats:
                load(local, at, matrix, start + place)

    @device
    def give(matrix, start, local, first, lane):
        """Add this lane's part to the row that begins at `start`."""
        for v in range(accesses):
            place = (v * LANES + lane) * width
            if v < full or place < floats:
                add(matrix, start + place, local, first + v * width)

    @device
    def lay_down(matrix, start, local, first, lane):
        """Write this lane's part of a row."""
        for v in range(accesses):
            place = (v * LANES + lane) * width
            if v < full or place < floats:
                store(matrix, start + place, local, first + v * width)

    @device
    def start_of(word, q):
        """Return where the row of a tile's output q begins; each lane knows its group's word."""
        return np.int64(shuffle(np.int32(word), 4 * q)) * floats

    @device
    def score(x, h, z, lane):
        """Return the score of a context with output lane // 4 of the tile."""
        for q in range(GROUPS):
            z[q] = ZERO
        for q in range(tile):
            for j in range(held):
                z[q] += x[j] * h[q * held + j]
        return group_sums(z, lane)

    @device
    def ask_for(word, matrix, lane):
        """Ask for a tile's rows to be brought to L2."""
        for first in range(0, tile * lines, LANES):
            part = first + lane
            row = np.int64(shuffle(np.int32(word), min(part // lines, tile - 1) * 4)) * floats
            if part < tile * lines:
                prefetch(matrix, 0, matrix, row + part % lines * LINE)

    return Rows(take, give, lay_down, start_of, score, ask_for)
