"""The in-batch losses: fixtures, finite differences, options against each other, optima."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns.objectives.inbatch import clipped, in_batch, normalized, nt_xent

FIXTURES = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "inbatch_fixtures.json").read_text()
)
CLIP, DPR, SIMCSE = FIXTURES["clip"], FIXTURES["dpr"], FIXTURES["simcse"]
WORDS, BOW = FIXTURES["inbatch_words"], FIXTURES["bow_clip"]
COUNTS = np.array(FIXTURES["counts"], float)


def close(expected: Any) -> Any:
    return pytest.approx(np.array(expected), rel=1e-10, abs=1e-11)


@pytest.mark.parametrize("case", CLIP["cases"].values(), ids=list(CLIP["cases"]))
def test_clip(case: dict[str, Any]) -> None:
    X, Y = np.array(CLIP["X"]), np.array(CLIP["Y"])
    found = in_batch(X, Y, log_scale=case["t"], cosine=True, columns=True)
    assert found.columns is not None
    assert found.loss == close(case["loss"])
    assert (found.rows.mean(), found.columns.mean()) == close([case["row"], case["col"]])
    assert found.dX == close(case["dX"])
    assert found.dY == close(case["dY"])
    assert found.dt == close(case["dt"])


def test_dpr() -> None:
    found = in_batch(DPR["Q"], DPR["P"])
    assert found.loss == close(DPR["inbatch"]["loss"])
    assert found.dX == close(DPR["inbatch"]["dX"])
    assert found.dY == close(DPR["inbatch"]["dY"])


def test_dpr_with_hard_negatives() -> None:
    case = DPR["inbatch_with_hard"]
    found = in_batch(DPR["Q"], DPR["P"] + DPR["hard"])
    assert found.loss == close(case["loss"])
    assert found.dX == close(case["dX"])
    assert found.dY == close(case["dY"] + case["dH"])


@pytest.mark.parametrize("tau", [0.05, 1.0])
def test_simcse(tau: float) -> None:
    Z, t = np.array(SIMCSE["Z"]), -np.log(tau)
    case = SIMCSE[f"unsup_ntxent_seed tau={tau}"]
    loss, rows, dZ = nt_xent(Z, log_scale=t)
    assert (loss, rows, dZ) == (close(case["loss"]), close(case["rows"]), close(case["dZ"]))
    case = SIMCSE[f"unsup_official tau={tau}"]
    found = in_batch(Z[0::2], Z[1::2], log_scale=t, cosine=True)
    both = np.stack([found.dX, found.dY], axis=1).reshape(Z.shape)
    assert (found.loss, found.rows, both) == (
        close(case["loss"]),
        close(case["rows"]),
        close(case["dZ"]),
    )


@pytest.mark.parametrize("tau", [0.05, 1.0])
def test_supervised_simcse_is_cosine_dpr_with_hard_negatives(tau: float) -> None:
    Z, case = np.array(SIMCSE["Z"]), SIMCSE[f"sup tau={tau}"]
    anchors, documents, negatives = Z[0::3], Z[1::3], Z[2::3]
    candidates = np.concatenate([documents, negatives])
    found = in_batch(anchors, candidates, log_scale=-np.log(tau), cosine=True)
    dZ = np.stack([found.dX, *np.split(found.dY, 2)], axis=1).reshape(Z.shape)
    assert (found.loss, found.rows, dZ) == (
        close(case["loss"]),
        close(case["rows"]),
        close(case["dZ"]),
    )


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_a_rotation_of_the_batch_is_no_negative(shift: int) -> None:
    case = SIMCSE["shift_identity"]
    Q, D, t = np.array(case["Q"]), np.array(case["D"]), -np.log(case["tau"])
    plain = in_batch(Q, D, log_scale=t, cosine=True)
    shifted = in_batch(Q, np.concatenate([D, np.roll(D, -shift, 0)]), log_scale=t, cosine=True)
    expected = case["cases"][f"shift={shift}"]
    assert plain.loss == close(expected["inbatch_cos_loss"])
    assert shifted.loss == close(expected["sup_loss"])
    assert shifted.loss - plain.loss == pytest.approx(np.log(2), abs=1e-12)
    assert shifted.dX == pytest.approx(plain.dX, abs=1e-12)


@pytest.mark.parametrize("variant", WORDS["variants"])
def test_words_of_windows(variant: str) -> None:
    E, Ep, case = np.array(WORDS["E"]), np.array(WORDS["Ep"]), WORDS["variants"][variant]
    centers, contexts = WORDS["centers"], WORDS["contexts"]
    found = in_batch(
        E[centers],
        Ep[contexts],
        ids=contexts if "mask" in variant else None,
        log_q=np.log(WORDS["p_context"])[contexts] if "logQ" in variant else None,
    )
    dE, dEp = np.zeros_like(E), np.zeros_like(Ep)
    np.add.at(dE, centers, found.dX)
    np.add.at(dEp, contexts, found.dY)
    assert found.loss == close(case["loss"])
    assert dE == close(case["dE"])
    assert dEp == close(case["dEp"])


def test_bags_of_words() -> None:
    E = np.array(BOW["E"])
    X = np.array([E[words].mean(axis=0) for words in BOW["queries"]])
    Y = np.array([E[words].mean(axis=0) for words in BOW["docs"]])
    assert close(BOW["X"]) == X
    assert close(BOW["Y"]) == Y
    found = in_batch(X, Y, log_scale=BOW["t"], cosine=True, columns=True)
    dE = np.zeros_like(E)
    for texts, gradient in ((BOW["queries"], found.dX), (BOW["docs"], found.dY)):
        for words, dx in zip(texts, gradient, strict=True):
            np.add.at(dE, words, dx / len(words))
    assert (found.loss, found.dt) == (close(BOW["loss"]), close(BOW["dt"]))
    assert dE == close(BOW["dE"])


@pytest.mark.parametrize("cosine, columns, masked, hard", [*product([False, True], repeat=4)])
def test_gradients_are_those_of_the_loss(
    cosine: bool, columns: bool, masked: bool, hard: bool
) -> None:
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((4, 3)), rng.standard_normal((6 if hard else 4, 3))
    options: dict[str, Any] = {"cosine": cosine, "columns": columns}
    options["ids"] = [0, 1, 0, 3, 1, 5][: len(Y)] if masked else None
    if masked:
        options |= {"asked": [7, 8, 7, 9], "known": {(8, 5)}}
    options["log_q"] = rng.standard_normal(len(Y))
    found = in_batch(X, Y, log_scale=0.7, **options)
    step = 1e-6
    for matrix, gradient in ((X, found.dX), (Y, found.dY)):
        for place in np.ndindex(matrix.shape):
            before = matrix[place]
            matrix[place] = before + step
            up = in_batch(X, Y, log_scale=0.7, **options).loss
            matrix[place] = before - step
            down = in_batch(X, Y, log_scale=0.7, **options).loss
            matrix[place] = before
            assert (up - down) / (2 * step) == pytest.approx(gradient[place], abs=1e-8)
    up, down = (in_batch(X, Y, log_scale=0.7 + h, **options).loss for h in (step, -step))
    assert (up - down) / (2 * step) == pytest.approx(found.dt, abs=1e-8)


def test_a_second_document_of_a_query_is_no_wrong_answer() -> None:
    """By hand: queries 0 and 1 are equal, and query 2's document is right for them in the file."""
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((4, 3)), rng.standard_normal((6, 3))
    known = {(7, 2), (5, 4)}
    found = in_batch(
        X, Y, ids=[0, 1, 2, 3, 4, 9], asked=[7, 7, 8, 5], known=known, columns=True, log_scale=0.3
    )
    S = np.exp(0.3) * X @ Y.T
    wrong = {0: [3, 4, 5], 1: [3, 4, 5], 2: [0, 1, 3, 4, 5], 3: [0, 1, 2, 5]}
    rows = [np.log(np.exp(S[i, [i, *wrong[i]]]).sum()) - S[i, i] for i in range(4)]
    twins = {0: [2, 3], 1: [2, 3], 2: [3], 3: [0, 1, 2]}  # who else may pick this document
    columns = [np.log(np.exp(S[[j, *twins[j]], j]).sum()) - S[j, j] for j in range(4)]
    assert found.rows == pytest.approx(rows)
    assert found.columns == pytest.approx(columns)
    assert not np.isclose(found.loss, in_batch(X, Y, columns=True, log_scale=0.3).loss)


def expected_gradient(
    S: np.ndarray,
    P: np.ndarray,
    batch: int,
    *,
    masked: bool = False,
    log_q: np.ndarray | None = None,
    columns: bool = False,
) -> np.ndarray:
    """Return the gradient of the expected loss by free scores S (V, V), over all batches."""
    V = len(S)
    total = np.zeros_like(S)
    pairs = list(product(range(V), repeat=2))
    for drawn in product(pairs, repeat=batch):
        centers, contexts = (np.array(side) for side in zip(*drawn, strict=True))
        found = in_batch(
            S[centers],
            np.eye(V)[contexts],
            ids=contexts if masked else None,
            log_q=None if log_q is None else log_q[contexts],
            columns=columns,
        )
        np.add.at(total, centers, np.prod(P[centers, contexts]) * found.dX)
    return total


def pmi(P: np.ndarray) -> np.ndarray:
    return np.log(P / np.outer(P.sum(1), P.sum(0)))


P = COUNTS / COUNTS.sum()
PMI = pmi(P)
SHIFT = np.array([0.3, -1.0, 0.0, 2.0, -0.2])[:, None]  # any f(c)


def test_the_optimum_of_rows_is_pmi_up_to_a_shift_of_each_center() -> None:
    # The loss is convex in the scores: where the gradient vanishes, there is the optimum.
    assert expected_gradient(PMI + SHIFT, P, 2) == pytest.approx(0, abs=1e-15)
    assert np.abs(expected_gradient(PMI + 0.1 * COUNTS, P, 2)).max() > 1e-3


def test_the_optimum_of_rows_and_columns_is_pmi_up_to_one_number() -> None:
    assert expected_gradient(PMI + 0.7, P, 2, columns=True) == pytest.approx(0, abs=1e-15)
    assert np.abs(expected_gradient(PMI + SHIFT, P, 2, columns=True)).max() > 1e-3


def test_the_optimum_with_log_q_is_the_conditional_probability() -> None:
    conditional = np.log(P / P.sum(1, keepdims=True))
    assert expected_gradient(conditional + SHIFT, P, 2, log_q=np.log(P.sum(0))) == pytest.approx(
        0, abs=1e-15
    )


def test_masking_duplicates_moves_the_optimum_of_three() -> None:
    few = COUNTS[:3, :3] / COUNTS[:3, :3].sum()  # three words keep the enumeration short
    assert expected_gradient(pmi(few), few, 3) == pytest.approx(0, abs=1e-15)
    assert np.abs(expected_gradient(pmi(few), few, 3, masked=True)).max() > 1e-4


def test_unmasked_copies_of_the_document_bound_the_loss() -> None:
    X, Y = np.ones((4, 2)), np.ones((4, 2))
    assert in_batch(X, Y).loss == pytest.approx(np.log(4))
    assert in_batch(X, Y, ids=[7, 7, 7, 7]).loss == 0


def test_one_pair_and_zero_rows() -> None:
    found = in_batch([[1.0, 2.0]], [[0.5, 0.1]], cosine=True, columns=True)
    assert (found.loss, found.dt) == (0, 0)
    assert not found.dX.any()
    found = in_batch([[0.0, 0.0], [1, 0]], [[1.0, 1], [0, 0]], cosine=True)
    assert np.isfinite(found.loss) and np.isfinite(found.dX).all() and not found.dX[0].any()


def test_large_scores_are_stable() -> None:
    found = in_batch([[800.0], [-800.0]], [[1.0], [-1.0]])
    assert found.loss == 0
    assert in_batch([[800.0], [-800.0]], [[-1.0], [1.0]]).loss == 1600


def test_the_scale_is_bounded() -> None:
    assert np.exp(clipped(9.0)) == pytest.approx(100)
    assert np.exp(clipped(-9.0)) == pytest.approx(0.01)
    assert clipped(1.0) == 1.0
    assert normalized(np.zeros((1, 3))).tolist() == [[0, 0, 0]]
