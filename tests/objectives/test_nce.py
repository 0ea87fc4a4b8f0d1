"""Both forms of NCE: fixtures, scores of every size, finite differences, odd k."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns.objectives import nce, sgns
from w2v_sgns.objectives.stable import sigmoid

FIXTURES = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "objectives_fixtures.json").read_text()
)
NCE, SCALAR = FIXTURES["nce"], FIXTURES["nce"]["scalar"]
FORMS = {"standard": "nce", "paddle": "nce-sigmoid"}  # the fixtures' names and ours
NOISE = {"uniform": "q_uniform", "unigram75": "q_unigram75"}


def variant(name: str) -> tuple[str, np.ndarray, dict[str, Any]]:
    """Return our name of the form, log(k·q), and the expected values."""
    form, noise = name.split("_")
    return FORMS[form], np.log(NCE["k"] * np.array(NCE[NOISE[noise]])), NCE["variants"][name]


@pytest.mark.parametrize("name", NCE["variants"])
def test_fixtures(name: str) -> None:
    form, log_kq, expected = variant(name)
    E, Ep = np.array(NCE["E"]), np.array(NCE["Ep"])
    assert NCE["k"] != len(E), "k = V would hide a mixed-up k"
    dE, dEp, total = np.zeros_like(E), np.zeros_like(Ep), 0.0
    for n, (center, target) in enumerate(zip(NCE["centers"], NCE["targets"], strict=True)):
        outputs = [target, *NCE["negatives"][n]]
        step = nce.evaluate(E, Ep, [center], outputs, log_kq=log_kq, form=form)
        assert step.loss == pytest.approx(expected["loss"][n], abs=1e-10)
        assert step.errors[0] == pytest.approx(expected["dL_ds"][n], abs=1e-10)
        np.add.at(dE, [center], step.dX)
        np.add.at(dEp, outputs, step.dH)
        total += step.loss
    assert total == pytest.approx(expected["total"], abs=1e-10)
    assert dE == pytest.approx(np.array(expected["dE"]), abs=1e-10)
    assert dEp == pytest.approx(np.array(expected["dEp"]), abs=1e-10)


@pytest.mark.parametrize(("fixture", "form"), FORMS.items())
@pytest.mark.parametrize(("label", "kind"), [(1, "true"), (0, "noise")])
def test_every_size_of_score(fixture: str, form: str, label: int, kind: str) -> None:
    """Finite and exact from −800 to 800."""
    with np.errstate(all="raise", under="ignore"):
        terms, errors = nce.COSTS[form](
            np.array(SCALAR["s"]), np.full(len(SCALAR["s"]), label), log_kq=np.log(SCALAR["b"])
        )
    assert terms == pytest.approx(SCALAR[f"{fixture}_{kind}"], rel=1e-10, abs=1e-14)
    assert errors == pytest.approx(SCALAR[f"{fixture}_d{kind}"], rel=1e-10, abs=1e-14)


def test_the_formula_of_the_sigmoid_form() -> None:
    """o = σ(s), b = k·q: costs −log(o/(o + b)) and −log(b/(o + b))."""
    s, b = np.linspace(-20, 20, 81), 0.07
    o = sigmoid(s)
    ones = np.ones_like(s)
    true, d_true = nce.sigmoid_cost(s, ones, log_kq=np.log(b))
    noise, d_noise = nce.sigmoid_cost(s, 0 * ones, log_kq=np.log(b))
    assert true == pytest.approx(-np.log(o / (o + b)), rel=1e-12)
    assert noise == pytest.approx(-np.log(b / (o + b)), rel=1e-12, abs=1e-15)
    assert d_true == pytest.approx(-b * (1 - o) / (o + b), rel=1e-7)  # 1 − o cancels
    assert d_noise == pytest.approx(o * (1 - o) / (o + b), rel=1e-7)


@pytest.mark.parametrize("form", ["nce", "nce-sigmoid"])
@pytest.mark.parametrize("k", [1, 3, 15])
@pytest.mark.parametrize("collisions", ["keep", "drop"])
def test_a_step_is_minus_lr_times_the_gradient(form: str, k: int, collisions: str) -> None:
    rng = np.random.default_rng(k)
    E, Ep = rng.normal(0, 0.7, (2, 4, 3))
    bias, q = rng.normal(0, 0.5, 4), np.array([0.4, 0.3, 0.2, 0.1])
    contexts, outputs = [0, 3, 3], [1, *rng.integers(0, 4, k)]
    settings: dict[str, Any] = {"log_kq": np.log(k * q), "form": form, "collisions": collisions}
    loss = partial(nce.evaluate, E, Ep, contexts, outputs, **settings, bias=bias)
    before = [m.copy() for m in (E, Ep, bias)]
    gradients = [numeric_gradient(lambda: loss().loss, m) for m in (E, Ep, bias)]
    nce.window_step(E, Ep, contexts, outputs, 0.3, **settings, bias=bias)
    for old, gradient, new in zip(before, gradients, (E, Ep, bias), strict=True):
        assert np.abs(old - 0.3 * gradient - new).max() < 1e-8


def numeric_gradient(f: Any, matrix: np.ndarray) -> np.ndarray:
    gradient = np.zeros_like(matrix)
    for at in np.ndindex(matrix.shape):
        old = matrix[at]
        matrix[at] = old + 1e-6
        above = f()
        matrix[at] = old - 1e-6
        gradient[at] = (above - f()) / 2e-6
        matrix[at] = old
    return gradient


def test_sgns_is_nce_whose_kq_is_one() -> None:
    E, Ep = np.random.default_rng(1).normal(0, 1, (2, 5, 3))
    contexts, outputs = [0, 1, 1], [2, 2, 4, 0]
    ours = nce.evaluate(E, Ep, contexts, outputs, log_kq=np.zeros(5))
    other = sgns.evaluate(E, Ep, contexts, outputs)
    assert ours.terms == pytest.approx(other.terms, abs=1e-15)
    assert ours.dX == pytest.approx(other.dX, abs=1e-15)
    assert ours.dH == pytest.approx(other.dH, abs=1e-15)


@pytest.mark.parametrize("name", NCE["variants"])
def test_leaving_out_log_kq_is_noticed(name: str) -> None:
    form, log_kq, expected = variant(name)
    E, Ep = np.array(NCE["E"]), np.array(NCE["Ep"])
    outputs = [NCE["targets"][0], *NCE["negatives"][0]]
    wrong = nce.evaluate(E, Ep, [0], outputs, log_kq=0 * log_kq, form=form)
    assert abs(wrong.loss - expected["loss"][0]) > 0.05
