"""What a corpus holds: frequent and long words, coverage at thresholds. Figures only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from w2v_sgns.corpus.stats import Corpus

__all__ = ["Coverage", "Survey", "survey"]

THRESHOLDS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True)
class Coverage:
    """What a threshold leaves."""

    min_count: int
    types: int
    tokens: int


@dataclass(frozen=True)
class Survey:
    """Figures of a corpus that was loaded with all its words."""

    coverage: list[Coverage]
    frequent: list[tuple[str, int]]  # words and counts
    longest: list[tuple[str, int, int]]  # words, their bytes, their counts


def survey(corpus: Corpus, *, top: int = 10) -> Survey:
    """Look at the vocabulary of a corpus that was loaded with min_count 1.

    Thresholds that only words left out for memory would tell apart are passed over.
    """
    words, counts = corpus.vocabulary, corpus.vocabulary.counts
    assert counts is not None
    sums = np.concatenate(([0], np.cumsum(counts)))
    stats = corpus.stats
    coverage = [Coverage(1, stats.types_read, stats.tokens_read)]
    for limit in THRESHOLDS:
        if limit < max(2, stats.least_count):
            continue
        types = int(np.searchsorted(-counts, -limit, side="right"))
        if types:
            coverage.append(Coverage(limit, types, int(sums[types])))
    lengths = np.diff(words.offsets)
    rows = np.argsort(-lengths, kind="stable")[:top].tolist()
    return Survey(
        coverage=coverage,
        frequent=[(words.word(row), int(counts[row])) for row in range(min(top, len(words)))],
        longest=[(words.word(row), int(lengths[row]), int(counts[row])) for row in rows],
    )
