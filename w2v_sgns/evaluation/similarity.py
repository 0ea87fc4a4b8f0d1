"""Cosines against people's scores: word pairs, and SemEval-2012's rated pairs of a relation."""

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
from w2v_sgns.evaluation.questions import Pairs, Relation, Relations
from w2v_sgns.evaluation.statistics import (
    Interval,
    bootstrap_mean,
    fisher,
    pearson,
    spearman,
)
from w2v_sgns.vectors import Vectors
from w2v_sgns.vectors.neighbours import TIE_DIGITS, unit

__all__ = [
    "RelationResult",
    "SimilarityResult",
    "ask_pairs",
    "ask_relations",
    "evaluate_similarity",
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


@dataclass(frozen=True)
class RelationResult:
    """What one model says to SemEval-2012's relations, one list of rated pairs each."""

    questions: Relations
    relations: Sequence[SimilarityResult]
    missing: Sequence[Missing]
    words: int
    restrict: int
    case: str
    count_skipped: bool

    @property
    def mean(self) -> float | None:
        """The mean of the relations' rank correlations, where they are defined."""
        return float(np.mean(self._defined)) if self._defined else None

    @property
    def mean_interval(self) -> Interval | None:
        """95 %, the relations being drawn anew."""
        return bootstrap_mean(self._defined) if len(self._defined) > 1 else None

    @cached_property
    def _defined(self) -> list[float]:
        return [one.spearman for one in self.relations if one.spearman is not None]


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
    found = _look_up(lookup, [(pair.first, pair.second) for pair in questions.pairs])
    first, second = (_directions(vectors, found.rows[:, side]) for side in (0, 1))
    cosines = (first * second).sum(axis=1).clip(-1, 1)
    return _result(
        questions, found, lookup, vectors, cosines, _directed(first, second), count_skipped
    )


def ask_relations(
    vectors: Vectors,
    questions: Relations,
    *,
    restrict: int = 0,
    case: str = "match",
    count_skipped: bool = False,
) -> RelationResult:
    """Rate the pairs of every relation by how much their offset is like the typical pairs'.

    The rating is the cosine between the pair's difference of unit vectors and the mean of the
    differences of the typical pairs that are known.

    Raises:
        ConfigError: an option is out of range.
    """
    lookup = Lookup(vectors.vocabulary, restrict=restrict, case=case)
    relations = [
        _rate(vectors, lookup, relation, questions, count_skipped)
        for relation in questions.relations
    ]
    return RelationResult(
        questions,
        relations,
        lookup.report_missing(),
        words=len(vectors),
        restrict=lookup.rows,
        case=case,
        count_skipped=count_skipped,
    )


def _rate(
    vectors: Vectors,
    lookup: Lookup,
    relation: Relation,
    questions: Relations,
    count_skipped: bool,
) -> SimilarityResult:
    typical = _look_up(lookup, relation.typical)
    known = typical.rows[(typical.rows >= 0).all(axis=1)]
    mean = unit(_offsets(vectors, known).sum(axis=0, keepdims=True))
    found = _look_up(lookup, [(pair.first, pair.second) for pair in relation.pairs])
    offsets = unit(_offsets(vectors, found.rows))
    cosines = (offsets * mean).sum(axis=1).clip(-1, 1)
    words = [_directions(vectors, found.rows[:, side]) for side in (0, 1)]
    directed = _directed(*words) & _directed(offsets, np.broadcast_to(mean, offsets.shape))
    pairs = Pairs(relation.name, questions.layout, pairs=relation.pairs)
    return _result(pairs, found, lookup, vectors, cosines, directed, count_skipped)


def _offsets(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return second minus first of unit vectors, (n, d)."""
    return _directions(vectors, rows[:, 1]) - _directions(vectors, rows[:, 0])


@dataclass(frozen=True)
class _Rows:
    """Rows of pairs, int64 (n, 2), -1 for unknown; which pairs needed folding."""

    rows: NDArray[np.int64]
    folded: list[bool]


def _look_up(lookup: Lookup, pairs: Sequence[tuple[str, str]]) -> _Rows:
    rows = np.full((len(pairs), 2), -1, np.int64)
    folded = []
    for place, words in enumerate(pairs):
        found = [lookup.find(word) for word in words]
        rows[place] = [-1 if row is None else row for row, _ in found]
        folded.append(any(by_folding for _, by_folding in found))
        unknown = [word for word, (row, _) in zip(words, found, strict=True) if row is None]
        lookup.missing.update(dict.fromkeys(unknown, 1))
    return _Rows(rows, folded)


def _directions(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return unit vectors (n, d), zero for unknown rows."""
    directions = np.zeros((len(rows), vectors.vector_size))
    directions[rows >= 0] = unit(vectors.matrix[rows[rows >= 0]].astype(np.float64))
    return directions


def _directed(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray((first != 0).any(axis=1) & (second != 0).any(axis=1))


def _result(
    questions: Pairs,
    found: _Rows,
    lookup: Lookup,
    vectors: Vectors,
    cosines: NDArray[np.float64],
    directed: NDArray[np.bool_],
    count_skipped: bool,
) -> SimilarityResult:
    known = (found.rows >= 0).all(axis=1)
    cosines = np.where(known & directed, cosines.round(TIE_DIGITS), np.nan)
    if count_skipped:
        cosines = np.where(known, cosines, 0.0)
    return SimilarityResult(
        questions,
        np.array([pair.score for pair in questions.pairs], np.float64),
        cosines,
        unknown=int((~known).sum()),
        without_direction=int((known & ~directed).sum()),
        folded=int((known & np.array(found.folded, np.bool_)).sum()),
        missing=lookup.report_missing(),
        words=len(vectors),
        restrict=lookup.rows,
        case=lookup.case,
        count_skipped=count_skipped,
    )
