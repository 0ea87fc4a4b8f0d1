"""The blocked in-batch softmax equals its float64 meaning, for all options and tile borders."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from w2v_sgns.kernels import inbatch
from w2v_sgns.kernels.inbatch import in_batch_blocked
from w2v_sgns.kernels.known import places
from w2v_sgns.objectives.inbatch import in_batch, normalized, nt_xent, through_unit
from w2v_sgns.text.mining import known_right


def rows(n: int, d: int = 6, seed: int = 1, length: float = 1.0) -> np.ndarray:
    drawn = normalized(np.random.default_rng(seed).standard_normal((n, d))) * length
    return drawn.astype(np.float32)


def same(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    assert found.loss == pytest.approx(expected.loss, rel=2e-6, abs=2e-6)
    for name in ("dX", "dY"):
        wanted = getattr(expected, name)
        most = max(1.0, np.abs(wanted).max())
        assert np.abs(getattr(found, name) - wanted).max() <= tolerance * most
    assert found.dt == pytest.approx(expected.dt, abs=2e-5 * max(1.0, abs(expected.dt)))


@pytest.fixture(params=[(512, 1024), (4, 3), (1, 1), (3, 64)])
def tile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbatch, "ROWS", request.param[0])
    monkeypatch.setattr(inbatch, "COLUMNS", request.param[1])


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize(
    "columns, masked, log_q, hard", [*product([False, True], [False, True], [False, True], [0, 7])]
)
def test_equals_the_reference(columns: bool, masked: bool, log_q: bool, hard: int) -> None:
    X, Y = rows(9), rows(9 + hard, seed=2)
    options: dict[str, Any] = {"columns": columns, "log_scale": np.log(20)}
    if masked:
        options["ids"] = np.array([0, 1, 0, 3, 3, 3, 6, 7, 8, 9, 0, 11, 12, 13, 3, 15][: len(Y)])
    if log_q:
        options["log_q"] = np.random.default_rng(5).standard_normal(len(Y))
    same(in_batch_blocked(X, Y, **options), in_batch(X, Y, **options))


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize("columns, hard, seed", [*product([False, True], [0, 7], range(4))])
def test_what_is_known_to_be_right_is_no_wrong_answer(columns: bool, hard: int, seed: int) -> None:
    """Queries with several documents, in the batch or only in the file, hard negatives included."""
    rng = np.random.default_rng(seed)
    queries, texts = rng.integers(0, 6, 40), rng.integers(0, 14, 40)  # of the whole file
    X, Y, asked = rows(9), rows(9 + hard, seed=2), queries[:9]
    ids = np.concatenate([texts[:9], rng.integers(0, 20, hard)])
    options: dict[str, Any] = {"columns": columns, "log_scale": np.log(20), "ids": ids}
    whole = known_right(queries, texts)
    found = in_batch_blocked(X, Y, asked=asked, known=whole, **options)
    pairs = set(zip(queries.tolist(), texts.tolist(), strict=True))
    expected = in_batch(X, Y, asked=asked, known=pairs, **options)
    assert expected.loss != in_batch(X, Y, **options).loss
    same(found, expected)


def test_places_are_stretches_one_after_another() -> None:
    assert places(np.array([5, 0, 2]), np.array([2, 0, 3])).tolist() == [5, 6, 2, 3, 4]
    assert places(np.array([], int), np.array([], int)).tolist() == []


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize("length", [1.0, 8.0, 40.0])  # logits to 100, 6,400, 160,000
@pytest.mark.parametrize("columns", [False, True])
def test_scores_beyond_the_range_of_exp(length: float, columns: bool) -> None:
    X, Y = rows(9, length=length), rows(12, seed=2, length=length)
    options: dict[str, Any] = {"columns": columns, "log_scale": np.log(100)}
    found, expected = in_batch_blocked(X, Y, **options), in_batch(X, Y, **options)
    # float32 products of this size are off by so much, in logits
    noise = 100 * length**2 * 2.0**-22
    assert found.loss == pytest.approx(expected.loss, abs=noise)
    # a logit's error moves a gradient by no more than its share, times the rows' lengths
    assert np.abs(found.dX - expected.dX).max() <= 100 * length * max(noise, 1e-6)
    assert np.isfinite(found.dY).all()


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize("count", [1, 2, 5])
def test_views_that_may_not_choose_themselves(count: int) -> None:
    Z = rows(2 * count)
    partner = np.arange(2 * count) ^ 1
    found = in_batch_blocked(Z, Z, log_scale=np.log(20), right=partner, without_self=True)
    loss, _, dZ = nt_xent(Z, log_scale=np.log(20))
    assert found.loss == pytest.approx(loss, rel=2e-6, abs=2e-6)
    ours = through_unit(Z.astype(float), (found.dX + found.dY).astype(float))
    assert ours == pytest.approx(dZ, abs=1e-5)


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize("columns", [False, True])
def test_one_pair_and_all_equal(columns: bool) -> None:
    X, Y = rows(1), rows(1, seed=2)
    one = in_batch_blocked(X, Y, columns=columns)
    assert one.loss == pytest.approx(0, abs=1e-6)
    assert np.abs(one.dX).max() <= 1e-6
    same_texts = np.repeat(Y, 5, axis=0)
    masked = in_batch_blocked(rows(5), same_texts, columns=columns, ids=np.zeros(5, np.int64))
    assert masked.loss == pytest.approx(0, abs=1e-6)
    kept = in_batch_blocked(rows(5), same_texts)
    assert kept.loss == pytest.approx(np.log(5), rel=1e-6)


def test_a_batch_as_large_as_many_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbatch, "ROWS", 100)
    monkeypatch.setattr(inbatch, "COLUMNS", 130)
    X, Y = rows(1001, 16), rows(1001, 16, seed=2)
    options: dict[str, Any] = {"columns": True, "log_scale": np.log(50)}
    same(in_batch_blocked(X, Y, **options), in_batch(X, Y, **options))


def test_zero_rows_bring_no_nan() -> None:
    X, Y = rows(4), rows(4, seed=2)
    X[1] = 0
    Y[2] = 0
    found = in_batch_blocked(X, Y, columns=True, log_scale=3.0)
    assert np.isfinite(found.loss) and np.isfinite(found.dX).all() and np.isfinite(found.dY).all()
