"""The in-batch softmax on windows against its float64 twin: steps, shuffled batches, stretches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from kernel_cases import TOLERANCE, distance, random_matrices, random_text
from naive import Window, chunk_seeds, learning_rate, windows

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.inbatch import in_batch_step
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.objectives.inbatch import in_batch
from w2v_sgns.training import cost, inbatch
from w2v_sgns.training.backends import TrainingData
from w2v_sgns.training.inbatch import InBatchBackend, stretches
from w2v_sgns.training.schedule import Schedule
from w2v_sgns.training.setup import matrices_for, training_data

TEXT = random_text(60, [300, 1, 900, 2, 40] * 14, keep=0.4)
assert len(TEXT.tokens) > CHUNK, "a batch ends at a chunk's border"
Ids = np.ndarray


def exact_step(
    E: np.ndarray,
    Ep: np.ndarray,
    centers: Ids,
    targets: Ids,
    lr: float,
    *,
    bias: np.ndarray | None = None,
) -> float:
    """One step of the sum over the pairs: the objective's mean times their number."""
    X, Y = E[centers], Ep[targets]
    if bias is not None:  # as one more number of every row
        X = np.hstack([X, np.ones((len(X), 1))])
        Y = np.hstack([Y, bias[targets, None]])
    found, dim = in_batch(X, Y), E.shape[1]
    np.subtract.at(E, centers, lr * len(centers) * found.dX[:, :dim])
    np.subtract.at(Ep, targets, lr * len(centers) * found.dY[:, :dim])
    if bias is not None:
        np.subtract.at(bias, targets, lr * len(centers) * found.dY[:, dim])
    return len(centers) * found.loss


@pytest.mark.parametrize(
    ("pairs", "words"), [(1, 2), (1, 90), (2, 2), (3, 90), (16, 2), (37, 90), (512, 90)]
)
def test_a_step_is_the_references(pairs: int, words: int) -> None:
    """Words that stand several times in a batch, and pairs that are equal."""
    rng = np.random.default_rng(pairs)
    E, Ep = rng.normal(0, 0.5, (2, words, 20)).astype(np.float32)
    centers, targets = rng.integers(0, words, (2, pairs))
    exact, exact_p, lr = E.astype(float), Ep.astype(float), 0.1 / pairs
    loss = exact_step(exact, exact_p, centers, targets, lr)
    assert in_batch_step(E, Ep, centers, targets, lr) == pytest.approx(loss, rel=1e-6, abs=1e-12)
    assert distance((E, Ep), (exact, exact_p)) <= 2 * TOLERANCE


def test_one_pair_teaches_nothing() -> None:
    E, Ep = random_matrices(3, 4)
    before = E.copy(), Ep.copy()
    assert in_batch_step(E, Ep, np.array([1]), np.array([2]), 1.0) == 0
    assert np.array_equal(E, before[0])
    assert np.array_equal(Ep, before[1])


def test_huge_scores_stay_finite() -> None:
    E, Ep = np.full((2, 1), 40.0, np.float32), np.array([[20.0], [-20]], np.float32)
    assert in_batch_step(E, Ep, np.array([0, 1]), np.array([0, 1]), 1e-3) == 1600
    assert np.isfinite(E).all() and np.isfinite(Ep).all()


def pools(config: TrainConfig) -> Iterator[tuple[list[Window], int, np.random.Generator]]:
    """The windows of each chunk that are shuffled together, and what shuffles them."""
    found = list(windows(TEXT.tokens, TEXT.keep, config, 0))
    for chunk in range(-(-len(TEXT.tokens) // CHUNK)):
        some = [window for window in found if window.position // CHUNK == chunk]
        seed = chunk_seeds(config.seed, 0, chunk)[1]
        draw = np.random.Generator(np.random.PCG64(seed))
        sizes = np.array([len(window.contexts) for window in some])
        for begin, end in stretches(sizes, inbatch.SHUFFLED):
            yield some[begin:end], chunk, draw


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("most", [5, 512])
@pytest.mark.parametrize("shuffled", [1 << 18, 700])
def test_an_epoch_is_the_twins(
    most: int, bias: bool, shuffled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbatch, "SHUFFLED", shuffled)
    monkeypatch.setattr(inbatch, "batch_pairs", lambda words: most)
    lr = 0.05 if most < 100 else 1e-3  # 512 pairs of 60 words
    config = TrainConfig(objective="inbatch", dim=16, lr=lr, epochs=1, bias=bias)
    backend = backend_of(config)
    E, Ep = (matrix[:, :16].astype(float) for matrix in backend.matrices)
    biases = np.zeros(TEXT.words) if bias else None
    loss = pairs = kept = steps = 0
    for some, chunk, draw in pools(config):
        centers = np.array([c for window in some for c in window.contexts], int)
        targets = np.array([window.center for window in some for _ in window.contexts], int)
        rate = float(learning_rate(config, 0, chunk * CHUNK, len(TEXT.tokens)))
        order = draw.permutation(len(centers))
        for batch in np.array_split(order, max(1, -(-len(order) // most))):
            loss += exact_step(E, Ep, centers[batch], targets[batch], rate, bias=biases)
            steps += 1
        pairs, kept = pairs + len(centers), kept + len(some)
    totals = backend.run_epoch(0, lambda totals: None)
    assert steps > (4 if shuffled < pairs else 2)
    assert (totals.pairs, totals.kept, totals.tokens) == (pairs, kept, len(TEXT.tokens))
    assert totals.next_chunk == backend.chunks
    assert totals.loss == pytest.approx(loss, rel=1e-5)
    assert distance(tuple(matrix[:, :16] for matrix in backend.matrices), (E, Ep)) < 3e-5
    if bias:
        assert backend.output_bias is not None
        assert np.abs(backend.output_bias - biases).max() < 3e-5
        assert np.abs(biases).max() > 0.01
        assert (backend.matrices[0][:, 16] == 1).all()


def backend_of(config: TrainConfig) -> InBatchBackend:
    E, Ep = matrices_for(TEXT.words, config)
    E[:], Ep[:] = random_matrices(TEXT.words, config.dim, scale=0.2)
    data = TrainingData(tokens=TEXT.tokens, keep=TEXT.keep, noise=TEXT.noise, kept_share=0.5)
    schedule = Schedule(start=config.lr, end=config.final_lr, tokens=len(TEXT.tokens), epochs=1)
    return InBatchBackend(E, Ep, data=data, config=config, schedule=schedule, threads=1)


@pytest.mark.parametrize(
    ("sizes", "most"),
    [([], 5), ([0], 5), ([0, 0, 0], 5), ([3] * 7, 5), ([1, 100, 1, 0], 5), ([2, 3], 5), ([9], 5)],
)
def test_stretches(sizes: list[int], most: int) -> None:
    found = list(stretches(np.array(sizes, np.int64), most))
    covered = [place for begin, end in found for place in range(begin, end)]
    assert covered == list(range(len(sizes)))
    assert all(sum(sizes[a:b]) <= most + max(sizes[a:b]) for a, b in found)
    assert len(found) <= max(1, -(-sum(sizes) // most))


def test_pairs_of_a_batch_come_from_all_over_the_chunk() -> None:
    """Neighbours in the text would be wrong answers of each other far too often."""
    config = TrainConfig(objective="inbatch", dim=4)
    backend = backend_of(config)
    first, last = backend._list(0, 0)
    batches = [some.rows for some, _ in backend.pieces(first, last, np.uint64(1))]
    assert len(batches) > 50
    assert np.mean([np.ptp(rows) for rows in batches]) > 0.8 * (last - first)


def test_batches_grow_with_the_vocabulary() -> None:
    assert [cost.batch_pairs(words) for words in (2, 640, 3200, 10**6)] == [16, 20, 100, 512]


def test_the_readout_knows_how_often_words_are_kept() -> None:
    """P(w) of the pairs: counts after subsampling, not before."""
    counts = np.array([600_000, 300, 200, 100])
    tokens = np.zeros(counts.sum(), np.uint32)
    config = TrainConfig(objective="inbatch", sample=1e-3, negative=1)
    data = training_data(tokens, counts, config)
    assert data.log_kq is not None
    frequent = np.exp(data.log_kq)[0]
    assert np.exp(data.log_kq).sum() == pytest.approx(1)
    assert frequent == pytest.approx(data.kept_share**-1 * counts[0] / counts.sum() * keep(counts))
    assert frequent < 0.99 < counts[0] / counts.sum()


def keep(counts: np.ndarray) -> float:
    """The chance that the first word is kept, by the published formula."""
    ratio = 1e-3 / (counts[0] / counts.sum())
    return float(np.sqrt(ratio) + ratio)


def test_a_rate_is_measured_even_where_one_word_has_more_pairs_than_time() -> None:
    config = TrainConfig(objective="inbatch", dim=4)
    assert backend_of(config).tokens_per_second(0.0) > 0
