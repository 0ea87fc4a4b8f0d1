"""The final order of words: by falling count, ties by their bytes. All of them, ten million too.

Sorting looks at 7 bytes of each word at a time and returns to the words that are still tied; no
word becomes a Python object unless very long words differ only far behind. It does not prune.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["Ranking", "rank_words"]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_STEP = 7  # bytes of a word in one sort key; the eighth byte of the key holds what is left
_MANY = (1 << 16) - 1
_ROUNDS = 64  # then words tied in 448 bytes are compared whole


class Ranking(NamedTuple):
    """All words in their final order.

    ranks uint32[n]: the rank of each word by its row in the table. The others are in the order
    of ranks: counts int64[n], offsets int64[n+1] and data uint8 (the words' bytes).
    """

    ranks: npt.NDArray[np.uint32]
    counts: Ints
    offsets: Ints
    data: Bytes


def rank_words(data: Bytes, offsets: Ints, counts: Ints) -> Ranking:
    """Order words given by their bytes data[offsets[i]:offsets[i+1]] and counts.

    The words must differ from each other. Needs about 60 bytes a word besides its arguments.
    """
    order = _order(data, offsets, counts)
    ranks = np.empty(order.size, np.uint32)
    ranks[order] = np.arange(order.size, dtype=np.uint32)
    new_offsets = np.zeros(order.size + 1, np.int64)
    new_data = np.empty(data.size, np.uint8)
    gather(data, offsets, order, new_data, new_offsets)
    return Ranking(ranks, counts[order], new_offsets, new_data)


def _order(data: Bytes, offsets: Ints, counts: Ints) -> Ints:
    """Return the rows in their final order."""
    keys = np.empty(counts.size, np.uint64)
    word_keys(data, offsets, np.arange(counts.size), 0, keys)
    order = _by_count_and_key(counts, keys)
    same = (np.diff(counts[order]) == 0) & (np.diff(keys[order]) == 0) & _goes_on(keys[order][1:])
    del keys
    places, groups = _tied(same)
    for done in range(_STEP, _STEP * _ROUNDS, _STEP):
        if not places.size:
            return order
        places, groups = _resort(data, offsets, order, places, groups, done)
    _sort_whole(data, offsets, order, places, groups)
    return order


def _by_count_and_key(counts: Ints, keys: npt.NDArray[np.uint64]) -> Ints:
    """Return the order by falling counts, then keys.

    As np.lexsort((keys, -counts)), but with NumPy's vectorised sort for the keys and its radix
    sort of 16 bits for the counts; the few words beyond 16 bits are sorted once more.
    """
    order = np.argsort(keys)
    falling = (_MANY - np.minimum(counts[order], _MANY)).astype(np.uint16)
    order = order[np.argsort(falling, kind="stable")]
    head = order[: np.count_nonzero(counts >= _MANY)]
    head[:] = head[np.lexsort((keys[head], -counts[head]))]
    return order


def _goes_on(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Tell which words have bytes behind those in the key."""
    return (keys & np.uint64(0xFF)) > _STEP


def _tied(same: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return the places in runs of equals and their run's number; same[i]: i equals i + 1."""
    left = np.concatenate((same, [False]))
    right = np.concatenate(([False], same))
    places = np.flatnonzero(left | right)
    return places, np.cumsum(~right[places])


def _resort(
    data: Bytes, offsets: Ints, order: Ints, places: Ints, groups: Ints, done: int
) -> tuple[Ints, Ints]:
    """Sort the tied places of `order`, group by group, by the bytes after `done`."""
    rows = order[places]
    keys = np.empty(rows.size, np.uint64)
    word_keys(data, offsets, rows, done, keys)
    inside = np.lexsort((keys, groups))  # the groups are ascending and stay where they are
    order[places] = rows[inside]
    keys = keys[inside]
    same = (np.diff(groups) == 0) & (np.diff(keys) == 0) & _goes_on(keys[1:])
    still, groups = _tied(same)
    return places[still], groups


def _sort_whole(data: Bytes, offsets: Ints, order: Ints, places: Ints, groups: Ints) -> None:
    """Sort what is still tied by comparing whole words."""
    for group in np.split(places, np.flatnonzero(np.diff(groups)) + 1):
        rows = order[group]
        words = {row: data[offsets[row] : offsets[row + 1]].tobytes() for row in rows.tolist()}
        order[group] = sorted(words, key=lambda row: words[row])


@njit(cache=True, nogil=True)
def word_keys(data: Bytes, offsets: Ints, rows: Ints, done: int, keys: npt.NDArray[Any]) -> None:
    """Write each word's next 7 bytes as a number that sorts like them.

    Big-endian, padded with 0; the lowest byte is how many bytes there were, or 8 if more follow,
    so that a word sorts before its own extension by NUL bytes.
    """
    for i in range(rows.size):
        start = offsets[rows[i]] + done
        left = offsets[rows[i] + 1] - start
        key = np.uint64(0)
        for j in range(_STEP):
            byte = data[start + j] if j < left else np.uint8(0)
            key = (key << np.uint64(8)) | np.uint64(byte)
        keys[i] = (key << np.uint64(8)) | np.uint64(min(left, _STEP + 1))


@njit(cache=True, nogil=True)
def gather(data: Bytes, offsets: Ints, order: Ints, new_data: Bytes, new_offsets: Ints) -> None:
    """Copy the words in a new order."""
    end = 0
    for i in range(order.size):
        for j in range(offsets[order[i]], offsets[order[i] + 1]):
            new_data[end] = data[j]
            end += 1
        new_offsets[i + 1] = end
