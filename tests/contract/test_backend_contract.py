"""What every backend must do: the same draws, windows and steps, whole or in pieces.

With NUMBA_ENABLE_CUDASIM=1 the backend is the GPU's, at about 0.05 s a window step: in all, its
tests take at most 300 steps.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from kernel_cases import (
    Pair,
    Text,
    aligned_copy,
    distance,
    padding_is_zero,
    random_matrices,
    random_text,
    reference_of,
)
from naive import Sums, replay
from naive_batches import replay_batches
from naive_steps import WRONG

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.sampling import alias_table, keep_thresholds, pack_alias
from w2v_sgns.training.backends import Totals, TrainingData
from w2v_sgns.training.batches import batch_rows, shared_words
from w2v_sgns.training.schedule import Schedule

pytestmark = pytest.mark.simulated
EXACT = 3e-6  # of max(1, largest value): float32 over so few steps


@dataclass(frozen=True, kw_only=True)
class Case:
    """A training of few steps."""

    text: Text
    config: TrainConfig
    window: int | None = None  # of a whole line
    kept_share: float = 1.0
    scale: float = 0.3
    start: Pair = field(init=False)

    def __post_init__(self) -> None:
        width = self.config.dim + self.config.bias
        E, Ep = random_matrices(self.text.words, width, scale=self.scale)
        if self.config.bias:
            E[:, -1] = 1
        object.__setattr__(self, "start", (E, Ep))

    @property
    def log_kq(self) -> np.ndarray:
        return np.log(self.config.negative * self.text.q)

    def backend(self, make: Any, workers: int = 1) -> tuple[Any, Pair]:
        """Return a backend and the matrices it trains."""
        E, Ep = map(aligned_copy, self.start)
        text, config = self.text, self.config
        backend = make(
            E[:, : config.dim],
            Ep[:, : config.dim],
            data=TrainingData(
                tokens=text.tokens,
                keep=text.keep,
                noise=text.noise,
                log_kq=self.log_kq,
                kept_share=self.kept_share,
            ),
            config=config,
            schedule=Schedule(
                start=config.lr,
                end=config.final_lr,
                tokens=len(text.tokens),
                epochs=config.epochs,
            ),
            window=self.window,
            workers=workers,
        )
        return backend, (E, Ep)

    def twin(self, step: Callable[..., float] | None = None) -> tuple[Pair, Sums]:
        """Return what float64 makes of the first epoch, and its sums."""
        E, Ep = (matrix.astype(np.float64) for matrix in self.start)
        config = self.config
        if self.window is not None:
            whole = {"window": self.window, "fixed_window": True}
            config = TrainConfig(**(config.to_dict() | whole))
        text = {"keep": self.text.keep, "noise": self.text.noise, "config": config}
        if config.in_batches:
            sums = replay_batches(
                self.text.tokens,
                E,
                Ep,
                **text,
                log_kq=self.log_kq,
                rows=batch_rows(self.text.words, 128),
                count=shared_words(config.negative),
            )
        else:
            step = step or reference_of(config.objective, self.log_kq, bias=config.bias)
            sums = replay(self.text.tokens, E, Ep, **text, step=step)
        return (E, Ep), sums


def config(**settings: Any) -> TrainConfig:
    return TrainConfig(**({"dim": 20, "min_count": 1, "epochs": 2, "negative": 3} | settings))


def sparse_text(chunks: int, kept: int) -> Text:
    """Lines over chunks, the last one short, of which only tokens at the borders are kept."""
    words = 6
    tokens = np.zeros((chunks - 1) * CHUNK + kept + 1, np.uint32)  # word 0 is dropped
    rng = np.random.default_rng(4)
    for border in range(CHUNK, len(tokens), CHUNK):
        tokens[border - kept : border + kept] = rng.integers(1, words, 2 * kept)
    tokens[CHUNK + 1] |= np.uint32(1 << 31)
    q = rng.uniform(0.2, 3, words)
    q /= q.sum()
    kept_words = np.ones(words)
    kept_words[0] = 0
    noise = pack_alias(*alias_table(q))
    return Text(tokens=tokens, keep=keep_thresholds(kept_words), noise=noise, q=q)


LINES = [4, 1, 6]
CASES = {
    "sgns": Case(text=random_text(12, LINES), config=config(window=3)),
    "subsampled": Case(text=random_text(12, [9, 8], keep=0.8), config=config(window=2)),
    "fixed window, drop": Case(
        text=random_text(4, LINES),
        config=config(window=2, fixed_window=True, collisions="drop"),
    ),
    "many outputs": Case(text=random_text(5, [5]), config=config(window=2, negative=10)),
    "wide rows": Case(text=random_text(9, [4, 2]), config=config(dim=132, window=2)),
    "whole line": Case(text=random_text(12, [6, 2]), config=config(window="line"), window=5),
    "many contexts": Case(
        text=random_text(3, [7]), config=config(window=200, fixed_window=True, negative=1)
    ),
    "nce": Case(text=random_text(12, LINES), config=config(window=3, objective="nce")),
    "nce, bias, drop": Case(
        text=random_text(4, LINES),
        config=config(window=2, objective="nce", bias=True, collisions="drop"),
    ),
    "nce-sigmoid": Case(
        text=random_text(12, LINES), config=config(window=3, objective="nce-sigmoid")
    ),
    "sgns, bias": Case(text=random_text(12, [5, 4]), config=config(window=2, bias=True)),
    "shared noise": Case(
        text=random_text(12, [1, 1, 1, 3, 1, 6]),  # the first batch has no pair
        config=config(window=3, shared_noise="batch"),
    ),
    "shared noise, nce, bias, drop": Case(
        text=random_text(8, [5, 4]),
        config=config(
            window=2, shared_noise="batch", objective="nce", bias=True, collisions="drop"
        ),
    ),
    "shared noise, nce-sigmoid, many": Case(
        text=random_text(12, [6]),
        config=config(window=2, shared_noise="batch", objective="nce-sigmoid", negative=9),
    ),
    "shared noise, chunk borders": Case(
        text=sparse_text(2, 3), config=config(window=3, shared_noise="batch"), kept_share=0.9
    ),
    "chunk borders": Case(
        text=sparse_text(3, 4), config=config(window=5, negative=8), kept_share=0.9
    ),
}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared noise in batches of a few windows, although the texts have a dozen words."""
    monkeypatch.setattr("w2v_sgns.training.batches.WORDS_A_ROW", 4)
    monkeypatch.setattr("w2v_sgns.training.batches.SHARED", 6)


def nothing(totals: Totals) -> None:
    """A tick that lets the work go on."""


@pytest.mark.parametrize("name", CASES)
def test_one_worker_equals_float64(make: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if make.__name__ == "cuda":  # all chunks at once
        monkeypatch.setattr("w2v_sgns.training.cuda.backend.LAUNCHES", 1)
        monkeypatch.setattr("w2v_sgns.training.cuda.backend.FIRST", 9)
    case = CASES[name]
    backend, ours = case.backend(make)
    totals = backend.run_epoch(0, nothing)
    exact, sums = case.twin()
    moved = max(float(np.abs(a - b).max()) for a, b in zip(exact, case.start, strict=True))
    assert moved > 0.01
    assert distance(ours, exact) < EXACT
    assert (totals.kept, totals.pairs) == (sums.kept, sums.pairs)
    assert totals.loss == pytest.approx(sums.loss, rel=1e-5)
    assert (totals.tokens, totals.next_chunk) == (len(case.text.tokens), backend.chunks)
    assert padding_is_zero(*ours)


def test_wrong_references_are_told_apart(make: Any) -> None:
    case = Case(text=random_text(4, [8, 4], seed=3), config=config(window=3))
    backend, ours = case.backend(make)
    backend.run_epoch(0, nothing)
    assert distance(ours, case.twin()[0]) < EXACT
    for name, step in WRONG.items():
        assert distance(ours, case.twin(step)[0]) > 100 * EXACT, name


def test_an_epoch_in_pieces_is_the_epoch_in_one(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if make.__name__ == "cuda":
        monkeypatch.setattr("w2v_sgns.training.cuda.backend.IN_FLIGHT", 1)
    case = Case(text=sparse_text(2, 3), config=config(window=3), kept_share=0.9)
    (straight, whole), (stopped, parts) = case.backend(make), case.backend(make)
    total = straight.run_epoch(1, nothing)
    pieces = [stopped.run_epoch(1, lambda totals: True)]
    while pieces[-1].next_chunk < stopped.chunks:
        pieces.append(stopped.run_epoch(1, lambda totals: True, first=pieces[-1].next_chunk))
    for ours, theirs in zip(whole, parts, strict=True):
        assert np.array_equal(ours, theirs)
    for name in ("tokens", "kept", "pairs"):
        assert getattr(total, name) == sum(getattr(piece, name) for piece in pieces)
    assert total.loss == pytest.approx(sum(piece.loss for piece in pieces), rel=1e-9)


@pytest.mark.parametrize("noise", ["window", "batch"])
def test_several_workers_lose_no_update(make: Any, noise: str) -> None:
    """At a tiny rate the sum hardly depends on the order: a lost update would show."""
    tiny = {"lr": 1e-4, "min_lr": 1e-4}
    case = Case(
        text=random_text(3, [16]),
        config=config(dim=16, window=2, negative=2, shared_noise=noise, **tiny),
    )
    backend, ours = case.backend(make, workers=4)
    totals = backend.run_epoch(0, nothing)
    exact, sums = case.twin()
    assert (totals.kept, totals.pairs) == (sums.kept, sums.pairs)
    moved = max(float(np.abs(a - b).max()) for a, b in zip(exact, case.start, strict=True))
    assert distance(ours, exact) < 0.01 * moved


def test_who_watches_may_change_the_matrices(make: Any) -> None:
    """What after_chunk puts back stays: this is how rows are frozen."""
    case = Case(text=random_text(6, [5, 3]), config=config(window=2))
    backend, (E, Ep) = case.backend(make)
    before, row = E.copy(), int(case.text.tokens[0])

    def restore() -> None:
        E[row] = before[row]

    backend.after_chunk = restore
    backend.run_epoch(0, nothing)
    assert np.array_equal(E[row], before[row])
    assert not np.array_equal(E, before)
    assert np.isfinite(Ep).all()


def test_an_error_of_the_caller_ends_the_epoch(make: Any) -> None:
    """The matrices come back, and training can go on."""
    case = Case(text=random_text(6, [6]), config=config(window=2))
    backend, (E, Ep) = case.backend(make)

    def stop(totals: Totals) -> None:
        raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):  # so short an epoch may be over before tick is called
        backend.run_epoch(0, stop)
    before = Ep.copy()
    assert np.isfinite(E).all()
    assert backend.run_epoch(1, nothing).kept == 6
    assert not np.array_equal(before, Ep)
