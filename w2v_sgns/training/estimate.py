"""What a training run would take, without training: pairs, memory, time.

The pairs of the first epoch are those its draws form; the time is that of a few chunks really
trained on matrices that are thrown away. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from w2v_sgns.config import RunOptions, TrainConfig
from w2v_sgns.corpus import Corpus, CorpusStats
from w2v_sgns.errors import ConfigError
from w2v_sgns.machine import human_bytes
from w2v_sgns.training.cost import Cost, softmax_cost
from w2v_sgns.training.durations import rough_duration
from w2v_sgns.training.events import Event, Progress
from w2v_sgns.training.init import read_given
from w2v_sgns.training.needs import (
    OVERHEAD,
    best_bytes,
    check_compiler,
    check_memory,
    matrix_bytes,
    stripe_bytes,
    thread_count,
    window_reach,
)
from w2v_sgns.training.placement import Placement, asked_device, placed
from w2v_sgns.training.setup import initial_matrices
from w2v_sgns.training.trainer import counted, selection_of

__all__ = ["Estimate", "estimate"]

CHUNKS = 256  # looked at for the pairs; more are estimated from these
SECONDS = 1.0  # of training for the time


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a GPU is used for."""

    device: str
    streams: int
    memory: int  # bytes
    resident: bool  # the whole text stays in it

    @property
    def text(self) -> str:
        """That, for people."""
        pieces = "" if self.resident else ", the text in pieces"
        return f"{human_bytes(self.memory)} of the memory of {self.device}{pieces}"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a run would take."""

    stats: CorpusStats
    pairs: int  # of the first epoch
    exact: bool  # every chunk was looked at
    matrices: int  # bytes of E and Ep
    memory: int  # bytes in all, roughly
    seconds: float  # of training, all epochs, on all threads
    threads: int
    cost: Cost | None = None  # of a softmax
    gpu: Usage | None = None  # instead of the threads

    def lines(self, config: TrainConfig) -> Iterator[str]:
        """Yield the figures for people."""
        yield (
            f"dry run     {'' if self.exact else 'about '}{self.pairs:,} pairs per epoch, "
            f"{config.epochs} epoch{'s' * (config.epochs > 1)}"
        )
        if self.cost is not None:
            yield from (12 * " " + line for line in wrap(self.cost.work, 68))
        many, workers = self.threads, "thread"
        if self.gpu is not None:
            many, workers = self.gpu.streams, "stream"
            yield f"            {self.gpu.text}"
        yield (
            f"            {human_bytes(self.memory)} of memory in all, about "
            f"{rough_duration(self.seconds)} of training on {many:,} "
            f"{workers}{'s' * (many > 1)}; nothing was written"
        )


def estimate(
    corpus: Any,
    config: TrainConfig,
    *,
    options: RunOptions | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """Count a corpus as training would, and estimate the rest.

    Raises:
        As training itself, before its first epoch.
    """
    from w2v_sgns.corpus.inputs import open_source

    check_compiler()
    options = options or RunOptions()
    if options.on_cluster:
        raise ConfigError(
            "--dry-run tries this machine alone; leave --cluster and --engine out, or on resuming "
            "give --cluster none"
        )
    say: Progress = progress or (lambda event: None)
    device = asked_device(options, config)
    threads = thread_count(options)
    given = None if options.resume is not None else read_given(config)
    source = open_source(corpus, config)
    with counted(source, options, say, **selection_of(config, given)) as text:
        placement = placed(device, options, text, config, threads)
        streams, in_step = placement.streams, options.deterministic
        say(Event(phase="corpus", corpus=text, threads=threads, streams=streams, in_step=in_step))
        window = window_reach(config, text.stats.longest_line)
        words = len(text.vocabulary)
        check_memory(words, config, stripes=placement.stripes)
        if placement.note:
            say(Event(phase="note", text=placement.note))
        backend, _ = placement.here(*initial_matrices(words, config), text, config, window)
        pairs, exact, rate = _tried(text, backend)
        kept = text.stats.tokens_kept
        cost = softmax_cost(text.vocabulary, kept, config, epochs=config.epochs, rate=rate)
        ids = 0 if text.stats.spooled else 4 * text.stats.tokens_kept
        matrices = matrix_bytes(words, config)
        return Estimate(
            stats=text.stats,
            pairs=pairs,
            exact=exact,
            matrices=matrices,
            memory=matrices
            + best_bytes(words, config)
            + stripe_bytes(words, config, placement.stripes)
            + ids
            + OVERHEAD,
            seconds=config.epochs * kept / rate,
            threads=threads,
            cost=cost,
            gpu=_usage(placement, backend),
        )


def _usage(placement: Placement, backend: Any) -> Usage | None:
    """Return what a GPU is used for, if one is."""
    if placement.device is None:
        return None
    needs, resident = backend.needs, backend.resident
    memory = needs.with_text if resident else needs.least
    return Usage(
        device=placement.device.name,
        streams=placement.streams,
        memory=memory,
        resident=resident,
    )


def _tried(corpus: Corpus, backend: Any) -> tuple[int, bool, float]:
    """Return the pairs of the first epoch, whether that is exact, and tokens/s in all."""
    backend.warm_up()
    step = max(1, backend.chunks // CHUNKS)
    chunks = range(0, backend.chunks, step)
    pairs = sum(backend.count_pairs(chunk) for chunk in chunks)
    tokens = sum(backend.chunk_tokens(chunk) for chunk in chunks)
    whole = round(pairs * (corpus.stats.tokens_kept / np.float64(tokens)))
    return whole, step == 1, backend.tokens_per_second(SECONDS)
