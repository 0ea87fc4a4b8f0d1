"""What a softmax costs, told before it starts: over all words for every kept token, or in a batch.

Also how many pairs a batch of the in-batch softmax has, on which its cost depends.
"""

from __future__ import annotations

from dataclasses import dataclass

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ResourceError
from w2v_sgns.training.durations import rough_duration

__all__ = ["Cost", "batch_pairs", "check_cost", "softmax_cost"]

OPERATIONS = 6  # for each score and dimension: scores and two updates, a product and a sum each
HOUR = 3600.0
LEAST_PAIRS, MOST_PAIRS = 16, 512  # of a batch
WORDS_A_PAIR = 32  # of the vocabulary, for each pair of a batch between the two


def batch_pairs(words: int) -> int:
    """Return the most pairs of a batch of the in-batch softmax: fewer with a small vocabulary.

    Gradients are summed: with many pairs for few words, each word would move by too much at once.
    """
    return max(LEAST_PAIRS, min(MOST_PAIRS, words // WORDS_A_PAIR))


@dataclass(frozen=True, kw_only=True)
class Cost:
    """An estimate."""

    over: str  # what a softmax sums over: "softmax over 70,000 words"
    scores: int  # of each softmax
    each: str  # what needs one: "each of 6,000,000 centres"
    dim: int
    epochs: int  # to be trained
    seconds: float  # of them all, measured on some real batches
    cheaper: str  # options that make it so

    @property
    def operations(self) -> int:
        """Operations of one softmax."""
        return OPERATIONS * self.scores * self.dim

    @property
    def work(self) -> str:
        """What is to be computed, for people."""
        operations = self.operations
        many = f"{operations / 1e6:,.1f} million" if operations >= 1e5 else f"{operations:,}"
        return f"{self.over} × {self.dim}: {many} operations for {self.each}"

    @property
    def text(self) -> str:
        """That, and the time."""
        epochs = "1 epoch takes" if self.epochs == 1 else f"{self.epochs} epochs take"
        return f"{self.work}; {epochs} about {rough_duration(self.seconds)}"


def softmax_cost(
    vocabulary: Vocabulary, tokens: int, config: TrainConfig, *, epochs: int, rate: float
) -> Cost | None:
    """Estimate a training of so many epochs at `rate` tokens per second, subsampled ones too.

    None where the objective is no softmax.
    """
    if not config.without_noise:
        return None
    words, seconds = len(vocabulary), epochs * tokens / rate
    if config.objective == "inbatch":
        pairs = batch_pairs(words)
        return Cost(
            over=f"softmax over batches of {pairs:,} pairs",
            scores=pairs,
            each="each pair",
            dim=config.dim,
            epochs=epochs,
            seconds=seconds,
            cheaper="a smaller --window, --sample or --dim",
        )
    return Cost(
        over=f"softmax over {words:,} words",
        scores=words,
        each=f"each of {_kept(vocabulary, tokens, config):,} centres",
        dim=config.dim,
        epochs=epochs,
        seconds=seconds,
        cheaper="fewer words (--max-vocab, --min-count), a smaller --dim",
    )


def _kept(vocabulary: Vocabulary, tokens: int, config: TrainConfig) -> int:
    """Return the tokens of an epoch that subsampling keeps, on average."""
    from w2v_sgns import sampling

    counts = vocabulary.counts
    assert counts is not None  # a counted corpus
    sample = sampling.effective_sample(config.sample, tokens)
    return round(float((sampling.keep_probabilities(counts, sample) * counts).sum()))


def check_cost(cost: Cost, *, force: bool) -> None:
    """Refuse a training of more than an hour that was not forced.

    Raises:
        ResourceError: with what it would take.
    """
    if cost.seconds > HOUR and not force:
        raise ResourceError(
            f"{cost.text}, more than an hour; --force to do it, or {cost.cheaper}, or "
            "--objective sgns or nce"
        )
