"""A loader with small defaults, and how large inputs may be in this pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from w2v_sgns.corpus import Corpus, load_corpus

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[..., Corpus]]:
    """Load bytes, a path, or whatever else is a corpus; the corpora are closed after the test."""
    opened: list[Corpus] = []

    def load_it(text: Any, /, **options: Any) -> Corpus:
        path = text
        if isinstance(text, bytes):
            path = tmp_path / "corpus.txt"
            path.write_bytes(text)
        settings = {"min_count": 1, "threads": 2, "memory_bytes": 1 << 30} | options
        opened.append(load_corpus(path, **settings))
        return opened[-1]

    yield load_it
    for corpus in opened:
        corpus.close()


@pytest.fixture
def scaled() -> Callable[[int], int]:
    """Shrink a number of tokens for the interpreted pass, which is 500 times slower."""
    return lambda tokens: max(tokens // 500, 100) if INTERPRETED else tokens
