"""Word classes against the slow twin; empty classes, rows without a direction, the same seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_classes import slow_classes

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, ResourceError, VocabularyError
from w2v_sgns.vectors import classes as module
from w2v_sgns.vectors.classes import NO_CLASS, word_classes


def rows(count: int, dim: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)


@given(
    count=st.integers(1, 25),
    dim=st.integers(1, 6),
    share=st.floats(0, 1),
    seed=st.integers(0, 9),
    block=st.sampled_from([1, 300, module.BLOCK_BYTES]),
)
def test_the_slow_twin_agrees(count: int, dim: int, share: float, seed: int, block: int) -> None:
    matrix = rows(count, dim, seed)
    classes = max(1, round(share * count))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_BYTES", block)
        found = word_classes(matrix, classes, seed=seed, iterations=8)
    labels, centres = slow_classes(matrix, classes, seed=seed, iterations=8)
    assert found.labels.tolist() == labels
    np.testing.assert_allclose(found.centres, centres, atol=1e-9)
    assert set(labels) == set(range(classes))


def test_groups_that_are_there_are_found() -> None:
    centres = rows(6, 20, seed=1)
    truth = np.random.default_rng(2).integers(0, 6, 300)
    matrix = centres[truth] + 0.02 * rows(300, 20, seed=3)
    best = max((word_classes(matrix, 6, seed=seed) for seed in range(10)), key=lambda f: f.cosine)
    assert best.settled
    assert len(set(zip(best.labels.tolist(), truth.tolist(), strict=True))) == 6


def test_equal_words_still_fill_every_class() -> None:
    found = word_classes(np.ones((7, 3), np.float32), 3)
    assert sorted(set(found.labels.tolist())) == [0, 1, 2]
    assert found.settled
    assert found.cosine == pytest.approx(1)


def test_opposite_words_that_cancel_out_keep_a_centre() -> None:
    found = word_classes(np.array([[1, 0], [-1, 0]], np.float32), 1)
    assert found.labels.tolist() == [0, 0]
    assert np.linalg.norm(found.centres[0]) == pytest.approx(1)


def test_near_ties_are_decided_in_float64() -> None:
    """Centres that float32 cannot tell apart: the slow twin, which has no float32, agrees."""
    matrix = np.repeat(rows(4, 8), 6, axis=0) + np.float32(1e-7) * rows(24, 8, seed=5)
    found = word_classes(matrix, 12, seed=3, iterations=5)
    assert found.labels.tolist() == slow_classes(matrix, 12, seed=3, iterations=5)[0]


def test_rows_without_a_direction_have_no_class() -> None:
    matrix = rows(9, 4)
    matrix[2], matrix[5, 1], matrix[7, 0] = 0, np.nan, np.inf
    found = word_classes(matrix, 2)
    assert np.flatnonzero(found.labels == NO_CLASS).tolist() == [2, 5, 7]
    kept = word_classes(np.delete(matrix, [2, 5, 7], axis=0), 2)
    assert found.labels[found.labels >= 0].tolist() == kept.labels.tolist()


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    for classes, options, message in (
        (0, {}, "the number of classes must be at least 1, not 0"),
        (2, {"seed": -1}, "--seed must be at least 0"),
        (2, {"iterations": 0}, "iterations must be at least 1"),
        (4, {}, "4 classes need as many words with a direction, not 3"),
    ):
        with pytest.raises(ConfigError, match=message):
            word_classes(rows(3, 2), classes, **options)
    with pytest.raises(ConfigError, match="direction, not 0"):
        word_classes(np.zeros((3, 2), np.float32), 1)
    monkeypatch.setattr(module, "available_memory", lambda: 1000)
    with pytest.raises(ResourceError, match="--top N takes fewer"):
        word_classes(rows(3, 2), 1)


def test_lines_in_both_orders() -> None:
    matrix = np.array([[1, 0], [0, 1], [0, 0], [1, 0.1]], np.float32)
    words = Vocabulary.from_words(["a", "b", "c", b"\xff"])
    found = word_classes(matrix, 2)
    assert list(found.lines(words)) == [b"a\t0\n", b"b\t1\n", b"c\t-1\n", b"\xff\t0\n"]
    ordered = [b"c\t-1\n", b"a\t0\n", b"\xff\t0\n", b"b\t1\n"]
    assert list(found.lines(words, by_class=True)) == ordered
    with pytest.raises(VocabularyError, match="use --json"):
        list(found.lines(Vocabulary.from_words(["a\tb", "b", "c", "d"])))


THREADS = """
import hashlib, numpy as np
from w2v_sgns.vectors.classes import word_classes
matrix = np.random.default_rng(1).standard_normal((3000, 50)).astype(np.float32)
print(hashlib.sha256(word_classes(matrix, 60, seed=2, iterations=6).labels.tobytes()).hexdigest())
"""


def test_the_number_of_threads_does_not_matter(root: Path) -> None:
    answers = {
        subprocess.run(
            [sys.executable, "-c", THREADS],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for threads in ("1", "2", "3")
    }
    assert len(answers) == 1
