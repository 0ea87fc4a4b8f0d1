"""What objectives are compared on: one text, its words, and held-out pairs to judge by.

The yardstick is the mean of log P(target | center) over one fixed list of held-out pairs,
normalised over all V words by each objective's own readout.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import TrainConfig
from w2v_sgns.errors import CorpusError
from w2v_sgns.objectives.readout import log_probabilities

if TYPE_CHECKING:
    from w2v_sgns.corpus import Corpus
    from w2v_sgns.kernels.matrices import Matrix
    from w2v_sgns.training.backends import Totals

__all__ = ["Ground", "Moment", "Trial", "log_likelihood", "split"]

TENTH = 10
MOST_PAIRS = 20_000  # held-out pairs that are judged
MOST_HELD = 200_000  # tokens held out, at most
ROWS = 64  # centers judged at once
LINE_END = np.uint32(1 << 31)

Ids = npt.NDArray[np.int64]
Tokens = npt.NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Where a training stood after an epoch, or at its end."""

    seconds: float  # of training alone
    likelihood: float  # mean log P(target | center) over the held-out pairs


class Ground:
    """What all objectives share: text, words, held-out pairs, settings."""

    def __init__(
        self, corpus: Corpus, config: TrainConfig, *, holdout: float, threads: int
    ) -> None:
        from w2v_sgns.training.needs import window_reach

        counts = corpus.vocabulary.counts
        assert counts is not None  # a counted corpus
        self.vocabulary, self.counts, self.config = corpus.vocabulary, counts, config
        self.threads = threads
        self.window = window_reach(config, corpus.stats.longest_line)
        self.tokens, held = split(np.asarray(corpus.store.tokens), holdout)
        self.held_out = len(held)
        self.centers, self.targets = self._pairs(held)

    def _pairs(self, held: Tokens) -> tuple[Ids, Ids]:
        """Return the held-out pairs as training would form them, evenly thinned out.

        Raises:
            CorpusError: there are none.
        """
        from w2v_sgns.training.batches import BatchBackend
        from w2v_sgns.training.schedule import Schedule
        from w2v_sgns.training.setup import matrices_for, training_data

        config = replace(self.config, dim=1, bias=False)
        data = training_data(held, self.counts, config, tokens_in_all=len(self.tokens))
        schedule = Schedule(start=0.0, end=0.0, tokens=len(held), epochs=1)
        former = BatchBackend(
            *matrices_for(2, config),
            data=data,
            config=config,
            schedule=schedule,
            threads=1,
            window=self.window,
        )
        centers, targets = former.pairs()
        if not len(centers):
            raise CorpusError("the held-out text has no pair; try a larger --holdout or --sample 0")
        chosen = np.unique(np.linspace(0, len(centers) - 1, MOST_PAIRS).astype(np.int64))
        return centers[chosen], targets[chosen]

    def unigram(self) -> float:
        """Return the mean of log P(target), from how often subsampling keeps each word."""
        from w2v_sgns.sampling import effective_sample, keep_probabilities

        sample = effective_sample(self.config.sample, len(self.tokens))
        kept = self.counts * keep_probabilities(self.counts, sample)
        return float(np.log(kept[self.targets] / kept.sum()).mean())

    @property
    def tenth(self) -> Tokens:
        """The first tenth of the text, to search a rate on."""
        return _ended(self.tokens[: len(self.tokens) // TENTH])

    def length(self, seconds: float | None, rate: float) -> tuple[int, Tokens]:
        """Return epochs and tokens: as asked, or what the seconds allow at a rate (words/s)."""
        if seconds is None:
            return self.config.epochs, self.tokens
        allowed = max(2 * TENTH, int(rate * seconds))
        if allowed < len(self.tokens):
            return 1, _ended(self.tokens[:allowed])
        return round(allowed / len(self.tokens)), self.tokens


class Trial:
    """One run on some of the tokens, timed without the judging."""

    def __init__(
        self, ground: Ground, objective: str, lr: float, tokens: Tokens, *, epochs: int
    ) -> None:
        from w2v_sgns.training.schedule import Schedule
        from w2v_sgns.training.setup import backend_for, initial_matrices, training_data

        self.ground, self.epochs = ground, epochs
        noiseless = TrainConfig(objective=objective).without_noise
        shared = "window" if noiseless else ground.config.shared_noise
        self.config = replace(
            ground.config,
            objective=objective,
            lr=lr,
            min_lr=None,
            noise_exponent=None,
            shared_noise=shared,
            epochs=epochs,
        )
        self.E, self.Ep = initial_matrices(len(ground.vocabulary), self.config)
        data = training_data(tokens, ground.counts, self.config, tokens_in_all=len(ground.tokens))
        assert data.log_kq is not None
        self.log_q = data.log_kq
        schedule = Schedule(start=lr, end=self.config.final_lr, tokens=len(tokens), epochs=epochs)
        self.backend = backend_for(
            self.E,
            self.Ep,
            data,
            self.config,
            schedule,
            threads=ground.threads,
            window=ground.window,
        )
        self.seconds, self.done, self.loss = 0.0, 0, math.nan
        self.moments: list[Moment] = []

    @property
    def words_per_second(self) -> float:
        """Words of the text per second of training."""
        return self.done / self.seconds

    def train(self, most: float | None) -> float:
        """Train at most so many seconds; return the likelihood, NaN where it diverged."""
        self.backend.warm_up()
        for epoch in range(self.epochs):
            begun = time.perf_counter()
            left = math.inf if most is None else most - self.seconds
            totals = self._epoch(epoch, begun + left)
            self.seconds += time.perf_counter() - begun
            self.done += totals.tokens
            self.loss = totals.loss / totals.pairs if totals.pairs else math.nan
            finite = np.isfinite(self.E).all() and np.isfinite(self.Ep).all()
            likelihood = self._judged() if finite and math.isfinite(self.loss) else math.nan
            self.moments.append(Moment(seconds=self.seconds, likelihood=likelihood))
            if math.isnan(likelihood) or (most is not None and self.seconds >= most):
                break
        return self.moments[-1].likelihood

    def _epoch(self, epoch: int, end: float) -> Totals:
        return self.backend.run_epoch(epoch, lambda totals: time.perf_counter() > end)

    def _judged(self) -> float:
        return log_likelihood(
            self.config.objective,
            self.E,
            self.Ep,
            self.backend.output_bias,
            self.ground.centers,
            self.ground.targets,
            self.log_q,
        )


def log_likelihood(
    objective: str,
    E: Matrix,
    Ep: Matrix,
    bias: Matrix | None,
    centers: Ids,
    targets: Ids,
    log_q: npt.NDArray[np.float64],
) -> float:
    """Return the mean of log P(target | center) over pairs, normalised over all V words.

    E, Ep (V, d); bias (V,); centers, targets (P,) ids; log_q (V,) up to a constant.
    """
    words, rows = np.unique(centers, return_inverse=True)
    order = np.argsort(rows, kind="stable")
    total = 0.0
    for start in range(0, len(words), ROWS):
        first, last = np.searchsorted(rows[order], [start, start + ROWS])
        scores = (E[words[start : start + ROWS]] @ Ep.T).astype(np.float64)
        logs = log_probabilities(objective, scores if bias is None else scores + bias, log_q)
        pairs = order[first:last]
        total += logs[rows[pairs] - start, targets[pairs]].sum()
    return float(total / len(centers))


def split(tokens: Tokens, holdout: float) -> tuple[Tokens, Tokens]:
    """Return the tokens to train on and those held out, each ending a line.

    Raises:
        CorpusError: nothing would be left.
    """
    held = min(MOST_HELD, round(holdout * len(tokens)))
    if held < 2 or len(tokens) - held < 2 * TENTH:
        raise CorpusError(
            f"{len(tokens):,} tokens are too few to hold {holdout:g} of them out; try a longer "
            "text, a lower --min-count or a larger --holdout"
        )
    return _ended(tokens[:-held]), _ended(tokens[-held:])


def _ended(tokens: Tokens) -> Tokens:
    ended = np.array(tokens)
    ended[-1] |= LINE_END
    return ended
