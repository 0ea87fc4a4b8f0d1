"""How many streams a GPU trains: the stated rule, and what happens beyond it."""

from __future__ import annotations

import numpy as np
from lockstep import final_loss

from w2v_sgns.training.cuda.streams import streams_for


def flat(words: int) -> np.ndarray:
    return np.full(words, 1 / words)


def streams(words: int = 100_000, **changed: int) -> int:
    settings = {"multiprocessors": 132, "tokens": 10**9, "epochs": 1, "negatives": 5}
    return streams_for(kept=flat(words), q=flat(words), **(settings | changed))


def test_a_large_text_fills_the_gpu() -> None:
    assert streams() == 4 * 132
    assert streams(multiprocessors=1) == 4


def test_a_short_text_bounds_the_streams_by_its_tokens() -> None:
    assert streams(tokens=1_200_000) == 100
    assert streams(tokens=1_200_000, epochs=2) == 200
    assert streams(tokens=5) == 1


def test_few_words_bound_the_streams_by_the_hottest_one() -> None:
    assert streams(words=20) == 333  # 100 / (1/20 + 5/20)
    skewed = np.array([0.9, *flat(999) * 0.1])
    assert streams_for(
        multiprocessors=132, tokens=10**9, epochs=1, kept=skewed, q=skewed, negatives=5
    ) == int(100 / (6 * 0.9))


def test_a_stream_of_batches_is_as_many_windows_as_a_batch_has() -> None:
    assert streams(batch=128) == 132
    assert streams(tokens=12_000 * 128 * 7, batch=128) == 7
    assert streams(words=20, batch=128) == 333 // 128
    assert streams(tokens=12_000 * 5, batch=128) == 1


def test_the_rule_keeps_a_small_text_and_more_streams_ruin_it() -> None:
    """In the harshest order of reads and additions; pairs of neighbours predict each other."""
    rng = np.random.default_rng(5)
    words = 60
    tokens = np.repeat(rng.integers(0, words // 2, 15_000) * 2, 2)
    tokens[1::2] += 1  # a word's neighbour is its partner
    q = flat(words)
    kept = np.bincount(tokens, minlength=words).astype(float)
    rule = streams_for(
        multiprocessors=132, tokens=len(tokens), epochs=1, kept=kept, q=q, negatives=4
    )
    assert rule == 2
    alone = final_loss(tokens, words, streams=1)
    assert final_loss(tokens, words, streams=rule) < 1.03 * alone
    assert final_loss(tokens, words, streams=250 * rule) > 1.3 * alone
