"""Noise and keep probabilities: exact tables, honest draws, streams that have nothing in common."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import chunk_seeds, noise_word, nth_draw
from numba import njit

from w2v_sgns.kernels.compile import compiled
from w2v_sgns.kernels.rng import STEP, mix, stream_seeds
from w2v_sgns.kernels.windows import draw_noise, is_kept
from w2v_sgns.sampling import (
    alias_probabilities,
    alias_table,
    keep_probabilities,
    keep_thresholds,
    noise_distribution,
    pack_alias,
)

CASES = Path(__file__).resolve().parent / "cases"
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
SIGMAS = 6.0


def counts_of(case: str) -> dict[str, int]:
    rows = (CASES / case / "counts.tsv").read_text().splitlines()
    return {word: int(count) for word, count in (row.split("\t") for row in rows)}


ZIPF = (1e9 / np.arange(1, 100_001)).astype(np.int64)
SHAPES = {
    "one word": [7],
    "two equal": [3, 3],
    "1,000 equal": [5] * 1000,
    "1e9 to 1": [10**9, 1],
    "one among many": [1_000_000] + [5] * 20_000,
    "rising": list(range(1, 500)),
    "100,000 by Zipf's law": ZIPF,
    "counts above 2^32": list(counts_of("65-large-counts").values()),
}


@pytest.fixture(params=SHAPES)
def counts(request: pytest.FixtureRequest) -> np.ndarray:
    return np.asarray(SHAPES[request.param], np.int64)


@pytest.fixture(params=[0, 0.75, 1, -0.5])
def exponent(request: pytest.FixtureRequest) -> float:
    return float(request.param)


def table_gives(own: np.ndarray, alias: np.ndarray) -> np.ndarray:
    """What a table draws: each slot with 1/V, then itself or its alias."""
    given = own.copy()
    np.add.at(given, alias, 1 - own)
    return given / len(own)


def packed_gives(table: np.ndarray) -> np.ndarray:
    own = ((table & np.uint64(0xFFFFFFFF)).astype(np.float64) + 1) / 2**32
    return table_gives(own, (table >> np.uint64(32)).astype(np.int64))


def test_noise_is_count_to_the_power(counts: np.ndarray, exponent: float) -> None:
    q = noise_distribution(counts, exponent)
    assert q.sum() == pytest.approx(1, abs=1e-12)
    assert (q > 0).all()
    weights = counts.astype(np.longdouble) ** exponent
    assert np.abs(q / (weights / weights.sum()) - 1).max() < 1e-10


def test_alias_table_reproduces_q(counts: np.ndarray, exponent: float) -> None:
    q = noise_distribution(counts, exponent)
    threshold, alias = alias_table(q)
    assert ((threshold >= 0) & (threshold <= 1)).all()
    given = table_gives(threshold, alias)
    assert np.abs(given - q).max() < 1e-12
    assert np.abs(given / q - 1).max() < 1e-6
    assert alias_probabilities(threshold, alias) == pytest.approx(given, abs=1e-15)


def test_packing_costs_next_to_nothing(counts: np.ndarray, exponent: float) -> None:
    q = noise_distribution(counts, exponent)
    table = pack_alias(*alias_table(q))
    given = packed_gives(table)
    assert table.dtype == np.uint64
    assert (given > 0).all()
    assert given[-1] > 0, "the last word can be drawn"
    assert np.abs(given - q).max() < 2**-31


def test_a_word_too_rare_for_32_bits_is_still_drawn() -> None:
    q = noise_distribution([10**15, 1], 1)
    assert q[1] < 2**-40
    assert 0 < packed_gives(pack_alias(*alias_table(q)))[1] <= 2**-31


def test_q_of_case_51() -> None:
    exact = (0.820063454, 0.145830196, 0.025932683, 0.004611556, 0.002742047, 0.000820063)
    counts = list(counts_of("51-noise-distribution").values())
    assert noise_distribution(counts, 0.75) == pytest.approx(exact, abs=1e-9)
    assert noise_distribution(counts, 0) == pytest.approx([1 / 6] * 6, abs=1e-15)
    assert packed_gives(pack_alias(*alias_table(noise_distribution(counts, 0.75)))) == (
        pytest.approx(exact, abs=1e-6)
    )


def test_case_51_of_20001_words() -> None:
    """A table with fewer slots than words would never reach most of them."""
    q = noise_distribution([1_000_000] + [5] * 20_000, 0.75)
    given = packed_gives(pack_alias(*alias_table(q)))
    assert np.abs(given / q - 1).max() < 1e-3


def test_noise_fixture() -> None:
    fixture = json.loads((CASES.parent / "data" / "sgns_fixtures.json").read_text())["noise"]
    for key, power in (("q", fixture["power"]), ("q_power0", 0), ("q_power1", 1)):
        q = noise_distribution(fixture["counts"], power)
        assert q == pytest.approx(fixture[key], abs=1e-11), key


@compiled
def draws(seed: Any, count: int, table: Any) -> Any:
    """The first words of a noise stream."""
    words = np.empty(count, np.int64)
    state = seed
    for n in range(count):
        state += STEP
        words[n] = draw_noise(state, table)
    return words


def drawn(seed: int, count: int, table: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # counters wrap around
        return np.asarray(draws(np.uint64(seed), count, table))


def chi_square_sigmas(words: np.ndarray, q: np.ndarray) -> float:
    """How many standard deviations chi-square is above its mean."""
    expected = q * len(words)
    seen = np.bincount(words, minlength=len(q))
    freedom = len(q) - 1
    return float((((seen - expected) ** 2 / expected).sum() - freedom) / np.sqrt(2 * freedom))


@pytest.mark.parametrize("exponent", [0.75, 0, -0.5])
@pytest.mark.parametrize("shape", ["case 51", "rising"])
def test_draws_follow_q(shape: str, exponent: float) -> None:
    counts = SHAPES.get(shape) or list(counts_of("51-noise-distribution").values())
    q = noise_distribution(counts, exponent)
    table = pack_alias(*alias_table(q))
    number = 20_000 if INTERPRETED else 2_000_000
    assert abs(chi_square_sigmas(drawn(12345, number, table), q)) < 5


def test_chi_square_can_fail() -> None:
    """The last slot of the table never drawn."""
    q = noise_distribution(list(counts_of("51-noise-distribution").values()), 0.75)
    table = pack_alias(*alias_table(q))
    assert chi_square_sigmas(drawn(12345, 20_000, table[:-1]), q) > 50


def test_draws_are_the_twins() -> None:
    q = noise_distribution(np.arange(1, 60), 0.75)
    table = pack_alias(*alias_table(q))
    seed = 2**64 - 5  # the counter wraps around on the way
    expected = [noise_word(nth_draw(seed, n), table.tolist()) for n in range(1000)]
    assert drawn(seed, 1000, table).tolist() == expected


# ---- subsampling

KEEP_CASE_50 = {
    "the": 0.145766,
    "of": 0.273607,
    "cat": 0.999745,
    "edge": 1.0,
    "mid": 1.0,
    "rare": 1.0,
}


def test_keep_of_case_50() -> None:
    counts = counts_of("50-subsampling-table")
    assert sum(counts.values()) == 1_000_000
    keep = dict(zip(counts, keep_probabilities(list(counts.values()), 1e-3), strict=True))
    for word, expected in KEEP_CASE_50.items():
        assert keep[word] == pytest.approx(expected, abs=1e-6), word
    assert keep["cat"] < 1


@njit
def kept_share(seed: Any, count: int, word: Any, thresholds: Any) -> Any:
    kept = 0
    state = seed
    for _ in range(count):
        state += STEP
        kept += is_kept(mix(state), word, thresholds)
    return kept / count


def test_the_kept_share_is_the_probability() -> None:
    counts = list(counts_of("50-subsampling-table").values())
    thresholds = keep_thresholds(keep_probabilities(counts, 1e-3))
    number = 20_000 if INTERPRETED else 200_000
    for row, word in enumerate(KEEP_CASE_50):
        with np.errstate(over="ignore"):
            share = kept_share(np.uint64(77), number, row, thresholds)
        assert share == pytest.approx(KEEP_CASE_50[word], abs=0.01), word
        if KEEP_CASE_50[word] == 1:
            assert share == 1, word


def test_sample_0_keeps_all() -> None:
    assert keep_probabilities([10**9, 1], 0).tolist() == [1, 1]
    assert keep_thresholds(np.ones(2)).tolist() == [2**32 - 1]


def test_the_words_that_are_alike_at_the_end_share_an_entry() -> None:
    thresholds = keep_thresholds(np.array([0.25, 0.5, 0.5, 1.0, 1.0, 1.0]))
    assert thresholds.tolist() == [2**30 - 1, 2**31 - 1, 2**31 - 1, 2**32 - 1]
    assert keep_thresholds(np.array([0.5, 0.5])).tolist() == [2**31 - 1]


def test_thresholds_round_the_probability() -> None:
    p = np.array([1e-12, 0.1, 0.5, 0.9999999, 1.0])
    thresholds = keep_thresholds(p)
    assert thresholds.dtype == np.uint32
    assert np.abs((thresholds.astype(np.float64) + 1) / 2**32 - p).max() <= 2**-32


@pytest.mark.parametrize("sample", [1e-5, 1e-3, 1.0])
def test_counts_above_2_to_the_32(sample: float) -> None:
    counts = list(counts_of("65-large-counts").values())
    keep = keep_probabilities(counts, sample)
    assert np.isfinite(keep).all()
    assert ((keep > 0) & (keep <= 1)).all()
    assert (np.diff(keep) >= 0).all(), "rarer words are kept no less often"
    assert keep[-1] == 1
    q = noise_distribution(counts, 0.75)
    assert (np.diff(q) < 0).all(), "also between 2^31 and 2^31 − 1"
    assert q.sum() == pytest.approx(1, abs=1e-15)
    share = counts[0] / 20_294_967_300
    expected = min(1, np.sqrt(sample / share) + sample / share)
    assert keep[0] == pytest.approx(expected, rel=1e-12)


# ---- streams

NEGATIVES = 1000
LAGS = range(4)


def worst_agreement(seeds: Sequence[int]) -> float:
    """Return, in standard deviations above chance, how far two of the streams agree at most.

    Streams are compared place by place, and shifted by a few places against each other.
    """
    q = noise_distribution(np.arange(1, 101), 0.75)
    table = pack_alias(*alias_table(q))
    streams = np.stack([drawn(seed, NEGATIVES, table) for seed in seeds]).astype(np.int16)
    chance = float((q**2).sum())
    worst = 0.0
    for lag in LAGS:
        places = NEGATIVES - lag
        deviation = np.sqrt(places * chance * (1 - chance))
        for i, stream in enumerate(streams):
            others = np.delete(streams, i, 0)
            same = (others[:, lag:] == stream[:places]).sum(axis=1).max()
            worst = max(worst, (same - places * chance) / deviation)
    return float(worst)


def noise_seeds(seed: int = 1, epochs: int = 5, chunks: int = 40) -> list[int]:
    return [int(stream_seeds(seed, e, c)[1]) for e in range(epochs) for c in range(chunks)]


def test_no_two_chunks_share_negatives() -> None:
    seeds = noise_seeds()
    assert len(set(seeds)) == 200
    assert worst_agreement(seeds) < SIGMAS


def test_neighbouring_seeds_share_no_negatives() -> None:
    seeds = [int(stream_seeds(seed, 0, chunk)[1]) for seed in range(50) for chunk in range(2)]
    assert worst_agreement(seeds) < SIGMAS


def test_windows_and_noise_of_a_chunk_are_apart() -> None:
    seeds = [int(s) for chunk in range(50) for s in stream_seeds(1, 0, chunk)]
    assert worst_agreement(seeds) < SIGMAS


CORRELATED = {
    "one seed for all": lambda epoch, chunk: 12345,
    "the epoch forgotten": lambda epoch, chunk: chunk_seeds(1, 0, chunk)[1],
    "the chunk forgotten": lambda epoch, chunk: chunk_seeds(1, epoch, 0)[1],
    "a counter's step apart": lambda epoch, chunk: (
        (12345 + (40 * epoch + chunk) * int(STEP)) % 2**64
    ),
    "epoch + chunk": lambda epoch, chunk: chunk_seeds(1, 0, epoch + chunk)[1],
}


@pytest.mark.parametrize("name", CORRELATED)
def test_correlated_streams_are_noticed(name: str) -> None:
    seeds = [CORRELATED[name](epoch, chunk) for epoch in range(3) for chunk in range(10)]
    assert worst_agreement(seeds) > 10 * SIGMAS


def test_seeds_are_those_of_the_definition() -> None:
    keys = [(seed, e, c) for seed in (0, 1, 2**63 - 1) for e in (0, 1, 7) for c in (0, 1, 10**6)]
    ours = [tuple(map(int, stream_seeds(*key))) for key in keys]
    assert ours == [chunk_seeds(*key) for key in keys]
    assert len({s for pair in ours for s in pair}) == 2 * len(keys)
