"""Exact search for the rows of largest cosine, in blocks of a matrix that may be a mapped file.

Float32 products find the few rows that could win; their cosines are then worked out in float64,
so the order does not depend on block sizes or on how a product was summed. No index is built
and no row is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2v_sgns.errors import ConfigError

__all__ = ["nearest", "unit"]

BLOCK_BYTES = 1 << 21  # of rows a step: stays in the cache between norms and products
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
    for name, value in (("--top", topn), ("--restrict", 1 if restrict is None else restrict)):
        if value < 1:
            raise ConfigError(f"{name} must be at least 1, not {value}")
    directions = unit(np.atleast_2d(np.asarray(queries, np.float64)))
    if directions.shape[1] != matrix.shape[1]:
        raise ConfigError(f"a query has {directions.shape[1]} numbers, needed: {matrix.shape[1]}")
    rows = matrix[:restrict]
    banned = [np.array(sorted(set(some)), np.int64) for some in exclude or [()] * len(directions)]
    best = [_Best(topn) for _ in directions]
    for hits in _in_order(rows, directions, topn, banned) if directions.any() else ():
        for keeper, (found, cosines) in zip(best, hits, strict=True):
            keeper.add(found, cosines)
    asked = zip(best, directions.any(axis=1), strict=True)
    return [keeper.hits() if has_direction else [] for keeper, has_direction in asked]


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
        self.rows = np.empty(0, np.int64)
        self.cosines = np.empty(0, np.float64)

    def add(self, rows: NDArray[np.int64], cosines: NDArray[np.float64]) -> None:
        rows = np.concatenate([self.rows, rows])
        cosines = np.concatenate([self.cosines, cosines])
        order = np.lexsort((rows, -cosines.round(TIE_DIGITS)))[: self.topn]
        self.rows, self.cosines = rows[order], cosines[order]

    def hits(self) -> Hits:
        return list(zip(self.rows.tolist(), self.cosines.clip(-1, 1).tolist(), strict=True))


Found = list[tuple[NDArray[np.int64], NDArray[np.float64]]]


def _in_order(
    rows: NDArray[np.float32],
    directions: NDArray[np.float64],
    topn: int,
    banned: list[NDArray[np.int64]],
) -> Iterator[Found]:
    """Yield the candidates of every block, in the order of rows."""
    height = max(64, BLOCK_BYTES // (4 * max(rows.shape[1], len(directions))))
    starts = range(0, len(rows), height)

    def search(start: int) -> Found:
        return _search_block(rows[start : start + height], start, directions, topn, banned)

    threads = min(MOST_THREADS, os.cpu_count() or 1, len(starts))
    if threads <= 1 or len(directions) > FEW_QUERIES:
        yield from map(search, starts)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(search, starts)


def _search_block(
    block: NDArray[np.float32],
    start: int,
    directions: NDArray[np.float64],
    topn: int,
    banned: list[NDArray[np.int64]],
) -> Found:
    """Return for each query the rows of this block that could be among its best."""
    with np.errstate(all="ignore"):
        squares = np.einsum("ij,ij->i", block, block)
        scores = _products(block, directions.astype(np.float32)) / np.sqrt(squares)
    low, high = SAFE_SQUARES
    unsafe = np.flatnonzero(~((squares > low) & (squares < high)))
    if len(unsafe):
        exact = unit(block[unsafe].astype(np.float64))
        scores[:, unsafe] = np.where(exact.any(axis=1), directions @ exact.T, -np.inf)
    slack = 4 * (block.shape[1] + 4) * UNIT_ROUNDOFF  # twice the worst error of a score
    found = []
    for score, direction, rows in zip(scores, directions, banned, strict=True):
        inside = rows[(rows >= start) & (rows < start + len(score))]
        score[inside - start] = -np.inf
        near = _candidates(score, topn, slack)
        found.append((near + start, _cosines(block[near], direction)))
    return found


def _products(block: NDArray[np.float32], queries: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the products (n, height) of every query with every row."""
    if len(queries) > FEW_QUERIES:
        return queries @ block.T
    return np.stack([np.einsum("ij,j->i", block, query) for query in queries])


def _candidates(score: NDArray[Any], topn: int, slack: float) -> NDArray[np.int64]:
    """Return where the score is within `slack` of the topn-th largest, or above."""
    threshold = np.partition(score, -topn)[-topn] - slack if len(score) > topn else -np.inf
    return np.flatnonzero(score >= max(threshold, -2.0))  # -2: rows that must not win


def _cosines(rows: NDArray[np.float32], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the float64 cosines; the sum's order is the same for every row, so twins tie."""
    cosines: NDArray[np.float64] = (unit(rows.astype(np.float64)) * direction).sum(axis=1)
    return cosines
