"""One window step: C input rows, k + 1 output rows, every gradient at the old values.

The step is defined in :mod:`w2v_sgns.objectives.sgns`. Here it is put together from the
micro-kernels: scores and gradients for each tile of outputs, then the update of both matrices,
one block of columns after another. Which rows these are is decided elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils

from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.score import LOG2E, MASKED, PARAMETERS, context_lanes, gradients, score_rows
from w2v_sgns.kernels.simd import I64, Lanes, micro_kernel
from w2v_sgns.kernels.update import block_vectors, update_block
from w2v_sgns.kernels.workspace import addresses

__all__ = ["drain_loss", "mask_collisions", "set_parameters", "step", "window_step"]

LN2 = 0.6931471805599453


@njit
def set_parameters(tile, work, outputs, lr):
    """Fill the lanes' constants: output 0 has label 1, the others 0, padding counts nothing."""
    size = len(tile.outputs)
    stride = context_lanes(size)
    for n in range(len(work.parameters)):
        for lane in range(16):
            s = lane % stride
            output = n * size + s
            used = s < size and output < outputs
            work.parameters[n, 0, lane] = -LOG2E if output == 0 else LOG2E
            work.parameters[n, 1, lane] = 0 if used else MASKED
            work.parameters[n, 2, lane] = 0 if not used else lr if output == 0 else -lr
    work.loss[0], work.loss[1], work.loss[2] = 1, 0, 0


@njit
def mask_collisions(tile, work, first, outputs, lr):
    """Switch off the negatives of this window that equal its positive (--collisions drop)."""
    size = len(tile.outputs)
    stride = context_lanes(size)
    for output in range(1, outputs):
        same = work.outputs[first + output] == work.outputs[first]
        for lane in range(output % size, 16, stride):
            work.parameters[output // size, 1, lane] = MASKED if same else 0
            work.parameters[output // size, 2, lane] = 0 if same else -lr


@njit
def drain_loss(loss):
    """Return Σ softplus gathered since the last call (float64), and start again."""
    exponents = loss.view(np.int32)
    total = 0.0
    for lane in range(16):
        total += np.log(loss[0, lane]) + LN2 * (np.float64(loss[1, lane]) + exponents[2, lane])
        loss[0, lane], loss[1, lane], exponents[2, lane] = 1, 0, 0
    return total


def _emit_prefetch(v: Lanes, outputs: int, *arguments: Any) -> None:
    """f(tile, (addresses of rows, rows, column offset, bytes)): asks for a block of columns."""
    rows, count, offset, size = arguments
    lines = v.b.lshr(v.b.add(size, ir.Constant(I64, 63)), ir.Constant(I64, 6))
    with cgutils.for_range(v.b, count) as row:
        start = v.b.add(v.load(rows, v.b.mul(row.index, ir.Constant(I64, 8)), I64), offset)
        with cgutils.for_range(v.b, lines) as line:
            v.prefetch(v.b.add(start, v.b.shl(line.index, ir.Constant(I64, 6))))


prefetch_rows = micro_kernel(_emit_prefetch)


@njit(inline="always")
def step(tile, at, contexts, outs, ahead, tiles, vectors):
    """Do one step on the input rows listed at at.contexts and the output rows listed at `outs`.

    `outs` lists tiles·S rows, the true one first, padding last. Asks on the way, a block of
    columns at a time, for the tiles·S + 1 rows listed at `ahead`, which a later window needs.
    """
    size, width = len(tile.outputs), len(tile.lanes)
    stride = context_lanes(size)
    for n in range(tiles):
        z = at.scores + 4 * stride * contexts * n
        score_rows(tile, at.contexts, contexts, outs + 8 * size * n, vectors, z)
        gradients(tile, (z, stride * contexts, at.parameters + 4 * PARAMETERS * n, at.loss))
    widest = block_vectors(size, width)
    column = 0
    while column < vectors:
        count = widest
        while column + count > vectors:
            count //= 2
        offset = 4 * width * column
        if offset % 64 == 0:
            prefetch_rows(tile, (ahead, tiles * size + 1, offset, 4 * width * count))
        update_block(tile, count, tiles, at.contexts, contexts, offset, at.scores, outs, at.dh)
        column += count


def _window_step(tile, E, Ep, contexts, outputs, drop, lr, work, totals):
    """Do one single step: input rows E[contexts], output rows Ep[outputs], the first is true.

    E, Ep float32 (V, D), rows aligned to 64 bytes and padded with zeros; contexts int64[C],
    outputs int64[k + 1]; totals float64[3] += 1, C, loss.
    """
    size, width = len(tile.outputs), len(tile.lanes)
    tiles = (len(outputs) + size - 1) // size
    row_bytes = 4 * E.shape[1]
    set_parameters(tile, work, len(outputs), lr)
    work.outputs[:] = work.zero.ctypes.data
    for n in range(len(outputs)):
        work.outputs[n] = Ep.ctypes.data + outputs[n] * row_bytes
    for i in range(len(contexts)):
        work.contexts[i] = E.ctypes.data + contexts[i] * row_bytes
    if drop:
        mask_collisions(tile, work, 0, len(outputs), lr)
    at = addresses(work)
    later = at.outputs + 8 * (tiles * size + 1)
    step(tile, at, len(contexts), at.outputs, later, tiles, E.shape[1] // width)
    totals[0] += 1
    totals[1] += len(contexts)
    totals[2] += drain_loss(work.loss)


window_step: Any = compiled(_window_step)
