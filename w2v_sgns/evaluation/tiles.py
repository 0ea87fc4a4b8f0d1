"""Scores of rows for analogy questions, from two tables cut into tiles of a few rows.

Questions share their words c and their pairs a : b, so the score of a row is one number from the
table of the words joined with one from the table of the pairs: their sum (3CosAdd) or their product
(3CosMul). The largest numbers of a tile in both tables bound what its rows can score together, so
that most tiles need not be looked at. Which ones are, is answering.py's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.vectors.neighbours import UNIT_ROUNDOFF, unit
from w2v_sgns.vectors.products import EPSILON

__all__ = ["TILE", "Block", "Tables"]

TILE = 16  # rows that share a bound: a cache line of float32
TABLE_BYTES = 1 << 24  # of the tables for one block of rows
EXACT_BYTES = 1 << 22  # of rows scored at once in float64
LEAST = 1e-30  # of a pair's factor: a product with minus infinity stays that
# A product's float64 error: relative, and absolute where a factor vanishes. EPSILON bounds the
# first at the error of a cosine times a million, the second at about that too.
MARGIN = 1e-6, 1e-7

Rows = NDArray[np.int64]
Scores = NDArray[np.floating]


@dataclass(frozen=True)
class Block:
    """Tables of some rows: (words, tiles, TILE) and (pairs, tiles, TILE), and their maxima."""

    start: int
    words: Scores
    pairs: Scores
    word_bounds: Scores
    pair_bounds: Scores
    join: np.ufunc

    @property
    def tiles(self) -> int:
        """How many tiles it has."""
        return int(self.words.shape[1])

    def bounds(self, word: Rows, pair: Rows) -> Scores:
        """Return what no row of a tile exceeds, (n, tiles), for n questions."""
        bounds = self.word_bounds.take(word, axis=0)
        return np.asarray(self.join(bounds, self.pair_bounds.take(pair, axis=0), out=bounds))

    def scores(self, word: Rows, pair: Rows, tile: Rows) -> Scores:
        """Return the scores of one tile for one question each, (n, TILE)."""
        words, pairs = self.words.reshape(-1, TILE), self.pairs.reshape(-1, TILE)
        scores = words.take(word * self.tiles + tile, axis=0)
        return np.asarray(
            self.join(scores, pairs.take(pair * self.tiles + tile, axis=0), out=scores)
        )


class Tables:
    """What questions a : b = c : ? score, in float32 (sums) or float64 (products).

    Attributes:
        word: int64 (n,), each question's line in the table of words.
        pair: int64 (n,), its line in the table of pairs.
    """

    def __init__(
        self, matrix: NDArray[np.float32], a: Rows, b: Rows, c: Rows, *, multiply: bool
    ) -> None:
        self.matrix, self.multiply = matrix, multiply
        self.c, self.word = np.unique(c, return_inverse=True)
        pairs, self.pair = np.unique(a * len(matrix) + b, return_inverse=True)
        self.a, self.b = np.divmod(pairs, len(matrix))
        self.of_a, self.of_b, self.of_c = (
            unit(matrix[rows].astype(np.float64)) for rows in (self.a, self.b, self.c)
        )

    def blocks(self) -> Iterator[Block]:
        """Yield the tables block by block. Rows that cannot answer score minus infinity.

        Those are rows without a direction, and the row c; where a bound is concerned, a and b too.
        """
        line = (8 if self.multiply else 4) * (len(self.a) + len(self.c))
        height = max(1, TABLE_BYTES // (line * TILE)) * TILE
        for start in range(0, len(self.matrix), height):
            rows = unit(self.matrix[start : start + height].astype(np.float64))
            if len(rows) % TILE:
                rows = np.concatenate([rows, np.zeros((-len(rows) % TILE, rows.shape[1]))])
            words, pairs = self._products(rows) if self.multiply else self._sums(rows)
            words[:, ~(rows != 0).any(axis=1)] = -np.inf
            self._forbid(words, self.c - start, -np.inf)
            for own in (self.a, self.b):
                self._forbid(pairs, own - start, LEAST if self.multiply else -np.inf)
            words, pairs = (table.reshape(len(table), -1, TILE) for table in (words, pairs))
            join = np.multiply if self.multiply else np.add
            yield Block(start, words, pairs, _largest(words), _largest(pairs), join)

    def _sums(self, rows: NDArray[np.float64]) -> tuple[Scores, Scores]:
        columns = rows.astype(np.float32).T
        of_pairs = (self.of_b - self.of_a).astype(np.float32)
        return self.of_c.astype(np.float32) @ columns, of_pairs @ columns

    def _products(self, rows: NDArray[np.float64]) -> tuple[Scores, Scores]:
        a, b, c = ((1 + of @ rows.T) / 2 for of in (self.of_a, self.of_b, self.of_c))
        return c.clip(0), b.clip(LEAST) / (a.clip(0) + EPSILON)

    @staticmethod
    def _forbid(table: Scores, column: Rows, score: float) -> None:
        """Set one column of every line, where it is in this block."""
        here = np.flatnonzero((column >= 0) & (column < table.shape[1]))
        table[here, column[here]] = score

    def exact(self, question: Rows, row: Rows) -> NDArray[np.float64]:
        """Return the float64 score of one row for one question each; -inf without a direction."""
        size = max(1, EXACT_BYTES // (8 * max(1, self.matrix.shape[1])))
        parts = [
            self._exact(
                self.word[question[at : at + size]],
                self.pair[question[at : at + size]],
                row[at : at + size],
            )
            for at in range(0, len(row), size)
        ]
        return np.concatenate([np.empty(0), *parts])

    def _exact(self, word: Rows, pair: Rows, row: Rows) -> NDArray[np.float64]:
        rows = unit(self.matrix[row].astype(np.float64))
        a, b, c = self.of_a[pair], self.of_b[pair], self.of_c[word]
        if self.multiply:
            a, b, c = ((1 + (of * rows).sum(axis=1)) / 2 for of in (a, b, c))
            scores = b * c / (a + EPSILON)
        else:
            scores = ((b - a + c) * rows).sum(axis=1)
        return np.where((rows != 0).any(axis=1), scores, -np.inf)

    def margin(self, scores: Scores) -> Scores:
        """Return how far a score of a table may be below another and still be its better."""
        if self.multiply:
            return np.asarray(MARGIN[0] * np.abs(scores) + MARGIN[1])
        return np.full(len(scores), 6 * (self.matrix.shape[1] + 4) * UNIT_ROUNDOFF)

    def directed(self) -> NDArray[np.bool_]:
        """Return the questions that have a direction to look in; products need none."""
        if self.multiply:
            return np.ones(len(self.word), np.bool_)
        sums = (self.of_b - self.of_a)[self.pair] + self.of_c[self.word]
        return np.asarray((sums != 0).any(axis=1))


def _largest(table: Scores) -> Scores:
    """Return the maximum of every tile; halving is faster than a reduction of so few."""
    while table.shape[2] > 1:
        table = np.maximum(table[:, :, 0::2], table[:, :, 1::2])
    return np.ascontiguousarray(table[:, :, 0])
