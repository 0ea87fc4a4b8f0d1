"""The final order of words: by falling count, ties by their bytes. All of them, ten million too.

Sorting looks at 7 bytes of each word at a time (a radix sort, linear in the words) and returns to
the words that are still tied; no word becomes a Python object unless very long words differ only
far behind. It does not prune.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.kernels.compile import compiled

__all__ = ["Ranking", "rank_words"]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.uint32]

SMALL = 24  # words that insertion sorts
BATCH = 512  # words copied at once
_STEP = 7  # bytes of a word in one sort key; the eighth byte of the key holds what is left
_MANY = np.uint64((1 << 16) - 1)
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
    new_counts = np.empty(order.size, np.int64)
    new_offsets = np.zeros(order.size + 1, np.int64)
    new_data = np.empty(data.size, np.uint8)
    gather(data, offsets, counts, order, ranks, new_counts, new_offsets, new_data)
    return Ranking(ranks, new_counts, new_offsets, new_data)


def _order(data: Bytes, offsets: Ints, counts: Ints) -> Rows:
    """Return the rows in their final order."""
    keys = np.empty(counts.size, np.uint64)
    order = np.arange(counts.size, dtype=np.uint32)
    word_keys(data, offsets, order, 0, keys)
    keys, order = _by_count_and_key(counts, keys, order)
    same = np.zeros(order.size, np.bool_)
    find_ties(counts, keys, order, same)
    del keys
    places, groups = _tied(same[1:])
    del same
    for done in range(_STEP, _STEP * _ROUNDS, _STEP):
        if not places.size:
            return order
        places, groups = _resort(data, offsets, order, places, groups, done)
    _sort_whole(data, offsets, order, places, groups)
    return order


def _by_count_and_key(counts: Ints, keys: Keys, order: Rows) -> tuple[Keys, Rows]:
    """Return keys and rows by falling counts, then keys; counts beyond 16 bits are few."""
    keys, order = _radix_sorted(keys, order, range(8))
    falling = _MANY - np.minimum(counts, _MANY).astype(np.uint64)
    if counts.size and falling.min() != falling.max():
        # one more sort by two digits; the keys come along as the rows' order
        by_count, places = _radix_sorted(
            falling[order], np.arange(order.size, dtype=np.uint32), range(2)
        )
        del by_count
        keys, order = keys[places], order[places]
    head = int(np.count_nonzero(counts >= _MANY))
    inside = np.lexsort((keys[:head], -counts[order[:head]]))
    keys[:head], order[:head] = keys[:head][inside], order[:head][inside]
    return keys, order


def _radix_sorted(keys: Keys, rows: Rows, digits: range) -> tuple[Keys, Rows]:
    """Return both arrays sorted by the keys' lowest bytes `digits`, stably; both are used up."""
    spare_keys, spare_rows = np.empty_like(keys), np.empty_like(rows)
    for digit in digits:
        if radix_pass(keys, rows, spare_keys, spare_rows, 8 * digit):
            keys, spare_keys = spare_keys, keys
            rows, spare_rows = spare_rows, rows
    return keys, rows


def _tied(same: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return the places in runs of equals and their run's number; same[i]: i equals i + 1."""
    left = np.concatenate((same, [False]))
    right = np.concatenate(([False], same))
    places = np.flatnonzero(left | right)
    return places, np.cumsum(~right[places])


def _resort(
    data: Bytes, offsets: Ints, order: Rows, places: Ints, groups: Ints, done: int
) -> tuple[Ints, Ints]:
    """Sort the tied places of `order`, group by group, by the bytes after `done`."""
    rows = order[places]
    keys = np.empty(rows.size, np.uint64)
    word_keys(data, offsets, rows, done, keys)
    sort_groups(keys, rows, groups)
    order[places] = rows
    same = (np.diff(groups) == 0) & (np.diff(keys) == 0) & ((keys[1:] & np.uint64(0xFF)) > _STEP)
    still, groups = _tied(same)
    return places[still], groups


def _sort_whole(data: Bytes, offsets: Ints, order: Rows, places: Ints, groups: Ints) -> None:
    """Sort what is still tied by comparing whole words."""
    for group in np.split(places, np.flatnonzero(np.diff(groups)) + 1):
        rows = order[group]
        words = {row: data[offsets[row] : offsets[row + 1]].tobytes() for row in rows.tolist()}
        order[group] = sorted(words, key=lambda row: words[row])


@compiled
def word_keys(data: Bytes, offsets: Ints, rows: Rows, done: int, keys: Keys) -> None:
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


@compiled
def radix_pass(keys: Keys, rows: Rows, new_keys: Keys, new_rows: Rows, shift: int) -> bool:
    """Sort stably by one byte of the keys into new arrays; False: all bytes are equal."""
    starts = np.zeros(257, np.int64)
    for i in range(keys.size):
        starts[((keys[i] >> np.uint64(shift)) & np.uint64(255)) + np.uint64(1)] += 1
    if starts.max() == keys.size:
        return False
    for digit in range(256):
        starts[digit + 1] += starts[digit]
    for i in range(keys.size):
        digit = (keys[i] >> np.uint64(shift)) & np.uint64(255)
        new_keys[starts[digit]] = keys[i]
        new_rows[starts[digit]] = rows[i]
        starts[digit] += 1
    return True


@compiled
def find_ties(counts: Ints, keys: Keys, order: Rows, same: npt.NDArray[np.bool_]) -> None:
    """Tell which words have the count and the key of the one before and go on behind the key."""
    for i in range(1, order.size):
        if keys[i] == keys[i - 1] and (keys[i] & np.uint64(255)) > np.uint64(_STEP):
            same[i] = counts[order[i]] == counts[order[i - 1]]


@compiled
def sort_groups(keys: Keys, rows: Rows, groups: Ints) -> None:
    """Sort keys and rows within each run of equal group numbers."""
    start = 0
    while start < keys.size:
        end = start + 1
        while end < keys.size and groups[end] == groups[start]:
            end += 1
        if end - start > SMALL:
            inside = np.argsort(keys[start:end])
            keys[start:end] = keys[start:end][inside]
            rows[start:end] = rows[start:end][inside]
        else:
            for i in range(start + 1, end):
                key, row = keys[i], rows[i]
                j = i
                while j > start and keys[j - 1] > key:
                    keys[j], rows[j] = keys[j - 1], rows[j - 1]
                    j -= 1
                keys[j], rows[j] = key, row
        start = end


@compiled
def gather(
    data: Bytes,
    offsets: Ints,
    counts: Ints,
    order: Rows,
    ranks: Rows,
    new_counts: Ints,
    new_offsets: Ints,
    new_data: Bytes,
) -> None:
    """Copy the words and their counts in a new order; write each row's rank.

    The first loop over a batch asks for memory without waiting, the second finds it in the cache.
    """
    starts = np.empty(BATCH, np.int64)
    touched = np.uint8(0)
    end = 0
    for first in range(0, order.size, BATCH):
        last = min(first + BATCH, order.size)
        for i in range(first, last):
            row = order[i]
            starts[i - first] = offsets[row]
            new_offsets[i + 1] = offsets[row + 1] - offsets[row]
            new_counts[i] = counts[row]
            ranks[row] = i
        for i in range(first, last):
            if new_offsets[i + 1]:
                touched ^= data[starts[i - first]]
        for i in range(first, last):
            start, length = starts[i - first], new_offsets[i + 1]
            for j in range(length):
                new_data[end + j] = data[start + j]
            end += length
            new_offsets[i + 1] = end
    if touched and not order.size:  # so that the loads are not optimised away
        new_offsets[0] = touched
