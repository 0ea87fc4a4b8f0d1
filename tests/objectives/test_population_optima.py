"""Where each objective ends: exact expected gradients with d = V reach the stated optimum.

P is the fixture's P(w|c). Every cell (c, w) weighs P as a target and λ as noise, λ = k·q, or
k·q·(1 − P) where collisions are dropped.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from w2v_sgns.objectives import nce, sgns
from w2v_sgns.objectives.stable import log_softmax, sigmoid

FIXTURE = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "objectives_fixtures.json").read_text()
)["population"]
P = np.array(FIXTURE["counts"]) / np.sum(FIXTURE["counts"], axis=1, keepdims=True)
V = len(P)
Q = {"75": np.array(FIXTURE["q75"]), "unigram": np.array(FIXTURE["q1"]), "uniform": np.full(V, 0.2)}
LOGIT = np.log(P / (1 - P))
ERRORS = Callable[[np.ndarray], np.ndarray]


def descend(errors: ERRORS, *, lr: float, most: int = 60_000) -> np.ndarray:
    """Return the scores that Nesterov's descent on E and Ep (both V × V) ends at."""
    point = np.random.default_rng(3).normal(0, 0.5, (2, V, V))
    old, t = point.copy(), 1.0
    for _ in range(most):
        dS = errors(point[0] @ point[1].T)
        if np.abs(dS).max() < 1e-11:
            break
        new = point - lr * np.stack([dS @ point[1], dS.T @ point[0]])
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        if np.sum((point - new) * (new - old)) > 0:  # uphill: start the momentum anew
            following, t = 1.0, 1.0
        point = new + (t - 1) / following * (new - old)
        old, t = new, following
    return np.asarray(old[0] @ old[1].T)


def sampled(objective: str, q: np.ndarray, k: int, collisions: str = "keep") -> ERRORS:
    """Return the expected ∂L/∂s of an objective at a table of scores."""
    log_kq = np.log(k * q)
    costs = {"sgns": sgns.cost} | {
        name: partial(cost, log_kq=log_kq) for name, cost in nce.COSTS.items()
    }
    noise = k * q * (1 - P if collisions == "drop" else 1)

    def errors(scores: np.ndarray) -> np.ndarray:
        cost = costs[objective]
        return P * cost(scores, np.ones(V))[1] + noise * cost(scores, np.zeros(V))[1]

    return errors


def optimum(objective: str, q: np.ndarray, k: int, collisions: str) -> np.ndarray:
    log_kq = np.log(k * q)
    if objective == "sgns":
        return (LOGIT if collisions == "drop" else np.log(P)) - log_kq
    if objective == "nce":
        return LOGIT if collisions == "drop" else np.log(P)
    return LOGIT


def check(objective: str, noise: str, k: int, collisions: str = "keep") -> np.ndarray:
    scores = descend(sampled(objective, Q[noise], k, collisions), lr=0.2 if k < 10 else 0.05)
    expected = optimum(objective, Q[noise], k, collisions)
    assert np.abs(scores - expected).max() < 1e-6
    return expected


FIXED = [
    ("sgns", "75", "keep", "sgns_q75_keep"),
    ("sgns", "unigram", "keep", "sgns_qPw_keep"),
    ("sgns", "75", "drop", "sgns_q75_drop_collisions"),
    ("nce", "75", "keep", "nce_standard"),
    ("nce-sigmoid", "uniform", "keep", "nce_paddle_uniform"),
    ("nce-sigmoid", "75", "keep", "nce_paddle_q75"),
]


@pytest.mark.parametrize(("objective", "noise", "collisions", "name"), FIXED)
def test_the_fixtures_optima(objective: str, noise: str, collisions: str, name: str) -> None:
    expected = check(objective, noise, FIXTURE["k"], collisions)
    assert expected == pytest.approx(np.array(FIXTURE[name]["s_star"]), abs=1e-10)


@pytest.mark.parametrize("k", [2, 15])
@pytest.mark.parametrize("objective", ["sgns", "nce", "nce-sigmoid"])
def test_other_k_than_v(objective: str, k: int) -> None:
    for noise in ("uniform", "75"):
        check(objective, noise, k)


def test_nce_with_collisions_dropped() -> None:
    check("nce", "uniform", 3, "drop")


def test_softmax() -> None:
    """The scores of a row are known up to a shift of the row."""
    scores = descend(lambda s: np.exp(log_softmax(s)) - P, lr=0.5)
    expected = np.array(FIXTURE["softmax"]["s_star"])
    centred = [s - s.mean(axis=1, keepdims=True) for s in (scores, expected, np.log(P))]
    assert np.abs(centred[0] - centred[1]).max() < 1e-6
    assert np.abs(centred[1] - centred[2]).max() < 1e-10
    assert np.abs(np.exp(log_softmax(scores)) - P).max() < 1e-7


def test_inbatch() -> None:
    """Batches of two pairs: each picks its word from its own and the other's, drawn from P(w)."""
    joint = np.array(FIXTURE["counts"]) / np.sum(FIXTURE["counts"])
    words = joint.sum(axis=0)

    def errors(s: np.ndarray) -> np.ndarray:
        wrong = sigmoid(s[:, None, :] - s[:, :, None]) * joint[:, :, None] * words
        return wrong.sum(axis=1) - wrong.sum(axis=2)

    scores = descend(errors, lr=1.0)
    pmi = np.log(P / words)
    centred = [s - s.mean(axis=1, keepdims=True) for s in (scores, pmi, np.log(P))]
    assert np.abs(centred[0] - centred[1]).max() < 1e-6
    assert np.abs(centred[0] - centred[2]).max() > 0.1


def test_the_optima_lie_far_apart() -> None:
    """So that reaching one of them to 1e-6 says which; at k = V two nearly coincide."""
    tables = [
        optimum("sgns", Q["uniform"], 15, "keep"),
        optimum("sgns", Q["uniform"], 15, "drop"),
        optimum("nce", Q["uniform"], 15, "keep"),
        optimum("nce-sigmoid", Q["uniform"], 15, "keep"),
    ]
    for a, one in enumerate(tables):
        for other in tables[:a]:
            assert np.sqrt(((one - other) ** 2).mean()) > 0.2
