"""The slow obvious twin of texts as means of rows: Python loops in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from w2v_sgns.objectives.inbatch import in_batch


def split(text: str) -> list[str]:
    """Words between ASCII blanks."""
    for blank in "\t\r\v\f\n\0":
        text = text.replace(blank, " ")
    return [word for word in text.split(" ") if word]


def encode(
    text: str, words: Sequence[str], E: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Weighted mean of the known words' rows at length 1; zero where there is none."""
    total, weight = np.zeros(E.shape[1]), 0.0
    for word in split(text):
        if word in words:
            row = words.index(word)
            a = 1.0 if weights is None else float(weights[row])
            total, weight = total + a * E[row].astype(float), weight + a
    mean = total / weight if weight else total
    length = math.sqrt(sum(float(x) ** 2 for x in mean))
    return mean / length if length else mean


def loss_of_words(
    E: np.ndarray,
    log_weights: np.ndarray,
    queries: Sequence[Sequence[int]],
    candidates: Sequence[Sequence[int]],
    **options: object,
) -> float:
    """The in-batch loss of texts given by the ids of their words, one table for both sides."""
    weights = np.exp(log_weights)

    def means(texts: Sequence[Sequence[int]]) -> np.ndarray:
        return np.array(
            [sum(weights[w] * E[w] for w in text) / sum(weights[w] for w in text) for text in texts]
        )

    return in_batch(means(queries), means(candidates), **options).loss  # type: ignore[arg-type]
