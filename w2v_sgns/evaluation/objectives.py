"""Objectives side by side on the same corpus, by a yardstick that is the same for all.

Each is trained at three learning rates on a tenth of the text, then at the best of them on all of
it but the held-out end. The yardstick is the mean of log P(target | center) over one fixed list of
held-out pairs, normalised over all V words by each objective's own readout.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import OBJECTIVES, RunOptions, TrainConfig
from w2v_sgns.errors import ConfigError, CorpusError, DivergenceError
from w2v_sgns.objectives.readout import log_probabilities

if TYPE_CHECKING:
    from w2v_sgns.corpus import Corpus
    from w2v_sgns.evaluation.questions import Questions
    from w2v_sgns.kernels.matrices import Matrix
    from w2v_sgns.training.backends import Totals

__all__ = ["Comparison", "Leg", "Moment", "compare_objectives", "log_likelihood", "split"]

RATES = (0.0125, 0.05, 0.2)  # tried on a tenth of the text
TENTH = 10
MOST_PAIRS = 20_000  # held-out pairs that are judged
MOST_HELD = 200_000  # tokens held out, at most
ROWS = 64  # centers judged at once
LINE_END = np.uint32(1 << 31)

Ids = npt.NDArray[np.int64]
Tokens = npt.NDArray[np.uint32]
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Where a training stood after an epoch, or at its end."""

    seconds: float  # of training alone
    likelihood: float  # mean log P(target | center) over the held-out pairs


@dataclass(frozen=True, kw_only=True)
class Leg:
    """One objective's training."""

    objective: str
    lr: float
    tried: dict[float, float]  # rate: likelihood after the search; NaN where it diverged
    epochs: float  # trained
    seconds: float
    words_per_second: float
    loss: float  # its own, mean per pair, in the last epoch
    likelihood: float
    moments: tuple[Moment, ...]
    scores: dict[str, float | None] = field(default_factory=dict)  # by name of the file


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All legs, and what they were measured on."""

    words: int  # V
    tokens: int  # trained on
    held_out: int  # tokens
    pairs: int  # judged
    unigram: float  # the same yardstick of a model that knows the words' frequencies alone
    legs: tuple[Leg, ...]
    config: TrainConfig
    epochs: int
    seconds: float | None  # asked for each
    took: float  # wall time of everything


def compare_objectives(
    corpus: Any,
    config: TrainConfig,
    *,
    objectives: Sequence[str] = OBJECTIVES,
    seconds: float | None = None,
    holdout: float = 0.02,
    questions: Sequence[Questions] = (),
    threads: int = 0,
    say: Say = lambda text: None,
) -> Comparison:
    """Train every objective on the corpus and judge it.

    Args:
        corpus: see :func:`w2v_sgns.train`.
        config: the settings that all share; its objective, rate and noise exponent are replaced.
        objectives: which ones.
        seconds: of training for each, instead of config.epochs.
        holdout: share of the tokens, from the end, that is judged and not trained on.
        questions: analogies and word pairs that are asked as well.
        threads: 0: all.
        say: told what goes on, a line at a time.

    Raises:
        ConfigError: an unknown objective, or a value out of range.
        CorpusError: too little text.
        DivergenceError: an objective diverged at every rate.
    """
    from w2v_sgns.corpus.inputs import open_source
    from w2v_sgns.training.needs import check_memory, thread_count
    from w2v_sgns.training.trainer import counted, selection_of

    _check(objectives, seconds, holdout)
    begun = time.perf_counter()
    options = RunOptions(threads=threads)
    with counted(open_source(corpus, config), options, **selection_of(config)) as text:
        check_memory(len(text.vocabulary), config)
        ground = _Ground(text, config, holdout, thread_count(options), say)
        say(
            f"{len(text.vocabulary):,} words; {len(ground.tokens):,} tokens to train on, "
            f"{len(ground.centers):,} pairs of the last {ground.held_out:,} to judge by"
        )
        legs = tuple(ground.leg(objective, seconds, questions) for objective in objectives)
        return Comparison(
            words=len(text.vocabulary),
            tokens=len(ground.tokens),
            held_out=ground.held_out,
            pairs=len(ground.centers),
            unigram=ground.unigram(),
            legs=legs,
            config=config,
            epochs=config.epochs,
            seconds=seconds,
            took=time.perf_counter() - begun,
        )


def _check(objectives: Sequence[str], seconds: float | None, holdout: float) -> None:
    unknown = [name for name in objectives if name not in OBJECTIVES]
    if unknown or not objectives:
        what = f"not {unknown[0]!r}" if unknown else "at least one"
        raise ConfigError(f"--objectives are some of {', '.join(OBJECTIVES)}, {what}")
    if len(set(objectives)) < len(objectives):
        raise ConfigError("--objectives: each objective once")
    if seconds is not None and not 0 < seconds < math.inf:
        raise ConfigError(f"--seconds needs a number above 0, not {seconds}")
    if not 0 < holdout < 1:
        raise ConfigError(f"--holdout is a share between 0 and 1, not {holdout}")


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


class _Ground:
    """What all objectives share: text, words, held-out pairs, settings."""

    def __init__(
        self, corpus: Corpus, config: TrainConfig, holdout: float, threads: int, say: Say
    ) -> None:
        from w2v_sgns.training.needs import window_reach

        counts = corpus.vocabulary.counts
        assert counts is not None  # a counted corpus
        self.vocabulary, self.counts, self.config = corpus.vocabulary, counts, config
        self.threads, self.say = threads, say
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
        """Return the mean of log P(target), from the counts of all the text."""
        return float(np.log(self.counts[self.targets] / self.counts.sum()).mean())

    def leg(self, objective: str, seconds: float | None, questions: Sequence[Questions]) -> Leg:
        """Search a rate and train at it."""
        tenth = _ended(self.tokens[: len(self.tokens) // TENTH])
        tried, rate = {}, 0.0
        for lr in RATES:
            run = _Training(self, objective, lr, tenth, epochs=1)
            tried[lr] = run.train(None)
            rate = max(rate, run.words_per_second)
            shown = "diverged" if math.isnan(tried[lr]) else f"{tried[lr]:.4f}"
            self.say(f"{objective}: lr {lr:g} on a tenth: {shown}")
        usable = [lr for lr in RATES if not math.isnan(tried[lr])]
        if not usable:
            raise DivergenceError(f"{objective} diverged at every rate of {RATES}")
        best = max(usable, key=lambda lr: tried[lr])
        epochs, tokens = self._length(seconds, rate)
        run = _Training(self, objective, best, tokens, epochs=epochs)
        likelihood = run.train(seconds)
        self.say(f"{objective}: lr {best:g} on all: {likelihood:.4f} after {run.seconds:.1f} s")
        return Leg(
            objective=objective,
            lr=best,
            tried=tried,
            epochs=run.done / len(self.tokens),
            seconds=run.seconds,
            words_per_second=run.words_per_second,
            loss=run.loss,
            likelihood=likelihood,
            moments=tuple(run.moments),
            scores={one.name: _score(run.E, self.vocabulary, one) for one in questions},
        )

    def _length(self, seconds: float | None, rate: float) -> tuple[int, Tokens]:
        """Return epochs and tokens: as asked, or what the seconds allow at a rate (words/s)."""
        if seconds is None:
            return self.config.epochs, self.tokens
        allowed = max(2 * TENTH, int(rate * seconds))
        if allowed < len(self.tokens):
            return 1, _ended(self.tokens[:allowed])
        return round(allowed / len(self.tokens)), self.tokens


class _Training:
    """One run on some of the tokens, timed without the judging."""

    def __init__(
        self, ground: _Ground, objective: str, lr: float, tokens: Tokens, *, epochs: int
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


def _score(E: Matrix, vocabulary: Any, questions: Questions) -> float | None:
    """Return the share of right answers, or Spearman's correlation; None: undefined."""
    from w2v_sgns.evaluation.analogy import RESTRICT, ask_analogies
    from w2v_sgns.evaluation.questions import Analogies, Pairs, Relations
    from w2v_sgns.evaluation.relations import ask_relations
    from w2v_sgns.evaluation.similarity import ask_pairs
    from w2v_sgns.vectors import Vectors

    vectors = Vectors(E, vocabulary)
    if isinstance(questions, Analogies):
        return ask_analogies(vectors, questions, restrict=RESTRICT).sums()[-1].accuracy
    if isinstance(questions, Pairs):
        return ask_pairs(vectors, questions).spearman
    assert isinstance(questions, Relations)
    return ask_relations(vectors, questions).mean
