"""Noise shared by a batch: fixtures, the same expectation as noise of its own for each pair."""

from __future__ import annotations

import json
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns.objectives import nce, sgns, shared

FIXTURES = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "objectives_fixtures.json").read_text()
)["shared_negatives"]
VARIANTS = FIXTURES["variants"]
K = len(FIXTURES["shared_negatives"])


def costs(name: str) -> tuple[Any, Any]:
    """Return what the targets cost and what the noise costs."""
    if not name.startswith("nce"):
        return sgns.cost, sgns.cost
    log_kq = np.log(K * np.array(FIXTURES["q"]))
    target, noise = (log_kq[FIXTURES[ids]] for ids in ("targets", "shared_negatives"))
    return partial(nce.cost, log_kq=target), partial(nce.cost, log_kq=noise)


@pytest.mark.parametrize("name", VARIANTS)
def test_fixtures(name: str) -> None:
    E, Ep, expected = np.array(FIXTURES["E"]), np.array(FIXTURES["Ep"]), VARIANTS[name]
    centers, targets = FIXTURES["centers"], FIXTURES["targets"]
    noise = FIXTURES["shared_negatives"]
    settings: dict[str, Any] = {
        "weight": FIXTURES["k"] / K if name == "weighted_k_over_K" else 1.0,
        "collisions": "drop" if name == "masked" else "keep",
    }
    batch = shared.evaluate(E, Ep, centers, targets, noise, *costs(name), **settings)
    assert batch.loss == pytest.approx(expected["loss"], abs=1e-10)
    assert batch.true_errors == pytest.approx(expected["e_pos"], abs=1e-10)
    assert batch.noise_errors == pytest.approx(np.array(expected["A"]), abs=1e-10)
    before, before_p = E.copy(), Ep.copy()
    shared.batch_step(E, Ep, centers, targets, noise, 0.5, *costs(name), **settings)
    assert (before - E) / 0.5 == pytest.approx(np.array(expected["dE"]), abs=1e-10)
    assert (before_p - Ep) / 0.5 == pytest.approx(np.array(expected["dEp"]), abs=1e-10)


@pytest.mark.parametrize("case", FIXTURES["exact_enumeration"])
def test_the_mean_over_all_draws_is_that_of_noise_pair_by_pair(case: str) -> None:
    """Every set of K words with its probability: same mean gradient, other variance."""
    given = FIXTURES["exact_enumeration"][case]
    E, Ep, q = np.array(given["E"]), np.array(given["Ep"]), np.array(given["q"])
    centers, targets = given["centers"], given["targets"]
    mean, square = 0.0, 0.0
    for noise in product(range(len(q)), repeat=given["K"]):
        moved, moved_p = E.copy(), Ep.copy()
        shared.batch_step(moved, moved_p, centers, targets, noise, 1.0, sgns.cost)
        gradient = np.concatenate([(E - moved).ravel(), (Ep - moved_p).ravel()])
        weight = np.prod(q[list(noise)])
        mean = mean + weight * gradient
        square = square + weight * gradient**2
    assert mean == pytest.approx(np.array(given["mean_gradient"]), abs=1e-10)
    variance = square - mean**2
    assert variance[: E.size].sum() == pytest.approx(given["var_trace_E"]["shared"], abs=1e-10)
    assert variance[E.size :].sum() == pytest.approx(given["var_trace_Ep"]["shared"], abs=1e-10)


def test_a_batch_of_one_window_is_a_window_step() -> None:
    """K = k, α = 1 and one target for all pairs: what the window step computes."""
    rng = np.random.default_rng(5)
    E, Ep = rng.normal(0, 1, (2, 6, 4))
    bias = rng.normal(0, 1, 6)
    ours = E.copy(), Ep.copy(), bias.copy()
    contexts, outputs = [1, 2, 2], [0, 3, 3, 0]
    for collisions in ("keep", "drop"):
        loss = sgns.window_step(E, Ep, contexts, outputs, 0.1, collisions=collisions, bias=bias)
        again = shared.batch_step(
            *ours[:2],
            contexts,
            [0, 0, 0],
            outputs[1:],
            0.1,
            sgns.cost,
            collisions=collisions,
            bias=ours[2],
        )
        assert again == pytest.approx(loss, abs=1e-12)
        for a, b in zip(ours, (E, Ep, bias), strict=True):
            assert a == pytest.approx(b, abs=1e-13)
