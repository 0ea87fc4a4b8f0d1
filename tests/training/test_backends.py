"""The seam between trainer and backend: an epoch in one piece or in several is the same work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus import load_corpus
from w2v_sgns.training.backends import Totals
from w2v_sgns.training.trainer import cpu_backend, initial_matrices

CONFIG = TrainConfig(dim=12, min_count=1, epochs=2, negative=3)


@pytest.fixture(scope="module")
def corpus(demo_corpus: Path) -> Iterator[Any]:
    with load_corpus(demo_corpus, min_count=1, threads=1, memory_bytes=1 << 30) as loaded:
        yield loaded


def backend_of(corpus: Any, threads: int) -> Any:
    E, Ep = initial_matrices(len(corpus.vocabulary), CONFIG)
    backend, _ = cpu_backend(E, Ep, corpus, CONFIG, threads=threads, window=None)
    return backend


def run(backend: Any, epoch: int, tick: Any) -> list[Totals]:
    """Run an epoch, going on wherever it was stopped."""
    parts = [backend.run_epoch(epoch, tick)]
    while parts[-1].next_chunk < backend.chunks:
        parts.append(backend.run_epoch(epoch, tick, first=parts[-1].next_chunk))
    return parts


def test_an_epoch_in_pieces_is_the_epoch_in_one(corpus: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("w2v_sgns.training.hogwild.TICK", 1e-4)
    straight, stopped = backend_of(corpus, 1), backend_of(corpus, 1)
    (whole,) = run(straight, 1, lambda totals: None)
    parts = run(stopped, 1, lambda totals: True)
    assert len(parts) > 2
    for ours, theirs in zip(straight.matrices, stopped.matrices, strict=True):
        assert np.array_equal(ours, theirs)
    assert whole.next_chunk == straight.chunks
    assert whole.tokens == len(corpus.store.tokens) == sum(part.tokens for part in parts)
    assert whole.kept == sum(part.kept for part in parts)
    assert whole.pairs == sum(part.pairs for part in parts)
    assert whole.loss == pytest.approx(sum(part.loss for part in parts), rel=1e-12)


def test_two_threads_finish_what_they_began(corpus: Any, monkeypatch: Any) -> None:
    """No chunk is lost or trained twice where several threads are stopped."""
    monkeypatch.setattr("w2v_sgns.training.hogwild.TICK", 1e-4)
    parts = run(backend_of(corpus, 2), 0, lambda totals: True)
    assert len(parts) > 1
    assert sum(part.tokens for part in parts) == len(corpus.store.tokens)
    (whole,) = run(backend_of(corpus, 1), 0, lambda totals: False)
    assert sum(part.pairs for part in parts) == whole.pairs
