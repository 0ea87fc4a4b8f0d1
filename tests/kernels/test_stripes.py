"""Threads in step against the float64 twin, and against themselves: any threads, same bits."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from kernel_cases import TOLERANCE, Text, aligned_copy, distance, random_matrices, random_text
from naive import Sums, replay, replay_in_step

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels import team as kernel
from w2v_sgns.kernels.blocks import list_blocks
from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.lockstep import COUNTS, ENDED, all_posted, post
from w2v_sgns.kernels.matrices import padded
from w2v_sgns.kernels.simd import tile_for
from w2v_sgns.training.backends import Totals, TrainingData
from w2v_sgns.training.schedule import Schedule
from w2v_sgns.training.setup import matrices_for
from w2v_sgns.training.stripes import StripedBackend

Pair = tuple[np.ndarray, np.ndarray]


def backend_on(
    text: Text, matrices: Pair, settings: TrainConfig, *, stripes: int, threads: int
) -> StripedBackend:
    schedule = Schedule(
        start=settings.lr,
        end=settings.final_lr,
        tokens=len(text.tokens),
        epochs=settings.epochs,
    )
    data = TrainingData(
        tokens=text.tokens,
        keep=text.keep,
        noise=text.noise,
        log_kq=np.log(settings.negative * text.q),
    )
    return StripedBackend(
        *matrices, data=data, config=settings, schedule=schedule, threads=threads, stripes=stripes
    )


def trained(
    text: Text, settings: TrainConfig, *, stripes: int = 2, threads: int = 2, scale: float = 0.05
) -> tuple[Pair, Totals, StripedBackend]:
    E, Ep = matrices_for(text.words, settings)
    E[:], Ep[:] = random_matrices(text.words, settings.dim, scale=scale)
    backend = backend_on(text, (E, Ep), settings, stripes=stripes, threads=threads)
    sums = [backend.run_epoch(epoch, lambda totals: None) for epoch in range(settings.epochs)]
    return (E, Ep), sums[-1], backend


def twin(
    text: Text, settings: TrainConfig, most: int, *, scale: float = 0.05, kind: type = float
) -> tuple[Pair, Sums]:
    E, Ep = (m.astype(kind) for m in random_matrices(text.words, settings.dim, scale=scale))
    for epoch in range(settings.epochs):
        given = {"keep": text.keep, "noise": text.noise, "config": settings, "epoch": epoch}
        sums = replay_in_step(text.tokens, E, Ep, most=most, **given)
    return (E, Ep), sums


@compiled
def waits(counts, target):
    return all_posted(counts.ctypes.data, len(counts), np.int64(target))


@compiled
def posts(counts, thread, count):
    post(counts.ctypes.data + 8 * COUNTS * thread, np.int64(count))


def config(**settings: object) -> TrainConfig:
    return TrainConfig(**({"dim": 40, "epochs": 1, "lr": 0.025} | settings))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (2000, {}),
        (2000, {"negative": 12, "window": 3, "fixed_window": True, "dim": 100}),
        (300, {"collisions": "drop", "epochs": 2}),
        (3, {"lr": 0.01, "window": 12, "dim": 17}),
    ],
)
def test_the_twin(words: int, settings: dict[str, object]) -> None:
    longest = 700 if "negative" in settings else 16_000  # rounding adds up, tile by tile
    text = random_text(words, [700, 1, 2, 300, longest, 40], seed=words, keep=0.6)
    given = config(**settings)
    ours, totals, backend = trained(text, given)
    exact, sums = twin(text, given, backend.block)
    rounded, _ = twin(text, given, backend.block, kind=np.float32)
    assert (totals.kept, totals.pairs) == (sums.kept, sums.pairs)
    assert distance(ours, exact) <= max(TOLERANCE, 2 * distance(rounded, exact))
    assert totals.loss == pytest.approx(sums.loss, rel=1e-5)
    assert distance(rounded, exact) < 1e-4, "so large a control proves nothing"


def test_the_twin_is_not_that_of_one_thread() -> None:
    """Scores are a little old, which the comparison above can see."""
    text, given = random_text(2000, [900] * 4), config()
    ours, _, _ = trained(text, given)
    E, Ep = (m.astype(float) for m in random_matrices(text.words, given.dim))
    replay(text.tokens, E, Ep, keep=text.keep, noise=text.noise, config=given)
    assert 20 * TOLERANCE < distance(ours, (E, Ep)) < 0.1


@pytest.mark.parametrize(
    ("objective", "bias"), [("sgns", False), ("nce", True), ("nce-sigmoid", False)]
)
def test_any_number_of_threads_gives_the_same_bits(objective: str, bias: bool) -> None:
    text = random_text(900, [300] * 20)
    given = config(dim=63 if bias else 70, objective=objective, bias=bias, epochs=2)
    results = []
    for threads in (1, 2, 3, 8):
        (E, Ep), totals, backend = trained(text, given, stripes=4, threads=threads)
        assert len(backend.workers) == min(threads, len(backend.team.columns) - 1)
        results.append((padded(E, bias).tobytes(), padded(Ep, bias).tobytes(), totals))
    assert all(result == results[0] for result in results)


def test_a_bias_is_trained_as_in_nce_without_stripes() -> None:
    """Columns that hold ones stay so, whichever stripe they are in."""
    text = random_text(900, [300] * 20)
    for dim in (15, 16, 63):
        given = config(dim=dim, objective="nce", bias=True)
        (E, Ep), _, backend = trained(text, given, stripes=4, threads=2)
        assert (padded(E, 1)[:, dim] == 1).all()
        assert backend.output_bias is not None
        assert backend.output_bias.std() > 0
        assert not padded(E, 1)[:, dim + 1 :].any()
        assert not padded(Ep, 1)[:, dim + 1 :].any()


def test_together_and_alone_are_the_same() -> None:
    """Which of them trains a chunk is a matter of time alone."""
    text, given = random_text(900, [300] * 200), config(dim=33)
    results = []
    for together in (True, False):
        E, Ep = map(aligned_copy, random_matrices(text.words, given.dim))
        backend = backend_on(text, (E, Ep), given, stripes=3, threads=3)
        backend._pace.took = lambda seconds: None  # type: ignore[method-assign]
        backend._pace.together = together
        totals = backend.run_epoch(0, lambda totals: None)
        results.append((E.tobytes(), Ep.tobytes(), totals))
    assert results[0] == results[1]


def test_other_stripes_differ_in_the_last_digits() -> None:
    text, given = random_text(900, [300] * 20), config(dim=70)
    two, _, _ = trained(text, given, stripes=2)
    five, _, _ = trained(text, given, stripes=5)
    assert 0 < distance(two, five) < 1e-4


@pytest.mark.parametrize(
    ("dim", "stripes", "borders"),
    [
        (100, 2, [0, 64, 112]),
        (100, 4, [0, 32, 64, 96, 112]),
        (100, 5, [0, 32, 64, 96, 112]),
        (100, 64, [0, 16, 32, 48, 64, 80, 96, 112]),
        (16, 8, [0, 16]),
        (1, 2, [0, 16]),
        (300, 3, [0, 112, 224, 304]),
    ],
)
def test_columns_are_cut_at_cache_lines(dim: int, stripes: int, borders: list[int]) -> None:
    assert kernel.cut_columns(dim, stripes).tolist() == borders


def test_a_copy_in_stripes_and_back() -> None:
    matrix = padded(aligned_copy(random_matrices(50, 70)[0]))
    columns = kernel.cut_columns(70, 3)
    parts = kernel.striped(matrix, columns)
    assert parts.shape == (len(columns) - 1, 51, columns[1])
    assert not parts[:, 50].any(), "the row that stands for no output"
    again = np.zeros_like(matrix)
    kernel.put_back(parts, again, columns)
    assert np.array_equal(again, matrix)


def blocks_of(words: list[int], most: int) -> list[tuple[int, int, bool]]:
    listed = list_blocks(np.array(words, np.int32), 0, len(words), most)
    return [(int(low), int(high), bool(early)) for low, high, early in listed]


def test_repeats_make_blocks_short() -> None:
    assert blocks_of([], 8) == []
    assert blocks_of(list(range(20)), 8) == [(0, 8, True), (8, 16, True), (16, 20, True)]
    assert blocks_of([7] * 5, 8) == [(0, 2, True), (2, 4, False), (4, 5, False)]
    twice = [0, 1, 2, 3, 0, 1, 2, 3, 9, 0, 4, 5]  # the third 0 would be the third not yet added
    assert blocks_of(twice, 8) == [(0, 8, True), (8, 9, True), (9, 12, True)]
    assert blocks_of([1, 1, 2, 1, 3], 4) == [(0, 3, True), (3, 5, False)]
    assert blocks_of([1, 2, 3], 1) == [(0, 1, False), (1, 2, False), (2, 3, False)]


def test_blocks_are_short_where_much_would_be_old_or_large() -> None:
    tile = tile_for(6)
    usual = {"window": 5, "outputs": 6, "force": 1.0}
    assert kernel.block_windows(tile, **usual, words=70_000) == kernel.BLOCK
    assert kernel.block_windows(tile, **usual, words=300) == 4
    assert kernel.block_windows(tile, **usual, words=10) == 1
    assert kernel.block_windows(tile, window=100_000, outputs=6, words=70_000, force=1.0) == 1


@pytest.mark.parametrize(
    ("settings", "block"),
    [
        ({}, 6),
        ({"lr": 0.025}, 8),
        ({"lr": 0.07}, 3),
        ({"lr": 5e-324}, 8),
        ({"lr": 0.1}, 2),
        ({"lr": 0.2}, 1),
        ({"fixed_window": True}, 2),
        ({"window": 10}, 2),
        ({"window": 1000, "lr": 0.02}, 6),
        ({"negative": 20, "lr": 0.0125}, 2),
        ({"negative": 50}, 1),
        ({"objective": "nce", "lr": 0.025}, 3),
    ],
)
def test_what_pulls_harder_is_cut_into_smaller_blocks(
    settings: dict[str, object], block: int
) -> None:
    """Measured: with larger ones these settings diverge, or end at a loss percents higher."""
    text, given = random_text(600, [30]), config(**({"lr": 0.05} | settings))
    _, _, backend = trained(text, given)
    assert backend.block == block


@pytest.mark.parametrize("count", [4, ENDED + 4])
def test_who_has_ended_after_enough_is_waited_for_no_more(count: int) -> None:
    counts = np.zeros((2, COUNTS), np.int64)
    counts[0, 0], counts[1, 0] = 9, count
    assert waits(counts, 4)
    if count > ENDED:
        assert not waits(counts, 5)


def test_a_count_is_waited_for() -> None:
    counts = np.zeros((2, COUNTS), np.int64)
    counts[0, 0] = 3
    answer: list[bool] = []
    waiting = threading.Thread(target=lambda: answer.append(waits(counts, 3)))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    posts(counts, 1, 3)
    waiting.join(20)
    assert answer == [True]


def test_repeated_words_do_not_run_away() -> None:
    """A word hundreds of times in a row, in a large vocabulary, at a high rate."""
    tokens = np.concatenate([np.arange(2000), np.full(600, 7), np.arange(2000)])
    tokens = tokens.astype(np.uint32)
    tokens[-1] |= np.uint32(1 << 31)
    made = random_text(2000, [10])
    text = Text(tokens=tokens, keep=made.keep, noise=made.noise, q=made.q)
    ours, _, _ = trained(text, config(lr=0.1))
    one = tuple(m.astype(float) for m in random_matrices(2000, 40))
    replay(tokens, *one, keep=text.keep, noise=text.noise, config=config(lr=0.1))
    largest, exact = (max(np.abs(m).max() for m in pair) for pair in (ours, one))
    assert largest < 2 * exact
