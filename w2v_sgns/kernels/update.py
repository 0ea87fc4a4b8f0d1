"""The second half of a window step: both matrices, from gradients at the old values.

Rows are updated one block of columns at a time, in three passes over the block:
1. ΔH = Gᵀ·X into scratch, for every tile of outputs, while X is still old;
2. X += G·H, while H is still old; 3. H += ΔH, row after row.
So a row that stands twice in the window receives both of its deltas, each from old values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils

from w2v_sgns.kernels.score import context_lanes, lanes_of
from w2v_sgns.kernels.simd import I64, Lanes, micro_kernel

__all__ = ["block_vectors", "update_block"]


def vectors_of(outputs: int, width: int) -> int:
    """Return the most vectors of a column block: S rows of them stay in registers."""
    room = 24 if width == 16 else 12  # of 32 or 16 registers
    return 4 if 4 * outputs <= room else 2 if 2 * outputs <= room else 1


block_vectors = njit(inline="always")(vectors_of)


def _each_context(v: Lanes, arguments: Any, outputs: int, body: Callable[[Any, Any], None]) -> None:
    """Call body(address of the context's block, address of its S gradients) in a loop."""
    rows, contexts, offset, g = arguments
    with cgutils.for_range(v.b, contexts) as loop:
        row = v.load(rows, v.b.mul(loop.index, ir.Constant(I64, 8)), I64)
        step = ir.Constant(I64, 4 * lanes_of(outputs))
        body(v.b.add(row, offset), v.b.add(g, v.b.mul(loop.index, step)))


def _output_deltas(block: int) -> Any:
    """Return pass 1 for one tile: f(tile, (contexts, C, column offset, g, dh))."""

    def emit(v: Lanes, outputs: int, *arguments: Any) -> None:
        sums = [[v.variable() for _ in range(block)] for _ in range(outputs)]

        def body(x_row: Any, g_row: Any) -> None:
            x = [v.load(x_row, v.bytes * n) for n in range(block)]
            for s, row in enumerate(sums):
                c = v.splat(g_row, 4 * s)
                for n, total in enumerate(row):
                    v.b.store(v.fma(c, x[n], v.b.load(total)), total)

        _each_context(v, arguments[:4], outputs, body)
        for n, total in enumerate(total for row in sums for total in row):
            v.store(v.b.load(total), arguments[4], v.bytes * n)

    return micro_kernel(emit)


def _update_inputs(block: int) -> Any:
    """Return pass 2 for one tile: f(tile, (contexts, C, column offset, g, outputs))."""

    def emit(v: Lanes, outputs: int, *arguments: Any) -> None:
        offset, outs = arguments[2], arguments[4]
        h_rows = [v.b.add(v.pointer(outs, s), offset) for s in range(outputs)]
        h = [[v.load(row, v.bytes * n) for n in range(block)] for row in h_rows]

        def body(x_row: Any, g_row: Any) -> None:
            # the delta is summed apart from x: several times more exact than adding term by term
            delta: list[Any] = [None] * block
            for s, row in enumerate(h):
                c = v.splat(g_row, 4 * s)
                for n, value in enumerate(row):
                    delta[n] = v.fma(c, value, delta[n]) if s else v.b.fmul(c, value)
            for n, d in enumerate(delta):
                v.store(v.b.fadd(v.load(x_row, v.bytes * n), d), x_row, v.bytes * n)

        _each_context(v, arguments[:4], outputs, body)

    return micro_kernel(emit)


def _update_outputs(block: int) -> Any:
    """Return pass 3 for one tile: f(tile, (column offset, outputs, dh))."""

    def emit(v: Lanes, outputs: int, *arguments: Any) -> None:
        offset, outs, dh = arguments
        for s in range(outputs):
            row = v.b.add(v.pointer(outs, s), offset)
            for n in range(block):
                delta = v.load(dh, v.bytes * (s * block + n))
                v.store(v.b.fadd(v.load(row, v.bytes * n), delta), row, v.bytes * n)

    return micro_kernel(emit)


def _block(vectors: int) -> Any:
    """Return the three passes over a block of `vectors` vectors."""
    deltas, inputs, add = _output_deltas(vectors), _update_inputs(vectors), _update_outputs(vectors)

    @njit(inline="always")
    def passes(tile, tiles, rows, contexts, offset, g, outs, dh):
        size = len(tile.outputs)
        g_tile = 4 * context_lanes(size) * contexts
        dh_tile = 4 * len(tile.lanes) * size * vectors
        for n in range(tiles):
            deltas(tile, (rows, contexts, offset, g + n * g_tile, dh + n * dh_tile))
        for n in range(tiles):
            inputs(tile, (rows, contexts, offset, g + n * g_tile, outs + 8 * size * n))
        for n in range(tiles):
            add(tile, (offset, outs + 8 * size * n, dh + n * dh_tile))

    return passes


_block1, _block2, _block4 = _block(1), _block(2), _block(4)


@njit(inline="always")
def update_block(tile, vectors, tiles, rows, contexts, offset, g, outs, dh):
    """Update a block of columns of all C context rows and the output rows of all tiles."""
    if vectors == 4:
        _block4(tile, tiles, rows, contexts, offset, g, outs, dh)
    elif vectors == 2:
        _block2(tile, tiles, rows, contexts, offset, g, outs, dh)
    else:
        _block1(tile, tiles, rows, contexts, offset, g, outs, dh)
