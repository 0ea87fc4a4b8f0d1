"""Correlations and intervals, all at 95 %. Undefined values are None, never NaN."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Interval",
    "bootstrap_correlations",
    "bootstrap_mean",
    "fisher",
    "pearson",
    "ranks",
    "spearman",
    "wilson",
]

Interval = tuple[float, float]

Z = 1.959963984540054  # of the normal distribution, two-sided 95 %
RESAMPLES = 2000
SEED = 1  # of the resampling: the same question file gives the same interval
SPREAD = 1e-12  # relative; below it all values are the same up to rounding


def wilson(right: int, asked: int) -> Interval | None:
    """Return Wilson's score interval of a share; None of nothing."""
    if asked == 0:
        return None
    share, weight = right / asked, Z * Z / asked
    middle = (share + weight / 2) / (1 + weight)
    half = Z * math.sqrt(share * (1 - share) / asked + weight / (4 * asked)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Return ranks from 1, float64 (n,); equal values share the mean of their ranks."""
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean: NDArray[np.float64] = (last - (counts - 1) / 2)[place]
    return mean


def pearson(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return the linear correlation; None where a side does not vary or is shorter than 2."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) < 2:
        return None
    a, b = x - x.mean(), y - y.mean()
    if np.abs(a).max() <= SPREAD * np.abs(x).max() or np.abs(b).max() <= SPREAD * np.abs(y).max():
        return None
    a, b = a / np.abs(a).max(), b / np.abs(b).max()  # no square of them can vanish
    return float(np.clip((a * b).sum() / math.sqrt((a * a).sum() * (b * b).sum()), -1, 1))


def spearman(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return the rank correlation with mean ranks for ties; None where it is undefined."""
    return pearson(ranks(x), ranks(y))


def fisher(correlation: float | None, pairs: int, *, of_ranks: bool = False) -> Interval | None:
    """Return the interval by Fisher's z; of ranks with Bonett and Wright's (2000) variance.

    None for fewer than four pairs, or where the correlation is undefined or perfect.
    """
    if correlation is None or pairs < 4 or abs(correlation) >= 1:
        return None
    variance = (1 + correlation**2 / 2 if of_ranks else 1) / (pairs - 3)
    middle, half = math.atanh(correlation), Z * math.sqrt(variance)
    return math.tanh(middle - half), math.tanh(middle + half)


def bootstrap_mean(differences: ArrayLike) -> Interval | None:
    """Return the percentile interval of the mean, the values being drawn anew 2,000 times.

    Values of few kinds (such as -1, 0 and 1) are drawn by their counts, which is the same.
    """
    kinds, counts = np.unique(np.asarray(differences, np.float64), return_counts=True)
    total = int(counts.sum())
    if total == 0:
        return None
    drawn = np.random.default_rng(SEED).multinomial(total, counts / total, size=RESAMPLES)
    return _percentiles(drawn @ kinds / total)


def bootstrap_correlations(
    first: ArrayLike, second: ArrayLike, scores: ArrayLike
) -> Interval | None:
    """Return the percentile interval of the difference of two rank correlations with the scores.

    Pairs are drawn anew together, (n,) of each, so the two models always see the same ones.
    """
    a, b, y = (np.asarray(values, np.float64) for values in (first, second, scores))
    if len(y) < 4:
        return None
    rng = np.random.default_rng(SEED)
    differences = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(y), len(y))
        of_a, of_b = spearman(a[drawn], y[drawn]), spearman(b[drawn], y[drawn])
        if of_a is not None and of_b is not None:
            differences.append(of_b - of_a)
    return _percentiles(np.array(differences)) if differences else None


def _percentiles(values: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
