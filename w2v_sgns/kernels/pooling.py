"""Texts as weighted means of word rows, and the gradient back to the words.

Tokens of all texts lie in one array; text i has ids[offsets[i]:offsets[i+1]], with UNKNOWN for
words that have no row. Loops over a row have no sum in them, so they become vector code as they
are. Knows no text, no loss and no optimiser.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from w2v_sgns.kernels.compile import compiled

__all__ = ["UNKNOWN", "pool", "unpool"]

Array = npt.NDArray[Any]

UNKNOWN = np.uint32(0xFFFFFFFF)


@compiled
def pool(
    E: Array, weights: Array, ids: Array, offsets: Array, out: Array, totals: Array, known: Array
) -> None:
    """Write out[i] = Σ a_w E_w / Σ a_w over the known words of text i; a zero row for none.

    E (V, d) and weights a (V,) float32; out (n, d) float32; totals (n,) float32 gets Σ a_w,
    known (n,) how many words of the text have a row.
    """
    d = E.shape[1]
    for i in range(offsets.size - 1):
        row = out[i]
        row[:] = np.float32(0)
        total = np.float32(0)
        count = 0
        for place in range(offsets[i], offsets[i + 1]):
            w = ids[place]
            if w == UNKNOWN:
                continue
            count += 1
            if weights[w] > np.float32(0):  # 0 · NaN would be NaN
                a = weights[w]
                total += a
                for j in range(d):
                    row[j] += a * E[w, j]
        totals[i] = total
        known[i] = count
        if total > np.float32(0):
            share = np.float32(1) / total
            for j in range(d):
                row[j] *= share


@compiled
def unpool(
    dX: Array,
    weights: Array,
    ids: Array,
    places: Array,
    offsets: Array,
    totals: Array,
    along: Array,
    G: Array,
    dw: Array,
) -> None:
    """Add to G[p] and dw[p] what every token sends back; a word's place p is places[token].

    dX (n, d) is the gradient by the means, along (n,) its product with the means. G (U, d) gets
    Σ a_w / Σ a · dX; dw (U,) gets the part −Σ a_w / Σ a · along of the gradient by log a_w, of
    which the other part is G[p]·E_w.
    """
    d = dX.shape[1]
    for i in range(offsets.size - 1):
        if totals[i] > np.float32(0):
            source = dX[i]
            for token in range(offsets[i], offsets[i + 1]):
                w = ids[token]
                if w != UNKNOWN:
                    share = weights[w] / totals[i]
                    row = G[places[token]]
                    for j in range(d):
                        row[j] += share * source[j]
                    dw[places[token]] -= share * along[i]
