"""Some rows of what is mapped: the first N as a view, those of given words as a copy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.formats.rows import ALL, Loaded, Selection

__all__ = ["select"]


def select(loaded: Loaded, selection: Selection) -> Loaded:
    """Return the wanted rows of vectors that are whole."""
    if selection == ALL:
        return loaded
    words = loaded.vocabulary
    matrix = loaded.matrix[: selection.limit]
    offsets = words.offsets[: len(matrix) + 1]
    counts = None if words.counts is None else words.counts[: len(matrix)]
    words = Vocabulary(words.data[: offsets[-1]], offsets, counts)
    weights = None if loaded.weights is None else loaded.weights[: len(matrix)]
    if selection.words is not None:
        rows = [row for row, word in enumerate(words.iter_bytes()) if word in selection.words]
        matrix = matrix[np.array(rows, np.int64)]
        weights = None if weights is None else weights[rows]
        words = Vocabulary.from_words(
            [words.word_bytes(row) for row in rows],
            None if counts is None else counts[rows],
        )
    return replace(loaded, matrix=matrix, vocabulary=words, weights=weights)
