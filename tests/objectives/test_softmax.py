"""The exact softmax: fixture, finite differences, several true words of a row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from w2v_sgns.objectives import softmax
from w2v_sgns.objectives.stable import log_softmax

FIXTURE = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "objectives_fixtures.json").read_text()
)["softmax"]


def one_hot(targets: list[int], words: int) -> np.ndarray:
    true = np.zeros((len(targets), words))
    true[np.arange(len(targets)), targets] = 1
    return true


@pytest.mark.parametrize("rows", [[0], [1], [0, 1]])
def test_fixture(rows: list[int]) -> None:
    """A batch of one row and of two."""
    E, Ep = np.array(FIXTURE["E"]), np.array(FIXTURE["Ep"])
    centers = [FIXTURE["centers"][n] for n in rows]
    true = one_hot([FIXTURE["targets"][n] for n in rows], len(Ep))
    batch = softmax.evaluate(E, Ep, centers, true)
    assert batch.losses == pytest.approx([FIXTURE["loss"][n] for n in rows], abs=1e-10)
    assert batch.errors == pytest.approx(np.array(FIXTURE["dL_ds"])[rows], abs=1e-10)
    if len(rows) == 2:
        dE = np.zeros_like(E)
        np.add.at(dE, centers, batch.dX)
        assert dE == pytest.approx(np.array(FIXTURE["dE"]), abs=1e-10)
        assert batch.dEp == pytest.approx(np.array(FIXTURE["dEp"]), abs=1e-10)
        assert batch.loss == pytest.approx(FIXTURE["total"], abs=1e-10)


def test_a_step_is_minus_lr_times_the_gradient() -> None:
    rng = np.random.default_rng(2)
    E, Ep = rng.normal(0, 0.8, (2, 5, 3))
    bias = rng.normal(0, 0.5, 5)
    centers, true = [1, 4, 1], rng.integers(0, 3, (3, 5)).astype(float)
    before = [m.copy() for m in (E, Ep, bias)]
    gradients = []
    for matrix in (E, Ep, bias):
        gradient = np.zeros_like(matrix)
        for at in np.ndindex(matrix.shape):
            old = matrix[at]
            matrix[at] = old + 1e-6
            above = softmax.evaluate(E, Ep, centers, true, bias=bias).loss
            matrix[at] = old - 1e-6
            gradient[at] = (above - softmax.evaluate(E, Ep, centers, true, bias=bias).loss) / 2e-6
            matrix[at] = old
        gradients.append(gradient)
    softmax.batch_step(E, Ep, centers, true, 0.2, bias=bias)
    for old, gradient, new in zip(before, gradients, (E, Ep, bias), strict=True):
        assert np.abs(old - 0.2 * gradient - new).max() < 1e-8


def test_a_row_with_several_true_words_is_the_sum_of_its_pairs() -> None:
    rng = np.random.default_rng(3)
    E, Ep = rng.normal(0, 1, (2, 6, 4))
    whole = softmax.evaluate(E, Ep, [2], [[0, 2, 0, 0, 1, 0]])
    pairs = softmax.evaluate(E, Ep, [2, 2, 2], one_hot([1, 1, 4], 6))
    assert whole.loss == pytest.approx(pairs.loss, abs=1e-13)
    assert whole.dX[0] == pytest.approx(pairs.dX.sum(axis=0), abs=1e-13)
    assert whole.dEp == pytest.approx(pairs.dEp, abs=1e-13)


def test_huge_scores_stay_finite() -> None:
    E, Ep = np.array([[800.0], [1.0]]), np.array([[1.0], [-1.0]])
    batch = softmax.evaluate(E, Ep, [0, 0], [[1, 0], [0, 1]])
    assert batch.losses.tolist() == [0, 1600]
    assert batch.errors.tolist() == [[0, 0], [1, -1]]


def test_log_softmax_does_not_see_a_shift() -> None:
    x = np.random.default_rng(4).normal(0, 5, (3, 7))
    assert log_softmax(x + np.array([[1e3], [0], [-1e3]])) == pytest.approx(
        log_softmax(x), abs=1e-12
    )
    assert np.exp(log_softmax(x)).sum(axis=1) == pytest.approx(np.ones(3), abs=1e-14)
