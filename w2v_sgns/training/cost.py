"""What the exact softmax costs, told before it starts: V·d operations for every kept token."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ResourceError

__all__ = ["Cost", "check_cost", "softmax_cost"]

OPERATIONS = 6  # for each word and dimension: scores and two updates, a product and a sum each
SHARE = 0.4  # of the products' own rate that training reaches, rather low
HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Cost:
    """An estimate."""

    words: int
    dim: int
    centres: int  # kept tokens of an epoch
    epochs: int
    rate: float  # operations per second, all threads

    @property
    def operations(self) -> int:
        """Operations of one centre."""
        return OPERATIONS * self.words * self.dim

    @property
    def seconds(self) -> float:
        """Of all epochs."""
        return self.operations * self.centres * self.epochs / self.rate

    @property
    def text(self) -> str:
        """The figures for people."""
        from w2v_sgns.training.progress import duration

        epochs = f"{self.epochs} epoch{'s' * (self.epochs > 1)}"
        return (
            f"softmax over {self.words:,} words × {self.dim}: {self.operations / 1e6:.1f} million "
            f"operations for each of {self.centres:,} centres; {epochs} take about "
            f"{duration(self.seconds)}"
        )


def softmax_cost(vocabulary: Vocabulary, tokens: int, config: TrainConfig, threads: int) -> Cost:
    """Estimate a training, from the rate of a matrix product that is tried."""
    from w2v_sgns import sampling

    counts = vocabulary.counts
    assert counts is not None  # a counted corpus
    sample = sampling.effective_sample(config.sample, tokens)
    kept = float((sampling.keep_probabilities(counts, sample) * counts).sum())
    return Cost(
        words=len(vocabulary),
        dim=config.dim,
        centres=round(kept),
        epochs=config.epochs,
        rate=SHARE * threads * product_rate(config.dim),
    )


def product_rate(dim: int, *, rows: int = 256, words: int = 2048) -> float:
    """Return the operations per second of float32 products on one thread, the best of a few."""
    from w2v_sgns.machine import single_threaded_blas

    X, block = np.ones((rows, dim), np.float32), np.ones((words, dim), np.float32)
    least = np.inf
    with single_threaded_blas():
        for _ in range(5):
            begun = time.perf_counter()
            X @ block.T
            least = min(least, time.perf_counter() - begun)
    return 2 * rows * words * dim / least


def check_cost(cost: Cost, *, force: bool) -> None:
    """Refuse a training of more than an hour that was not forced.

    Raises:
        ResourceError: with what it would take.
    """
    if cost.seconds > HOUR and not force:
        raise ResourceError(
            f"{cost.text}, more than an hour; --force to do it, or fewer words (--max-vocab, "
            "--min-count), a smaller --dim, or --objective sgns or nce"
        )
