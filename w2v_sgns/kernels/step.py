"""One window step: C input rows, k + 1 output rows, every gradient at the old values.

The step is defined in :mod:`w2v_sgns.objectives.window`. Here it is put together from the
micro-kernels: scores and gradients for each tile of outputs, then the update of both matrices,
one block of columns after another. Which rows these are is decided elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit
from numba.core import cgutils

from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.score import (
    COVERED,
    LOG2E,
    MASKED,
    PARAMETERS,
    SIGMOID_FORM,
    context_lanes,
    gradients,
    score_rows,
)
from w2v_sgns.kernels.simd import I64, Lanes, micro_kernel
from w2v_sgns.kernels.update import block_vectors, update_block
from w2v_sgns.kernels.workspace import addresses

__all__ = [
    "drain_loss",
    "hold_ones",
    "set_parameters",
    "shift_outputs",
    "shift_table",
    "step",
    "update_columns",
    "window_step",
]

LN2 = 0.6931471805599453


def shift_table(form: str, log_kq: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return float32[V], what the kernel shifts each word's score by, from log(k·q(w)).

    log2(e)·log(k·q) for the standard form of NCE, k·q itself for its sigmoid form: no less than
    1 / COVERED, rarer words are never drawn. SGNS shifts nothing; its table has one entry.
    """
    if form == "sgns":
        return np.zeros(1, np.float32)
    if form == "nce":
        return (LOG2E * log_kq).astype(np.float32)
    return np.exp(np.maximum(log_kq, -np.log(COVERED))).astype(np.float32)


@njit(inline="always")
def masked_shift(tile):
    """Return the shift that makes gradient and loss of an output zero."""
    return np.float32(COVERED if len(tile.form) == SIGMOID_FORM else MASKED)


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
            work.parameters[n, 1, lane] = 0 if used else masked_shift(tile)
            work.parameters[n, 2, lane] = 0 if not used else lr if output == 0 else -lr
    work.loss[0], work.loss[1], work.loss[2] = 1, 0, 0


@njit
def shift_outputs(tile, work, first, outputs, drop, lr):
    """Set what differs between windows: the outputs' shifts, and which of them count.

    NCE's scores are shifted by log k·q(w) of each output. With `drop`, negatives that equal the
    positive count nothing (--collisions drop).
    """
    size = len(tile.outputs)
    stride = context_lanes(size)
    for output in range(outputs):
        shift = work.shifts[first + output]
        if len(tile.form) != SIGMOID_FORM and output > 0:
            shift = -shift  # of log2(e)·(s − log k·q); the true word's has the other sign
        same = drop and output > 0 and work.outputs[first + output] == work.outputs[first]
        if same:
            shift = masked_shift(tile)
        for lane in range(output % size, 16, stride):
            work.parameters[output // size, 1, lane] = shift
            if drop and output > 0:
                work.parameters[output // size, 2, lane] = 0 if same else -lr


@njit(inline="always")
def hold_ones(E, words, low, high, dim):
    """Put back the 1 behind each context's row: what the output biases are the weights of.

    A bias is a column more, E's side of it constant. The update has moved E's side too.
    """
    for j in range(low, high):
        E[words[j], dim] = 1


@njit
def drain_loss(loss):
    """Return Σ softplus gathered since the last call (float64), and start again."""
    exponents = loss.view(np.int32)
    mantissas, total = 1.0, 0.0  # of 16 lanes, each below 2
    for lane in range(16):
        mantissas *= np.float64(loss[0, lane])
        total += LN2 * (np.float64(loss[1, lane]) + exponents[2, lane])
        loss[0, lane], loss[1, lane], exponents[2, lane] = 1, 0, 0
    total += np.log(mantissas)
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
    size = len(tile.outputs)
    stride = context_lanes(size)
    for n in range(tiles):
        z = at.scores + 4 * stride * contexts * n
        score_rows(tile, at.contexts, contexts, outs + 8 * size * n, 0, vectors, z)
        gradients(tile, z, stride * contexts, at.parameters + 4 * PARAMETERS * n, at.loss)
    update_columns(tile, at, at.contexts, contexts, outs, ahead, tiles, 0, vectors)


@njit(inline="always")
def update_columns(tile, at, rows, contexts, outs, ahead, tiles, first, end):
    """Update vectors first:end of the rows listed at `rows` and `outs`, from gradients at.scores.

    `ahead`: as for step.
    """
    size, width = len(tile.outputs), len(tile.lanes)
    widest = block_vectors(size, width)
    column = first
    while column < end:
        count = widest
        while column + count > end:
            count //= 2
        offset = 4 * width * column
        if offset % 64 == 0:
            prefetch_rows(tile, (ahead, tiles * size + 1, offset, 4 * width * count))
        update_block(tile, count, tiles, rows, contexts, offset, at.scores, outs, at.dh)
        column += count


def _window_step(tile, E, Ep, dim, contexts, outputs, shifts, drop, lr, work, totals):
    """Do one single step: input rows E[contexts], output rows Ep[outputs], the first is true.

    E, Ep float32 (V, D), rows aligned to 64 bytes and padded with zeros, with a bias the column
    dim is 1 in E and the bias in Ep; contexts int64[C], outputs int64[k + 1]; shifts float32: see
    shift_table; totals float64[3] += 1, C, loss.
    """
    size, width = len(tile.outputs), len(tile.lanes)
    tiles = (len(outputs) + size - 1) // size
    row_bytes = 4 * E.shape[1]
    set_parameters(tile, work, len(outputs), lr)
    work.outputs[:] = work.zero.ctypes.data
    for n in range(len(outputs)):
        work.outputs[n] = Ep.ctypes.data + outputs[n] * row_bytes
        if len(tile.form) > 1:
            work.shifts[n] = shifts[outputs[n]]
    for i in range(len(contexts)):
        work.contexts[i] = E.ctypes.data + contexts[i] * row_bytes
    if drop or len(tile.form) > 1:
        shift_outputs(tile, work, 0, len(outputs), drop, lr)
    at = addresses(work)
    later = at.outputs + 8 * (tiles * size + 1)
    step(tile, at, len(contexts), at.outputs, later, tiles, E.shape[1] // width)
    if len(tile.bias) > 1:
        hold_ones(E, contexts, 0, len(contexts), dim)
    totals[0] += 1
    totals[1] += len(contexts)
    totals[2] += drain_loss(work.loss)


window_step: Any = compiled(_window_step)
