"""Which words are drawn as noise, and which tokens are kept.

The noise distribution q(w) ∝ count(w)^a, its alias table (Walker 1977, in Vose's 1991 form: a
draw costs one slot and one comparison whatever V is), and the keep probabilities of frequent
words. The draws themselves happen in the kernels.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "alias_probabilities",
    "alias_table",
    "effective_sample",
    "keep_probabilities",
    "keep_thresholds",
    "noise_distribution",
    "pack_alias",
]

Real = npt.NDArray[np.float64]
FULL = 2.0**32


def noise_distribution(counts: npt.ArrayLike, exponent: float) -> Real:
    """Return q(w) = count(w)^exponent / Σ, shape (V,), every entry > 0.

    Exponent 0.75 is the published choice, 0 uniform, 1 the unigram distribution; negative
    exponents prefer rare words. Computed from logarithms, so that no count overflows.
    """
    logs = exponent * np.log(np.asarray(counts, np.float64))
    weights = np.exp(logs - logs.max())
    return np.asarray(np.maximum(weights / weights.sum(), np.finfo(np.float64).tiny))


def _vose(scaled: Real, threshold: Real, alias: npt.NDArray[np.int64]) -> None:
    """Fill both arrays so that slot i gives i with probability threshold[i], else alias[i].

    scaled: q·V, changed on the way. Small and large slots share one stack array, from its ends.
    """
    count = len(scaled)
    stack = np.empty(count, np.int64)
    small, large = 0, count
    for i in range(count):
        if scaled[i] < 1:
            stack[small] = i
            small += 1
        else:
            large -= 1
            stack[large] = i
    while small > 0 and large < count:
        small -= 1
        low, high = stack[small], stack[large]
        threshold[low], alias[low] = scaled[low], high
        scaled[high] -= 1 - scaled[low]
        if scaled[high] < 1:
            large += 1
            stack[small] = high
            small += 1


@cache
def _fill_alias() -> Any:
    """Return _vose compiled: only who draws waits for the compiler."""
    from w2v_sgns.kernels.compile import compiled

    return compiled(_vose)


def alias_table(q: Real) -> tuple[Real, npt.NDArray[np.int64]]:
    """Return (threshold, alias), each (V,), for a distribution of shape (V,).

    A slot left over when the other kind has run out is certain: its threshold is 1.
    """
    threshold = np.ones(len(q))
    alias = np.arange(len(q))
    _fill_alias()(q * len(q), threshold, alias)
    return threshold, alias


def alias_probabilities(threshold: Real, alias: npt.NDArray[np.int64]) -> Real:
    """Return the distribution that a table draws from, shape (V,)."""
    own = np.asarray(threshold, np.float64)
    return np.asarray((own + np.bincount(alias, 1 - own, len(own))) / len(own))


def pack_alias(threshold: Real, alias: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return the kernels' table, uint64[V]: alias << 32 | t, taken when 32 random bits <= t.

    A slot keeps its own word with probability (t + 1) / 2^32: never zero, off by at most 2^-32.
    """
    t = np.clip(np.rint(threshold * FULL) - 1, 0, FULL - 1).astype(np.uint64)
    return np.asarray((alias.astype(np.uint64) << np.uint64(32)) | t)


def keep_probabilities(counts: npt.ArrayLike, sample: float) -> Real:
    """Return min(1, sqrt(t/f) + t/f) for t = sample and f = count / Σ count, shape (V,).

    This is word2vec.c's formula. The paper prints 1 − sqrt(t/f) for dropping, which is
    sqrt(t/f) for keeping; it reaches 1 at f = t, the code's at f = 2.618·t. sample = 0 keeps all.
    """
    counts = np.asarray(counts, np.float64)
    if sample == 0:
        return np.ones(len(counts))
    ratio = sample * counts.sum() / counts
    return np.asarray(np.minimum(1, np.sqrt(ratio) + ratio))


def effective_sample(sample: float, tokens: int) -> float:
    """Return the threshold to use on a corpus of so many tokens: at least 1 / tokens.

    Below that even a word seen once would count as frequent, and a small text would lose
    nearly everything. 0 stays 0: every token is kept.
    """
    return max(sample, 1 / tokens) if sample else 0.0


def keep_thresholds(probabilities: Real) -> npt.NDArray[np.uint32]:
    """Return p·2^32 − 1 as uint32[n]: a token is kept when 32 random bits are not above it.

    Words are ordered by falling count, so at some n every later word has the same p as word
    n − 1 (1, if any word is that rare); they share its entry.
    """
    full = np.clip(np.rint(probabilities * FULL) - 1, 0, FULL - 1).astype(np.uint32)
    different = np.flatnonzero(full != full[-1])
    return np.array(full[: different[-1] + 2 if len(different) else 1])
