"""Analogy questions asked of vectors, and exactly what became of each.

How questions are read is files.py's business, how they are answered answering.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import ConfigError, FormatError
from w2v_sgns.evaluation.answering import RowQuestions, answer
from w2v_sgns.evaluation.files import read_questions
from w2v_sgns.evaluation.lookup import Lookup, Missing
from w2v_sgns.evaluation.questions import Analogies, Analogy
from w2v_sgns.evaluation.statistics import Interval, wilson
from w2v_sgns.vectors import Vectors

__all__ = ["METHODS", "RESTRICT", "AnalogyResult", "Tally", "ask_analogies", "evaluate_analogies"]

RESTRICT = 30_000  # words that may be asked and answer, as in the original C tool
METHODS = ("add", "mul")
SKIPPED, WRONG, RIGHT = -1, 0, 1


@dataclass(frozen=True)
class Tally:
    """What became of the questions of a section or a sum of sections.

    Attributes:
        name: of the section.
        asked: all questions.
        answered: those whose words are all known.
        right: those answered rightly.
        folded: those answered where a word needed folding.
        of: what `right` is divided by: `answered`, or `asked` where skipped counts as wrong.
    """

    name: str
    asked: int
    answered: int
    right: int
    folded: int
    of: int

    @property
    def skipped(self) -> int:
        """Questions with an unknown word."""
        return self.asked - self.answered

    @property
    def accuracy(self) -> float | None:
        """The share of right answers; None where there is nothing to divide by."""
        return self.right / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval of the accuracy."""
        return wilson(self.right, self.of)


@dataclass(frozen=True)
class AnalogyResult:
    """The answers of one model to one file or folder of analogies.

    Attributes:
        questions: what was asked.
        outcome: int8 (n,): 1 right, 0 wrong, -1 skipped.
        answers: int64 (n,): the row that was answered, -1 for none.
        folded: bool (n,): a word of the question was found by folding only.
        missing: the words that made questions unanswerable.
        words: V of the model.
        restrict: how many of them could be asked and answer.
        case, method, at, count_skipped: as they were asked for.
    """

    questions: Analogies
    outcome: NDArray[np.int8]
    answers: NDArray[np.int64]
    folded: NDArray[np.bool_]
    missing: Sequence[Missing]
    words: int
    restrict: int
    case: str
    method: str
    at: int
    count_skipped: bool

    def sections(self) -> list[Tally]:
        """Return one tally a section, in the file's order."""
        places: dict[str, list[int]] = {}
        for place, question in enumerate(self.questions.questions):
            places.setdefault(question.section, []).append(place)
        return [self._tally(name, here) for name, here in places.items()]

    def sums(self) -> list[Tally]:
        """Return the tallies of the groups, such as semantic and syntactic, then the total."""
        sections = self.sections()
        groups = [
            _sum(name, [tally for tally in sections if tally.name in members])
            for name, members in self.questions.groups.items()
        ]
        return [*groups, self.total]

    @property
    def total(self) -> Tally:
        """The tally of all questions; the sum of the sections."""
        return _sum("total", self.sections())

    def _tally(self, name: str, places: list[int]) -> Tally:
        outcome = self.outcome[places]
        answered = int((outcome != SKIPPED).sum())
        return Tally(
            name,
            asked=len(places),
            answered=answered,
            right=int((outcome == RIGHT).sum()),
            folded=int((self.folded[places] & (outcome != SKIPPED)).sum()),
            of=len(places) if self.count_skipped else answered,
        )


def _sum(name: str, tallies: list[Tally]) -> Tally:
    fields = ("asked", "answered", "right", "folded", "of")
    return Tally(
        name, **{field: sum(getattr(tally, field) for tally in tallies) for field in fields}
    )


def evaluate_analogies(
    vectors: Vectors,
    path: Path | str,
    *,
    restrict: int = RESTRICT,
    case: str = "match",
    method: str = "add",
    count_skipped: bool = False,
    at: int = 1,
) -> AnalogyResult:
    """Ask the analogy questions of a file or folder.

    Args:
        vectors: what is judged; never changed.
        path: a Google-style file, a BATS-style file or folder.
        restrict: only the first so many rows are asked and may answer; 0: all of them.
        case: `exact`, `fold`, or `match` (as written, else folded), word by word.
        method: `add` (3CosAdd) or `mul` (3CosMul).
        count_skipped: whether questions with unknown words count as wrong.
        at: a question is right if an accepted word is among the first so many.

    Raises:
        FormatError: the file cannot be read or holds no analogies.
        ConfigError: an option is out of range.
    """
    questions = read_questions(path)
    if not isinstance(questions, Analogies):
        raise FormatError(f"{path}: holds {questions.layout}; needed: analogy questions")
    return ask_analogies(
        vectors,
        questions,
        restrict=restrict,
        case=case,
        method=method,
        count_skipped=count_skipped,
        at=at,
    )


def ask_analogies(
    vectors: Vectors,
    questions: Analogies,
    *,
    restrict: int = RESTRICT,
    case: str = "match",
    method: str = "add",
    count_skipped: bool = False,
    at: int = 1,
) -> AnalogyResult:
    """Ask questions that were read before; see :func:`evaluate_analogies`."""
    if method not in METHODS:
        raise ConfigError(f"--method must be {' or '.join(METHODS)}, not {method!r}")
    if at < 1:
        raise ConfigError(f"--at must be at least 1, not {at}")
    lookup = Lookup(vectors.vocabulary, restrict=restrict, case=case)
    rows = [_rows(lookup, question) for question in questions.questions]
    known = [place for place, found in enumerate(rows) if found is not None]
    outcome = np.full(len(rows), SKIPPED, np.int8)
    answers = np.full(len(rows), -1, np.int64)
    folded = np.zeros(len(rows), np.bool_)
    if known:
        asked = [found for found in rows if found is not None]
        given = answer(vectors.matrix[: lookup.rows], _together(asked), method=method, at=at)
        outcome[known] = given.right
        answers[known] = given.rows
        folded[known] = [found.folded for found in asked]
    return AnalogyResult(
        questions,
        outcome,
        answers,
        folded,
        lookup.report_missing(),
        words=len(vectors),
        restrict=lookup.rows,
        case=case,
        method=method,
        at=at,
        count_skipped=count_skipped,
    )


@dataclass(frozen=True)
class _Found:
    """A question whose words are all known, as rows."""

    abc: tuple[int, int, int]
    accepted: list[int]
    banned: list[int]
    folded: bool


def _rows(lookup: Lookup, question: Analogy) -> _Found | None:
    """Look all words up; None where one is missing, which is noted.

    Where any word needed folding, all of the question is folded: every spelling of the words asked
    is kept from answering, and any spelling of an answer is right.
    """
    asked = [(word, *lookup.find(word)) for word in question[1:4]]
    answers = [(word, *lookup.find(word)) for word in question.answers]
    missing = [word for word, row, _ in asked if row is None]
    if all(row is None for _, row, _ in answers):
        missing += [word for word, _, _ in answers]
    if missing:
        lookup.missing.update(dict.fromkeys(missing, 1))
        return None
    a, b, c = (row for _, row, _ in asked if row is not None)
    found = [(row, by_folding) for _, row, by_folding in answers if row is not None]
    banned, accepted = [a, b, c], [row for row, _ in found]
    folded = any(by_folding for _, _, by_folding in asked) or any(by for _, by in found)
    if folded or lookup.case == "fold":
        banned = [row for one in banned for row in lookup.spellings(one)]
        accepted = [row for one in accepted for row in lookup.spellings(one)]
    return _Found((a, b, c), [row for row in accepted if row not in banned], banned, folded)


def _together(asked: list[_Found]) -> RowQuestions:
    a, b, c = np.array([found.abc for found in asked], np.int64).T
    return RowQuestions(
        a, b, c, [found.accepted for found in asked], [found.banned for found in asked]
    )
