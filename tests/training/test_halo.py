"""What a backend hands its kernel: how far windows may look where most tokens are thinned out."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.matrices import aligned_matrix
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.sampling import (
    alias_table,
    keep_probabilities,
    keep_thresholds,
    noise_distribution,
    pack_alias,
)
from w2v_sgns.training.backends import TrainingData
from w2v_sgns.training.chunked import MOST_HALO, halo_chunks
from w2v_sgns.training.hogwild import HogwildBackend
from w2v_sgns.training.schedule import Schedule

WORDS = 300


def test_halo() -> None:
    assert halo_chunks(5, 1.0) == halo_chunks(CHUNK, 1.0) == 1
    assert halo_chunks(CHUNK + 1, 1.0) == 2
    assert halo_chunks(5, 0.3) == 1, "the common case costs nothing"
    assert halo_chunks(200, 0.01) == 3
    assert halo_chunks(1000, 1e-9) == halo_chunks(1000, 0.0) == MOST_HALO


@pytest.mark.parametrize("sample", [1e-6, 1e-4])
def test_no_pair_is_lost_where_few_tokens_are_kept(sample: float) -> None:
    """A window of 200 needs more than one neighbour chunk at the smaller threshold."""
    config = TrainConfig(window=200, sample=sample, dim=4, seed=5)
    generator = np.random.default_rng(1)
    tokens = np.minimum(generator.geometric(0.02, 7 * CHUNK + 99) - 1, WORDS - 1).astype(np.uint32)
    tokens[-1] |= 1 << 31  # one line
    counts = np.bincount(tokens & 0x7FFFFFFF, minlength=WORDS) + 1
    kept = keep_probabilities(counts, sample)
    data = TrainingData(
        tokens=tokens,
        keep=keep_thresholds(kept),
        noise=pack_alias(*alias_table(noise_distribution(counts, 0.75))),
        kept_share=float(np.average(kept, weights=counts)),
    )
    backend = HogwildBackend(
        aligned_matrix(WORDS, 4),
        aligned_matrix(WORDS, 4),
        data=data,
        config=config,
        schedule=Schedule(start=0.05, end=0.0, tokens=len(tokens), epochs=1),
        threads=1,
    )
    pairs = sum(backend.count_pairs(chunk) for chunk in range(backend.chunks))
    twin = sum(len(window.contexts) for window in naive.windows(tokens, data.keep, config, 0))
    assert pairs == twin
    trained = backend.run_epoch(0, lambda totals: False)
    assert (trained.tokens, trained.pairs) == (len(tokens), twin)
