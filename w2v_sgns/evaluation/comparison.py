"""Two models on the same questions: paired differences with a 95 % interval.

Only questions that both models answered are compared, unless skipped ones count as wrong. The
questions are drawn anew 2,000 times, each time the same ones for both models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError
from w2v_sgns.evaluation.analogy import RIGHT, SKIPPED, AnalogyResult
from w2v_sgns.evaluation.relations import RelationResult
from w2v_sgns.evaluation.retrieval import CUT, RetrievalResult
from w2v_sgns.evaluation.similarity import SimilarityResult
from w2v_sgns.evaluation.statistics import (
    Interval,
    bootstrap_correlations,
    bootstrap_mean,
    spearman,
)
from w2v_sgns.vectors import Vectors

__all__ = ["Difference", "Result", "WordResult", "compare", "shared_vocabulary"]

WordResult = AnalogyResult | SimilarityResult | RelationResult
Result = WordResult | RetrievalResult


@dataclass(frozen=True)
class Difference:
    """A figure of two models over the same questions; None where it is undefined."""

    name: str
    questions: int
    first: float | None
    second: float | None
    interval: Interval | None

    @property
    def difference(self) -> float | None:
        """Second minus first."""
        if self.first is None or self.second is None:
            return None
        return self.second - self.first


def compare(first: Result, second: Result) -> list[Difference]:
    """Return the differences, section by section and in sum.

    Raises:
        ConfigError: the results are of different kinds.
    """
    if isinstance(first, AnalogyResult) and isinstance(second, AnalogyResult):
        return _analogies(first, second)
    if isinstance(first, SimilarityResult) and isinstance(second, SimilarityResult):
        return [_pairs("Spearman", first, second)]
    if isinstance(first, RelationResult) and isinstance(second, RelationResult):
        return _relations(first, second)
    if isinstance(first, RetrievalResult) and isinstance(second, RetrievalResult):
        return _retrieval(first, second)
    raise ConfigError("only answers to the same questions can be compared")


def _analogies(first: AnalogyResult, second: AnalogyResult) -> list[Difference]:
    both = (first.outcome != SKIPPED) & (second.outcome != SKIPPED)
    if first.count_skipped:
        both[:] = True
    sections = np.array([question.section for question in first.questions.questions])
    names = list(dict.fromkeys(sections.tolist()))
    parts = [(name, both & (sections == name)) for name in names]
    for name, members in first.questions.groups.items():
        parts.append((name, both & np.isin(sections, list(members))))
    right = [result.outcome == RIGHT for result in (first, second)]
    return [
        _accuracy(name, right[0][here], right[1][here]) for name, here in [*parts, ("total", both)]
    ]


def _accuracy(name: str, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Difference:
    if not len(first):
        return Difference(name, 0, None, None, None)
    interval = bootstrap_mean(second.astype(np.int8) - first.astype(np.int8))
    return Difference(name, len(first), float(first.mean()), float(second.mean()), interval)


def _pairs(name: str, first: SimilarityResult, second: SimilarityResult) -> Difference:
    both = first.counted & second.counted
    scores, a, b = first.scores[both], first.cosines[both], second.cosines[both]
    of_a, of_b = spearman(a, scores), spearman(b, scores)
    defined = of_a is not None and of_b is not None
    interval = bootstrap_correlations(a, b, scores) if defined else None
    return Difference(name, int(both.sum()), of_a, of_b, interval)


def _relations(first: RelationResult, second: RelationResult) -> list[Difference]:
    """Return the relations' differences and that of their means, the relations drawn anew."""
    parts = [
        _pairs(one.questions.name, one, other)
        for one, other in zip(first.relations, second.relations, strict=True)
    ]
    both = [(one.first, one.second) for one in parts if one.difference is not None]
    if not both:
        return [*parts, Difference("mean", 0, None, None, None)]
    values = np.array(both, np.float64)
    interval = bootstrap_mean(values[:, 1] - values[:, 0])
    means = values.mean(axis=0).tolist()
    return [*parts, Difference("mean", len(both), means[0], means[1], interval)]


def _retrieval(first: RetrievalResult, second: RetrievalResult) -> list[Difference]:
    """Return the differences over all questions; one that cannot be answered counts as missed."""
    both = (first, second)
    shares = [_means(f"recall@{n}", *(one.found(n) for one in both)) for n in (1, CUT)]
    return [*shares, _means(f"MRR@{CUT}", *(one.reciprocal for one in both))]


def _means(name: str, first: NDArray[Any], second: NDArray[Any]) -> Difference:
    interval = bootstrap_mean(second.astype(np.float64) - first)
    return Difference(name, len(first), float(first.mean()), float(second.mean()), interval)


def shared_vocabulary(models: Sequence[Vectors], *, restrict: int = 0) -> list[Vectors]:
    """Return the models cut to the words that stand among the first `restrict` rows of all.

    The rows are copies, in the first model's order, so that all models see the same candidates.

    Raises:
        ConfigError: no word stands in all of them, or `restrict` is negative.
    """
    if restrict < 0:
        raise ConfigError(f"--restrict must be at least 0 (0: all words), not {restrict}")
    tables = [_first_rows(model, restrict) for model in models]
    words = [word for word in tables[0] if all(word in table for table in tables[1:])]
    if not words:
        raise ConfigError("--shared-vocabulary: the models have no word in common")
    vocabulary = Vocabulary.from_words(words)
    return [
        Vectors(model.matrix[[table[word] for word in words]], vocabulary)
        for model, table in zip(models, tables, strict=True)
    ]


def _first_rows(model: Vectors, restrict: int) -> dict[bytes, int]:
    rows: dict[bytes, int] = {}
    for row, raw in enumerate(islice(model.vocabulary.iter_bytes(), restrict or None)):
        rows.setdefault(raw, row)
    return rows
