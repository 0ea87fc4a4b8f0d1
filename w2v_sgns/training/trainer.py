"""`train`: from a corpus to a model.

Checks what can be checked before the work, counts the corpus, runs the epochs, keeps the
history, saves. How an epoch is computed is the backend's business, how progress looks the
caller's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from w2v_sgns.config import RunOptions, TrainConfig, parse_size
from w2v_sgns.errors import CorpusError, DivergenceError
from w2v_sgns.machine import total_memory
from w2v_sgns.model import Model
from w2v_sgns.training.events import Event, Progress
from w2v_sgns.training.needs import (
    MODEL_OUTPUT,
    check_disk,
    check_memory,
    check_outputs,
    thread_count,
    window_reach,
)
from w2v_sgns.training.schedule import Schedule

if TYPE_CHECKING:
    from w2v_sgns.corpus import Corpus
    from w2v_sgns.corpus.source import Source
    from w2v_sgns.kernels.matrices import Matrix
    from w2v_sgns.training.backends import Backend, HogwildBackend, Totals

__all__ = ["train", "train_model"]


def train(corpus: Any, *, progress: Progress | None = None, **settings: Any) -> Model:
    """Train word vectors on a corpus and return the model.

    Args:
        corpus: the path of a text (words separated by blanks, a sentence or any context a line;
            compressed or not), a folder, a pattern, `-`, a list of paths, or an iterable of
            lines, each a list of str or int.
        progress: called with an :class:`Event` about ten times a second.
        **settings: fields of :class:`~w2v_sgns.TrainConfig` (dim=100, epochs=5, …) and of
            :class:`~w2v_sgns.config.RunOptions` (output, threads, memory, force, save_vocab, …).
            Nothing is written unless `output` or `save_vocab` is given.

    Raises:
        ConfigError: a setting is out of range.
        CorpusError, VocabularyError: there is nothing to train on.
        StreamError: a compressed file is damaged or cut short.
        OutputError: `output` cannot be written.
        ResourceError: the matrices do not fit into memory.
        DivergenceError: the loss or the vectors left the finite numbers.
        TypeError: an unknown setting, or what is no corpus (a string of text, for one).
    """
    config, options = split_settings(settings)
    return train_model(corpus, config, options=options, progress=progress)


def split_settings(settings: dict[str, Any]) -> tuple[TrainConfig, RunOptions]:
    """Sort keywords into what changes the vectors and what does not."""
    ours = {field.name for field in fields(TrainConfig)}
    theirs = {field.name for field in fields(RunOptions)}
    unknown = sorted(settings.keys() - ours - theirs)
    if unknown:
        raise TypeError(
            f"train() has no setting {unknown[0]!r}; it knows {', '.join(sorted(ours | theirs))}"
        )
    return (
        TrainConfig(**{name: value for name, value in settings.items() if name in ours}),
        RunOptions(**{name: value for name, value in settings.items() if name in theirs}),
    )


def train_model(
    corpus: Any,
    config: TrainConfig,
    *,
    options: RunOptions | None = None,
    progress: Progress | None = None,
) -> Model:
    """Do what :func:`train` says, with the settings already sorted."""
    from w2v_sgns.corpus.inputs import open_source
    from w2v_sgns.kernels.compile import when_compiling

    options = options or RunOptions()
    say: Progress = progress or (lambda event: None)
    source = open_source(corpus, config)
    outputs = {MODEL_OUTPUT: options.output, "--save-vocab": options.save_vocab}
    check_outputs(source, outputs, force=options.force)
    threads = thread_count(options)
    with (
        when_compiling(_once(lambda: say(Event(phase="compile")))),
        counted(source, options, say, **selection_of(config)) as text,
    ):
        say(Event(phase="corpus", corpus=text, threads=threads, asked=options.threads))
        window = window_reach(config, text.stats.longest_line)
        check_disk(options.output, len(text.vocabulary), config.dim)
        _save_vocabulary(text, options)
        model = _fit(text, config, threads, window, say)
    if options.output is not None:
        say(Event(phase="save", path=Path(options.output)))
        model.save(options.output, force=options.force)
    say(Event(phase="done", path=options.output and Path(options.output)))
    return model


def _once(call: Callable[[], None]) -> Callable[[], None]:
    """Return a function that makes the call the first time only, from whichever thread."""
    left = [call]

    def first() -> None:
        with suppress(IndexError):  # popping is atomic: one thread gets it
            left.pop()()

    return first


def counted(
    source: Source, options: RunOptions, say: Progress | None = None, **selection: Any
) -> Corpus:
    """Read a text into token ids; `selection` (min_count, …): see load_corpus."""
    from w2v_sgns.corpus import load_corpus

    memory = total_memory() // 4 if options.memory is None else parse_size(options.memory)
    tell: Progress = say or (lambda event: None)
    return load_corpus(
        source,
        read_vocab=options.read_vocab,
        threads=thread_count(options),
        memory_bytes=memory,
        progress=lambda done, total: tell(Event(phase="count", done=done, total=total)),
        **selection,
    )


def selection_of(config: TrainConfig) -> dict[str, Any]:
    """Return which words the settings keep, as keywords of load_corpus."""
    return {
        "min_count": config.min_count,
        "max_vocab": config.max_vocab,
        "keep_words": config.keep_words,
    }


def _save_vocabulary(corpus: Corpus, options: RunOptions) -> None:
    if options.save_vocab is None:
        return
    from w2v_sgns.corpus.vocabulary_file import write_vocabulary
    from w2v_sgns.formats.atomic import replacing

    with replacing(options.save_vocab, force=options.force, suffixes=None) as stream:
        write_vocabulary(stream, corpus.vocabulary, options.vocab_format)


def _fit(
    corpus: Corpus, config: TrainConfig, threads: int, window: int | None, say: Progress
) -> Model:
    """Allocate, run all epochs, return the finite model."""
    check_memory(len(corpus.vocabulary), config.dim)
    E, Ep = initial_matrices(len(corpus.vocabulary), config)
    backend, schedule = cpu_backend(E, Ep, corpus, config, threads=threads, window=window)
    backend.warm_up()
    clock = _Clock()
    history = [_run_epoch(backend, schedule, epoch, clock, say) for epoch in range(config.epochs)]
    model = Model(
        E,
        Ep,
        vocabulary=corpus.vocabulary,
        config=config,
        history=history,
        provenance=_provenance(corpus, threads),
    )
    if not any(entry["pairs"] for entry in history):
        raise CorpusError(
            f"no pair was trained: --sample {config.sample:g} left no line of two words; try a "
            "larger --sample, or 0 to keep every word"
        )
    model.check_finite()
    return model


def cpu_backend(
    E: Matrix,
    Ep: Matrix,
    corpus: Corpus,
    config: TrainConfig,
    *,
    threads: int,
    window: int | None,
) -> tuple[HogwildBackend, Schedule]:
    """Return what trains on this corpus, and its learning rates."""
    from w2v_sgns import sampling
    from w2v_sgns.training.backends import HogwildBackend, TrainingData

    counts = corpus.vocabulary.counts
    assert counts is not None  # a counted corpus
    tokens = np.asarray(corpus.store.tokens)
    q = sampling.noise_distribution(counts, config.noise_exponent)
    sample = sampling.effective_sample(config.sample, len(tokens))
    kept = sampling.keep_probabilities(counts, sample)
    data = TrainingData(
        tokens=tokens,
        keep=sampling.keep_thresholds(kept),
        noise=sampling.pack_alias(*sampling.alias_table(q)),
        kept_share=float(np.average(kept, weights=counts)),
    )
    schedule = Schedule(
        start=config.lr, end=config.final_lr, tokens=len(tokens), epochs=config.epochs
    )
    backend = HogwildBackend(
        E, Ep, data=data, config=config, schedule=schedule, threads=threads, window=window
    )
    return backend, schedule


def initial_matrices(words: int, config: TrainConfig) -> tuple[Matrix, Matrix]:
    """Return E uniform in ±0.5/d, and Ep zero: both (V, d), padded, as word2vec.c starts."""
    from w2v_sgns.kernels.matrices import aligned_matrix

    E, Ep = aligned_matrix(words, config.dim), aligned_matrix(words, config.dim)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(config.seed)))
    for start in range(0, words, 4096):
        rows = E[start : start + 4096]
        rows[:] = (generator.random(rows.shape, np.float32) - 0.5) / config.dim
    return E, Ep


class _Clock:
    """Wall and processor seconds since training began."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def wall(self) -> float:
        return time.perf_counter() - self._wall

    def cpu(self) -> float:
        return time.process_time() - self._cpu


def _run_epoch(
    backend: Backend, schedule: Schedule, epoch: int, clock: _Clock, say: Progress
) -> dict[str, Any]:
    """Run one epoch; return its line of the history."""
    begun = epoch * schedule.tokens

    def report(phase: str, totals: Totals) -> None:
        loss = totals.loss / totals.pairs if totals.pairs else math.nan
        if totals.pairs and not math.isfinite(loss):
            raise _diverged(epoch, schedule)
        say(
            Event(
                phase=phase,
                done=begun + totals.tokens,
                total=schedule.epochs * schedule.tokens,
                epoch=epoch + 1,
                lr=schedule.at(epoch, totals.tokens),
                loss=loss,
                kept=totals.kept,
                pairs=totals.pairs,
                seconds=clock.wall(),
                cpu_seconds=clock.cpu(),
            )
        )

    totals = backend.run_epoch(epoch, partial(report, "train"))
    report("epoch", totals)
    return {
        "epoch": epoch + 1,
        "tokens": totals.tokens,
        "kept": totals.kept,
        "pairs": totals.pairs,
        "loss": totals.loss / totals.pairs if totals.pairs else None,
        "lr": schedule.at(epoch, 0),
    }


def _diverged(epoch: int, schedule: Schedule) -> DivergenceError:
    return DivergenceError(
        f"the loss became infinite or NaN in epoch {epoch + 1} at --lr {schedule.start:g}: "
        f"nothing is written; try --lr {schedule.start / 10:g}"
    )


def _provenance(corpus: Corpus, threads: int) -> dict[str, Any]:
    """Return where the vectors come from: no clock, host or absolute path."""
    from w2v_sgns import __version__

    stats = corpus.stats
    return {
        "program": f"w2v-sgns {__version__}",
        "corpus": [
            {"name": label, "bytes": size}
            for label, size in zip(stats.labels, stats.sizes, strict=True)
        ],
        "fingerprint": stats.fingerprint,
        "lines": stats.lines,
        "tokens_read": stats.tokens_read,
        "tokens_kept": stats.tokens_kept,
        "types_read": stats.types_read,
        "threads": threads,
        "deterministic": threads == 1,
    }
