"""The kernel's forms of NCE, and output biases: single steps and runs against float64."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from kernel_cases import (
    TOLERANCE,
    StepCase,
    distance,
    kernel_step,
    random_text,
    reference_step,
    run_errors,
    step_difference,
    step_errors,
)
from naive_steps import WRONG_NCE, shift

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.score import COVERED
from w2v_sgns.kernels.simd import host_width, tile_for
from w2v_sgns.kernels.step import shift_table
from w2v_sgns.objectives import nce

WIDTHS = (16, 8, 4)
FORMS = ("nce", "nce-sigmoid")
# few: each form, width and k is compiled
SETTINGS = [(host_width(), 1), (host_width(), 20), *((width, 5) for width in WIDTHS)]


@pytest.mark.parametrize(("width", "k"), SETTINGS)
@pytest.mark.parametrize("objective", FORMS)
def test_a_step_is_the_references(objective: str, k: int, width: int) -> None:
    """Tiny vocabularies: contexts, negatives and the target all repeat."""
    ways = ("keep", "drop") if objective == "nce" else ("keep",)
    for n, dim in enumerate((1, 4, 17, 100)):
        for contexts in (1, 2, 3, 9):
            for words in (2, 30):
                for collisions in ways:
                    case = StepCase(
                        dim=dim,
                        negatives=k,
                        contexts=contexts,
                        words=words,
                        objective=objective,
                        collisions=collisions,
                        scale=0.05 if dim > 64 else 0.3,
                    )
                    errors = step_errors(case, width=width, seed=n)
                    assert errors.kernel <= TOLERANCE, (case, errors)
                    assert errors.loss <= TOLERANCE, (case, errors)
                    assert errors.clean, case


@pytest.mark.parametrize("objective", ["sgns", *FORMS])
def test_output_biases(objective: str) -> None:
    """A column more; dim 16 and 112 have no padding of their own to hold it."""
    for dim in (1, 15, 16, 17, 112):
        for contexts in (1, 6):
            case = StepCase(
                dim=dim,
                negatives=5,
                contexts=contexts,
                words=5,
                objective=objective,
                bias=True,
                scale=0.2,
            )
            errors = step_errors(case, width=None, seed=dim)
            assert errors.kernel <= TOLERANCE, (case, errors)
            assert errors.loss <= TOLERANCE, (case, errors)
            assert errors.clean, case


def test_biases_move_and_the_ones_stay() -> None:
    case = StepCase(dim=16, negatives=5, contexts=4, objective="nce", bias=True)
    (E, Ep), contexts, outputs = case.inputs(1)
    moved = kernel_step(case.tile(None), (E, Ep), contexts, outputs, lr=0.1, log_kq=case.log_kq)
    assert (moved.matrices[0][:, 16] == 1).all()
    assert (moved.matrices[1][:, 16] != Ep[:, 16]).any()


@pytest.mark.parametrize("score", [0.0, 20.0, -20.0, 80.0, -80.0, 500.0, -500.0, 800.0, -800.0])
@pytest.mark.parametrize("objective", FORMS)
@pytest.mark.parametrize("width", WIDTHS)
def test_scores_of_every_size(objective: str, score: float, width: int) -> None:
    """k·q of 0.5, and of 5 words of noise among 10 million."""
    E, Ep = np.zeros((2, 4, 20), np.float32)
    E[:, :4], Ep[:, :4] = 1, score / 4
    contexts, outputs = np.array([0, 1, 1]), np.array([0, 1, 2, 3, 1, 0])
    for kq in (0.5, 5e-7):
        log_kq = np.full(4, np.log(kq))
        tile = tile_for(6, width=width, form=objective)
        ours = kernel_step(tile, (E, Ep), contexts, outputs, lr=0.1, log_kq=log_kq)
        step = partial(nce.window_step, log_kq=log_kq, form=objective)
        exact, loss = reference_step(step, (E, Ep), contexts, outputs, lr=0.1)
        assert np.isfinite(ours.matrices).all()
        assert distance(ours.matrices, exact) <= TOLERANCE
        assert ours.loss == pytest.approx(loss, rel=TOLERANCE, abs=1e-6)


@pytest.mark.parametrize("objective", FORMS)
def test_the_loss_over_the_whole_range_of_scores(objective: str) -> None:
    tile = tile_for(2, width=host_width(), form=objective)
    for score in np.concatenate([np.linspace(-60, 60, 81), [1e-3, -1e-3]]):
        for kq in (3.0, 0.5, 1e-3):
            E, Ep = np.ones((1, 1), np.float32), np.array([[score]], np.float32)
            one, log_kq = np.zeros(1, int), np.array([np.log(kq)])
            ours = kernel_step(tile, (E, Ep), one, np.zeros(2, int), lr=1.0, log_kq=log_kq)
            step = partial(nce.window_step, log_kq=log_kq, form=objective)
            exact, loss = reference_step(step, (E, Ep), one, np.zeros(2, int), lr=1.0)
            assert ours.loss == pytest.approx(loss, rel=5e-7, abs=5e-7), (score, kq)
            assert distance(ours.matrices, exact) <= 1.5 * TOLERANCE, (score, kq)


@pytest.mark.parametrize("wrong", WRONG_NCE)
@pytest.mark.parametrize("width", WIDTHS)
def test_wrong_references_are_told_apart(wrong: str, width: int) -> None:
    case = StepCase(dim=50, negatives=5, contexts=9, words=6, lr=0.1, objective="nce")
    step = partial(WRONG_NCE[wrong], log_kq=case.log_kq)
    apart = [step_difference(step, case, width=width, seed=seed) for seed in range(5)]
    assert min(apart) > 100 * TOLERANCE
    right = partial(shift(), log_kq=case.log_kq)
    assert step_difference(right, case, width=width, seed=1) <= TOLERANCE


def test_a_nan_shows_in_the_loss() -> None:
    """So that a diverged training ends, whichever row it began in."""
    for objective in FORMS:
        case = StepCase(dim=8, negatives=5, contexts=3, words=9, objective=objective)
        (E, Ep), _, _ = case.inputs(1)
        for row in (0, 5):  # the true word; a noise word
            bad = Ep.copy()
            bad[row] = np.nan
            outputs = np.array([0, 1, 2, 3, 4, 5])
            ours = kernel_step(
                case.tile(None), (E, bad), np.arange(3), outputs, lr=0.1, log_kq=case.log_kq
            )
            assert np.isnan(ours.loss)


def test_shift_tables() -> None:
    log_kq = np.log([0.5, 1e-300])
    assert len(shift_table("sgns", log_kq)) == 1
    assert shift_table("nce", log_kq) == pytest.approx(np.log2([0.5, 1e-300]), rel=1e-6)
    assert shift_table("nce-sigmoid", log_kq) == pytest.approx([0.5, 1 / COVERED], rel=1e-6)


@pytest.mark.parametrize(("objective", "bias"), [("nce", False), ("nce-sigmoid", True)])
def test_runs(objective: str, bias: bool) -> None:
    """Chunk by chunk against the twin that replays the same draws."""
    settings = TrainConfig(
        dim=16, epochs=2, lr=0.025, min_lr=0.0, objective=objective, bias=bias, negative=3
    )
    for words in (5, 40):
        errors = run_errors(random_text(words, [9, 1, 30, 2, 17, 5, 44] * 3), settings)
        assert errors.counts
        assert errors.clean
        assert errors.kernel <= max(TOLERANCE, 2 * errors.float32), errors
        assert errors.loss <= 1e-5, errors
        assert errors.float32 < 2e-5, "so large a control proves nothing"


def test_runs_with_collisions_dropped_and_a_bias() -> None:
    settings = TrainConfig(
        dim=16, epochs=2, lr=0.025, objective="nce", bias=True, collisions="drop"
    )
    errors = run_errors(random_text(4, [9, 1, 30, 2, 17, 5, 44] * 3), settings)
    assert errors.counts
    assert errors.kernel <= max(TOLERANCE, 2 * errors.float32), errors
