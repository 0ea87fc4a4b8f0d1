"""The meaning of the loss: the article's toy, fixtures, finite differences, other orders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive_steps import WRONG, word2vec_c

from w2v_sgns.objectives.sgns import evaluate, window_step

FIXTURES = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "sgns_fixtures.json").read_text()
)
TOY, STEP = FIXTURES["sgns_toy"], FIXTURES["sgns_step"]
CASES = {case["name"]: case for case in STEP["cases"]}
DISTINCT = {"distinct", "center id among negatives", "k=0"}


def toy() -> tuple[np.ndarray, np.ndarray, list[int], list[int]]:
    return np.array(TOY["E"]), np.array(TOY["Ep"]), [TOY["center"]], [TOY["target"], 1, 4]


def loss_of(E: np.ndarray, Ep: np.ndarray) -> float:
    return evaluate(E, Ep, [TOY["center"]], [TOY["target"], *TOY["negatives"]]).loss


def test_the_articles_printed_figures() -> None:
    E, Ep, contexts, outputs = toy()
    assert outputs[1:] == TOY["negatives"]
    step = evaluate(E, Ep, contexts, outputs)
    assert f"{step.loss:.4f}" == "1.9512"
    assert step.dX[0].round(4).tolist() == [-0.0435, 0.5269, 0.0717]
    moved = E[2] - 0.1 * step.dX[0]
    assert moved.round(4).tolist() == [0.3344, -0.3227, 0.8328]
    center_only = E.copy()
    center_only[2] = moved
    assert f"{loss_of(center_only, Ep):.4f}" == "1.9229"
    window_step(E, Ep, contexts, outputs, 0.1)
    assert f"{loss_of(E, Ep):.4f}" == "1.8626"


def test_the_toy_to_all_digits() -> None:
    E, Ep, contexts, outputs = toy()
    step = evaluate(E, Ep, contexts, outputs)
    assert step.scores[0] == pytest.approx(TOY["scores"], abs=1e-10)
    assert step.errors[0] + [1, 0, 0] == pytest.approx(TOY["sigma"], abs=1e-10)
    assert step.terms[0] == pytest.approx(TOY["terms"], abs=1e-10)
    assert step.dX[0] == pytest.approx(TOY["dE_c"], abs=1e-10)
    assert step.dH == pytest.approx(np.array(TOY["dEp"])[outputs], abs=1e-10)
    before = E.copy()
    assert window_step(E, Ep, contexts, outputs, TOY["lr"]) == pytest.approx(TOY["loss"], abs=1e-10)
    assert E[2] == pytest.approx(TOY["E_c_new"], abs=1e-10)
    assert Ep == pytest.approx(np.array(TOY["Ep_new"]), abs=1e-10)
    assert np.array_equal(np.delete(E, 2, 0), np.delete(before, 2, 0))
    assert loss_of(E, Ep) == pytest.approx(TOY["loss_all"], abs=1e-10)
    assert loss_of(before, Ep) == pytest.approx(TOY["loss_outputs_only"], abs=1e-10)
    assert loss_of(E, np.array(TOY["Ep"])) == pytest.approx(TOY["loss_center_only"], abs=1e-10)


def loaded(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, list[int], list[int]]:
    outputs = [case["target"], *case["negatives"]]
    return np.array(STEP["E"]) * case["E_scale"], np.array(STEP["Ep"]), [case["center"]], outputs


def close(values: np.ndarray, expected: Any) -> bool:
    """Equal to 1e-10, relative to the largest value where that is above 1."""
    return bool(np.abs(values - expected).max() <= 1e-10 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", CASES)
def test_step_fixtures(name: str) -> None:
    case = CASES[name]
    E, Ep, contexts, outputs = loaded(case)
    step = evaluate(E, Ep, contexts, outputs)
    assert close(step.scores[0], case["scores"])
    assert close(step.dX[0], case["dE_c"])
    dEp = np.zeros_like(Ep)
    np.add.at(dEp, outputs, step.dH)
    if "dEp" in case:
        assert close(dEp, case["dEp"])
    start = Ep.copy()
    assert close(np.array(window_step(E, Ep, contexts, outputs, case["lr"])), case["loss"])
    assert close(E[case["center"]], case["E_c_new"])
    assert close(Ep, start - case["lr"] * dEp)
    if "Ep_new" in case:
        assert close(Ep, case["Ep_new"])


@pytest.mark.parametrize("name", CASES)
def test_word2vec_c_fixtures(name: str) -> None:
    """The other program's order, reproduced: so the comparison below compares with it."""
    case = CASES[name]
    E, Ep, _, _ = loaded(case)
    word2vec_c(E, Ep, case["center"], case["target"], case["negatives"], case["lr"])
    expected = case["word2vec_c_order_drop"]
    assert close(E[case["center"]], expected["E_c_new"])
    assert close(Ep, expected["Ep_new"])


@pytest.mark.parametrize("name", CASES)
def test_drop_is_word2vec_c_only_where_no_row_repeats(name: str) -> None:
    """Ours takes all gradients at the old values; the C program's second hit sees the first."""
    case = CASES[name]
    E, Ep, contexts, outputs = loaded(case)
    window_step(E, Ep, contexts, outputs, case["lr"], collisions="drop")
    theirs, theirs_p, _, _ = loaded(case)
    word2vec_c(theirs, theirs_p, case["center"], case["target"], case["negatives"], case["lr"])
    noise = [word for word in case["negatives"] if word != case["target"]]
    apart = max(np.abs(E - theirs).max(), np.abs(Ep - theirs_p).max())
    if len(set(noise)) == len(noise):
        assert apart < 1e-14
    else:
        assert apart > 1e-5
    assert (name in DISTINCT | {"target drawn as negative"}) == (apart < 1e-14)


def test_keep_counts_a_collision_and_drop_does_not() -> None:
    case = CASES["target drawn as negative"]
    E, Ep, contexts, outputs = loaded(case)
    kept = evaluate(E, Ep, contexts, outputs)
    dropped = evaluate(E, Ep, contexts, outputs, collisions="drop")
    without = evaluate(E, Ep, contexts, [outputs[0], outputs[2]])
    assert kept.loss - dropped.loss == pytest.approx(kept.terms[0, 1])
    assert dropped.terms[0, 1] == 0
    assert dropped.errors[0, 1] == 0
    assert dropped.loss == pytest.approx(without.loss, abs=1e-15)
    assert dropped.dX == pytest.approx(without.dX, abs=1e-15)
    assert kept.dH[0] + kept.dH[1] == pytest.approx(
        (kept.errors[0, 0] + kept.errors[0, 1]) * E[case["center"]]
    )


def numeric_gradient(f: Callable[[], float], matrix: np.ndarray) -> np.ndarray:
    gradient = np.zeros_like(matrix)
    for at in np.ndindex(matrix.shape):
        old = matrix[at]
        matrix[at] = old + 1e-6
        above = f()
        matrix[at] = old - 1e-6
        gradient[at] = (above - f()) / 2e-6
        matrix[at] = old
    return gradient


@pytest.mark.parametrize("collisions", ["keep", "drop"])
@pytest.mark.parametrize("contexts", [[0], [1, 1, 2], [0, 3, 3, 3, 2]])
@pytest.mark.parametrize("outputs", [[0], [1, 1], [2, 0, 0, 3], [0, 1, 2, 3, 0, 0]])
def test_a_step_is_minus_lr_times_the_gradient(
    contexts: list[int], outputs: list[int], collisions: str
) -> None:
    rng = np.random.default_rng(5)
    E, Ep = rng.normal(0, 0.7, (2, 4, 3))

    def loss() -> float:
        return evaluate(E, Ep, contexts, outputs, collisions=collisions).loss

    dE, dEp = numeric_gradient(loss, E), numeric_gradient(loss, Ep)
    before, before_p, expected = E.copy(), Ep.copy(), loss()
    assert window_step(E, Ep, contexts, outputs, 0.3, collisions=collisions) == expected
    assert np.abs(before - 0.3 * dE - E).max() < 1e-8
    assert np.abs(before_p - 0.3 * dEp - Ep).max() < 1e-8


def test_a_window_is_the_sum_of_its_pairs_at_old_values() -> None:
    rng = np.random.default_rng(6)
    E, Ep = rng.normal(0, 0.5, (2, 5, 4))
    contexts, outputs = [0, 1, 1, 4], [2, 3, 3, 2]
    whole = evaluate(E, Ep, contexts, outputs)
    pairs = [evaluate(E, Ep, [context], outputs) for context in contexts]
    assert whole.loss == pytest.approx(sum(pair.loss for pair in pairs), abs=1e-14)
    assert whole.dX == pytest.approx(np.concatenate([pair.dX for pair in pairs]), abs=1e-15)
    assert whole.dH == pytest.approx(sum(pair.dH for pair in pairs), abs=1e-15)


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_steps_differ(wrong: str) -> None:
    """On distinct rows some are right by chance; on repeats with a collision none is."""
    rng = np.random.default_rng(7)
    E, Ep = rng.normal(0, 0.5, (2, 3, 4))
    contexts, outputs = [0, 1, 1], [2, 0, 0, 2, 1]
    ours = E.copy(), Ep.copy()
    window_step(*ours, contexts, outputs, 0.1)
    WRONG[wrong](E, Ep, contexts, outputs, 0.1)
    assert max(np.abs(ours[0] - E).max(), np.abs(ours[1] - Ep).max()) > 1e-4


@pytest.mark.parametrize("k", [1, 5, 20])
def test_the_first_loss_is_k_plus_1_times_ln_2(k: int) -> None:
    E = np.random.default_rng(8).normal(0, 1, (6, 4))
    step = evaluate(E, np.zeros_like(E), [1, 2], [0, *[n % 6 for n in range(k)]])
    assert step.loss / 2 == pytest.approx((k + 1) * np.log(2), abs=1e-13)
    assert not step.dX.any()


def test_saturated_scores_stay_finite() -> None:
    E, Ep = np.full((2, 4), 20.0), np.array([[10.0] * 4, [-10.0] * 4])
    step = evaluate(E, Ep, [0], [1, 0])
    assert step.scores.tolist() == [[-800.0, 800.0]]
    assert step.terms.tolist() == [[800.0, 800.0]]
    assert step.errors.tolist() == [[-1.0, 1.0]]
    easy = evaluate(E, Ep, [0], [0, 1])
    assert easy.loss == 0
    assert not easy.dX.any()
