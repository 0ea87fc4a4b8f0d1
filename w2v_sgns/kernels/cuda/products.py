"""Products of dense matrices by a block, tile by tile of the result, in shared memory.

A thread has EACH × EACH values of a tile. Matrices are (array, floats of a row) pairs, and begin
at the array's; all their sides are whole tiles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from w2v_sgns.kernels.cuda.tiles import EACH, BatchShape
from w2v_sgns.kernels.cuda.warp import device, load4, sync_block

__all__ = ["Products", "products_for"]

ZERO = np.float32(0)


class Products(NamedTuple):
    """Device functions f(tile, a, b, …): fill a tile of the result; see :func:`products_for`."""

    rows_by_rows: Any  # A·Bᵀ
    columns_by_columns: Any  # Aᵀ·B
    rows_by_columns: Any  # A·B


def products_for(shape: BatchShape) -> Products:
    """Return the products f(tile, a, b, left, right, A, wide, i, B, broad, j, inner, thread).

    tile: local, EACH·EACH values of the result's rows from i on and columns from j on; a, b:
    room for EACH values; left, right: room in shared memory; wide, broad: floats of a row of
    A and B; inner: how many terms are summed.
    """
    side, depth, pitch, threads = shape.side, shape.depth, shape.pitch, shape.threads
    across = side // EACH

    @device
    def from_rows(room, matrix, wide, i, first, thread):
        """room[p, r] = matrix[i + r, first + p]."""
        for at in range(thread, side * depth, threads):
            r, p = at // depth, at % depth
            room[p * pitch + r] = matrix[(i + r) * wide + first + p]

    @device
    def from_columns(room, matrix, wide, i, first, thread):
        """room[p, r] = matrix[first + p, i + r]."""
        for at in range(thread, side * depth, threads):
            p, r = at // side, at % side
            room[p * pitch + r] = matrix[(first + p) * wide + i + r]

    @device
    def add_products(tile, a, b, left, right, thread):
        """Tile += leftᵀ·right."""
        y, x = thread // across * EACH, thread % across * EACH
        for p in range(depth):
            load4(a, 0, left, p * pitch + y)
            load4(b, 0, right, p * pitch + x)
            for v in range(EACH):
                for u in range(EACH):
                    tile[v * EACH + u] += a[v] * b[u]

    def product(take_left: Any, take_right: Any) -> Any:
        @device
        def fill(tile, a, b, left, right, A, wide, i, B, broad, j, inner, thread):
            for n in range(EACH * EACH):
                tile[n] = ZERO
            for first in range(0, inner, depth):
                take_left(left, A, wide, i, first, thread)
                take_right(right, B, broad, j, first, thread)
                sync_block()
                add_products(tile, a, b, left, right, thread)
                sync_block()

        return fill

    return Products(
        product(from_rows, from_rows),
        product(from_columns, from_columns),
        product(from_rows, from_columns),
    )
