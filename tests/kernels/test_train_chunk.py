"""Whole chunks against the float64 twin: same draws, same counts, same matrices, same loss."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import (
    TOLERANCE,
    RunErrors,
    Text,
    aligned_copy,
    distance,
    kernel_epoch,
    padding_is_zero,
    random_matrices,
    random_text,
    run_errors,
)
from naive import Negatives, noise_word, replay, windows
from naive_steps import WRONG, last_row_never_drawn

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.objectives.sgns import window_step
from w2v_sgns.objectives.stable import softplus

LENGTHS = [3000, 1, 700, 2, 5000, 40, 9000, 300] * 2
SHORT = [9, 1, 30, 2, 17, 5, 44]


def config(**settings: object) -> TrainConfig:
    return TrainConfig(**({"dim": 16, "epochs": 1, "lr": 0.025} | settings))  # type: ignore[arg-type]


def check(errors: RunErrors, *, loss: float = 1e-6) -> None:
    """A run amplifies rounding: at most twice what float32 NumPy's own run shows."""
    assert errors.counts, "kept tokens and pairs are exact"
    assert errors.clean
    assert errors.kernel <= max(TOLERANCE, 2 * errors.float32), errors
    assert errors.loss <= loss, errors
    assert errors.float32 < 2e-5, "so large a control proves nothing"


@pytest.mark.parametrize("collisions", ["keep", "drop"])
def test_chunks_with_lines_over_their_borders(collisions: str) -> None:
    text = random_text(200, LENGTHS, keep=0.4)
    assert len(text.tokens) > 2 * CHUNK
    check(run_errors(text, config(collisions=collisions, min_lr=0.01)))


@pytest.mark.parametrize(
    ("dim", "k", "window", "fixed"),
    [(1, 5, 1, True), (20, 5, 5, False), (100, 5, 3, True), (40, 20, 10, False)],
)
def test_short_texts_of_several_epochs(dim: int, k: int, window: int, fixed: bool) -> None:
    settings = config(
        dim=dim, negative=k, window=window, fixed_window=fixed, epochs=3, seed=8, min_lr=0.0
    )
    for words in (2, 5, 40):
        text = random_text(words, SHORT * 3, seed=words)
        check(run_errors(text, settings), loss=1e-5)  # the matrices themselves are 7e-6 off


@pytest.mark.parametrize("width", [4, 16])
def test_other_widths(width: int) -> None:
    settings = config(dim=33, epochs=2)
    check(run_errors(random_text(12, SHORT * 4), settings, width=width))


def runs(text: Text, settings: TrainConfig) -> tuple[np.ndarray, np.ndarray]:
    E, Ep = map(aligned_copy, random_matrices(text.words, settings.dim, scale=0.3))
    kernel_epoch(text, E, Ep, config=settings)
    return E, Ep


@pytest.mark.parametrize("wrong", [*WRONG, "last_row_never_drawn"])
def test_wrong_twins_are_told_apart(wrong: str) -> None:
    text, settings = random_text(6, SHORT), config(collisions="keep")
    exact = tuple(m.astype(float) for m in random_matrices(text.words, settings.dim, scale=0.3))
    replay(
        text.tokens,
        *exact,
        keep=text.keep,
        noise=text.noise,
        config=settings,
        draw=last_row_never_drawn if wrong not in WRONG else noise_word,
        **({"step": WRONG[wrong]} if wrong in WRONG else {}),
    )
    assert distance(runs(text, settings), exact) > 1e-4


def test_chunks_add_to_the_totals() -> None:
    text, settings = random_text(30, [CHUNK, 50]), config(window=2, fixed_window=True)
    E, Ep = map(aligned_copy, random_matrices(30, 16))
    sums = kernel_epoch(text, E, Ep, config=settings)
    assert sums.kept == CHUNK + 50
    assert sums.pairs == sum(2 * (n - 1) + 2 * (n - 2) for n in (CHUNK, 50))
    assert padding_is_zero(E, Ep)


def test_first_loss_of_an_epoch_without_learning() -> None:
    text, settings = random_text(30, SHORT), config(lr=1e-30)
    E, _ = random_matrices(30, 16)
    E, Ep = aligned_copy(E), aligned_copy(np.zeros_like(E))
    sums = kernel_epoch(text, E, Ep, config=settings)
    assert sums.loss / sums.pairs == pytest.approx(6 * np.log(2), rel=1e-7)


def test_the_loss_of_wide_windows_and_many_negatives() -> None:
    """Hundreds of millions of terms add up to the printed loss; scores far from zero."""
    text = random_text(50, [2500])
    settings = config(dim=4, window=1000, negative=100, fixed_window=True, lr=1e-20)
    start = random_matrices(50, 4, scale=1.5)
    E, Ep = map(aligned_copy, start)
    ours = kernel_epoch(text, E, Ep, config=settings)
    scores = start[0].astype(float) @ start[1].astype(float).T
    as_target, as_noise = softplus(-scores), softplus(scores)
    noise = Negatives(settings, 0, text.noise.tolist())
    loss = 0.0
    for window in windows(text.tokens, text.keep, settings, 0):
        contexts = np.bincount(window.contexts, minlength=50)
        drawn = np.bincount(noise.of(window.position), minlength=50)
        loss += contexts @ (as_target[:, window.center] + as_noise @ drawn)
    assert ours.loss == pytest.approx(loss, rel=1e-4)


def test_a_stopped_call_does_nothing() -> None:
    text, settings = random_text(30, SHORT), config()
    start = random_matrices(30, 16)
    E, Ep = map(aligned_copy, start)
    sums = kernel_epoch(text, E, Ep, config=settings, stop=True)
    assert (sums.kept, sums.pairs, sums.loss) == (0, 0, 0)
    assert distance((E, Ep), start) == 0


def test_lines_of_one_token_have_no_pairs() -> None:
    text, settings = random_text(5, [1] * 100), config()
    start = random_matrices(5, 16)
    E, Ep = map(aligned_copy, start)
    sums = kernel_epoch(text, E, Ep, config=settings)
    assert (sums.kept, sums.pairs, sums.loss) == (100, 0, 0)
    assert distance((E, Ep), start) == 0


def test_a_seed_and_an_epoch_change_the_draws() -> None:
    text = random_text(30, SHORT)
    results = []
    for seed, epoch in ((1, 0), (1, 0), (2, 0), (1, 1)):
        E, Ep = map(aligned_copy, random_matrices(30, 16))
        kernel_epoch(text, E, Ep, config=config(seed=seed, epochs=2), epoch=epoch)
        results.append(E.copy())
    first, again, other_seed, other_epoch = results
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other_seed)
    assert not np.array_equal(first, other_epoch)


def test_a_single_bad_step_would_be_noticed() -> None:
    """The tolerance of a run is fine enough: one forgotten context among thousands fails it."""
    text, settings = random_text(200, [400, 300], keep=0.8), config()
    exact = tuple(m.astype(float) for m in random_matrices(text.words, settings.dim))
    calls = 0

    def once_wrong(*arguments: object, **options: object) -> float:
        nonlocal calls
        calls += 1
        step = WRONG["dropped_context"] if calls == 100 else window_step
        return step(*arguments, **options)

    replay(text.tokens, *exact, keep=text.keep, noise=text.noise, config=settings, step=once_wrong)
    E, Ep = map(aligned_copy, random_matrices(text.words, settings.dim))
    kernel_epoch(text, E, Ep, config=settings)
    assert calls > 100
    assert distance((E, Ep), exact) > 10 * TOLERANCE
