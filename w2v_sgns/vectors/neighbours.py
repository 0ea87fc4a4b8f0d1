"""Exact search for the rows of largest cosine, in blocks of a matrix that may be a mapped file.

Float32 products find the few rows that could win; their cosines are then worked out in float64,
so the order does not depend on block sizes or on how a product was summed. No index is built
and no row is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2v_sgns.errors import ConfigError

__all__ = ["Hits", "check_counts", "nearest", "unit"]

BLOCK_BYTES = 1 << 21  # of rows a step: stays in the cache between norms and products
PRODUCT_BYTES = 1 << 24  # of rows a matrix product: its threads meet less often
MOST_THREADS = 4  # memory bandwidth ends here
# So many queries are summed row by row by our own threads; more are worth a matrix product, whose
# library has threads of its own (for one query those cost more than they bring).
FEW_QUERIES = 4
UNIT_ROUNDOFF = 2.0**-24  # of float32
# Squared float32 norms outside have lost digits to underflow or overflow: float64 decides.
SAFE_SQUARES = (1e-30, 1e37)
TIE_DIGITS = 12  # cosines equal to so many digits are a tie; float64 errs in the 15th

Hits = list[tuple[int, float]]


def nearest(
    matrix: NDArray[np.float32],
    queries: ArrayLike,
    *,
    topn: int = 10,
    restrict: int | None = None,
    exclude: Sequence[Sequence[int]] | None = None,
) -> list[Hits]:
    """Return for each query the (row, cosine) of the nearest rows, best first, ties by row.

    Args:
        matrix: float32 (V, d), any strides.
        queries: (n, d); one pass over the matrix answers all of them.
        topn: most hits a query.
        restrict: only the first so many rows compete (the most frequent words).
        exclude: for each query, rows that must not win.

    Zero rows and rows that are not finite never win. A query that is zero or not finite has no
    direction and gets an empty list.

    Raises:
        ConfigError: `topn` or `restrict` is below 1, or the widths differ.
    """
    check_counts(topn, restrict)
    directions = unit(np.atleast_2d(np.asarray(queries, np.float64)))
    if directions.shape[1] != matrix.shape[1]:
        raise ConfigError(f"a query has {directions.shape[1]} numbers, needed: {matrix.shape[1]}")
    exclude = [()] * len(directions) if exclude is None else exclude
    answers: list[Hits] = [[] for _ in directions]
    asked = np.flatnonzero((directions != 0).any(axis=1)).tolist()
    if asked:
        search = _Search(matrix[:restrict], directions[asked], topn, [exclude[i] for i in asked])
        for place, hits in zip(asked, search.run(), strict=True):
            answers[place] = hits
    return answers


def check_counts(topn: int, restrict: int | None) -> None:
    """Refuse to look for fewer than one word, or among fewer.

    Raises:
        ConfigError: `topn` or `restrict` is below 1.
    """
    for name, value in (("--top", topn), ("--restrict", 1 if restrict is None else restrict)):
        if value < 1:
            raise ConfigError(f"{name} must be at least 1, not {value}")


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale rows (n, d) to length 1; rows that are zero or not finite become zero."""
    with np.errstate(all="ignore"):
        largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
        scaled = vectors / largest  # no square of it can overflow or vanish
        scaled /= np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    return np.where(np.isfinite(scaled).all(axis=1, keepdims=True), scaled, 0.0)


class _Best:
    """The best `topn` of the rows seen so far, for one query."""

    def __init__(self, topn: int) -> None:
        self.topn = topn
        self.floor = -np.inf  # the cosine that a later row must exceed
        self.rows = np.empty(0, np.int64)
        self.cosines = np.empty(0, np.float64)

    def add(self, rows: NDArray[np.int64], cosines: NDArray[np.float64]) -> None:
        rows = np.concatenate([self.rows, rows])
        cosines = np.concatenate([self.cosines, cosines])
        order = np.lexsort((rows, -cosines.round(TIE_DIGITS)))[: self.topn]
        self.rows, self.cosines = rows[order], cosines[order]
        if len(order) == self.topn:
            self.floor = float(self.cosines[-1])

    def hits(self) -> Hits:
        return list(zip(self.rows.tolist(), self.cosines.clip(-1, 1).tolist(), strict=True))


# Query, rows, their cosines: what one block adds.
Found = list[tuple[int, NDArray[np.int64], NDArray[np.float64]]]


class _Search:
    """One pass over the rows for a batch of unit queries."""

    def __init__(
        self,
        rows: NDArray[np.float32],
        directions: NDArray[np.float64],
        topn: int,
        exclude: Sequence[Sequence[int]],
    ) -> None:
        self.rows = rows
        self.directions = directions
        self.queries = directions.astype(np.float32)
        self.banned = [np.array(sorted(set(some)), np.int64) for some in exclude]
        self.best = [_Best(topn) for _ in directions]
        self.topn = topn
        self.few = len(directions) <= FEW_QUERIES
        size = BLOCK_BYTES if self.few else PRODUCT_BYTES
        self.height = max(64, size // (4 * max(rows.shape[1], len(directions))))
        # Twice the worst error of a float32 score.
        self.slack = 4 * (rows.shape[1] + 4) * UNIT_ROUNDOFF

    def run(self) -> list[Hits]:
        """Search all blocks, few queries with a few threads of our own."""
        starts = range(0, len(self.rows), self.height)
        threads = min(MOST_THREADS, os.cpu_count() or 1, len(starts)) if self.few else 1
        if threads <= 1:
            self._keep(map(self._search_block, starts))
        else:
            from concurrent.futures import ThreadPoolExecutor  # costs 10 ms where it is not needed

            with ThreadPoolExecutor(threads) as pool:
                self._keep(pool.map(self._search_block, starts))
        return [best.hits() for best in self.best]

    def _keep(self, found: Iterable[Found]) -> None:
        for block in found:
            for query, rows, cosines in block:
                self.best[query].add(rows, cosines)

    def _search_block(self, start: int) -> Found:
        """Return the rows of a block that could still be among the best of a query.

        A floor read while another thread raises it only lets too many rows through.
        """
        block = self.rows[start : start + self.height]
        scores = self._scores(block)
        floors = np.array([best.floor for best in self.best]) - self.slack
        found: Found = []
        for query in np.flatnonzero(scores.max(axis=1) >= floors).tolist():
            score, banned = scores[query], self.banned[query]
            score[banned[(banned >= start) & (banned < start + len(block))] - start] = -np.inf
            near = _candidates(score, self.topn, floors[query], self.slack)
            found.append((query, near + start, _cosines(block[near], self.directions[query])))
        return found

    def _scores(self, block: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return float32 cosines (n, height); -inf for rows without a direction."""
        with np.errstate(all="ignore"):
            squares = np.einsum("ij,ij->i", block, block)
            scores: NDArray[np.float32] = self._products(block) / np.sqrt(squares)
        low, high = SAFE_SQUARES
        unsafe = np.flatnonzero(~((squares > low) & (squares < high)))
        if len(unsafe):
            exact = unit(block[unsafe].astype(np.float64))
            has_direction = (exact != 0).any(axis=1)
            scores[:, unsafe] = np.where(has_direction, self.directions @ exact.T, -np.inf)
        return scores

    def _products(self, block: NDArray[np.float32]) -> NDArray[np.float32]:
        if self.few:
            return np.stack([np.einsum("ij,j->i", block, query) for query in self.queries])
        return np.asarray(self.queries @ block.T)


def _candidates(
    score: NDArray[np.float32], topn: int, floor: float, slack: float
) -> NDArray[np.int64]:
    """Return where the score reaches the floor and comes within `slack` of the topn-th largest."""
    if len(score) > topn:
        floor = max(floor, float(np.partition(score, -topn)[-topn]) - slack)
    return np.flatnonzero(score >= max(floor, -2.0))  # -2: never the rows that must not win


def _cosines(rows: NDArray[np.float32], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the float64 cosines; the sum's order is the same for every row, so twins tie."""
    cosines: NDArray[np.float64] = (unit(rows.astype(np.float64)) * direction).sum(axis=1)
    return cosines
