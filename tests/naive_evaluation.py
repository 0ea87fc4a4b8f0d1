"""The evaluation once more, slow and obvious: one question, one row, one number at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.vectors import Vectors


def read_vectors(path: Path) -> Vectors:
    """Read a small word2vec text file; one space between the fields."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split(" ") for line in lines]
    matrix = np.array([row[1:] for row in rows], np.float32)
    return Vectors(matrix, Vocabulary.from_words([row[0] for row in rows]))


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    """NaN where one has no direction."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    length = math.sqrt(sum(x * x)) * math.sqrt(sum(y * y))
    return float(sum(x * y)) / length if length else math.nan


def ranking(matrix: np.ndarray, a: int, b: int, c: int, banned: Sequence[int], method: str) -> list:
    """All rows that may answer, best first, ties by row."""
    unit = [row / np.sqrt(sum(row * row)) if row.any() else row for row in matrix.astype(float)]
    query = unit[b] - unit[a] + unit[c]
    scored = []
    for row, vector in enumerate(unit):
        if row in banned or not vector.any() or (method == "add" and not query.any()):
            continue
        if method == "add":
            score = cosine(vector, query)
        else:
            to_a, to_b, to_c = ((1 + float(sum(vector * unit[word]))) / 2 for word in (a, b, c))
            score = to_b * to_c / (to_a + 1e-6)
        scored.append((-round(score, 11), row))
    return [row for _, row in sorted(scored)]


def mean_ranks(values: Sequence[float]) -> list[float]:
    """Rank by counting what is smaller and what is equal."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2
        for value in values
    ]


def correlation(x: Sequence[float], y: Sequence[float]) -> float:
    a = [value - sum(x) / len(x) for value in x]
    b = [value - sum(y) / len(y) for value in y]
    above = sum(p * q for p, q in zip(a, b, strict=True))
    return above / math.sqrt(sum(p * p for p in a) * sum(q * q for q in b))
