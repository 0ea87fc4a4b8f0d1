"""From token ids to windows: subsampling, line ends, window sizes, negatives.

A chunk is a fixed range of token positions. Whether a token is kept, and its window, is a
function of the epoch's stream at its position alone, so a chunk can ask what its neighbours
keep: no pair is lost or counted twice where a line is cut into chunks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.rng import STEP, below, high, low, mix

__all__ = [
    "CHUNK",
    "LINE_END",
    "WORD",
    "count_pairs",
    "draw",
    "draw_noise",
    "is_kept",
    "kept_windows",
    "list_noise",
    "list_windows",
    "noise_choice",
    "noise_slot",
    "window_size",
]

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


@njit(inline="always")
def window_size(bits, window):
    """Return how far a token's window reaches, 1..window, by the lower half of its draw."""
    return np.int64(below(low(bits), np.uint64(window))) + 1


@njit
def kept_before(tokens, start, window, seeds, keep, words):
    """Write the last `window` kept words before `start` in its line; return how many.

    Looks no further back than the chunks whose seeds are given, the nearest chunk's last.
    """
    count = 0
    position = start - 1
    first = max(0, start - len(seeds) * CHUNK)
    while position >= first and count < window and not tokens[position] & LINE_END:
        word = tokens[position] & WORD
        back = (start - 1 - position) // CHUNK + 1
        seed = seeds[len(seeds) - back]
        if is_kept(draw(seed, position - (start - back * CHUNK)), word, keep):
            words[count] = word
            count += 1
        position -= 1
    for i in range(count // 2):
        words[i], words[count - 1 - i] = words[count - 1 - i], words[i]
    return count


@njit
def kept_after(tokens, end, window, seeds, keep, words, count):
    """Append the first `window` kept words from `end` on to the line's end; return the count.

    Looks no further than the chunks whose seeds are given, the nearest chunk's first.
    """
    most = count + window
    position = end
    last = min(len(tokens), end + len(seeds) * CHUNK)
    open_line = tokens[end - 1] & LINE_END == 0
    while open_line and position < last and count < most:
        word = tokens[position] & WORD
        ahead = (position - end) // CHUNK
        if is_kept(draw(seeds[ahead], position - end - ahead * CHUNK), word, keep):
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
    streams of h chunks before, this one, h chunks behind it (one more is passed over), in the
    text's order; h chunks hold a window. Returns (first, last): the chunk's own kept words are
    words[first:last].
    """
    halo = (len(seeds) - 1) // 2
    own = seeds[halo]
    first = kept_before(tokens, start, window, seeds[:halo], keep, words)
    count = first
    line = 0  # where the current line starts in `words`
    opened = first  # first word whose window may still grow to the right
    for position in range(start, end):
        token = tokens[position]
        word = token & WORD
        bits = draw(own, position - start)
        words[count] = word
        size = window if fixed else window_size(bits, window)
        low_edge[count] = max(count - size, line)
        high_edge[count] = count + size + 1
        count += np.int64(is_kept(bits, word, keep))
        if token & LINE_END:
            for t in range(opened, count):
                high_edge[t] = min(high_edge[t], count)
            line = opened = count
    last = count
    count = kept_after(tokens, end, window, seeds[halo + 1 : 2 * halo + 1], keep, words, count)
    for t in range(opened, last):
        high_edge[t] = min(high_edge[t], count)
    return first, last


def _count_pairs(tokens, start, end, window, fixed, seeds, keep, words, low_edge, high_edge):
    """Return the positive pairs of a chunk, as training on it would form them."""
    first, last = kept_windows(
        tokens, start, end, window, fixed, seeds, keep, words, low_edge, high_edge
    )
    pairs = 0
    for t in range(first, last):
        pairs += high_edge[t] - low_edge[t] - 1
    return pairs


count_pairs: Any = compiled(_count_pairs)


def _list_windows(tokens, start, end, window, fixed, seeds, keep, words, low_edge, high_edge):
    """Do what kept_windows does, called from Python."""
    return kept_windows(tokens, start, end, window, fixed, seeds, keep, words, low_edge, high_edge)


list_windows: Any = compiled(_list_windows)


def _list_noise(noise, seed, first, words):
    """Fill `words` from an alias table by a stream's draws from the one of number `first` on."""
    for n in range(len(words)):
        words[n] = draw_noise(seed + np.uint64(first + n + 1) * STEP, noise)


list_noise: Any = compiled(_list_noise)


@njit(inline="always")
def noise_slot(bits, count):
    """Return the slot of an alias table of `count` entries that a draw looks into."""
    return np.int64(below(high(bits), np.uint64(count)))


@njit(inline="always")
def noise_choice(bits, slot, entry):
    """Return the slot's own word or its alias: entry is alias << 32 | threshold."""
    alias = np.int64(high(entry))
    # arithmetic instead of a branch that no processor can predict
    return alias + (slot - alias) * np.int64(low(bits) <= low(entry))


@njit(inline="always")
def draw_noise(state, table):
    """Return a word from an alias table (uint64[V]: alias << 32 | threshold) for a counter."""
    bits = mix(state)
    slot = noise_slot(bits, len(table))
    return noise_choice(bits, slot, table[slot])
