"""Compiled passes over provisional ids: to ranks, then to the kept words only.

Both work in place on one block's ids. The high bit of an id marks the last token of its line.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from w2v_sgns.kernels.compile import compiled

__all__ = ["keep_below", "longest_line", "to_ranks"]

LINE_END = np.uint32(1 << 31)  # as in store.py; compiled code looks at its own file only
LOW = np.uint32(LINE_END - 1)

Ids = npt.NDArray[np.uint32]


@compiled
def to_ranks(ids: Ids, ranks: Ids) -> None:
    """Replace every id by ranks[id]; line ends stay."""
    for i in range(ids.size):
        ids[i] = ranks[ids[i] & LOW] | (ids[i] & LINE_END)


@compiled
def keep_below(ids: Ids, types: int) -> tuple[int, bool]:
    """Move the ids below `types` to the front, in order.

    Where the last token of a line goes, the kept token before it ends the line.

    Returns:
        How many were kept, and whether a line ended before the first of them.
    """
    kept = 0
    leading = False
    for i in range(ids.size):
        if (ids[i] & LOW) < types:
            ids[kept] = ids[i]
            kept += 1
        elif ids[i] & LINE_END:
            if kept:
                ids[kept - 1] |= LINE_END
            else:
                leading = True
    return kept, leading


@compiled
def longest_line(tokens: Ids) -> int:
    """Return the tokens of the longest line; the end of the array ends the last."""
    longest = length = 0
    for i in range(tokens.size):
        length += 1
        if tokens[i] & LINE_END:
            longest = max(longest, length)
            length = 0
    return max(longest, length)
