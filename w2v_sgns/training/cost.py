"""What the exact softmax costs, told before it starts: V·d operations for every kept token."""

from __future__ import annotations

from dataclasses import dataclass

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ResourceError

__all__ = ["Cost", "check_cost", "softmax_cost"]

OPERATIONS = 6  # for each word and dimension: scores and two updates, a product and a sum each
HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Cost:
    """An estimate."""

    words: int
    dim: int
    centres: int  # kept tokens of an epoch
    epochs: int  # to be trained
    seconds: float  # of them all, measured on some real batches

    @property
    def operations(self) -> int:
        """Operations of one centre."""
        return OPERATIONS * self.words * self.dim

    @property
    def work(self) -> str:
        """What is to be computed, for people."""
        operations = self.operations
        many = f"{operations / 1e6:,.1f} million" if operations >= 1e5 else f"{operations:,}"
        return (
            f"softmax over {self.words:,} words × {self.dim}: {many} operations for each of "
            f"{self.centres:,} centres"
        )

    @property
    def text(self) -> str:
        """That, and the time."""
        from w2v_sgns.training.progress import rough_duration

        epochs = "1 epoch takes" if self.epochs == 1 else f"{self.epochs} epochs take"
        return f"{self.work}; {epochs} about {rough_duration(self.seconds)}"


def softmax_cost(
    vocabulary: Vocabulary, tokens: int, config: TrainConfig, *, epochs: int, rate: float
) -> Cost:
    """Estimate a training of so many epochs at `rate` tokens per second, subsampled ones too."""
    from w2v_sgns import sampling

    counts = vocabulary.counts
    assert counts is not None  # a counted corpus
    sample = sampling.effective_sample(config.sample, tokens)
    kept = float((sampling.keep_probabilities(counts, sample) * counts).sum())
    return Cost(
        words=len(vocabulary),
        dim=config.dim,
        centres=round(kept),
        epochs=epochs,
        seconds=epochs * tokens / rate,
    )


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
