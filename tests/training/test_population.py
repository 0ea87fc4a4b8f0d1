"""The real kernel on a made-up text ends at the stated optimum, and not at another's.

The fixture's lines of two words, window 1, no subsampling, d = V = 5: known P(w|c), known q.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns import train

pytestmark = pytest.mark.slow

FIXTURE = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "objectives_fixtures.json").read_text()
)["population"]["two_word_line_corpus"]
WORDS = "abcde"
COPIES = 4_000  # of the fixture's 63 lines
NEAR, FAR = 0.06, 0.2  # rms


def trained(k: int, *, text: dict[str, int] = FIXTURE["lines"], **settings: Any) -> np.ndarray:
    """Return the scores (centers × words) in the fixture's order."""
    rng = np.random.default_rng(1)
    lines = [line.split() for line, n in text.items() for _ in range(n * COPIES)]
    lines = [lines[n] for n in rng.permutation(len(lines))]
    model = train(
        lines,
        **{
            "dim": 5,
            "window": 1,
            "negative": k,
            "sample": 0,
            "min_count": 1,
            "epochs": 6,
            "lr": 0.05,
            "min_lr": 0.0,
            "threads": 1,
        }
        | settings,
    )
    order = [model.vocabulary.index(word) for word in WORDS]
    scores = model.E.astype(float) @ model.Ep.astype(float).T
    return np.asarray(scores[np.ix_(order, order)])


def q_of(exponent: float) -> np.ndarray:
    weights = np.array(FIXTURE["token_counts"], float) ** exponent
    return np.asarray(weights / weights.sum())


def rms(scores: np.ndarray, expected: np.ndarray) -> float:
    return float(np.sqrt(((scores - expected) ** 2).mean()))


P = np.array(FIXTURE["pair_counts"]) / np.sum(FIXTURE["pair_counts"], axis=1, keepdims=True)
LOG_P, LOGIT_P = np.log(P), np.log(P / (1 - P))
K = 15  # at k = V, log k·q is near 0 and several of the optima coincide


def optima(exponent: float) -> dict[str, np.ndarray]:
    log_kq = np.log(K * q_of(exponent))
    return {
        "sgns keep": LOG_P - log_kq,
        "sgns drop": LOGIT_P - log_kq,
        "nce keep": LOG_P,
        "nce drop": LOGIT_P,  # σ(s) = P as well: what the sigmoid form tends to
    }


@pytest.mark.parametrize(
    ("name", "exponent", "settings"),
    [
        ("sgns keep", 0.75, {}),
        ("sgns drop", 0.75, {"collisions": "drop"}),
        ("nce keep", 0.0, {"objective": "nce"}),
        ("nce keep", 0.75, {"objective": "nce", "noise_exponent": 0.75}),
        ("nce drop", 0.0, {"objective": "nce", "collisions": "drop"}),
        ("nce drop", 0.0, {"objective": "nce-sigmoid", "lr": 0.1}),
    ],
    ids=str,
)
def test_it_lands_on_its_own_optimum_and_on_no_other(
    name: str, exponent: float, settings: dict[str, Any]
) -> None:
    scores = trained(K, **settings)
    apart = {other: rms(scores, table) for other, table in optima(exponent).items()}
    assert apart.pop(name) < NEAR
    assert min(apart.values()) > FAR, apart


def centred(scores: np.ndarray) -> np.ndarray:
    return scores - scores.mean(axis=1, keepdims=True)


def test_the_inbatch_softmax_lands_on_pmi_up_to_a_constant_of_each_center() -> None:
    """The other words of a batch are noise from P(w), and every copy of one counts.

    In the fixture's own text all words are about as frequent, so log P would be near PMI.
    """
    text = {line: n * (1 + 3 * line.count("a")) for line, n in FIXTURE["lines"].items()}
    pairs = np.zeros((5, 5))
    for line, n in text.items():
        a, b = (WORDS.index(word) for word in line.split())
        pairs[a, b] += n
        pairs[b, a] += n
    conditional = pairs / pairs.sum(axis=1, keepdims=True)
    words = pairs.sum(axis=0) / pairs.sum()
    scores = centred(trained(1, text=text, objective="inbatch", epochs=1))
    pmi = np.log(conditional / words)
    assert rms(scores, centred(pmi)) < NEAR
    logit = np.log(conditional / (1 - conditional))
    for other in (np.log(conditional), logit, pmi + 0.25 * np.log(words)):
        assert rms(scores, centred(other)) > FAR / 2
    assert rms(scores, centred(np.log(conditional))) > FAR


def test_the_fixtures_own_optima() -> None:
    """k = 5, count^0.75: the tables of the fixture themselves."""
    log_kq = np.log(5 * q_of(0.75))
    assert LOG_P - log_kq == pytest.approx(np.array(FIXTURE["s_star_keep"]), abs=1e-10)
    assert LOGIT_P - log_kq == pytest.approx(np.array(FIXTURE["s_star_drop"]), abs=1e-10)
    kept, dropped = trained(5), trained(5, collisions="drop")
    assert rms(kept, LOG_P - log_kq) < NEAR < FAR < rms(kept, LOGIT_P - log_kq)
    assert rms(dropped, LOGIT_P - log_kq) < NEAR < FAR < rms(dropped, LOG_P - log_kq)


def test_nce_without_its_shift_is_sgns() -> None:
    """So the test above notices a kernel that forgets log k·q."""
    tables = optima(0.0)
    assert rms(tables["nce keep"], tables["sgns keep"]) > FAR
    assert rms(tables["nce keep"], tables["sgns drop"]) > FAR
