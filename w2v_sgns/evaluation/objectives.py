"""Objectives side by side on the same corpus, by a yardstick that is the same for all.

Each is trained at several learning rates on a tenth of the text, then at the best of them on all
of it but the held-out end. The yardstick: see evaluation/ground.py.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from w2v_sgns.config import COMPARED, OBJECTIVES, RunOptions, TrainConfig
from w2v_sgns.errors import ConfigError, DivergenceError
from w2v_sgns.evaluation.ground import Ground, Moment, Trial

if TYPE_CHECKING:
    from w2v_sgns.evaluation.questions import Questions
    from w2v_sgns.kernels.matrices import Matrix

__all__ = ["Comparison", "Leg", "compare_objectives"]

STEP = 4  # between two rates
RATES = (0.0125, 0.05, 0.2)  # tried on a tenth of the text
FURTHER = 2  # rates more at most, where the best is the highest or all diverge
TIE = 1e-3  # likelihoods no further apart are equal: the higher rate learns sooner
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Leg:
    """One objective's training."""

    objective: str
    lr: float  # trained at: the best tried, or a lower one where that diverged on all of the text
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
    objectives: Sequence[str] = COMPARED,
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
        ground = Ground(text, config, holdout=holdout, threads=thread_count(options))
        say(
            f"{len(text.vocabulary):,} words; {len(ground.tokens):,} tokens to train on, "
            f"{len(ground.centers):,} pairs of the last {ground.held_out:,} to judge by"
        )
        legs = tuple(_leg(ground, objective, seconds, questions, say) for objective in objectives)
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


def _leg(
    ground: Ground,
    objective: str,
    seconds: float | None,
    questions: Sequence[Questions],
    say: Say,
) -> Leg:
    """Search a rate, train at it; where that diverges on all of the text, at the next lower."""
    tried, speed = _searched(ground, objective, say)
    epochs, tokens = ground.length(seconds, speed)
    rates = _candidates(tried)
    if not rates:
        lowest, highest = min(tried), max(tried)
        raise DivergenceError(f"{objective} diverged at every rate from {lowest:g} to {highest:g}")
    for lr in rates:
        run = Trial(ground, objective, lr, tokens, epochs=epochs)
        likelihood = run.train(seconds)
        say(f"{objective}: lr {lr:g} on all: {_shown(likelihood)} after {run.seconds:.1f} s")
        if not math.isnan(likelihood):
            break
    else:
        raise DivergenceError(f"{objective} diverged on all of the text at lr {lr:g} and above")
    return Leg(
        objective=objective,
        lr=lr,
        tried=tried,
        epochs=run.done / len(ground.tokens),
        seconds=run.seconds,
        words_per_second=run.words_per_second,
        loss=run.loss,
        likelihood=likelihood,
        moments=tuple(run.moments),
        scores={one.name: _score(run.E, ground.vocabulary, one) for one in questions},
    )


def _searched(ground: Ground, objective: str, say: Say) -> tuple[dict[float, float], float]:
    """Return the likelihood of every rate tried on a tenth of the text, and the words/s.

    Three rates, and further ones, at most `FURTHER`, while the best is the highest or all diverge.
    """
    tried: dict[float, float] = {}
    speed = 0.0
    waiting = list(RATES)
    while waiting:
        lr = waiting.pop(0)
        run = Trial(ground, objective, lr, ground.tenth, epochs=ground.config.epochs)
        tried[lr] = run.train(None)
        speed = max(speed, run.words_per_second)
        say(f"{objective}: lr {lr:g} on a tenth: {_shown(tried[lr])}")
        if not waiting and len(tried) < len(RATES) + FURTHER:
            waiting = _beyond(tried)
    return tried, speed


def _beyond(tried: dict[float, float]) -> list[float]:
    """Return the rate beyond the end of what was tried, where the search has to go on.

    Not below the lowest rate that stays finite: at rates so low that nothing is learned the
    frequencies that a readout holds are all there is, and that is hard to beat by a short run.
    """
    best = _best(tried)
    if best is None:
        return [min(tried) / STEP]
    return [best * STEP] if best == max(tried) else []


def _best(tried: dict[float, float]) -> float | None:
    """Return the rate with the highest likelihood, of equal ones the highest; None: none."""
    usable = {lr: likelihood for lr, likelihood in tried.items() if not math.isnan(likelihood)}
    least = max(usable.values(), default=0.0) - TIE
    return max((lr for lr, likelihood in usable.items() if likelihood >= least), default=None)


def _candidates(tried: dict[float, float]) -> list[float]:
    """Return the best rate and then lower ones, downwards; nothing where there is none."""
    best = _best(tried)
    if best is None:
        return []
    lower = [lr for lr in tried if lr <= best and not math.isnan(tried[lr])]
    return [*sorted(lower, reverse=True), min(lower) / STEP]


def _shown(likelihood: float) -> str:
    return "diverged" if math.isnan(likelihood) else f"{likelihood:.4f}"


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
