"""Answers to thousands of analogy questions in one pass over the rows.

Only tiles of rows whose bound reaches the best found so far are looked at (tiles.py), so that most
rows cost nothing. The few that come within rounding of the best are scored again, and float64
decides. Words, files and accuracies are the business of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.evaluation.tiles import TILE, Block, Rows, Scores, Tables
from w2v_sgns.vectors.neighbours import TIE_DIGITS

__all__ = ["Answers", "RowQuestions", "answer"]

BOUNDS = 1 << 17  # of tiles a step: they stay in the cache
MOST_FOUND = 1 << 21  # rows kept for a group of questions
MOST_TOGETHER = 1 << 14  # questions of a group


@dataclass(frozen=True)
class RowQuestions:
    """Questions a : b = c : ? as rows; none of the three answers, nor does a banned row.

    Attributes:
        a, b, c: int64 (n,).
        accepted: the right answers of each question; none of them is banned.
        banned: further rows that must not answer.
    """

    a: Rows
    b: Rows
    c: Rows
    accepted: Sequence[Sequence[int]]
    banned: Sequence[Sequence[int]]

    def __len__(self) -> int:
        return len(self.a)

    def part(self, start: int, stop: int) -> RowQuestions:
        """Return some of the questions."""
        here = slice(start, stop)
        return RowQuestions(
            self.a[here], self.b[here], self.c[here], self.accepted[here], self.banned[here]
        )


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
    at = min(at, len(matrix))
    size = max(1, min(MOST_TOGETHER, MOST_FOUND // at))
    groups = [questions.part(start, start + size) for start in range(0, len(questions), size)]
    parts = [_Search(matrix, group, at, multiply=method == "mul").run() for group in groups]
    return Answers(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.right for part in parts]),
    )


class _Search:
    """One pass over the rows for a group of questions.

    Attributes:
        best: (n, at), for each question the scores of the first `at` rows so far.
    """

    def __init__(
        self, matrix: NDArray[np.float32], questions: RowQuestions, at: int, *, multiply: bool
    ) -> None:
        a, b, c = questions.a, questions.b, questions.c
        self.questions, self.at = questions, at
        self.tables = Tables(matrix, a, b, c, multiply=multiply)
        self.best = np.full((len(questions), at), -np.inf)
        self.best[~self.tables.directed()] = np.inf  # nothing comes near
        self.found: list[tuple[Rows, Rows, Scores]] = []
        self.room = MOST_FOUND  # for more
        self.accepted = _flat(questions.accepted)
        if at == 1:  # the best row is at least as good as a right one
            np.maximum.at(self.best[:, 0], self.accepted[0], self.tables.exact(*self.accepted))
        banned = [_flat(questions.banned), *((np.arange(len(a)), rows) for rows in (a, b, c))]
        question, row = (np.concatenate(parts) for parts in zip(*banned, strict=True))
        order = question.argsort(kind="stable")
        self.banned = question[order], row[order]

    def run(self) -> Answers:
        """Search all blocks; float64 decides among what was found."""
        for block in self.tables.blocks():
            banned = self._banned_in(block)
            size = max(1, BOUNDS // block.tiles)
            for start in range(0, len(self.questions), size):
                self._search(_Step(self.tables, block, slice(start, start + size), banned))
        return self._judge()

    def _banned_in(self, block: Block) -> tuple[Rows, Rows]:
        """Return the questions, rising, and their banned columns of a block."""
        question, row = self.banned
        here = (row >= block.start) & (row < block.start + block.tiles * TILE)
        return question[here], row[here] - block.start

    def _search(self, step: _Step) -> None:
        """Keep the rows of a block that may be among the first of some questions."""
        bounds = step.bounds()
        least = self._least(self._floors(step, bounds)).astype(bounds.dtype)
        line, tile = np.divmod(np.flatnonzero(bounds >= least[:, None]), bounds.shape[1])
        scores = step.scores(line, tile)
        near, column = np.divmod(np.flatnonzero(scores >= least[line, None]), TILE)
        line, score = line[near], scores[near, column]
        row = step.block.start + TILE * tile[near] + column
        self.found.append((line + step.here.start, row, score))
        self._raise(step.here, line, score)
        self.room -= len(row)
        if self.room < 0:
            self._settle()

    def _floors(self, step: _Step, bounds: Scores) -> Scores:
        """Return what the first `at` rows reach surely, once the likeliest tiles are looked at."""
        count = min(self.at, bounds.shape[1])
        if count == 1:
            tiles = bounds.argmax(axis=1)[:, None]
        else:
            tiles = np.sort(np.argpartition(bounds, -count, axis=1)[:, -count:], axis=1)
        line = np.repeat(np.arange(len(tiles)), count)
        scores = step.scores(line, tiles.ravel()).reshape(len(tiles), -1)
        seen = np.concatenate([self.best[step.here], scores], axis=1)
        return np.asarray(np.partition(seen, -self.at, axis=1)[:, -self.at])

    def _least(self, score: Scores) -> Scores:
        """Return what a row must reach to be perhaps as good; never what cannot answer reaches."""
        return np.maximum(score - self.tables.margin(score), np.finfo(np.float32).min)

    def _raise(self, here: slice, line: Rows, score: Scores) -> None:
        """Merge scores, ordered by question, with the best so far."""
        order = np.lexsort((-score, line))
        line, score = line[order], score[order]
        rank = _ranks(line)
        first = rank < self.at
        table = np.full_like(self.best[here], -np.inf)
        table[line[first], rank[first]] = score[first]
        both = np.concatenate([self.best[here], table], axis=1)
        self.best[here] = np.partition(both, self.at, axis=1)[:, self.at :]

    def _settle(self) -> tuple[Rows, Rows]:
        """Keep the first `at` found of each question, by their float64 scores, in order."""
        question, row, score = (np.concatenate(parts) for parts in zip(*self.found, strict=True))
        near = score >= self._least(self.best.min(axis=1))[question]
        question, row = question[near], row[near]
        score = self.tables.exact(question, row)
        order = np.lexsort((row, -score.round(TIE_DIGITS), question))
        order = order[_ranks(question[order]) < self.at]
        question, row = question[order], row[order]
        self.found, self.room = [(question, row, score[order])], MOST_FOUND
        return question, row

    def _judge(self) -> Answers:
        question, row = self._settle()
        answers = np.full(len(self.questions), -1, np.int64)
        first = _ranks(question) == 0
        answers[question[first]] = row[first]
        rows = len(self.tables.matrix)
        accepted = np.isin(question * rows + row, self.accepted[0] * rows + self.accepted[1])
        right = np.zeros(len(answers), np.bool_)
        right[question[accepted]] = True
        return Answers(answers, right)


class _Step:
    """Some questions before a block of rows.

    Attributes:
        here: which of the group's questions.
    """

    def __init__(
        self, tables: Tables, block: Block, here: slice, banned: tuple[Rows, Rows]
    ) -> None:
        self.block, self.here = block, here
        self.word, self.pair = tables.word[here], tables.pair[here]
        question, column = banned
        some = slice(*np.searchsorted(question, [here.start, here.stop]))
        tile, self.column = np.divmod(column[some], TILE)
        self.banned = (question[some] - here.start) * block.tiles + tile

    def bounds(self) -> Scores:
        """Return what no row of a tile exceeds, (questions, tiles)."""
        return self.block.bounds(self.word, self.pair)

    def scores(self, line: Rows, tile: Rows) -> Scores:
        """Return the scores of one tile for one question each, (n, TILE).

        Questions and their tiles must rise. Banned rows get minus infinity.
        """
        scores = self.block.scores(self.word[line], self.pair[line], tile)
        key = np.append(line * self.block.tiles + tile, -1)
        place = np.searchsorted(key[:-1], self.banned)
        hit = key[place] == self.banned
        scores[place[hit], self.column[hit]] = -np.inf
        return scores


def _flat(lists: Sequence[Sequence[int]]) -> tuple[Rows, Rows]:
    """Return (question, row) of all entries, the questions rising."""
    question = np.repeat(np.arange(len(lists)), list(map(len, lists)))
    return question, np.fromiter(chain.from_iterable(lists), np.int64, len(question))


def _ranks(question: Rows) -> Rows:
    """Return 0, 1, … for the entries of each question; equal ones stand together."""
    return np.arange(len(question)) - np.searchsorted(question, question)
