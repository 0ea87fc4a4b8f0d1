"""Exact search by products of shifted cosines (3CosMul), in float64, block by block.

The score of a row is the product of (1 + cos) / 2 over the wanted directions, divided by that over
the unwanted ones + 0.000001 (Levy and Goldberg 2014, "Linguistic Regularities in Sparse and
Explicit Word Representations"). No row is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.vectors.neighbours import Hits, check_counts, unit

__all__ = ["EPSILON", "nearest_by_product"]

BLOCK_BYTES = 1 << 23  # of a block's rows in float64
EPSILON = 1e-6
TIE_DIGITS = 12


def nearest_by_product(
    matrix: NDArray[np.float32],
    positive: NDArray[np.float64],
    negative: NDArray[np.float64],
    *,
    topn: int = 10,
    restrict: int | None = None,
    exclude: Sequence[int] = (),
) -> Hits:
    """Return the (row, score) of the rows of largest score, best first, ties by row.

    Args:
        matrix: float32 (V, d), any strides.
        positive: (p, d), of length 1; what the rows should be like.
        negative: (n, d), of length 1; what they should not be like.
        topn: most hits.
        restrict: only the first so many rows compete.
        exclude: rows that must not win.

    Zero rows and rows that are not finite never win.

    Raises:
        ConfigError: `topn` or `restrict` is below 1.
    """
    check_counts(topn, restrict)
    rows = matrix[:restrict]
    banned = np.array(sorted(set(exclude)), np.int64)
    best: Hits = []
    height = max(64, BLOCK_BYTES // (8 * max(1, rows.shape[1])))
    for start in range(0, len(rows), height):
        block = unit(rows[start : start + height].astype(np.float64))
        scores = _scores(block, positive, negative)
        scores[banned[(banned >= start) & (banned < start + len(block))] - start] = -np.inf
        best = _merge(best, scores, start, topn)
    return best


def _scores(
    block: NDArray[np.float64], positive: NDArray[np.float64], negative: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the scores of a block of unit rows; -inf for rows without a direction."""
    above = ((1 + block @ positive.T) / 2).prod(axis=1)
    below = ((1 + block @ negative.T) / 2).prod(axis=1)
    return np.where((block != 0).any(axis=1), above / (below + EPSILON), -np.inf)


def _merge(best: Hits, scores: NDArray[np.float64], start: int, topn: int) -> Hits:
    """Return the best of those so far and of a block."""
    near = np.flatnonzero(scores > -np.inf)
    if len(near) > topn:
        least = np.partition(scores[near], -topn)[-topn]
        near = near[scores[near] >= least - 1e-9 * abs(least)]
    found = [*best, *zip((near + start).tolist(), scores[near].tolist(), strict=True)]
    return sorted(found, key=lambda hit: (-round(hit[1], TIE_DIGITS), hit[0]))[:topn]
