"""One compiled window step against float64, for every vector width, dim, k and window."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import (
    TOLERANCE,
    StepCase,
    distance,
    kernel_step,
    reference_step,
    step_difference,
    step_errors,
)
from naive_steps import WRONG

from w2v_sgns.kernels.simd import MAX_OUTPUTS, host_width, tile_for
from w2v_sgns.objectives.sgns import window_step

WIDTHS = (16, 8, 4)
# The k of each width: few different tiles, for each is compiled (see scripts/check_kernels.py
# for the others). 20 needs several tiles at every width.
NEGATIVES = {16: (1, 3, 5, 7, 10, 15), 8: (1, 3, 5, 7, 10, 20), 4: (1, 3, 5, 7, 10, 20)}
DIMS = (1, 3, 4, 15, 16, 17, 33, 48, 64, 100, 112, 300, 500)
CONTEXTS = (1, 2, 3, 9, 40)
SETTINGS = [(width, k) for width in WIDTHS for k in NEGATIVES[width]]

settings = pytest.mark.parametrize(("width", "k"), SETTINGS)
widths = pytest.mark.parametrize("width", WIDTHS)


@settings
def test_a_step_is_the_references(width: int, k: int) -> None:
    """Tiny vocabularies: contexts, negatives and the target all repeat."""
    for n, dim in enumerate(DIMS):
        for contexts in CONTEXTS:
            for words, collisions in ((2, "keep"), (3, "drop"), (30, "keep")):
                case = StepCase(
                    dim=dim,
                    negatives=k,
                    contexts=contexts,
                    words=words if contexts < 40 else 4 * words,
                    collisions=collisions,
                    scale=0.05 if dim > 64 else 0.3,
                )
                errors = step_errors(case, width=width, seed=n)
                assert errors.kernel <= TOLERANCE, (case, errors)
                assert errors.loss <= TOLERANCE, (case, errors)
                assert errors.clean, case


@settings
def test_no_context_changes_nothing(width: int, k: int) -> None:
    matrices, contexts, outputs = StepCase(dim=20, negatives=k, contexts=0).inputs(1)
    result = kernel_step(tile_for(k + 1, width=width), matrices, contexts, outputs, lr=0.5)
    assert (result.loss, result.pairs) == (0, 0)
    assert distance(result.matrices, matrices) == 0


@settings
def test_first_loss_is_k_plus_1_times_ln_2(width: int, k: int) -> None:
    (E, Ep), contexts, outputs = StepCase(dim=50, negatives=k, contexts=7).inputs(2)
    Ep[:] = 0
    result = kernel_step(tile_for(k + 1, width=width), (E, Ep), contexts, outputs, lr=0.1)
    assert result.loss / 7 == pytest.approx((k + 1) * np.log(2), rel=1e-7)
    assert np.array_equal(result.matrices[0], E), "E cannot move while Ep is zero"
    assert result.matrices[1].any()


@widths
@pytest.mark.parametrize("collisions", ["keep", "drop"])
def test_every_output_is_the_target(width: int, collisions: str) -> None:
    """Dropped: one label-1 output is left. Kept: five shares of label 0 beside it."""
    matrices, contexts, _ = StepCase(dim=24, negatives=5, contexts=4).inputs(3)
    outputs = np.full(6, 2)
    tile = tile_for(6, width=width)
    ours = kernel_step(tile, matrices, contexts, outputs, lr=0.1, collisions=collisions)
    exact, loss = reference_step(
        window_step, matrices, contexts, outputs, lr=0.1, collisions=collisions
    )
    assert distance(ours.matrices, exact) <= TOLERANCE
    assert ours.loss == pytest.approx(loss, rel=TOLERANCE)


@widths
@pytest.mark.parametrize("lr", [0.0, 1e-30, -0.05, 1.0, 30.0])
def test_extreme_learning_rates(width: int, lr: float) -> None:
    for seed in range(5):
        case = StepCase(dim=40, negatives=5, contexts=5, lr=lr)
        assert step_errors(case, width=width, seed=seed).kernel <= TOLERANCE * max(1, abs(lr))
    matrices, contexts, outputs = case.inputs(0)
    moved = kernel_step(tile_for(6, width=width), matrices, contexts, outputs, lr=lr).matrices
    assert (distance(moved, matrices) == 0) == (abs(lr) < 1e-20)


@widths
@pytest.mark.parametrize("score", [80.0, -80.0, 20.0, -20.0, 88.0, 500.0, -500.0, 1e5, -1e5])
def test_saturated_scores_stay_finite(width: int, score: float) -> None:
    E, Ep = np.zeros((2, 4, 20), np.float32)
    E[:, :4], Ep[:, :4] = 1, score / 4
    contexts, outputs = np.array([0, 1, 1]), np.array([0, 1, 2, 3, 1, 0])
    tile = tile_for(6, width=width)
    ours = kernel_step(tile, (E, Ep), contexts, outputs, lr=0.1)
    exact, loss = reference_step(window_step, (E, Ep), contexts, outputs, lr=0.1)
    assert np.isfinite(ours.matrices).all()
    assert distance(ours.matrices, exact) <= TOLERANCE
    assert ours.loss == pytest.approx(loss, rel=TOLERANCE)
    assert loss == pytest.approx(3 * abs(score) * (5 if score > 0 else 1), rel=1e-6)


@widths
def test_the_loss_is_exact_over_the_whole_range_of_scores(width: int) -> None:
    """One pair with one negative: softplus(−s) + softplus(s) is known for every s."""
    tile = tile_for(2, width=width)
    for score in np.concatenate([np.linspace(-30, 30, 61), [1e-3, -1e-3, 1e-6, 45.0]]):
        E, Ep = np.ones((1, 1), np.float32), np.array([[score]], np.float32)
        ids = np.zeros(1, int)
        ours = kernel_step(tile, (E, Ep), ids, np.zeros(2, int), lr=1.0)
        (exact, exact_p), loss = reference_step(window_step, (E, Ep), ids, np.zeros(2, int), lr=1.0)
        assert ours.loss == pytest.approx(loss, rel=2e-7, abs=2e-7), score
        # E moves by −s·(2σ − 1), Ep by −(2σ − 1): σ itself, to 1e-6
        assert abs(ours.matrices[1][0, 0] - exact_p[0, 0]) <= 1e-6 * max(1, abs(score)), score
        assert abs(ours.matrices[0][0, 0] - exact[0, 0]) <= 1e-6 * max(1, abs(score)), score


@widths
def test_rows_outside_the_window_are_untouched(width: int) -> None:
    (E, Ep), _, _ = StepCase(dim=33, negatives=5, contexts=3, words=40).inputs(4)
    contexts, outputs = np.array([5, 7, 7]), np.array([20, 1, 1, 2, 3, 4])
    result = kernel_step(tile_for(6, width=width), (E, Ep), contexts, outputs, lr=0.5)
    moved = (result.matrices[0] != E).any(axis=1), (result.matrices[1] != Ep).any(axis=1)
    assert np.flatnonzero(moved[0]).tolist() == [5, 7]
    assert np.flatnonzero(moved[1]).tolist() == [1, 2, 3, 4, 20]


@widths
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_references_are_told_apart(width: int, wrong: str) -> None:
    case = StepCase(dim=50, negatives=5, contexts=9, words=3, lr=0.1)
    apart = [step_difference(WRONG[wrong], case, width=width, seed=seed) for seed in range(5)]
    assert min(apart) > 100 * TOLERANCE


def test_drop_is_told_apart_as_well() -> None:
    case = StepCase(dim=50, negatives=5, contexts=9, words=2, lr=0.1, collisions="drop")
    apart = step_difference(WRONG["other_collisions"], case, width=None, seed=1)
    assert apart > 100 * TOLERANCE


@pytest.mark.parametrize("outputs", range(2, 60))
@widths
def test_tiles_cover_all_outputs_and_waste_few(width: int, outputs: int) -> None:
    tile = tile_for(outputs, width=width)
    size, most = len(tile.outputs), MAX_OUTPUTS[width]
    assert len(tile.lanes) == width
    assert 2 <= size <= most
    tiles = -(-outputs // size)
    assert tiles == -(-outputs // most), "no more tiles than the largest would need"
    assert tiles * size - outputs < tiles


def test_the_hosts_width_is_used() -> None:
    assert host_width() in WIDTHS
    assert tile_for(6) == tile_for(6, width=host_width())
