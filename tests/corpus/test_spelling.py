"""Words a slip away: the distances equal a slow twin's, the work is bounded."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2v_sgns.corpus import spelling
from w2v_sgns.corpus.vocabulary import Vocabulary


def naive_distance(a: bytes, b: bytes) -> int:
    """Return the optimal string alignment distance, by its recursion."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            steps = [table[i - 1, j] + 1, table[i, j - 1] + 1]
            steps.append(table[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                steps.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(steps)
    return table[len(a), len(b)]


LETTERS = st.lists(st.sampled_from(b"abcA"), max_size=12).map(bytes)


@settings(max_examples=200)
@given(st.lists(LETTERS, min_size=1, max_size=12), LETTERS.filter(len))
def test_equal_to_the_slow_twin(words: list[bytes], word: bytes) -> None:
    allowed = spelling._allowed_slips(len(word))
    scored = [
        (naive_distance(word.lower(), other.lower()), row)
        for row, other in enumerate(words)
        if other and abs(len(other) - len(word)) <= allowed
    ]
    expected = [row for distance, row in sorted(scored) if distance <= allowed][:5]
    vocabulary = Vocabulary.from_words(words)
    assert spelling.close_rows(vocabulary.data, vocabulary.offsets, word, 5) == expected


@pytest.mark.parametrize(
    ("word", "close"),
    [
        ("kign", ["king"]),
        ("King", ["king"]),
        ("quen", ["queen"]),
        ("quueen", ["queen", "queens"]),
        ("grösse", ["größe"]),
        ("zzzzzz", []),
        ("x", []),
        ("", []),
        ("y" * 5000, []),
        ("\ud800", []),
    ],
)
def test_close_spellings(word: str, close: list[str]) -> None:
    words = Vocabulary.from_words(["queen", "king", "queens", "größe", "a", "", "x" * 5000])
    assert words.close_spellings(word) == close


def test_the_work_is_bounded() -> None:
    offsets = np.arange(1_000_001, dtype=np.int64) * 9
    data = np.random.default_rng(1).integers(97, 123, offsets[-1]).astype(np.uint8)
    start = time.process_time()
    spelling.close_rows(data, offsets, b"nineteens", 5)
    assert time.process_time() - start < 2
