"""From token ids to windows: subsampling, line ends, window sizes, negatives.

A chunk is a fixed range of token positions. Whether a token is kept, and its window, is a
function of the epoch's stream at its position alone, so a chunk can ask what its neighbours
keep: no pair is lost or counted twice where a line is cut into chunks.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from w2v_sgns.kernels.rng import STEP, below, high, low, mix

__all__ = ["CHUNK", "draw_noise", "is_kept", "kept_windows"]

CHUNK = 16_384  # tokens; part of the definition of the random streams
LINE_END = np.uint32(1 << 31)
WORD = np.uint32((1 << 31) - 1)


@njit(inline="always")
def draw(seed, position):
    """Return the 64 random bits of the token at a position within its chunk."""
    return mix(seed + np.uint64(position + 1) * STEP)


@njit(inline="always")
def is_kept(bits, word, keep):
    """Decide by the upper half of a draw; keep uint32[n]: keep probability · 2^32 − 1.

    Words from n − 1 on share the last entry: rare words are always kept, and a table of the
    frequent ones alone stays in the caches.
    """
    return high(bits) <= np.uint64(keep[min(np.int64(word), len(keep) - 1)])


@njit
def kept_before(tokens, start, window, seed, keep, words):
    """Write the last `window` kept words before `start` in its line; return how many.

    Looks no further back than one chunk, with that chunk's seed.
    """
    count = 0
    position = start - 1
    first = max(0, start - CHUNK)
    while position >= first and count < window and not tokens[position] & LINE_END:
        word = tokens[position] & WORD
        if is_kept(draw(seed, position - first), word, keep):
            words[count] = word
            count += 1
        position -= 1
    for i in range(count // 2):
        words[i], words[count - 1 - i] = words[count - 1 - i], words[i]
    return count


@njit
def kept_after(tokens, end, window, seed, keep, words, count):
    """Append the first `window` kept words from `end` on to the line's end; return the count."""
    most = count + window
    position = end
    last = min(len(tokens), end + CHUNK)
    open_line = tokens[end - 1] & LINE_END == 0
    while open_line and position < last and count < most:
        word = tokens[position] & WORD
        if is_kept(draw(seed, position - end), word, keep):
            words[count] = word
            count += 1
        open_line = tokens[position] & LINE_END == 0
        position += 1
    return count


@njit
def kept_windows(tokens, start, end, window, fixed, seeds, keep, words, low_edge, high_edge):
    """Subsample a chunk and set every kept token's window.

    words: the kept words, with up to `window` of the same line on either side of the chunk;
    the window of words[t] is words[low_edge[t]:high_edge[t]] without t itself. seeds: the
    streams of the chunk before, this one, the next. Returns (first, last): the chunk's own
    kept words are words[first:last].
    """
    first = kept_before(tokens, start, window, seeds[0], keep, words)
    count = first
    line = 0  # where the current line starts in `words`
    opened = first  # first word whose window may still grow to the right
    for position in range(start, end):
        token = tokens[position]
        word = token & WORD
        bits = draw(seeds[1], position - start)
        words[count] = word
        size = window if fixed else np.int64(below(low(bits), np.uint64(window))) + 1
        low_edge[count] = max(count - size, line)
        high_edge[count] = count + size + 1
        count += np.int64(is_kept(bits, word, keep))
        if token & LINE_END:
            for t in range(opened, count):
                high_edge[t] = min(high_edge[t], count)
            line = opened = count
    last = count
    count = kept_after(tokens, end, window, seeds[2], keep, words, count)
    for t in range(opened, last):
        high_edge[t] = min(high_edge[t], count)
    return first, last


@njit(inline="always")
def draw_noise(state, table):
    """Return a word from an alias table (uint64[V]: alias << 32 | threshold) for a counter."""
    bits = mix(state)
    slot = np.int64(below(high(bits), np.uint64(len(table))))
    entry = table[slot]
    alias = np.int64(high(entry))
    # arithmetic instead of a branch that no processor can predict
    return alias + (slot - alias) * np.int64(low(bits) <= low(entry))
