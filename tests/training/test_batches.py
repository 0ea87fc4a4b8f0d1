"""The backends of dense products against the float64 twins: softmax, and noise of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import TOLERANCE, distance, random_matrices, random_text
from naive import learning_rate
from naive_batches import batches, pairs_of, replay_batches

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels import softmax as kernel
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.objectives import softmax
from w2v_sgns.training.backends import TrainingData
from w2v_sgns.training.batches import (
    SharedNoiseBackend,
    SoftmaxBackend,
    batch_rows,
    true_words,
)
from w2v_sgns.training.schedule import Schedule
from w2v_sgns.training.setup import matrices_for

TEXT = random_text(60, [300, 1, 900, 2, 40] * 14, keep=0.4)
assert len(TEXT.tokens) > CHUNK, "a batch ends at a chunk's border"


def one_hot(rows: np.ndarray, words: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    true = np.zeros(shape)
    np.add.at(true, (rows, words), 1)
    return true


@pytest.mark.parametrize("rows", [1, 2, 37])
@pytest.mark.parametrize("held", [1 << 26, 0])
@pytest.mark.parametrize("words", [2, 5, 511, 512, 1300])
def test_a_softmax_step_is_the_references(
    rows: int, held: int, words: int, monkeypatch: Any
) -> None:
    """Batches of one row and more; exponentials held between the passes, or computed again."""
    monkeypatch.setattr(kernel, "HELD", held)
    rng = np.random.default_rng(rows)
    E, Ep = rng.normal(0, 0.5, (2, words, 20)).astype(np.float32)
    centers = rng.permutation(words)[: min(rows, words)]
    pairs = (
        rng.integers(0, len(centers), 5 * len(centers)),
        rng.integers(0, words, 5 * len(centers)),
    )
    exact, exact_p = E.astype(float), Ep.astype(float)
    loss = softmax.batch_step(exact, exact_p, centers, one_hot(*pairs, (len(centers), words)), 0.1)
    ours, dX = kernel.softmax_step(E[centers], Ep, true_words(*pairs, len(centers)), 0.1)
    E[centers] -= np.float32(0.1) * dX
    assert distance((E, Ep), (exact, exact_p)) <= 2 * TOLERANCE
    assert ours == pytest.approx(loss, rel=1e-6)


def test_huge_scores_stay_finite() -> None:
    """A true word whose probability underflows, in a block of its own."""
    E, Ep = np.full((1, 4), 20.0, np.float32), np.zeros((600, 4), np.float32)
    Ep[0], Ep[599] = 10, -10
    positives = true_words(np.array([0]), np.array([599]), 1)
    exact, exact_p = E.astype(float), Ep.astype(float)
    loss = softmax.batch_step(exact, exact_p, [0], one_hot([0], [599], (1, 600)), 1e-3)
    ours, dX = kernel.softmax_step(E, Ep, positives, 1e-3)
    assert loss == 1600
    assert ours == pytest.approx(1600, rel=1e-6)
    assert distance((E - np.float32(1e-3) * dX, Ep), (exact, exact_p)) <= TOLERANCE


def backend_of(kind: Any, config: TrainConfig, *, threads: int = 1) -> Any:
    E, Ep = matrices_for(TEXT.words, config)
    E[:], Ep[:] = random_matrices(TEXT.words, config.dim, scale=0.2)
    data = TrainingData(
        tokens=TEXT.tokens,
        keep=TEXT.keep,
        noise=TEXT.noise,
        log_kq=np.log(config.negative * TEXT.q),
        kept_share=0.5,
    )
    schedule = Schedule(
        start=config.lr, end=config.final_lr, tokens=len(TEXT.tokens), epochs=config.epochs
    )
    return kind(E, Ep, data=data, config=config, schedule=schedule, threads=threads)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rows", [3, 256])
def test_a_softmax_epoch_is_the_twins(rows: int, bias: bool) -> None:
    lr = 0.01 if rows < 100 else 2e-4  # 256 rows for 60 words
    config = TrainConfig(objective="softmax", dim=16, lr=lr, epochs=1, bias=bias)
    backend = backend_of(SoftmaxBackend, config)
    backend.rows = rows
    E, Ep = (matrix[:, :16].astype(float) for matrix in backend.matrices)
    biases = np.zeros(TEXT.words) if bias else None
    loss = pairs = kept = 0
    for _, batch in batches(TEXT.tokens, TEXT.keep, config, rows):
        places, contexts = pairs_of(batch)
        true = one_hot(places, contexts, (len(batch), TEXT.words))
        lr = float(learning_rate(config, 0, batch[0].position, len(TEXT.tokens)))
        loss += softmax.batch_step(E, Ep, [w.center for w in batch], true, lr, bias=biases)
        pairs, kept = pairs + len(places), kept + len(batch)
    totals = backend.run_epoch(0, lambda totals: None)
    assert (totals.pairs, totals.kept, totals.tokens) == (pairs, kept, len(TEXT.tokens))
    assert totals.next_chunk == backend.chunks
    assert totals.loss == pytest.approx(loss, rel=1e-5)
    ours = tuple(matrix[:, :16] for matrix in backend.matrices)
    assert distance(ours, (E, Ep)) < 2e-5
    if bias:
        assert np.abs(backend.output_bias - biases).max() < 2e-5
        assert np.abs(biases).max() > 0.01
        assert (backend.matrices[0][:, 16] == 1).all()


@pytest.mark.parametrize(
    ("objective", "collisions", "bias", "k"),
    [
        ("sgns", "keep", False, 5),
        ("sgns", "drop", True, 70),
        ("nce", "keep", True, 3),
        ("nce", "drop", False, 5),
        ("nce-sigmoid", "keep", True, 5),
    ],
)
@pytest.mark.parametrize("rows", [5, 128])
def test_an_epoch_of_shared_noise_is_the_twins(
    objective: str, collisions: str, bias: bool, k: int, rows: int
) -> None:
    config = TrainConfig(
        objective=objective,
        shared_noise="batch",
        collisions=collisions,
        bias=bias,
        negative=k,
        dim=16,
        lr=0.005 if rows < 100 else 2e-4,
        epochs=1,
    )
    backend = backend_of(SharedNoiseBackend, config)
    backend.rows = rows
    E, Ep = (matrix[:, : 16 + bias].astype(float) for matrix in backend.matrices)
    sums = replay_batches(
        TEXT.tokens,
        E,
        Ep,
        keep=TEXT.keep,
        noise=TEXT.noise,
        log_kq=np.log(k * TEXT.q),
        config=config,
        rows=rows,
        count=max(64, k),
    )
    totals = backend.run_epoch(0, lambda totals: None)
    assert totals.loss == pytest.approx(sums.loss, rel=1e-5)
    assert distance(tuple(matrix[:, : 16 + bias] for matrix in backend.matrices), (E, Ep)) < 2e-5
    if bias:
        assert np.abs(Ep[:, 16]).max() > 0.01
        assert (backend.matrices[0][:, 16] == 1).all()


def test_threads_and_pieces_change_nothing(monkeypatch: Any) -> None:
    monkeypatch.setattr("w2v_sgns.training.batches.TICK", -1.0)
    config = TrainConfig(objective="softmax", dim=16, lr=0.01, epochs=1)
    whole, pieces = (
        backend_of(SoftmaxBackend, config),
        backend_of(SoftmaxBackend, config, threads=3),
    )
    told = []
    totals = whole.run_epoch(0, told.append)
    assert len(told) > whole.chunks
    assert told[0].pairs < told[-1].pairs <= totals.pairs
    parts = [pieces.run_epoch(0, lambda totals: True)]
    while parts[-1].next_chunk < pieces.chunks:
        parts.append(pieces.run_epoch(0, lambda totals: True, first=parts[-1].next_chunk))
    assert len(parts) == whole.chunks
    assert sum(part.pairs for part in parts) == totals.pairs
    for ours, theirs in zip(whole.matrices, pieces.matrices, strict=True):
        assert np.array_equal(ours, theirs)


def test_an_exception_from_tick_ends_the_epoch(monkeypatch: Any) -> None:
    monkeypatch.setattr("w2v_sgns.training.batches.TICK", -1.0)
    backend = backend_of(SoftmaxBackend, TrainConfig(objective="softmax", dim=4))

    def interrupt(totals: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backend.run_epoch(0, interrupt)


def test_a_small_vocabulary_has_small_batches() -> None:
    """So that the default rate does not throw a few words about."""
    rows = [batch_rows(words, SoftmaxBackend.MOST_ROWS) for words in (2, 60, 640, 18_000, 10**6)]
    assert rows == [1, 1, 10, 256, 256]
    config = TrainConfig(objective="softmax", dim=8, epochs=2)
    backend = backend_of(SoftmaxBackend, config)
    losses = [backend.run_epoch(epoch, lambda totals: None) for epoch in range(2)]
    assert losses[1].loss / losses[1].pairs < np.log(TEXT.words)
