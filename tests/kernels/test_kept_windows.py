"""Subsampling and windows over chunks: no pair lost, none twice, wherever a line is cut."""

from __future__ import annotations

from collections import Counter
from typing import Any

import naive
import numpy as np
import pytest
from naive import chunk_seeds

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels import windows
from w2v_sgns.kernels.compile import compiled
from w2v_sgns.sampling import keep_thresholds

pytestmark = pytest.mark.interpreted

CHUNK = windows.CHUNK
LINE_END = np.uint32(1 << 31)
kept_windows = compiled(getattr(windows.kept_windows, "py_func", windows.kept_windows))

Pairs = Counter[tuple[int, int]]


def text(lengths: list[int], words: int | None = None) -> np.ndarray:
    """Lines of ids; without `words` every token is a word of its own: a pair is a place."""
    count = sum(lengths)
    tokens = (
        np.arange(count) if words is None else np.random.default_rng(2).integers(words, size=count)
    )
    tokens = tokens.astype(np.uint32)
    tokens[np.cumsum(lengths) - 1] |= LINE_END
    return tokens


def chunk_windows(tokens: np.ndarray, keep: np.ndarray, config: TrainConfig, chunk: int) -> Any:
    """What one call says: words, both edges, and the range of the chunk's own words."""
    seeds = [chunk_seeds(config.seed, 0, max(0, chunk + n))[0] for n in (-1, 0, 1)]
    room = [np.zeros(CHUNK + 2 * config.window + 1, np.int32) for _ in range(3)]
    start = chunk * CHUNK
    end = min(start + CHUNK, len(tokens))
    size, fixed = config.window, config.fixed_window
    with np.errstate(over="ignore"):
        own = kept_windows(tokens, start, end, size, fixed, np.array(seeds, np.uint64), keep, *room)
    return *room, *own


def kernel_windows(
    tokens: np.ndarray, keep: np.ndarray, config: TrainConfig
) -> list[tuple[int, list[int]]]:
    """Every kept word with its contexts, over all chunks."""
    found = []
    for chunk in range(-(-len(tokens) // CHUNK)):
        words, low, high, first, last = chunk_windows(tokens, keep, config, chunk)
        words, low, high = words.tolist(), low.tolist(), high.tolist()
        for t in range(first, last):
            found.append((words[t], words[low[t] : t] + words[t + 1 : high[t]]))
    return found


def pairs(found: list[tuple[int, list[int]]]) -> Pairs:
    return Counter((center, context) for center, contexts in found for context in contexts)


def twin_windows(
    tokens: np.ndarray, keep: np.ndarray, config: TrainConfig
) -> list[tuple[int, list[int]]]:
    return [(w.center, w.contexts) for w in naive.windows(tokens, keep, config, 0)]


LENGTHS = [1023, 1024, 1025, 2047, 3000, 1, 2, 1500, 2500, 2049, 1, 1, 1]  # over a chunk border


@pytest.mark.parametrize("window", [1, 5, 12])
def test_no_pair_of_a_long_line_is_lost(window: int) -> None:
    config = TrainConfig(window=window, fixed_window=True, sample=0)
    tokens = text(LENGTHS + LENGTHS[:4])
    assert CHUNK < len(tokens) < 2 * CHUNK
    keep = np.full(len(tokens), 2**32 - 1, np.uint32)
    found = pairs(kernel_windows(tokens, keep, config))
    assert found == pairs(twin_windows(tokens, keep, config))
    assert max(found.values()) == 1
    # the number by counting: a line of n has n − j pairs at distance j, each in both directions
    expected = sum(2 * max(0, n - j) for n in LENGTHS + LENGTHS[:4] for j in range(1, window + 1))
    assert found.total() == expected
    border = tokens[CHUNK - 1] & ~LINE_END, tokens[CHUNK]
    assert found[(int(border[0]), int(border[1]))] == 1, "a pair over the border of two chunks"


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("keep_share", [0.02, 0.4, 1.0])
@pytest.mark.parametrize("words", [None, 50])
def test_subsampling_and_shrinking_windows(
    fixed: bool, keep_share: float, words: int | None
) -> None:
    config = TrainConfig(window=7, fixed_window=fixed, seed=3)
    tokens = text(LENGTHS + LENGTHS[:4], words)
    shares = np.random.default_rng(4).uniform(keep_share / 2, keep_share, len(tokens))
    keep = keep_thresholds(np.ones(len(tokens)) if keep_share == 1 else shares)
    ours, twins = kernel_windows(tokens, keep, config), twin_windows(tokens, keep, config)
    assert ours == twins, "the same centres with the same contexts in the same order"
    assert len(ours) > 0.4 * keep_share * len(tokens)
    sizes = {len(contexts) for _, contexts in ours}
    assert max(sizes) == 14
    assert (len(sizes) > 12) or fixed


def test_one_line_over_three_chunks() -> None:
    config = TrainConfig(window=3, seed=9)
    tokens = text([2 * CHUNK + 100])
    keep = keep_thresholds(np.full(len(tokens), 0.5))
    assert kernel_windows(tokens, keep, config) == twin_windows(tokens, keep, config)


def test_a_line_that_ends_with_its_chunk() -> None:
    config = TrainConfig(window=5, fixed_window=True)
    tokens = text([CHUNK, 10])
    keep = np.full(len(tokens), 2**32 - 1, np.uint32)
    assert kernel_windows(tokens, keep, config) == twin_windows(tokens, keep, config)
    words, low, high, first, last = chunk_windows(tokens, keep, config, 1)
    assert (first, last) == (0, 10), "no word of the line before"
    assert (low[0], high[9]) == (0, 10)
    assert words[:10].tolist() == list(range(CHUNK, CHUNK + 10))


def test_a_last_line_without_an_end() -> None:
    config = TrainConfig(window=2, fixed_window=True)
    tokens = np.arange(5, dtype=np.uint32)
    keep = np.full(5, 2**32 - 1, np.uint32)
    expected = [(0, [1, 2]), (1, [0, 2, 3]), (2, [0, 1, 3, 4]), (3, [1, 2, 4]), (4, [2, 3])]
    assert kernel_windows(tokens, keep, config) == expected


def test_nothing_kept() -> None:
    config = TrainConfig(window=4)
    tokens = text([30, CHUNK])
    keep = np.zeros(len(tokens), np.uint32)
    assert kernel_windows(tokens, keep, config) == twin_windows(tokens, keep, config)


def test_window_sizes_are_uniform() -> None:
    config = TrainConfig(window=5)
    tokens = text([CHUNK])
    keep = np.full(len(tokens), 2**32 - 1, np.uint32)
    sizes = np.bincount([len(c) // 2 for _, c in kernel_windows(tokens, keep, config)][5:-5])
    expected = (CHUNK - 10) / 5
    assert sizes[0] == 0
    assert (np.abs(sizes[1:] - expected) < 5 * np.sqrt(expected)).all(), sizes


def test_a_cut_at_the_border_would_be_noticed() -> None:
    """The comparison fails for windows that stop at a chunk's border."""
    config = TrainConfig(window=5, fixed_window=True)
    tokens = text([CHUNK + 50])
    keep = np.full(len(tokens), 2**32 - 1, np.uint32)
    cut = tokens.copy()
    cut[CHUNK - 1] |= LINE_END
    missing = pairs(twin_windows(tokens, keep, config)) - pairs(twin_windows(cut, keep, config))
    assert missing.total() == 2 * (5 + 4 + 3 + 2 + 1)
    assert pairs(kernel_windows(tokens, keep, config)) != pairs(twin_windows(cut, keep, config))
