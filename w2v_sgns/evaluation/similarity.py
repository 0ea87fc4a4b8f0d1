"""Cosines against people's scores of word pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import FormatError
from w2v_sgns.evaluation.files import read_questions
from w2v_sgns.evaluation.lookup import Lookup, Missing
from w2v_sgns.evaluation.questions import Pairs
from w2v_sgns.evaluation.statistics import Interval, fisher, pearson, spearman
from w2v_sgns.vectors import Vectors
from w2v_sgns.vectors.neighbours import TIE_DIGITS, unit

__all__ = [
    "PairRows",
    "SimilarityResult",
    "ask_pairs",
    "directed",
    "directions",
    "evaluate_similarity",
    "look_up",
    "to_result",
]


@dataclass(frozen=True)
class SimilarityResult:
    """What one model says to a list of scored pairs.

    Attributes:
        name: the file, or the relation.
        layout: what kind of list it is.
        scores: float64 (n,), as the file has them.
        cosines: float64 (n,), the model's; NaN where there is none, or 0 for pairs of unknown
            words where skipped ones count.
        unknown: pairs with a word the model does not have.
        without_direction: pairs with a vector that is zero or not finite; never counted.
        folded: pairs where a word was found by folding only.
        missing: the unknown words.
        words: V of the model.
        restrict: how many of them could be asked.
    """

    questions: Pairs
    scores: NDArray[np.float64]
    cosines: NDArray[np.float64]
    unknown: int
    without_direction: int
    folded: int
    missing: Sequence[Missing]
    words: int
    restrict: int
    case: str
    count_skipped: bool

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Which pairs the correlations are over, (n,)."""
        return np.isfinite(self.cosines)

    @property
    def asked(self) -> int:
        """All pairs of the file that are well-formed."""
        return len(self.scores)

    @property
    def answered(self) -> int:
        """Pairs whose words are known and have a direction."""
        return self.asked - self.unknown - self.without_direction

    @cached_property
    def spearman(self) -> float | None:
        """The rank correlation, ties sharing mean ranks; None where it is undefined."""
        return spearman(self.cosines[self.counted], self.scores[self.counted])

    @cached_property
    def pearson(self) -> float | None:
        """The linear correlation; None where it is undefined."""
        return pearson(self.cosines[self.counted], self.scores[self.counted])

    @property
    def spearman_interval(self) -> Interval | None:
        """95 %, by Fisher's z with Bonett and Wright's variance."""
        return fisher(self.spearman, int(self.counted.sum()), of_ranks=True)

    @property
    def pearson_interval(self) -> Interval | None:
        """95 %, by Fisher's z."""
        return fisher(self.pearson, int(self.counted.sum()))


def evaluate_similarity(
    vectors: Vectors,
    path: Path | str,
    *,
    restrict: int = 0,
    case: str = "match",
    count_skipped: bool = False,
) -> SimilarityResult:
    """Compare cosines with the scores of a file of word pairs.

    Args:
        vectors: what is judged; never changed.
        path: two words and a score a line, apart by tabs, commas or blanks.
        restrict: only the first so many words are known; 0: all of them.
        case: `exact`, `fold`, or `match` (as written, else folded), word by word.
        count_skipped: whether pairs with unknown words count, with cosine 0.

    Raises:
        FormatError: the file cannot be read or holds no pairs.
        ConfigError: an option is out of range.
    """
    questions = read_questions(path)
    if not isinstance(questions, Pairs):
        raise FormatError(f"{path}: holds {questions.layout}; needed: word pairs with scores")
    return ask_pairs(vectors, questions, restrict=restrict, case=case, count_skipped=count_skipped)


def ask_pairs(
    vectors: Vectors,
    questions: Pairs,
    *,
    restrict: int = 0,
    case: str = "match",
    count_skipped: bool = False,
) -> SimilarityResult:
    """Ask pairs that were read before; see :func:`evaluate_similarity`."""
    lookup = Lookup(vectors.vocabulary, restrict=restrict, case=case)
    found = look_up(lookup, [(pair.first, pair.second) for pair in questions.pairs])
    first, second = (directions(vectors, found.rows[:, side]) for side in (0, 1))
    cosines = (first * second).sum(axis=1).clip(-1, 1)
    return to_result(
        questions, found, lookup, vectors, cosines, directed(first, second), count_skipped
    )


@dataclass(frozen=True)
class PairRows:
    """Rows of pairs, int64 (n, 2), -1 for unknown; which pairs needed folding."""

    rows: NDArray[np.int64]
    folded: list[bool]


def look_up(lookup: Lookup, pairs: Sequence[tuple[str, str]]) -> PairRows:
    """Return the rows of pairs; unknown words are noted in the lookup."""
    rows = np.full((len(pairs), 2), -1, np.int64)
    folded = []
    for place, words in enumerate(pairs):
        found = [lookup.find(word) for word in words]
        rows[place] = [-1 if row is None else row for row, _ in found]
        folded.append(any(by_folding for _, by_folding in found))
        unknown = [word for word, (row, _) in zip(words, found, strict=True) if row is None]
        lookup.missing.update(dict.fromkeys(unknown, 1))
    return PairRows(rows, folded)


def directions(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return unit vectors (n, d), zero for unknown rows."""
    directions = np.zeros((len(rows), vectors.vector_size))
    directions[rows >= 0] = unit(vectors.matrix[rows[rows >= 0]].astype(np.float64))
    return directions


def directed(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return where neither of two vectors is zero, (n,)."""
    return np.asarray((first != 0).any(axis=1) & (second != 0).any(axis=1))


def to_result(
    questions: Pairs,
    found: PairRows,
    lookup: Lookup,
    vectors: Vectors,
    cosines: NDArray[np.float64],
    both_directed: NDArray[np.bool_],
    count_skipped: bool,
) -> SimilarityResult:
    """Return the result of cosines (n,), of which those without a direction do not count."""
    known = (found.rows >= 0).all(axis=1)
    cosines = np.where(known & both_directed, cosines.round(TIE_DIGITS), np.nan)
    if count_skipped:
        cosines = np.where(known, cosines, 0.0)
    return SimilarityResult(
        questions,
        np.array([pair.score for pair in questions.pairs], np.float64),
        cosines,
        unknown=int((~known).sum()),
        without_direction=int((known & ~both_directed).sum()),
        folded=int((known & np.array(found.folded, np.bool_)).sum()),
        missing=lookup.report_missing(),
        words=len(vectors),
        restrict=lookup.rows,
        case=lookup.case,
        count_skipped=count_skipped,
    )
