"""The two passes of a window step over its contexts, for one tile of output rows.

All gradients are taken at the old values: the first pass reads contexts and outputs and keeps
lr·(−∂L/∂s) of each pair, the second moves the contexts by outputs that lie in registers still.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from w2v_sgns.kernels.cuda.cost import COSTS
from w2v_sgns.kernels.cuda.rows import Rows
from w2v_sgns.kernels.cuda.shape import GROUPS, LANES, Shape
from w2v_sgns.kernels.cuda.warp import device, load4, shuffle

__all__ = ["Passes", "passes_for"]

ZERO = np.float32(0)


class Passes(NamedTuple):
    """Device functions; their arguments are those of the functions below."""

    score_window: Any
    move_contexts: Any
    move_outputs: Any


@device
def context(words, i, low, t):
    """Return the i-th word of the window that begins at `low`, without the word at t."""
    at = low + i
    return words[np.uint32(at + (1 if at >= t else 0))]  # unsigned: nothing counts from the end


def passes_for(shape: Shape, rows: Rows, objective: str, bias_column: int | None) -> Passes:
    """Return both passes, and what adds the outputs' moves; bias_column: see train_kernel."""
    floats, outputs, tile, tiles = shape.floats, shape.outputs, shape.tile, shape.tiles
    width, held = shape.width, shape.held
    tile_floats = tile * held
    has_bias = bias_column is not None
    column = bias_column or 0
    bias_place = column // (LANES * width) * width + column % width
    bias_lane = column // width % LANES
    take, give, _, start_of, score, _ = rows
    cost_of = COSTS[objective]

    @device
    def score_window(
        words,
        low,
        t,
        contexts,
        E,
        h,
        dh,
        x,
        z,
        coming,
        room,
        part,
        live,
        is_true,
        shift,
        rate,
        lane,
    ):
        """Fill `room` with a tile's lr·(−∂L/∂s) and dh with its outputs' moves; return Σ loss.

        h: the outputs' rows; x, z, coming: room in registers; live: this lane's output counts;
        is_true: it is the true word; shift: of its score.
        """
        loss = ZERO
        for j in range(tile_floats):
            dh[j] = ZERO
        take(coming, 0, E, np.int64(context(words, 0, low, t)) * floats, lane)
        for i in range(contexts):
            for j in range(held):
                x[j] = coming[j]
            following = context(words, min(i + 1, contexts - 1), low, t)
            take(coming, 0, E, np.int64(following) * floats, lane)
            pull, cost = cost_of(score(x, h, z, lane), is_true, shift)
            gradient = rate * pull if live else ZERO
            # all four lanes of a group write the same: no lanes part
            room[np.uint32((i * tiles + part) * GROUPS + lane // 4)] = gradient
            loss += cost if live and lane & 3 == 0 else ZERO
            for q in range(tile):
                g = shuffle(gradient, 4 * q)
                for j in range(held):
                    dh[q * held + j] += g * x[j]
        return loss

    @device
    def move_contexts(words, low, t, contexts, E, h, x, z, room, part, lane):
        """Add to each context's row what a tile's outputs, still the old ones, make of it."""
        for i in range(contexts):
            at = (i * tiles + part) * GROUPS
            load4(z, 0, room, at)
            load4(z, 4, room, at + 4)
            for j in range(held):
                x[j] = ZERO
            for q in range(tile):
                for j in range(held):
                    x[j] += z[q] * h[q * held + j]
            if has_bias and lane == bias_lane:
                x[bias_place] = ZERO  # E's 1 stays
            give(E, np.int64(context(words, i, low, t)) * floats, x, 0, lane)

    @device
    def move_outputs(Ep, word, dh, part, lane):
        """Add the moves of a tile's outputs to their rows."""
        for q in range(tile):
            row = start_of(word, q)
            if part * tile + q < outputs:
                give(Ep, row, dh, q * held, lane)

    return Passes(score_window, move_contexts, move_outputs)
