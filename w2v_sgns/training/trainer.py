"""From a plan to a model.

Checks what can be checked before the work, counts the corpus, runs the epochs, keeps the
history, saves. How an epoch is computed is the backend's business, how progress looks the
caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from w2v_sgns.config import RunOptions, TrainConfig, parse_size
from w2v_sgns.errors import CorpusError
from w2v_sgns.machine import total_memory
from w2v_sgns.model import Model
from w2v_sgns.training.cost import check_cost, softmax_cost
from w2v_sgns.training.curve import CurvePlot
from w2v_sgns.training.events import Event, Progress
from w2v_sgns.training.holdout import HeldOut, held_note, hold_out_lines
from w2v_sgns.training.init import Given, frozen_rows, read_given
from w2v_sgns.training.keeper import Keeper
from w2v_sgns.training.lock import sole_writer
from w2v_sgns.training.log import JsonLog
from w2v_sgns.training.needs import (
    check_compiler,
    check_disk,
    check_memory,
    check_outputs,
    thread_count,
    window_reach,
)
from w2v_sgns.training.placement import Placement, asked_device, placed
from w2v_sgns.training.places import inputs_of, locked_of, ours_of, outputs_of
from w2v_sgns.training.resume import Plan, asked_of, check_corpus
from w2v_sgns.training.run import Run
from w2v_sgns.training.setup import cpu_backend, initial_matrices, output_bias
from w2v_sgns.training.signals import StopRequest
from w2v_sgns.training.state import Frozen, State, Sums

if TYPE_CHECKING:
    from w2v_sgns.corpus import Corpus
    from w2v_sgns.corpus.source import Source
    from w2v_sgns.training.devices import Device
    from w2v_sgns.training.machines import Connect, Machines

__all__ = ["counted", "selection_of", "train_plan"]

MEASURED = 0.5  # seconds of softmax batches before a training, for its cost


def train_plan(plan: Plan, connect: Connect, *, progress: Progress | None = None) -> Model:
    """Do what :func:`~w2v_sgns.run.train` says, with the settings already sorted.

    `connect`: makes the machines, if they are several.
    """
    from w2v_sgns.corpus.inputs import open_source

    options, config = plan.options, plan.config
    check_compiler()
    device = asked_device(options, config)
    source = open_source(plan.corpus, config)
    with sole_writer(locked_of(plan)):
        check_outputs(
            outputs_of(plan),
            force=options.force,
            inputs=inputs_of(plan, source),
            ours=ours_of(plan),
        )
        return _counted_and_fitted(plan, source, device, connect, progress)


def _counted_and_fitted(
    plan: Plan,
    source: Source,
    device: Device | None,
    connect: Connect,
    progress: Progress | None,
) -> Model:
    """Read the text, train, save."""
    from w2v_sgns.kernels.compile import when_compiling

    options, config = plan.options, plan.config
    given = None if plan.checkpoint else read_given(config)
    threads = thread_count(options)
    resumed = plan.checkpoint is not None
    watch = progress or (lambda event: None)
    with (
        CurvePlot(options.plot, watch, force=options.force or resumed) as drawn,
        JsonLog(options.log_json, config, drawn, append=resumed) as say,
        when_compiling(_once(lambda: say(Event(phase="compile")))),
        connect(options, config) as machines,
        _counter(machines, source)(source, options, say, **_selection(plan, given)) as text,
    ):
        placement = placed(device, options, text, config, threads, machines)
        say(
            Event(
                phase="corpus",
                corpus=text,
                threads=threads,
                asked=options.threads,
                streams=placement.streams,
                in_step=options.deterministic,
                nodes=0 if machines is None else machines.size,
            )
        )
        check_disk(options.output, len(text.vocabulary), config)
        _save_vocabulary(text, options)
        replaces = options.force or plan.replaces
        asked = asked_of(source, options, threads, replaces=replaces)
        return _fit(text, plan, given, placement, asked, say)


def _counter(machines: Machines | None, source: Source) -> Callable[..., Corpus]:
    """Return what counts a text: a stream, or what lies in memory, can be read here alone."""
    if machines is None or source.arguments is None:
        return counted
    return machines.counted


def _selection(plan: Plan, given: Given | None) -> dict[str, Any]:
    """Return which words are kept, as keywords of load_corpus."""
    if plan.checkpoint is not None:
        return plan.checkpoint.selection
    return selection_of(plan.config, given)


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
        threads=thread_count(options),
        memory_bytes=memory,
        progress=lambda done, total: tell(Event(phase="count", done=done, total=total)),
        **({"read_vocab": options.read_vocab} | selection),
    )


def selection_of(config: TrainConfig, given: Given | None = None) -> dict[str, Any]:
    """Return which words the settings keep, as keywords of load_corpus; `given`: of --init."""
    known = {"known": given.vocabulary} if given and config.grow_vocab else {}
    return known | {
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
    corpus: Corpus,
    plan: Plan,
    given: Given | None,
    placement: Placement,
    asked: dict[str, Any],
    say: Progress,
) -> Model:
    """Allocate, run the epochs that are left, save; return the finite model."""
    config, options, checkpoint = plan.config, plan.options, plan.checkpoint
    window = window_reach(config, corpus.stats.longest_line)
    check_memory(len(corpus.vocabulary), config, stripes=placement.stripes)
    held_text = hold_out_lines(corpus, config)
    state, notes = _begun(corpus, plan, given)
    make = partial(
        cpu_backend,
        state.E,
        state.Ep,
        config=config,
        threads=placement.threads,
        window=window,
        stripes=placement.stripes,
    )
    notes += [*held_note(held_text, config), *_costs(corpus, plan, state, make)]
    for note in (*plan.notes, *_changes(corpus, plan), *notes, placement.note):
        if note:
            say(Event(phase="note", text=note))
    model = Model(
        state.E,
        state.Ep,
        vocabulary=corpus.vocabulary,
        config=config,
        provenance=placement.added_to(
            checkpoint.model.provenance
            if checkpoint
            else _provenance(corpus, config, placement.threads, placement.stripes)
        ),
    )
    backend, schedule = placement.backend(state, corpus, config, window=window, say=say)
    model.output_bias = state.bias
    held = None
    if held_text is not None:
        held = HeldOut(make(corpus, held=held_text)[0], config.patience)
    keeper = Keeper(
        options.output,
        every=options.checkpoint_every,
        force=options.force or plan.replaces,
        resumed=checkpoint.path if checkpoint and options.output else None,
        asked=asked,
        say=say,
    )
    with StopRequest(active=keeper.active) as stop:
        run = Run(
            state,
            model=model,
            backend=backend,
            schedule=schedule,
            keeper=keeper,
            stop=stop,
            held=held,
            say=say,
        )
        complete = run.train(options.stop_after or config.epochs)
        model.history = state.history
        _finish(model, state, keeper, say, complete=complete)
        stop.deliver()
    return model


def _changes(corpus: Corpus, plan: Plan) -> list[str]:
    """Return a note if the text is not the checkpoint's."""
    if plan.checkpoint is None:
        return []
    note = check_corpus(plan.checkpoint, corpus.stats, force=plan.options.force)
    return [] if note is None else [note]


def _costs(corpus: Corpus, plan: Plan, state: State, make: Callable[..., Any]) -> list[str]:
    """Return what a softmax will cost; refuse what takes hours, without --force.

    Measured on the matrices themselves, at rate zero.
    """
    config, epochs = plan.config, plan.config.epochs - state.epoch
    if not config.without_noise or not epochs:
        return []
    still = make(corpus, held=corpus.store)[0]
    still.warm_up()
    rate = still.tokens_per_second(MEASURED)
    tokens = corpus.stats.tokens_kept
    cost = softmax_cost(corpus.vocabulary, tokens, config, epochs=epochs, rate=rate)
    assert cost is not None  # a softmax
    check_cost(cost, force=plan.options.force)
    return [cost.text]


def _begun(corpus: Corpus, plan: Plan, given: Given | None) -> tuple[State, list[str]]:
    """Return the state that training starts from, and what to say about it."""
    checkpoint, config = plan.checkpoint, plan.config
    if checkpoint is None:
        E, Ep = initial_matrices(len(corpus.vocabulary), config)
        state = State(E=E, Ep=Ep, bias=output_bias(Ep, config))
        return state, [] if given is None else _start_from(given, state, corpus, config)
    state = checkpoint.state()
    if corpus.stats.fingerprint != checkpoint.fingerprint:
        state.chunk, state.sums = 0, Sums()
    return state, []


def _start_from(given: Given, state: State, corpus: Corpus, config: TrainConfig) -> list[str]:
    """Fill rows from given vectors, freeze some; return what to say about it."""
    notes = given.fill(state, corpus.vocabulary)
    if config.grow_vocab:
        new = len(corpus.vocabulary) - len(given.vocabulary)
        notes.append(f"--grow-vocab: {new:,} new words, {len(given.vocabulary):,} known ones stay")
    if config.freeze is not None:
        rows, more = frozen_rows(config.freeze, corpus.vocabulary, given)
        state.frozen = Frozen(state, rows, outputs=given.Ep is not None)
        notes += more
    return notes


def _finish(model: Model, state: State, keeper: Keeper, say: Progress, *, complete: bool) -> None:
    """Write the model, or a checkpoint where more epochs are to come."""
    if not any(entry["pairs"] for entry in model.history):
        raise CorpusError(
            f"no pair was trained: --sample {model.config.sample:g} left no line of two words; try "
            "a larger --sample, or 0 to keep every word"
        )
    if not complete:
        path = keeper.save_somewhere(model, state) if keeper.active else None
        done = f"{state.epoch} of {model.config.epochs} epochs"
        piped = keeper.piped
        say(Event(phase="stopped", path=path, piped=piped, epoch=state.epoch, text=done))
        return
    if state.best is not None:
        state.best.put_into(state)
        model.provenance["best_epoch"] = state.best.epoch
    model.check_finite()
    if keeper.active:
        say(Event(phase="save", path=keeper.output))
        output = keeper.save_model(model, state)
    say(Event(phase="done", path=output if keeper.active else None))


def _provenance(
    corpus: Corpus, config: TrainConfig, threads: int, stripes: int | None
) -> dict[str, Any]:
    """Return where the vectors come from: no clock, host or absolute path.

    "threads" is what the vectors depend on: those in step are as many as were asked for.
    """
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
        "threads": stripes or threads,
        "deterministic": threads == 1 or stripes is not None or config.in_batches,
    }
