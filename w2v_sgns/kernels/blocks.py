"""Which windows make a block, whose scores threads in step exchange at once."""

from __future__ import annotations

from typing import Any

from numba import njit

from w2v_sgns.kernels.compile import compiled

__all__ = ["block_end", "list_blocks"]

REPEATS = 2  # of a word among the windows that are not added yet


@njit(inline="always")
def block_end(words, before, low, final, block):
    """Return where the block that begins at `low` ends, and whether it may be scored early.

    words[before:low] is the block before it. Early is: before that one is added. No word stands
    more than REPEATS times in what is not added yet: gradients of one row, all from old values,
    would add up to too large a step. Blocks of one window are never early: no score is old then,
    as with one thread.
    """
    early = block > 1 and count_word(words, before, low) < REPEATS
    start = before if early else low
    end = low + 1
    while end < min(low + block, final) and count_word(words, start, end) < REPEATS:
        end += 1
    return end, early


@njit(inline="always")
def count_word(words, start, place):
    """Return how often words[place] stands in words[start:place]."""
    count = 0
    for n in range(start, place):
        count += int(words[n] == words[place])
    return count


def _list_blocks(words, begin, final, block):
    """Return [low, high, early] of each block, as training on words[begin:final] cuts them."""
    blocks = []
    before = low = begin
    while low < final:
        high, early = block_end(words, before, low, final, block)
        blocks.append((low, high, early))
        before, low = low, high
    return blocks


list_blocks: Any = compiled(_list_blocks)
