"""One step of the exact softmax on B input rows: blocked matrix products, memory flat in V.

Two passes over Ep, a block of words at a time: the first sums e^s (each block's largest score
taken out), the second turns the same exponentials into probabilities and updates. Exponentials
beyond HELD bytes are computed a second time instead of being held. What is computed is defined in
:mod:`w2v_sgns.objectives.softmax`; the products run on BLAS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["BLOCK", "Positives", "softmax_step"]

BLOCK = 512  # words: B scores of each stay in a core's cache
HELD = 1 << 26  # bytes of exponentials between the passes
DIVERGING = np.errstate(over="ignore", invalid="ignore")  # the loss tells
TINY = 1e-30  # a block that takes less of a row's probability adds nothing to float32 sums

Matrix = npt.NDArray[np.float32]
Map = Callable[[Callable[[int], Any], Iterable[int]], Iterator[Any]]


class Positives(NamedTuple):
    """True words of B rows, by rising word id."""

    rows: npt.NDArray[np.int64]  # (P,) 0..B−1
    words: npt.NDArray[np.int64]  # (P,) ids
    times: Matrix  # (P,) how often
    total: Matrix  # (B,) true words of each row

    def between(self, start: int, end: int) -> tuple[Any, Any, Matrix]:
        """Return rows, words − start and times of the words start..end − 1."""
        first, last = np.searchsorted(self.words, [start, end])
        return self.rows[first:last], self.words[first:last] - start, self.times[first:last]


class _Block(NamedTuple):
    """What the first pass leaves of a block of words."""

    largest: Matrix  # (B,) each row's largest score m
    sums: npt.NDArray[np.float64]  # (B,) Σ e^(s − m)
    powers: Matrix | None  # (B, words) e^(s − m), where held


def softmax_step(
    X: Matrix, Ep: Matrix, positives: Positives, lr: float, *, run: Map = map
) -> tuple[float, Matrix]:
    """Update Ep in place; return the loss before it and ∂L/∂X, both summed over all true words.

    X float32 (B, d), Ep float32 (V, d) with rows of any stride; `run` maps blocks, in any order.
    """
    starts = range(0, len(Ep), BLOCK)
    held = HELD // (4 * len(X))  # words

    def first(start: int) -> _Block:
        return _first_pass(X, Ep[start : start + BLOCK], hold=start + BLOCK <= held)

    blocks = list(run(first, starts))
    log_sum = _log_sum(blocks)

    def second(start: int) -> tuple[float, Matrix]:
        block = blocks[start // BLOCK]
        return _second_pass(X, Ep[start : start + BLOCK], start, block, positives, log_sum, lr)

    loss, dX = float(positives.total @ log_sum), np.zeros_like(X)
    for true, part in run(second, starts):  # in the order of the blocks, whoever computed them
        loss -= true
        dX += part
    return loss, dX


@DIVERGING
def _first_pass(X: Matrix, words: Matrix, *, hold: bool) -> _Block:
    scores = X @ words.T
    largest = scores.max(axis=1)
    _powers(scores, largest)
    return _Block(largest, scores.sum(axis=1, dtype=np.float64), scores if hold else None)


def _powers(scores: Matrix, largest: Matrix) -> Matrix:
    """Turn scores into e^(s − largest), in place."""
    np.subtract(scores, largest[:, None], out=scores)
    return np.exp(scores, out=scores)


@DIVERGING
def _log_sum(blocks: list[_Block]) -> npt.NDArray[np.float64]:
    """Return log Σ e^s of each row over all blocks."""
    most = np.max([block.largest for block in blocks], axis=0).astype(np.float64)
    return most + np.log(sum(block.sums * np.exp(block.largest - most) for block in blocks))


@DIVERGING
def _second_pass(
    X: Matrix,
    words: Matrix,
    start: int,
    block: _Block,
    positives: Positives,
    log_sum: npt.NDArray[np.float64],
    lr: float,
) -> tuple[float, Matrix]:
    """Update a block of output rows; return Σ s over its true words, and its share of ∂L/∂X."""
    rows, places, times = positives.between(start, start + len(words))
    true = np.einsum("pd,pd->p", X[rows], words[places])
    errors = _powers(X @ words.T, block.largest) if block.powers is None else block.powers
    # true words · e^m / Σ e^s, the factor that makes them errors, goes to the smaller side
    share = np.maximum(positives.total * np.exp(block.largest - log_sum), TINY)
    share = share.astype(np.float32)[:, None]
    errors[rows, places] -= times / share[rows, 0]  # each (row, word) stands once
    dX = share * (errors @ words)
    words -= errors.T @ (np.float32(lr) * share * X)
    return float(times @ true.astype(np.float64)), dX
