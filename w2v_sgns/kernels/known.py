"""Which candidates of a batch are known to be right for which queries, tile by tile.

A candidate that is right for an equal query elsewhere in the file is no wrong answer. The relation
is kept by numbers of queries and texts, never as N × M cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Known", "places"]


class Known:
    """Finds the cells that must not count as wrong answers: all known ones but the own.

    Args:
        ids: (M,) numbers of the candidates' texts, equal for equal texts.
        right: (N,) each query's own candidate.
        asked: (N,) numbers of the queries; None: all differ.
        known: offsets (Q + 1,) and numbers of texts: those right for query number q are
            ``numbers[offsets[q]:offsets[q + 1]]``; None: each query's own text alone.
    """

    def __init__(self, ids, right, asked=None, known=None):
        self.ids, self.right = ids, right
        if asked is None or known is None:
            asked, known = np.arange(len(right)), (np.arange(len(right) + 1), ids[right])
        offsets, numbers = known
        groups, self.group = np.unique(asked, return_inverse=True)
        lengths = offsets[groups + 1] - offsets[groups]
        owner, texts = np.repeat(np.arange(len(groups)), lengths), places(offsets[groups], lengths)
        texts = numbers[texts]
        copies = _copies(np.sort(ids), texts)
        self.crowded = (np.bincount(owner, copies, len(groups)) > 1)[self.group]
        here = copies > 0  # the batch is small beside the file
        self.texts = texts[here]
        self.offsets = np.searchsorted(owner[here], np.arange(len(groups) + 1))

    def cells(self, rows, part):
        """Return rows and columns, within a tile of two slices, of what is known to be right."""
        some = np.flatnonzero(self.crowded[rows])
        if not len(some):
            return some, some
        groups, back = np.unique(self.group[rows][some], return_inverse=True)
        lengths = self.offsets[groups + 1] - self.offsets[groups]
        texts = self.texts[places(self.offsets[groups], lengths)]
        order = np.argsort(self.ids[part], kind="stable")
        ids = self.ids[part][order]
        copies = _copies(ids, texts)
        marked = np.zeros((len(groups), len(ids)), bool)
        owner = np.repeat(np.repeat(np.arange(len(groups)), lengths), copies)
        marked[owner, order[places(np.searchsorted(ids, texts), copies)]] = True
        i, j = np.nonzero(marked[back])
        others = self.right[rows][some[i]] != j + part.start
        return some[i[others]], j[others]


def places(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of stretches, one after another, each start, start + 1 and so on."""
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)


def _copies(ids, texts):
    """Return how often each text stands in sorted numbers."""
    return np.searchsorted(ids, texts, side="right") - np.searchsorted(ids, texts)
