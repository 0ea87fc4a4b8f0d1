"""The compiled scanner: splits a block of bytes into tokens, looks them up, counts, writes ids.

Arrays and scalars in, counts out: it knows no files, threads or budgets, and never allocates.
Where a table is full it returns, the caller (`table.py`) makes room and calls again. Splitting
and looking up are two passes over a block: the second knows its next words and asks for their
places in the table ahead of need, which is what counting millions of different words hangs on.

A word is told from others by two numbers (uint64). Its **last** is its last 8 bytes; its **key**
also says where in the table it is looked for, and its two top bits say how much is known by it:

    up to 7 bytes    00  the word itself behind a leading 1; `last` is the same number
    8 to 15 bytes    10  the bytes before the last 8 behind a leading 1, xor a hash of `last`
    from 16 bytes    11  a hash; where key and last agree, the bytes are compared

No key is 0, which marks a free slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.prefetch import ask_for

__all__ = [
    "LINE",
    "SEPARATOR",
    "Table",
    "Tokens",
    "divide",
    "find",
    "key_words",
    "look_up",
    "refill",
    "split",
]

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]

WORD, SEPARATOR, LINE = 0, 1, 2  # kinds of bytes: part of a word, its end, a line's end as well
MEDIUM, LONG = 8, 16  # lengths from which a word has the second and the third kind of key
AHEAD = 16  # tokens between asking for a slot, asking for its row, and the look-up
FREE, ONE = np.uint64(0), np.uint64(1)
BYTE, HALF, WHOLE = np.uint64(8), np.uint64(32), np.uint64(56)
LOW_62 = np.uint64((1 << 62) - 1)
MEDIUM_BITS, LONG_BITS = np.uint64(0b10 << 62), np.uint64(0b11 << 62)
# Odd constants with about half their bits set.
MIX_1, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


class Table(NamedTuple):
    """A hash table of words in open addressing: arrays only.

    keys[S], rows[S]: the slots (S a power of two), a word's key and its row.
    lasts[R], counts[R], offsets[R+1], data: the words in order of first sight; word r's bytes
    are data[offsets[r]:offsets[r+1]].

    Loops unpack it once and call no function on their common way: Numba passes arrays by value
    and counts references to them, which costs more than a look-up.
    """

    keys: Numbers
    rows: Rows
    lasts: Numbers
    counts: Places
    offsets: Places
    data: Bytes


class Tokens(NamedTuple):
    """The tokens of one block: key, last 8 bytes, and place: block[begin:end]."""

    keys: Numbers
    lasts: Numbers
    begins: Places
    ends: Places


@njit(nogil=True)
def mix(key: np.uint64) -> np.uint64:
    """Spread a number over all 64 bits (a bijection)."""
    key = key * MIX_1
    key = key ^ (key >> HALF)
    key = key * MIX_2
    return key ^ (key >> HALF)


@njit(nogil=True)
def word_key(first: np.uint64, last: np.uint64, text: Bytes, begin: int, end: int) -> np.uint64:
    """Return the key of text[begin:end]; (first, last): its last 16 bytes, behind a 1 if fewer."""
    if end - begin < MEDIUM:
        return last
    if end - begin < LONG:
        return ((first ^ mix(last)) & LOW_62) | MEDIUM_BITS
    key = ONE
    for position in range(begin, end):
        key = (key ^ np.uint64(text[position])) * MIX_1
        key = key ^ (key >> HALF)
    return key | LONG_BITS


@njit(nogil=True)
def same_bytes(
    offsets: Places, data: Bytes, row: np.uint32, text: Bytes, begin: int, end: int
) -> bool:
    """Tell whether the word of a row is text[begin:end]."""
    start = offsets[row]
    length = end - begin
    if offsets[row + 1] - start != length:
        return False
    equal = 0
    while equal < length and data[start + equal] == text[begin + equal]:
        equal += 1
    return bool(equal == length)


@compiled
def split(
    block: Bytes, kinds: Bytes, most: int, tokens: Tokens, ids: Rows, line_end: np.uint32
) -> tuple[int, int, bool, int]:
    """Find the block's tokens; ids[i] becomes `line_end` for the last of its line, else 0.

    `kinds` (256) says what each byte is; the last one of a block must be no part of a word.
    Tokens of more than `most` bytes are left out.

    Returns:
        The number of tokens, of line breaks, whether one came before the first token, and the
        number of tokens left out.
    """
    keys, lasts, begins, ends = tokens
    count = breaks = begin = dropped = 0
    leading = False
    first, last = FREE, ONE  # 128 bits: the word behind a leading 1, bytes fall out at the top
    for position in range(block.size):
        byte = block[position]
        kind = kinds[byte]
        if kind == WORD:
            first = (first << BYTE) | (last >> WHOLE)
            last = (last << BYTE) | np.uint64(byte)
            continue
        if position - begin > most:
            dropped += 1
            first, last = FREE, ONE
        elif position > begin:
            keys[count] = word_key(first, last, block, begin, position)
            lasts[count] = last
            begins[count] = begin
            ends[count] = position
            ids[count] = 0
            count += 1
            first, last = FREE, ONE
        begin = position + 1
        if kind == LINE:
            breaks += 1
            if count:
                ids[count - 1] = line_end
            else:
                leading = True
    return count, breaks, leading, dropped


@compiled
def look_up(
    text: Bytes, tokens: Tokens, first: int, count: int, table: Table, types: int, ids: Rows
) -> tuple[int, int]:
    """Count the tokens first..count - 1 and write their rows into `ids`, beside the line ends.

    Returns:
        The next token (below `count`: it found no room in the table), and the table's words.
    """
    token_keys, token_lasts, begins, ends = tokens
    keys, rows, lasts, counts, offsets, data = table
    mask = np.uint64(keys.size - 1)
    keys_at, rows_at = keys.ctypes.data, rows.ctypes.data
    lasts_at, counts_at = lasts.ctypes.data, counts.ctypes.data
    for i in range(first, count):
        if i + 2 * AHEAD < count:
            slot = mix(token_keys[i + 2 * AHEAD]) & mask
            ask_for(keys_at + 8 * np.int64(slot))
            ask_for(rows_at + 4 * np.int64(slot))
        if i + AHEAD < count:
            row = rows[mix(token_keys[i + AHEAD]) & mask]  # of a free slot: any number
            ask_for(lasts_at + 8 * np.int64(row))
            ask_for(counts_at + 8 * np.int64(row))
        key, last = token_keys[i], token_lasts[i]
        slot = mix(key) & mask
        while keys[slot] != FREE:
            if (
                keys[slot] == key
                and lasts[rows[slot]] == last
                and (
                    key < LONG_BITS
                    or same_bytes(offsets, data, rows[slot], text, begins[i], ends[i])
                )
            ):
                break
            slot = (slot + ONE) & mask
        if keys[slot] == FREE:
            begin, start = begins[i], offsets[types]
            end = start + ends[i] - begin
            if types == counts.size or end > data.size:
                return i, types
            for j in range(end - start):
                data[start + j] = text[begin + j]
            offsets[types + 1] = end
            lasts[types] = last
            counts[types] = 0
            keys[slot] = key
            rows[slot] = types
            types += 1
        row = rows[slot]
        counts[row] += 1
        ids[i] |= row
    return count, types


@compiled
def find(
    text: Bytes, tokens: Tokens, count: int, table: Table, ids: Rows, unknown: np.uint32
) -> None:
    """Write the rows of the first `count` tokens into `ids`, or `unknown`; change no table."""
    token_keys, token_lasts, begins, ends = tokens
    keys, rows, lasts, _, offsets, data = table
    mask = np.uint64(keys.size - 1)
    for i in range(count):
        key, last = token_keys[i], token_lasts[i]
        slot = mix(key) & mask
        ids[i] = unknown
        while keys[slot] != FREE:
            if (
                keys[slot] == key
                and lasts[rows[slot]] == last
                and (
                    key < LONG_BITS
                    or same_bytes(offsets, data, rows[slot], text, begins[i], ends[i])
                )
            ):
                ids[i] = rows[slot]
                break
            slot = (slot + ONE) & mask


@compiled
def key_words(text: Bytes, offsets: Places, tokens: Tokens) -> None:
    """Make words given by their bytes text[offsets[i]:offsets[i+1]] into tokens."""
    keys, lasts, begins, ends = tokens
    for i in range(offsets.size - 1):
        begins[i], ends[i] = offsets[i], offsets[i + 1]
        first, last = FREE, ONE
        for position in range(begins[i], ends[i]):
            first = (first << BYTE) | (last >> WHOLE)
            last = (last << BYTE) | np.uint64(text[position])
        keys[i] = word_key(first, last, text, begins[i], ends[i])
        lasts[i] = last


@compiled
def divide(keys: Numbers, parts: Bytes) -> None:
    """Tell each key's part, 0..255, by the bits that no table looks at."""
    for i in range(parts.size):
        parts[i] = mix(keys[i]) >> WHOLE


@compiled
def refill(old_keys: Numbers, old_rows: Rows, keys: Numbers, rows: Rows) -> None:
    """Move all slots into a larger table of zeroed keys."""
    mask = np.uint64(keys.size - 1)
    for i in range(old_keys.size):
        key = old_keys[i]
        if key != FREE:
            slot = mix(key) & mask
            while keys[slot] != FREE:
                slot = (slot + ONE) & mask
            keys[slot] = key
            rows[slot] = old_rows[i]
