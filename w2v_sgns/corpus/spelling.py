"""Words a typing slip away from a given one, for messages about unknown words.

Edit distances of a few hundred thousand words are found together, one column of the table at
a time; the work is bounded, so this does not look at every word of a large vocabulary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["close_rows"]

MOST_ROWS = 200_000  # only this many rows (the most frequent words) are looked at
LONGEST = 48  # bytes; nobody mistypes a longer word by one letter
# ASCII letters count as the same in both cases.
FOLD = np.frombuffer(bytes(range(256)).lower(), np.uint8)


def close_rows(data: NDArray[Any], offsets: NDArray[Any], word: bytes, limit: int) -> list[int]:
    """Return up to `limit` rows, by distance, then by row."""
    allowed = _allowed_slips(len(word))
    if not word or len(word) > LONGEST or not len(data):
        return []
    rows, letters, lengths = _candidates(data, offsets[: MOST_ROWS + 1], len(word), allowed)
    distance = _distances(letters, lengths, FOLD[np.frombuffer(word, np.uint8)])
    near = np.flatnonzero(distance <= allowed)
    best = near[np.argsort(distance[near], kind="stable")][:limit]
    return [int(row) for row in rows[best]]


def _allowed_slips(length: int) -> int:
    """Return how many bytes may be wrong: 0 of 1, 1 of 4, 2 of 9, then 3."""
    return int(np.searchsorted([1, 4, 9], length))


def _candidates(
    data: NDArray[Any], offsets: NDArray[Any], length: int, slips: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows of about this length, their folded letters (width, n) and lengths (n)."""
    lengths = np.diff(offsets)
    rows = np.flatnonzero((lengths >= max(1, length - slips)) & (lengths <= length + slips))
    places = offsets[rows] + np.arange(length + slips)[:, None]
    letters = FOLD[data[np.minimum(places, len(data) - 1)]]  # past a word's end: never read
    return rows, letters, lengths[rows]


def _distances(
    letters: NDArray[Any], lengths: NDArray[Any], word: NDArray[Any]
) -> NDArray[np.uint8]:
    """Return the edit distance (insert, delete, replace, swap of neighbours) to every candidate.

    The table of the optimal string alignment distance, one row of it a step, each cell a vector
    over the candidates; `letters` is (width, n), `word` is short.
    """
    width, count = letters.shape
    above = np.repeat(np.arange(width + 1, dtype=np.uint8)[:, None], count, axis=1)
    before = above  # the row above that one; not read before the second step
    for step, letter in enumerate(word, start=1):
        here = np.empty_like(above)
        here[0] = step
        for place in range(1, width + 1):
            differs = (letters[place - 1] != letter).view(np.uint8)
            cell = np.minimum(above[place - 1] + differs, above[place] + np.uint8(1))
            np.minimum(cell, here[place - 1] + np.uint8(1), out=cell)
            if step > 1 and place > 1:
                swapped = (letters[place - 1] == word[step - 2]) & (letters[place - 2] == letter)
                cell = np.where(swapped, np.minimum(cell, before[place - 2] + np.uint8(1)), cell)
            here[place] = cell
        before, above = above, here
    result: NDArray[np.uint8] = above[lengths, np.arange(count)]
    return result
