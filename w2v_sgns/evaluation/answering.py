"""Answers to thousands of analogy questions in one pass over the rows.

Questions share their words and their pairs a : b, so a block of rows is multiplied once with every
word, in float32, and a question costs a sum. Where the two best rows, or the K-th and the next, lie
within what float32 can be wrong by, a second pass finds the few rows in question and float64
decides. Words, files and scores are the business of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.vectors.neighbours import TIE_DIGITS, UNIT_ROUNDOFF, unit
from w2v_sgns.vectors.products import EPSILON

__all__ = ["Answers", "RowQuestions", "answer"]

BLOCK_ROWS = 1 << 11
BATCH = 128  # questions a step: 1 MB of scores, which stays in the cache
# A product's float32 error is bounded while 1 + cos(a) is above this for all rows; below it, every
# row with a tenth of the best score is looked at again.
SHAKY = 0.25
LOOK_AGAIN = 0.1

Rows = NDArray[np.int64]
Scores = NDArray[np.float32]


@dataclass(frozen=True)
class RowQuestions:
    """Questions a : b = c : ? as rows; `accepted` and `banned` hold one list of rows a question."""

    a: Rows
    b: Rows
    c: Rows
    accepted: Sequence[Sequence[int]]
    banned: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Answers:
    """The row given to each question, -1 for none; whether an accepted one is among the first."""

    rows: Rows
    right: NDArray[np.bool_]


def answer(
    matrix: NDArray[np.float32], questions: RowQuestions, *, method: str = "add", at: int = 1
) -> Answers:
    """Answer all questions among the rows of a matrix.

    Args:
        matrix: float32 (N, d), the rows that may answer.
        questions: what is asked.
        method: `add`, the cosine to b - a + c of unit vectors; `mul`, products of shifted cosines.
        at: a question is right if an accepted row is among the first so many.

    Ties go to the lower row; rows without a direction never win.
    """
    scores = _Scores(matrix, questions, multiply=method == "mul")
    search = _Search(scores, questions, at)
    return search.run()


class _Scores:
    """Scores of rows for questions: float32 by blocks, float64 for single rows."""

    def __init__(
        self, matrix: NDArray[np.float32], questions: RowQuestions, *, multiply: bool
    ) -> None:
        self.matrix, self.multiply = matrix, multiply
        words, places = np.unique(
            np.concatenate([questions.a, questions.b, questions.c]), return_inverse=True
        )
        self.a, self.b, self.c = places.reshape(3, -1)
        self.directions = unit(matrix[words].astype(np.float64))  # (words, d)
        pairs, self.pair = np.unique(self.a * len(words) + self.b, return_inverse=True)
        self.pair_a, self.pair_b = np.divmod(pairs, len(words))
        self.smallest = np.full(len(words), np.inf, np.float32)  # factor of a word so far
        self.banned_question, self.banned_row = _flat(questions.banned)
        roundoff = (matrix.shape[1] + 4) * UNIT_ROUNDOFF
        self.slack = (16 if multiply else 6) * roundoff  # relative for products

    def blocks(self, chosen: Rows) -> Iterator[tuple[Rows, int, Scores]]:
        """Yield questions, the first row, and their scores (questions, rows); -inf cannot win."""
        banned = np.isin(self.banned_question, chosen)
        question = np.searchsorted(chosen, self.banned_question[banned])
        row = self.banned_row[banned]
        for start in range(0, len(self.matrix), BLOCK_ROWS):
            words, pairs, without = self._tables(start)
            here = (row >= start) & (row < start + words.shape[1])
            of, column = question[here], row[here] - start
            for first in range(0, len(chosen), BATCH):
                places = chosen[first : first + BATCH]
                scores = self._combine(words[self.c[places]], pairs[self.pair[places]])
                scores[:, without] = -np.inf
                left, right = np.searchsorted(of, [first, first + BATCH])
                scores[of[left:right] - first, column[left:right]] = -np.inf
                yield places, start, scores

    def _tables(self, start: int) -> tuple[Scores, Scores, Rows]:
        """Return the words' and the pairs' part of the score, and the columns of no direction."""
        block = unit(self.matrix[start : start + BLOCK_ROWS].astype(np.float64))
        without = np.flatnonzero(~(block != 0).any(axis=1)).astype(np.int64)
        words: Scores = self.directions.astype(np.float32) @ block.astype(np.float32).T
        if not self.multiply:
            return words, words[self.pair_b] - words[self.pair_a], without
        words = np.asarray((words + 1) / 2, np.float32)
        np.minimum(self.smallest, words.min(axis=1), out=self.smallest)
        return words, words[self.pair_b] / (words[self.pair_a] + np.float32(EPSILON)), without

    def _combine(self, words: Scores, pairs: Scores) -> Scores:
        if self.multiply:
            words *= pairs
        else:
            words += pairs
        return words

    def exact(self, question: Rows, row: Rows) -> NDArray[np.float64]:
        """Return the float64 score of one row for one question each; -inf without a direction."""
        rows = unit(self.matrix[row].astype(np.float64))
        words = [self.directions[places[question]] for places in (self.a, self.b, self.c)]
        if self.multiply:
            a, b, c = ((1 + (word * rows).sum(axis=1)) / 2 for word in words)
            scores = b * c / (a + EPSILON)
        else:
            scores = ((words[1] - words[0] + words[2]) * rows).sum(axis=1)
        return np.where((rows != 0).any(axis=1), scores, -np.inf)

    def margin(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return what a score may be away from another and still be the same."""
        return np.asarray(self.slack * (np.abs(scores) if self.multiply else 1))

    def shaky(self) -> NDArray[np.bool_]:
        """Return the questions whose float32 scores may be far off; asked after a pass."""
        return np.asarray((self.smallest < SHAKY / 2)[self.a] & self.multiply)

    def directed(self) -> NDArray[np.bool_]:
        """Return the questions that have a direction to look in."""
        if self.multiply:
            return np.ones(len(self.a), np.bool_)
        sums = self.directions[self.b] - self.directions[self.a] + self.directions[self.c]
        return np.asarray((sums != 0).any(axis=1))


class _Search:
    """The best and the second best row of every question, and where the accepted ones stand."""

    def __init__(self, scores: _Scores, questions: RowQuestions, at: int) -> None:
        self.scores, self.accepted, self.at = scores, questions.accepted, at
        count = len(questions.a)
        self.row = np.full(count, -1, np.int64)
        self.best = np.full(count, -np.inf, np.float32)
        self.second = np.full(count, -np.inf, np.float32)
        self.above = np.zeros(count, np.int64)  # rows surely better than the accepted ones
        self.close = np.zeros(count, np.int64)  # those that may be better, and the accepted
        target = np.full(count, -np.inf)
        question, row = _flat(questions.accepted)
        np.maximum.at(target, question, scores.exact(question, row))
        known = np.isfinite(target)
        slack = scores.margin(np.where(known, target, 0))
        self.low = np.where(known, target - slack, np.inf).astype(np.float32)
        self.high = np.where(known, target + slack, np.inf).astype(np.float32)

    def run(self) -> Answers:
        """Search, decide what float32 left open, and judge."""
        with np.errstate(invalid="ignore"):  # -inf from -inf where no row can answer
            for places, start, scores in self.scores.blocks(np.arange(len(self.row))):
                self._keep(places, start, scores)
            directed = self.scores.directed() & (self.best > -np.inf)
            self.row[~directed] = -1
            if self.at == 1:
                right = _is_in(self.row, self.accepted)
            else:
                right = (self.close >= 1) & (self.close <= self.at) & directed
            self._decide(np.flatnonzero(self._unsure() & directed), right)
        return Answers(self.row, right)

    def _keep(self, places: Rows, start: int, scores: Scores) -> None:
        """Merge a block's best and second best with those so far; a later row must be better."""
        if self.at > 1:
            self.above[places] += (scores > self.high[places, None]).sum(axis=1)
            self.close[places] += (scores >= self.low[places, None]).sum(axis=1)
        lines, column = np.arange(len(places)), scores.argmax(axis=1)
        best, old = scores[lines, column], self.best[places]
        scores[lines, column] = -np.inf
        loser = np.minimum(best, old)
        self.second[places] = np.maximum.reduce([self.second[places], scores.max(axis=1), loser])
        self.row[places] = np.where(best > old, column + start, self.row[places])
        self.best[places] = np.maximum(best, old)

    def _unsure(self) -> NDArray[np.bool_]:
        unsure = self.second >= self.best - self.scores.margin(self.best)
        if self.at > 1:
            unsure |= (self.close > self.at) & (self.above < self.at)
        return np.asarray(unsure | self.scores.shaky())

    def _decide(self, chosen: Rows, right: NDArray[np.bool_]) -> None:
        """Look again for all rows that could matter, and rank them in float64."""
        if not len(chosen):
            return
        least = self.best - self.scores.margin(self.best)
        if self.at > 1:
            least = np.minimum(least, self.low)
        least = np.where(self.scores.shaky(), LOOK_AGAIN * least, least)
        questions, rows = [], []
        for places, start, scores in self.scores.blocks(chosen):
            line, column = np.nonzero(scores >= least[places, None])
            questions.append(places[line])
            rows.append(column + start)
        question, row = np.concatenate(questions), np.concatenate(rows)
        exact = self.scores.exact(question, row).round(TIE_DIGITS)
        order = np.lexsort((row, -exact, question))
        question, row = question[order], row[order]
        for place in chosen.tolist():
            left, stop = np.searchsorted(question, [place, place + 1])
            first = row[left:stop][: self.at].tolist()
            self.row[place] = first[0]
            right[place] = not set(first).isdisjoint(self.accepted[place])


def _flat(lists: Sequence[Sequence[int]]) -> tuple[Rows, Rows]:
    """Return (question, row) of all entries, the questions rising."""
    question = np.repeat(np.arange(len(lists)), [len(rows) for rows in lists])
    return question, np.array([row for rows in lists for row in rows], np.int64)


def _is_in(rows: Rows, lists: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    return np.array([row in some for row, some in zip(rows.tolist(), lists, strict=True)], np.bool_)
