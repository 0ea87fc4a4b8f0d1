"""Compiled passes over token ids for phrases: count pairs of neighbours, join them, write text.

Arrays in, arrays out: no scores, no files, no words. The high bit of an id ends its line, and no
pair crosses a line's end.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.prefetch import ask_for

__all__ = ["count_ids", "count_pairs", "join_pairs", "make_lookup", "refill_pairs", "write_text"]

Ids = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

LINE_END = np.uint32(1 << 31)
LOW = np.uint32(LINE_END - 1)
FREE, ONE = np.uint64(0), np.uint64(1)
HALF = np.uint64(32)
MIX_1, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
BATCH = 64  # pairs whose slots are asked for at once
AHEAD = 16  # tokens between asking for a word's place, asking for its bytes, and writing it


@compiled
def slot_of(key: np.uint64, mask: np.uint64) -> np.uint64:
    """Return where the search for a key begins."""
    key = key * MIX_1
    key = key ^ (key >> HALF)
    key = key * MIX_2
    return (key ^ (key >> HALF)) & mask


@compiled
def count_ids(tokens: Ids, counts: Counts) -> None:
    """Add how often each id is there to `counts`."""
    for i in range(tokens.size):
        counts[tokens[i] & LOW] += 1


@compiled
def count_pairs(
    tokens: Ids, start: int, counts: Counts, least: int, keys: Keys, seen: Ids, used: int
) -> tuple[int, int]:
    """Count the pairs whose first token lies at `start` or behind it; stop when half full.

    Only pairs of words seen `least` times. keys[S], seen[S]: the slots; a key is
    (first + 1) << 32 | second.

    Returns:
        Where to go on (the number of tokens: all is done), and the slots in use.
    """
    mask = np.uint64(keys.size - 1)
    waiting = np.empty(BATCH, np.uint64)
    slots = np.empty(BATCH, np.uint64)
    position, last = start, tokens.size - 1
    keys_at, seen_at = keys.ctypes.data, seen.ctypes.data
    while position < last:
        if used + BATCH > keys.size // 2:
            return position, used
        count = 0
        while position < last and count < BATCH:
            first = tokens[position]
            second = tokens[position + 1] & LOW
            position += 1
            if first & LINE_END or counts[first] < least or counts[second] < least:
                continue
            waiting[count] = ((np.uint64(first) + ONE) << HALF) | np.uint64(second)
            slot = slot_of(waiting[count], mask)
            slots[count] = slot
            ask_for(keys_at + 8 * np.int64(slot))
            ask_for(seen_at + 4 * np.int64(slot))
            count += 1
        for i in range(count):
            key, slot = waiting[i], slots[i]
            while keys[slot] != key and keys[slot] != FREE:
                slot = (slot + ONE) & mask
            if keys[slot] == FREE:
                keys[slot] = key
                seen[slot] = 0
                used += 1
            seen[slot] += 1
    return tokens.size, used


@compiled
def refill_pairs(old_keys: Keys, old_values: Ids, keys: Keys, values: Ids) -> None:
    """Move all slots into a larger table of zeroed keys."""
    mask = np.uint64(keys.size - 1)
    for i in range(old_keys.size):
        if old_keys[i] != FREE:
            slot = slot_of(old_keys[i], mask)
            while keys[slot] != FREE:
                slot = (slot + ONE) & mask
            keys[slot] = old_keys[i]
            values[slot] = old_values[i]


@compiled
def make_lookup(
    pairs: Keys, ids: Ids, keys: Keys, values: Ids, begins: npt.NDArray[np.uint8]
) -> None:
    """Fill a table (zeroed keys, more than twice the pairs) from pairs to their new ids.

    begins[id] becomes 1 for the first id of any pair.
    """
    refill_pairs(pairs, ids, keys, values)
    for i in range(pairs.size):
        begins[(pairs[i] >> HALF) - ONE] = 1


@compiled
def join_pairs(
    tokens: Ids, keys: Keys, values: Ids, begins: npt.NDArray[np.uint8], out: Ids
) -> int:
    """Replace pairs by their ids, from the left, none overlapping; return how many ids remain.

    `out` may be `tokens` itself.
    """
    mask = np.uint64(keys.size - 1)
    count = position = 0
    while position < tokens.size:
        first = tokens[position]
        position += 1
        if not first & LINE_END and begins[first] and position < tokens.size:
            second = tokens[position]
            key = ((np.uint64(first) + ONE) << HALF) | np.uint64(second & LOW)
            slot = slot_of(key, mask)
            while keys[slot] != key and keys[slot] != FREE:
                slot = (slot + ONE) & mask
            if keys[slot] == key:
                first = values[slot] | (second & LINE_END)
                position += 1
        out[count] = first
        count += 1
    return count


@compiled
def write_text(
    tokens: Ids,
    start: int,
    data: npt.NDArray[np.uint8],
    offsets: Counts,
    out: npt.NDArray[np.uint8],
) -> tuple[int, int]:
    """Write words with blanks between them and a line end behind each line, until `out` is full.

    Returns:
        The next token, and the bytes written.
    """
    used, last = 0, tokens.size - 1
    offsets_at, data_at = offsets.ctypes.data, data.ctypes.data
    for i in range(start, tokens.size):
        ask_for(offsets_at + 8 * np.int64(tokens[min(i + 2 * AHEAD, last)] & LOW))
        ask_for(data_at + offsets[tokens[min(i + AHEAD, last)] & LOW])
        word = tokens[i] & LOW
        begin, end = offsets[word], offsets[word + 1]
        if used + end - begin + 1 > out.size:
            return i, used
        for j in range(end - begin):
            out[used + j] = data[begin + j]
        used += end - begin
        out[used] = 10 if tokens[i] & LINE_END else 32
        used += 1
    return tokens.size, used
