"""Small models for tests of files and questions: padded rows as in training, no training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.kernels.matrices import aligned_matrix
from w2v_sgns.model import Model

WORDS = ("king", "queen", "new york", "größe", b"caf\xe9", "", "x" * 5000, "日本")


def small_model(words: Sequence[str | bytes] = WORDS, dim: int = 5, seed: int = 1) -> Model:
    """Return a model of random strided rows, 5 floats of every 16 in use."""
    rng = np.random.default_rng(seed)
    E, Ep = aligned_matrix(len(words), dim), aligned_matrix(len(words), dim)
    E[:] = rng.standard_normal(E.shape)
    Ep[:] = rng.standard_normal(Ep.shape)
    return Model(
        E,
        Ep,
        vocabulary=Vocabulary.from_words(words, range(len(words) * 10, 0, -10)),
        config=TrainConfig(dim=dim, epochs=2),
        history=[{"epoch": 1, "loss": 2.5}, {"epoch": 2, "loss": np.float64(2.25)}],
        provenance={"corpus": {"names": ["a.txt"], "tokens": np.int64(360)}},
    )
