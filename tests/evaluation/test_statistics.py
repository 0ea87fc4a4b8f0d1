"""Correlations and intervals against naive code, hand-made values and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from naive_evaluation import correlation, mean_ranks

from w2v_sgns.evaluation import statistics
from w2v_sgns.evaluation.statistics import (
    bootstrap_correlations,
    bootstrap_mean,
    fisher,
    pearson,
    ranks,
    spearman,
    wilson,
)


@pytest.fixture
def xy() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 12, 80).astype(float)  # many ties
    return x, x + rng.integers(-5, 6, 80)


def test_ties_share_the_mean_of_their_ranks() -> None:
    assert ranks([3, 1, 3, 2]).tolist() == [3.5, 1, 3.5, 2]
    assert ranks([]).tolist() == []


def test_equal_to_naive(xy: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = xy
    assert ranks(x).tolist() == mean_ranks(x.tolist())
    assert pearson(x, y) == pytest.approx(correlation(x.tolist(), y.tolist()), abs=1e-12)
    expected = correlation(mean_ranks(x.tolist()), mean_ranks(y.tolist()))
    assert spearman(x, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.interop
def test_equal_to_scipy(xy: tuple[np.ndarray, np.ndarray]) -> None:
    from scipy import stats

    x, y = xy
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    theirs = stats.pearsonr(x, y)
    assert pearson(x, y) == pytest.approx(theirs.statistic, abs=1e-12)
    assert fisher(pearson(x, y), len(x)) == pytest.approx(theirs.confidence_interval(), abs=1e-9)
    interval = stats.binomtest(37, 80).proportion_ci(method="wilson")
    assert wilson(37, 80) == pytest.approx((interval.low, interval.high), abs=1e-9)


@pytest.mark.parametrize("x", [[], [1.0], [2.0, 2.0, 2.0], [1e300, 1e300, 1e300]])
def test_undefined_is_none(x: list[float]) -> None:
    assert pearson(x, list(range(len(x)))) is None
    assert spearman(x, list(range(len(x)))) is None


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e300])
def test_any_size_of_numbers(scale: float) -> None:
    assert pearson(np.array([1, 2, 3]) * scale, [1, 2, 3]) == pytest.approx(1)


def test_wilson() -> None:
    assert wilson(0, 0) is None
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1), abs=1e-4)


@pytest.mark.parametrize("value", [(None, 9), (0.5, 3), (1.0, 9)])
def test_fisher_is_undefined(value: tuple[float | None, int]) -> None:
    assert fisher(*value) is None


def test_fisher_of_ranks_is_wider() -> None:
    narrow, wide = fisher(0.6, 50), fisher(0.6, 50, of_ranks=True)
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < 0.6 < narrow[1] < wide[1]


def test_the_bootstrap_of_a_mean_is_near_the_normal_interval() -> None:
    values = np.repeat([-1, 0, 1], [100, 700, 200])
    low, high = bootstrap_mean(values)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert (low, high) == pytest.approx((0.1 - half, 0.1 + half), abs=0.005)
    assert bootstrap_mean([]) is None
    assert bootstrap_mean(values) == (low, high)


def test_the_bootstrap_of_correlations(
    xy: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "RESAMPLES", 200)
    x, y = xy
    low, high = bootstrap_correlations(-x, x, y)
    assert 1 < low < high < 2
    assert bootstrap_correlations(x, x, y) == (0, 0)
    assert bootstrap_correlations(x[:3], x[:3], y[:3]) is None
