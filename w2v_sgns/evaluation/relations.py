"""SemEval-2012's relations: how typical a pair is, against people's ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.evaluation.lookup import Lookup, Missing
from w2v_sgns.evaluation.questions import Pairs, Relation, Relations
from w2v_sgns.evaluation.similarity import (
    SimilarityResult,
    directed,
    directions,
    look_up,
    to_result,
)
from w2v_sgns.evaluation.statistics import Interval, bootstrap_mean
from w2v_sgns.vectors import Vectors
from w2v_sgns.vectors.neighbours import unit

__all__ = ["RelationResult", "ask_relations"]


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
    typical = look_up(lookup, relation.typical)
    known = typical.rows[(typical.rows >= 0).all(axis=1)]
    mean = unit(_offsets(vectors, known).sum(axis=0, keepdims=True))
    found = look_up(lookup, [(pair.first, pair.second) for pair in relation.pairs])
    offsets = unit(_offsets(vectors, found.rows))
    cosines = (offsets * mean).sum(axis=1).clip(-1, 1)
    words = [directions(vectors, found.rows[:, side]) for side in (0, 1)]
    all_directed = directed(*words) & directed(offsets, np.broadcast_to(mean, offsets.shape))
    pairs = Pairs(relation.name, questions.layout, pairs=relation.pairs)
    return to_result(pairs, found, lookup, vectors, cosines, all_directed, count_skipped)


def _offsets(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return second minus first of unit vectors, (n, d)."""
    return directions(vectors, rows[:, 1]) - directions(vectors, rows[:, 0])
