"""Hard negatives: for each query the nearest documents that are not known to be right.

An exact search in blocks; the scores of a block are all that is held.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["known_right", "mine"]

BLOCK_BYTES = 1 << 26  # of scores

Ids = NDArray[np.int64]


def mine(
    queries: NDArray[np.float32],
    documents: NDArray[np.float32],
    asked: Ids,
    right: Ids,
    *,
    count: int,
) -> Ids:
    """Return int64 (n, count): numbers of near documents, best first, −1 where none is left.

    Args:
        queries: (n, d) of length 1, or zero: such a query gets none.
        documents: (m, d), all different texts.
        asked: (n,) equal numbers for equal queries; what is right for one is right for all.
        right: (n,) the document of each query.
        count: documents a query.
    """
    known_of, known = known_right(asked, right)
    height = max(1, BLOCK_BYTES // (4 * max(1, len(documents))))
    most = min(count, len(documents))
    found = np.full((len(queries), count), -1, np.int64)
    for start in range(0, len(queries), height):
        block = slice(start, start + height)
        scores = queries[block] @ documents.T
        for row, group in enumerate(asked[block]):
            scores[row, known[known_of[group] : known_of[group + 1]]] = -np.inf
        scores[~queries[block].any(axis=1)] = -np.inf
        scores[:, ~documents.any(axis=1)] = -np.inf
        near = np.argpartition(-scores, most - 1, axis=1)[:, :most]
        values = np.take_along_axis(scores, near, axis=1)
        order = np.lexsort((near, -values), axis=1)
        near = np.take_along_axis(near, order, axis=1)
        values = np.take_along_axis(values, order, axis=1)
        found[block, :most] = np.where(np.isfinite(values), near, -1)
    return found


def known_right(asked: Ids, right: Ids) -> tuple[Ids, Ids]:
    """Return offsets by query number, and the right documents of each one after another."""
    order = np.argsort(asked, kind="stable")
    counts = np.bincount(asked, minlength=int(asked.max(initial=-1)) + 1)
    return np.concatenate([[0], np.cumsum(counts)]), right[order]
