"""Analogy questions asked of vectors, and exactly what became of each.

How questions are read is files.py's business, which ones can be asked known.py's, and how they are
answered answering.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import ConfigError, FormatError
from w2v_sgns.evaluation.answering import answer
from w2v_sgns.evaluation.files import read_questions
from w2v_sgns.evaluation.known import find_questions
from w2v_sgns.evaluation.lookup import Lookup, Missing
from w2v_sgns.evaluation.questions import Analogies
from w2v_sgns.evaluation.tally import Tally, add_up
from w2v_sgns.vectors import Vectors

__all__ = ["METHODS", "RESTRICT", "AnalogyResult", "ask_analogies", "evaluate_analogies"]

RESTRICT = 30_000  # words that may be asked and answer, as in the original C tool
METHODS = ("add", "mul")
SKIPPED, WRONG, RIGHT = -1, 0, 1


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
            add_up(name, [tally for tally in sections if tally.name in members])
            for name, members in self.questions.groups.items()
        ]
        return [*groups, self.total]

    @property
    def total(self) -> Tally:
        """The tally of all questions; the sum of the sections."""
        return add_up("total", self.sections())

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
    known = find_questions(lookup, questions.questions)
    outcome = np.full(len(questions.questions), SKIPPED, np.int8)
    answers = np.full(len(outcome), -1, np.int64)
    folded = np.zeros(len(outcome), np.bool_)
    if len(known.places):
        given = answer(vectors.matrix[: lookup.rows], known.rows, method=method, at=at)
        outcome[known.places] = given.right
        answers[known.places] = given.rows
        folded[known.places] = known.folded
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
