"""`w2v train`: a corpus in, a model file out."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from w2v_sgns.cli.corpus_options import (
    ColumnOption,
    EncodingErrorsOption,
    EncodingOption,
    LowercaseOption,
    MaxTokenBytesOption,
    MemoryOption,
    OptionalCorpusArgument,
    RecursiveOption,
    SplitOption,
    TextFieldOption,
    ThreadsOption,
    TokenizerOption,
)
from w2v_sgns.cli.interrupt import PromptInterrupt
from w2v_sgns.cli.options import DebugOption, given
from w2v_sgns.cli.output import shown
from w2v_sgns.cli.train_options import (
    ALIASES,
    Bias,
    CheckpointEvery,
    Cluster,
    Collisions,
    Deterministic,
    Device,
    Dim,
    DryRun,
    EngineName,
    Epochs,
    FixedWindow,
    Force,
    Freeze,
    GrowVocab,
    Holdout,
    Init,
    KeepWords,
    LearningRate,
    LogJson,
    MaxVocab,
    MinCount,
    MinLearningRate,
    Negative,
    NoiseExponent,
    Objective,
    Output,
    Patience,
    Plot,
    Quiet,
    ReadVocab,
    Resume,
    Sample,
    SaveVocab,
    Seed,
    SharedNoise,
    StopAfter,
    Streams,
    SyncType,
    SyncWords,
    VocabFormat,
    Window,
)
from w2v_sgns.cli.verb import Verb
from w2v_sgns.config import DEFAULT_MODEL, RunOptions, TrainConfig
from w2v_sgns.config.train import NOISE_EXPONENTS

if TYPE_CHECKING:
    from w2v_sgns.training.events import Event
    from w2v_sgns.training.resume import Plan

__all__ = ["ALIASES", "TrainCommand", "train"]


class TrainCommand(Verb):
    """Reads the older tools' names as ours."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rename options up to a lone `--`, then parse."""
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [*map(_canonical, args[:end]), *args[end:]])


def _canonical(argument: str) -> str:
    name, equals, value = argument.partition("=")
    return ALIASES.get(name, name) + equals + value


def train(
    context: typer.Context,
    corpus: OptionalCorpusArgument = None,
    output: Output = DEFAULT_MODEL,
    min_count: MinCount = TrainConfig.min_count,
    max_vocab: MaxVocab = TrainConfig.max_vocab,
    keep_words: KeepWords = None,
    read_vocab: ReadVocab = None,
    save_vocab: SaveVocab = None,
    vocab_format: VocabFormat = RunOptions.vocab_format,
    recursive: RecursiveOption = TrainConfig.recursive,
    sample: Sample = TrainConfig.sample,
    dim: Dim = TrainConfig.dim,
    window: Window = TrainConfig.window,
    fixed_window: FixedWindow = TrainConfig.fixed_window,
    objective: Objective = TrainConfig.objective,
    bias: Bias = TrainConfig.bias,
    negative: Negative = TrainConfig.negative,
    noise_exponent: NoiseExponent = TrainConfig.noise_exponent,
    shared_noise: SharedNoise = TrainConfig.shared_noise,
    collisions: Collisions = TrainConfig.collisions,
    epochs: Epochs = TrainConfig.epochs,
    lr: LearningRate = TrainConfig.lr,
    min_lr: MinLearningRate = TrainConfig.min_lr,
    seed: Seed = TrainConfig.seed,
    init: Init = None,
    grow_vocab: GrowVocab = TrainConfig.grow_vocab,
    freeze: Freeze = None,
    holdout: Holdout = TrainConfig.holdout,
    patience: Patience = TrainConfig.patience,
    checkpoint_every: CheckpointEvery = RunOptions.checkpoint_every,
    resume: Resume = None,
    stop_after: StopAfter = RunOptions.stop_after,
    encoding: EncodingOption = TrainConfig.encoding,
    encoding_errors: EncodingErrorsOption = TrainConfig.encoding_errors,
    split: SplitOption = TrainConfig.split,
    tokenizer: TokenizerOption = TrainConfig.tokenizer,
    lowercase: LowercaseOption = TrainConfig.lowercase,
    max_token_bytes: MaxTokenBytesOption = TrainConfig.max_token_bytes,
    text_field: TextFieldOption = TrainConfig.text_field,
    column: ColumnOption = TrainConfig.column,
    threads: ThreadsOption = RunOptions.threads,
    deterministic: Deterministic = RunOptions.deterministic,
    device: Device = RunOptions.device,
    streams: Streams = RunOptions.streams,
    cluster: Cluster = None,
    engine: EngineName = RunOptions.engine,
    sync_words: SyncWords = None,
    sync_type: SyncType = RunOptions.sync_type,
    memory: MemoryOption = None,
    log_json: LogJson = None,
    plot: Plot = None,
    force: Force = RunOptions.force,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    debug: DebugOption = False,
) -> None:
    """Train word vectors on a corpus and write them to a model file.

    With one thread, the same command gives the same file, byte for byte.
    With more, the threads race on purpose and the vectors vary a little,
    but for --deterministic;
    --objective softmax or inbatch and --shared-noise batch have the same vectors on any.
    """
    settings = _settings(context)
    if corpus is None and resume is None:
        raise typer.BadParameter("name a text to train on", param_hint="'CORPUS…'")
    with _ranks(settings) as is_first:
        if not is_first:
            return
        _check(settings)
        if dry_run:
            _estimate(corpus, settings, quiet=quiet)
        else:
            _run(corpus, settings, quiet=quiet)


def _ranks(settings: dict[str, Any]) -> AbstractContextManager[bool]:
    """Tell whether to train here; under mpiexec the other ranks serve the first one."""
    if settings.get("engine") != "mpi":
        return nullcontext(True)
    from w2v_sgns.cluster.mpi import ranks

    return ranks()


def _settings(context: typer.Context) -> dict[str, Any]:
    """Return the settings by name; with --resume those alone that were given."""
    names = [field.name for cls in (TrainConfig, RunOptions) for field in fields(cls)]
    settings = {name: context.params[name] for name in names}
    _refuse_negative(context, settings)
    if settings["resume"] is not None:
        settings = {name: value for name, value in settings.items() if given(context, name)}
    if "output" in settings:
        settings["output"] = Path(settings["output"])
    return settings


def _refuse_negative(context: typer.Context, settings: dict[str, Any]) -> None:
    """Refuse noise words that an objective does not draw; only here is it known what was given."""
    count, objective = settings["negative"], settings["objective"]
    if (
        given(context, "negative")
        and count != TrainConfig.negative
        and NOISE_EXPONENTS.get(objective, 0) is None
    ):
        raise typer.BadParameter(
            f"--objective {objective} draws no noise words: leave it out", param_hint="'--negative'"
        )


def _check(settings: dict[str, Any]) -> None:
    """Let the library judge all values before the corpus is looked for.

    With --resume the training's settings are judged together with the checkpoint's.
    """
    resumed = settings.get("resume") is not None
    for cls in (RunOptions,) if resumed else (TrainConfig, RunOptions):
        known = {field.name for field in fields(cls)}
        cls(**{name: value for name, value in settings.items() if name in known})


def _run(corpus: list[str] | None, settings: dict[str, Any], *, quiet: bool) -> None:
    from w2v_sgns.run import run_plan
    from w2v_sgns.training.progress import TerminalProgress, summary

    plan = _plan(corpus, settings)
    with (
        TerminalProgress(sys.stderr, plan.config, escape=shown) as progress,
        PromptInterrupt() as watch,
    ):

        def tell(event: Event) -> None:
            if event.phase in ("train", "epoch"):
                watch.end()  # from here on the library handles signals, and files are written
            if not quiet or event.phase == "interrupted":
                progress(event)

        model = run_plan(plan, progress=tell)
    if quiet or progress.output is None:
        return
    for line in summary(model, progress.last, progress.output):
        typer.echo(shown(line), err=True)


def _estimate(corpus: list[str] | None, settings: dict[str, Any], *, quiet: bool) -> None:
    from w2v_sgns.training.estimate import estimate
    from w2v_sgns.training.progress import TerminalProgress

    plan = _plan(corpus, settings)
    with TerminalProgress(sys.stderr, plan.config, escape=shown) as progress:
        watch = None if quiet else progress
        found = estimate(plan.corpus, plan.config, options=plan.options, progress=watch)
    for line in found.lines(plan.config):
        typer.echo(line)


def _plan(corpus: list[str] | None, settings: dict[str, Any]) -> Plan:
    """Return what to train; here every argument is a path, also one that names nothing."""
    from dataclasses import replace

    from w2v_sgns.corpus.inputs import open_paths
    from w2v_sgns.training.resume import planned

    plan = planned(corpus, settings)
    return replace(plan, corpus=open_paths(plan.corpus, plan.config))
