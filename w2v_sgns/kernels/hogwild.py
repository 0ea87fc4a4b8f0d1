"""The shard driver: one window step, one chunk of the corpus, all threads.

Hogwild (Niu, Recht, Ré, Wright 2011): every thread updates the same E and Ep without locks.
The step is defined in :mod:`w2v_sgns.objectives.sgns`; a float64 twin replays its draws in the
tests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit
from numba.core import cgutils

from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.rng import STEP
from w2v_sgns.kernels.score import (
    MASKED,
    PARAMETERS,
    context_lanes,
    gradients,
    lanes_of,
    score_rows,
)
from w2v_sgns.kernels.simd import I64, Lanes, Tile, micro_kernel
from w2v_sgns.kernels.update import block_vectors, update_block
from w2v_sgns.kernels.windows import CHUNK, draw_noise, kept_windows

__all__ = ["Workspace", "train_chunk", "window_step", "workspace"]

LOSS = 48  # floats: see score.gradients
LOSS_TERMS = 8192  # added in float32 before they move on to float64
AHEAD = 3  # centres whose rows are asked for before they are needed
AHEAD_BYTES = 24_576  # ... but never more than this
LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453


def _emit_prefetch(v: Lanes, outputs: int, *arguments: Any) -> None:
    """f(tile, (addresses of rows, rows, column offset, bytes)): asks for a block of columns."""
    rows, count, offset, size = arguments
    lines = v.b.lshr(v.b.add(size, ir.Constant(I64, 63)), ir.Constant(I64, 6))
    with cgutils.for_range(v.b, count) as row:
        start = v.b.add(v.load(rows, v.b.mul(row.index, ir.Constant(I64, 8)), I64), offset)
        with cgutils.for_range(v.b, lines) as line:
            v.prefetch(v.b.add(start, v.b.shl(line.index, ir.Constant(I64, 6))))


prefetch_rows = micro_kernel(_emit_prefetch)


class Workspace(NamedTuple):
    """One thread's memory, reused for every chunk. Floats start at a multiple of 64 bytes."""

    words: npt.NDArray[np.int32]  # kept words of a chunk and its halo
    low_edge: npt.NDArray[np.int32]
    high_edge: npt.NDArray[np.int32]
    outputs: npt.NDArray[np.int64]  # a batch: addresses of output rows, and of one context row
    contexts: npt.NDArray[np.int64]  # addresses of the window's context rows
    parameters: npt.NDArray[np.float32]  # (tiles, 3, 16): sign·log2(e), bias, ±lr
    loss: npt.NDArray[np.float32]  # (3, 16)
    scores: npt.NDArray[np.float32]
    dh: npt.NDArray[np.float32]
    zero: npt.NDArray[np.float32]  # a row of zeros: stands for outputs that pad the last tile


def workspace(tile: Tile, *, window: int, outputs: int, dim: int) -> Workspace:
    """Allocate a thread's workspace for windows of up to 2·window contexts."""
    size, width = len(tile.outputs), len(tile.lanes)
    tiles = -(-outputs // size)
    contexts = 2 * window + 16
    batch = batch_size(tiles * size)
    kept = CHUNK + 2 * window + 1
    return Workspace(
        words=np.zeros(kept, np.int32),
        low_edge=np.zeros(kept, np.int32),
        high_edge=np.zeros(kept, np.int32),
        outputs=np.zeros((batch + AHEAD) * (tiles * size + 1), np.int64),
        contexts=np.zeros(contexts, np.int64),
        parameters=_aligned(tiles * PARAMETERS).reshape(tiles, 3, 16),
        loss=_aligned(LOSS).reshape(3, 16),
        scores=_aligned(tiles * lanes_of(size) * contexts + 16),
        dh=_aligned(4 * width * size * tiles),
        zero=_aligned(dim + 32),
    )


def _aligned(floats: int) -> npt.NDArray[np.float32]:
    memory = np.zeros(floats + 16, np.float32)
    start = -memory.ctypes.data % 64 // 4
    return memory[start : start + floats]


def batch_size(outputs: int) -> int:
    """Return the centres whose negatives are drawn at once: their addresses fit 64 KiB."""
    return max(16, min(1024, 8192 // (outputs + 1)))


batch_of = njit(inline="always")(batch_size)


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


class Addresses(NamedTuple):
    """Where a workspace's arrays lie; valid as long as the workspace itself is held."""

    contexts: int
    outputs: int
    parameters: int
    loss: int
    scores: int
    dh: int


@njit(inline="always")
def addresses(work):
    """Return the addresses that `step` works with."""
    return Addresses(
        work.contexts.ctypes.data,
        work.outputs.ctypes.data,
        work.parameters.ctypes.data,
        work.loss.ctypes.data,
        work.scores.ctypes.data,
        work.dh.ctypes.data,
    )


@njit(inline="always")
def step(tile, at, contexts, outs, ahead, outputs, vectors):
    """One window step on the input rows at.contexts and the `outputs` output rows at `outs`.

    Asks on the way for the outputs + 1 rows listed at `ahead`, which a later window needs.
    """
    size, width = len(tile.outputs), len(tile.lanes)
    tiles = (outputs + size - 1) // size
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
            prefetch_rows(tile, (ahead, outputs + 1, offset, 4 * width * count))
        update_block(tile, count, tiles, at.contexts, contexts, offset, at.scores, outs, at.dh)
        column += count


def _train_chunk(
    tile,
    tokens,
    chunk,
    keep,
    noise,
    E,
    Ep,
    dim,
    window,
    fixed,
    negatives,
    drop,
    lr,
    seeds,
    stop,
    work,
    totals,
):
    """Train on one chunk: tokens[chunk·CHUNK : (chunk + 1)·CHUNK].

    tokens uint32[n]; keep uint32[V]; noise uint64[V]; E, Ep float32 (V, D), rows aligned to 64
    bytes, zero from `dim` on; seeds uint64[2h + 2]: windows of h chunks before, this one, the h
    next, and noise of this one (h·CHUNK ≥ window); stop uint8[1]: non-zero ends the
    call after the current batch.
    totals float64[3] += kept tokens, pairs, Σ loss.
    """
    size, width = len(tile.outputs), len(tile.lanes)
    outputs = negatives + 1
    tiles = (outputs + size - 1) // size
    padded = tiles * size
    row_bytes = 4 * E.shape[1]
    ahead = max(1, min(AHEAD, AHEAD_BYTES // ((outputs + 1) * row_bytes)))
    vectors = (dim + width - 1) // width
    E_rows, Ep_rows, zero = E.ctypes.data, Ep.ctypes.data, work.zero.ctypes.data
    at = addresses(work)
    words, low_edge, high_edge = work.words, work.low_edge, work.high_edge
    window_rows, output_rows = work.contexts, work.outputs
    set_parameters(tile, work, outputs, lr)
    start = chunk * CHUNK
    end = min(start + CHUNK, len(tokens))
    begin, final = kept_windows(
        tokens, start, end, window, fixed, seeds, keep, words, low_edge, high_edge
    )
    state = seeds[len(seeds) - 1]
    added = 0  # terms in a lane of the loss
    batch = batch_of(padded)
    for low in range(begin, final, batch):
        if stop[0]:
            break
        high = min(low + batch, final)
        slot = 0
        for t in range(low, high):
            output_rows[slot] = Ep_rows + words[t] * row_bytes
            for n in range(1, outputs):
                state += STEP
                output_rows[slot + n] = Ep_rows + draw_noise(state, noise) * row_bytes
            for n in range(outputs, padded):
                output_rows[slot + n] = zero
            entering = min(t + window, high_edge[t] - 1)
            output_rows[slot + padded] = E_rows + words[entering] * row_bytes
            slot += padded + 1
        output_rows[slot : slot + ahead * (padded + 1)] = zero
        slot = 0
        for t in range(low, high):
            contexts = 0
            for j in range(low_edge[t], high_edge[t]):
                window_rows[contexts] = E_rows + words[j] * row_bytes
                contexts += int(j != t)
            if drop:
                mask_collisions(tile, work, slot, outputs, lr)
            outs = at.outputs + 8 * slot
            if contexts == 0:
                slot += padded + 1
                continue
            step(tile, at, contexts, outs, outs + 8 * ahead * (padded + 1), outputs, vectors)
            totals[1] += contexts
            slot += padded + 1
            added += contexts * tiles
            if added >= LOSS_TERMS:
                totals[2] += drain_loss(work.loss)
                added = 0
        totals[0] += high - low
    totals[2] += drain_loss(work.loss)


train_chunk: Any = compiled(_train_chunk)


def _window_step(tile, E, Ep, dim, contexts, outputs, drop, lr, work, totals):
    """One single window step: input rows E[contexts], output rows Ep[outputs] (the first is true).

    contexts int64[C], outputs int64[k + 1]; totals as in train_chunk.
    """
    size, width = len(tile.outputs), len(tile.lanes)
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
    later = at.outputs + 8 * ((len(outputs) + size - 1) // size * size + 1)
    step(tile, at, len(contexts), at.outputs, later, len(outputs), (dim + width - 1) // width)
    totals[0] += 1
    totals[1] += len(contexts)
    totals[2] += drain_loss(work.loss)


window_step: Any = compiled(_window_step)
