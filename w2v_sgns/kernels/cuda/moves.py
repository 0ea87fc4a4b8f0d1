"""The arithmetic of a batch of shared noise: how hard each score pulls, and what that moves.

X, T, N are the old rows of contexts (one a pair), true words (one a window) and noise words;
G and g are lr·(−∂L/∂s) of each pair's noise and of its true word. All threads call these together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from w2v_sgns.kernels.cuda.cost import COSTS
from w2v_sgns.kernels.cuda.products import products_for
from w2v_sgns.kernels.cuda.tiles import EACH, BatchShape
from w2v_sgns.kernels.cuda.warp import device, row_access

__all__ = ["Moves", "moves_for"]

ZERO = np.float32(0)


class Moves(NamedTuple):
    """Device functions; their arguments are those of the functions below."""

    pull_true: Any
    pull_noise: Any
    move_noise: Any
    move_true: Any
    move_contexts: Any


def moves_for(
    shape: BatchShape,
    objective: str,
    bias_column: int | None,
    drop: bool,
    vectors: bool,
    weight: float,
) -> Moves:
    """Return the functions for one kind of training; see batch_kernel."""
    threads, floats, columns, side = shape.threads, shape.floats, shape.columns, shape.side
    noise, noise_rows = shape.noise, shape.noise_rows
    across, quads = side // EACH, floats // EACH
    has_shift, share = objective != "sgns", np.float32(weight)
    bias_place = -1 if bias_column is None else bias_column
    cost_of = COSTS[objective]
    rows_by_rows, columns_by_columns, rows_by_columns = products_for(shape)
    _, _, add = row_access(EACH, vectors=vectors)

    @device
    def pull_true(g, X, T, windows, words, begin, shifts, pairs, padded, rate, thread):
        """Fill g, with zeros behind the pairs; return this thread's Σ loss."""
        loss = ZERO
        for i in range(thread, padded, threads):
            g[i] = ZERO
            if i < pairs:
                row, score = windows[i], ZERO
                for j in range(floats):
                    score += X[i * columns + j] * T[row * columns + j]
                shift = shifts[words[begin + row]] if has_shift else ZERO
                pull, cost = cost_of(score, True, shift)
                g[i] = rate * pull
                loss += cost
        return loss

    @device
    def pull_noise(
        G, X, N, windows, words, begin, drawn, shifts, pairs, padded, rate, room, thread
    ):
        """Fill G, with zeros where nothing counts; return this thread's Σ loss.

        room: as a product takes it, (tile, a, b, left, right).
        """
        tile, a, b, left, right = room
        y, x = thread // across * EACH, thread % across * EACH
        loss = ZERO
        for first in range(0, padded, side):
            for part in range(0, noise_rows, side):
                rows_by_rows(
                    tile, a, b, left, right, X, columns, first, N, columns, part, columns, thread
                )
                for v in range(EACH):
                    i = first + y + v
                    true_word = words[begin + windows[i]] if i < pairs else -1
                    for u in range(EACH):
                        n, move = part + x + u, ZERO
                        if true_word >= 0 and n < noise and not (drop and drawn[n] == true_word):
                            shift = shifts[drawn[n]] if has_shift else ZERO
                            pull, cost = cost_of(tile[v * EACH + u], False, shift)
                            move = rate * share * pull
                            loss += share * cost
                        G[i * noise_rows + n] = move
        return loss

    @device
    def move_noise(Ep, G, X, drawn, padded, room, thread):
        """Add to each noise word's row what all pairs' contexts make of it."""
        tile, a, b, left, right = room
        y, x = thread // across * EACH, thread % across * EACH
        for part in range(0, noise_rows, side):
            for column in range(0, columns, side):
                columns_by_columns(
                    tile, a, b, left, right, G, noise_rows, part, X, columns, column, padded, thread
                )
                for v in range(EACH):
                    n, j = part + y + v, column + x
                    if n < noise and j < floats:
                        add(Ep, np.int64(drawn[n]) * floats + j, tile, v * EACH)

    @device
    def move_true(Ep, g, X, words, begin, rows, starts, quad, thread):
        """Add to each true word's row what its window's contexts make of it."""
        for at in range(thread, rows * quads, threads):
            row, j = at // quads, at % quads * EACH
            for u in range(EACH):
                quad[u] = ZERO
            for i in range(starts[row], starts[row + 1]):
                for u in range(EACH):
                    quad[u] += g[i] * X[i * columns + j + u]
            add(Ep, np.int64(words[begin + row]) * floats + j, quad, 0)

    @device
    def move_contexts(E, G, N, g, T, windows, contexts, pairs, room, thread):
        """Add to each pair's context what its outputs, the old ones, make of it."""
        tile, a, b, left, right = room
        y, x = thread // across * EACH, thread % across * EACH
        for first in range(0, pairs, side):
            for column in range(0, columns, side):
                rows_by_columns(
                    tile, a, b, left, right, G, noise_rows, first, N, columns, column, noise_rows,
                    thread,
                )  # fmt: skip
                for v in range(EACH):
                    i, j = first + y + v, column + x
                    if i < pairs and j < floats:
                        for u in range(EACH):
                            tile[v * EACH + u] += g[i] * T[windows[i] * columns + j + u]
                            if j + u == bias_place:
                                tile[v * EACH + u] = ZERO  # E's 1 stays
                        add(E, np.int64(contexts[i]) * floats + j, tile, v * EACH)

    return Moves(pull_true, pull_noise, move_noise, move_true, move_contexts)
