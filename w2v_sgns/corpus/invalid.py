"""Which words are no UTF-8, or begin with a byte order mark. Compiled; looks at words, not text."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from w2v_sgns.kernels.compile import compiled

__all__ = ["count_marked", "next_invalid"]

Array = npt.NDArray[Any]


@compiled
def is_second(byte: int, second: int) -> bool:
    """Tell whether a character that begins with `byte` may go on with `second`."""
    low, high = 0x80, 0xBF
    if byte == 0xE0:
        low = 0xA0
    elif byte == 0xED:
        high = 0x9F
    elif byte == 0xF0:
        low = 0x90
    elif byte == 0xF4:
        high = 0x8F
    return bool(low <= second <= high)


@compiled
def is_utf8(data: Array, start: int, end: int) -> bool:
    """Tell whether data[start:end] is UTF-8 (RFC 3629: no surrogates, no overlong forms)."""
    i = start
    while i < end:
        byte = data[i]
        if byte < 0x80:
            i += 1
            continue
        more = 0 if byte < 0xC2 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
        if more == 0 or byte > 0xF4 or i + more >= end or not is_second(byte, data[i + 1]):
            return False
        for j in range(i + 2, i + more + 1):
            if data[j] & 0xC0 != 0x80:
                return False
        i += more + 1
    return True


@compiled
def next_invalid(data: Array, offsets: Array, start: int) -> int:
    """Return the first row from `start` on whose word is no UTF-8; -1 if there is none."""
    for row in range(start, offsets.size - 1):
        if not is_utf8(data, offsets[row], offsets[row + 1]):
            return row
    return -1


@compiled
def count_marked(data: Array, offsets: Array, counts: Array) -> tuple[int, int]:
    """Return how many tokens begin with U+FEFF, and the row of the most frequent (-1: none)."""
    tokens, most = 0, -1
    for row in range(offsets.size - 1):
        start = offsets[row]
        if (
            offsets[row + 1] - start >= 3
            and data[start] == 0xEF
            and data[start + 1] == 0xBB
            and data[start + 2] == 0xBF
        ):
            tokens += counts[row]
            if most < 0 or counts[row] > counts[most]:
                most = row
    return tokens, most
