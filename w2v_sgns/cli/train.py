"""`w2v train`: a corpus in, a model file out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from w2v_sgns.cli.corpus_options import (
    CORPUS,
    RUN,
    ColumnOption,
    CorpusArgument,
    EncodingErrorsOption,
    EncodingOption,
    LowercaseOption,
    MaxTokenBytesOption,
    MemoryOption,
    RecursiveOption,
    SplitOption,
    TextFieldOption,
    ThreadsOption,
    TokenizerOption,
)
from w2v_sgns.cli.interrupt import PromptInterrupt
from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption
from w2v_sgns.cli.output import shown
from w2v_sgns.config import WHOLE_LINE, RunOptions, TrainConfig

if TYPE_CHECKING:
    from w2v_sgns.training.events import Event

__all__ = ["ALIASES", "TrainCommand", "train"]

TRAINING = "Training"

# What the same setting is called in older tools; accepted, not shown.
ALIASES = {
    "--size": "--dim",
    "--vector-size": "--dim",
    "--ws": "--window",
    "--neg": "--negative",
    "--ns-exponent": "--noise-exponent",
    "-t": "--sample",
    "--iter": "--epochs",
    "--epoch": "--epochs",
    "--alpha": "--lr",
    "--min-alpha": "--min-lr",
    "--workers": "--threads",
}


class TrainCommand(TyperCommand):
    """Reads the older tools' names as ours."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rename options up to a lone `--`, then parse."""
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [*map(_canonical, args[:end]), *args[end:]])


def _canonical(argument: str) -> str:
    name, equals, value = argument.partition("=")
    return ALIASES.get(name, name) + equals + value


def _option(name: str, text: str, *, panel: str = TRAINING, metavar: str | None = None) -> Any:
    return typer.Option(name, help=text, rich_help_panel=panel, metavar=metavar)


def _window(value: Any) -> Any:
    """Parse a number of words, or the word line."""
    return WHOLE_LINE if value == WHOLE_LINE else int(value)


def train(
    corpus: CorpusArgument,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Model to write.", rich_help_panel=RUN),
    ] = DEFAULT_MODEL,
    min_count: Annotated[
        int, _option("--min-count", "Drop words seen less often.", panel=CORPUS, metavar="N")
    ] = TrainConfig.min_count,
    max_vocab: Annotated[
        int | None,
        _option("--max-vocab", "Keep only the N most frequent words.", panel=CORPUS, metavar="N"),
    ] = TrainConfig.max_vocab,
    keep_words: Annotated[
        Path | None,
        _option(
            "--keep-words",
            "Words, one a line, that stay however rare.",
            panel=CORPUS,
            metavar="FILE",
        ),
    ] = None,
    read_vocab: Annotated[
        Path | None,
        _option(
            "--read-vocab",
            "Take words and counts from here, not from the corpus.",
            panel=CORPUS,
            metavar="FILE",
        ),
    ] = None,
    save_vocab: Annotated[
        Path | None,
        _option("--save-vocab", "Write words and counts here.", panel=CORPUS, metavar="FILE"),
    ] = None,
    vocab_format: Annotated[
        str,
        _option(
            "--vocab-format",
            "Of --save-vocab: word<TAB>count, or what word2vec.c reads.",
            panel=CORPUS,
            metavar="tsv|word2vec",
        ),
    ] = RunOptions.vocab_format,
    recursive: RecursiveOption = TrainConfig.recursive,
    sample: Annotated[
        float,
        _option(
            "--sample",
            "Thin out words more frequent than this share; 0 keeps all.",
            panel=CORPUS,
            metavar="T",
        ),
    ] = TrainConfig.sample,
    dim: Annotated[int, _option("--dim", "Numbers in a vector.", metavar="D")] = TrainConfig.dim,
    window: Annotated[
        Any,
        typer.Option(
            "--window",
            parser=_window,
            help="Most words on either side that are context; line: the whole line.",
            rich_help_panel=TRAINING,
            metavar="N|line",
        ),
    ] = TrainConfig.window,
    fixed_window: Annotated[
        bool, _option("--fixed-window", "Always the whole window, not one drawn from 1..N.")
    ] = TrainConfig.fixed_window,
    negative: Annotated[
        int, _option("--negative", "Noise words a window.", metavar="K")
    ] = TrainConfig.negative,
    noise_exponent: Annotated[
        float, _option("--noise-exponent", "Noise is drawn from count^A.", metavar="A")
    ] = TrainConfig.noise_exponent,
    collisions: Annotated[
        str,
        _option(
            "--collisions", "A noise word equal to the true one: keep or drop.", metavar="keep|drop"
        ),
    ] = TrainConfig.collisions,
    epochs: Annotated[
        int, _option("--epochs", "Passes over the corpus.", metavar="N")
    ] = TrainConfig.epochs,
    lr: Annotated[
        float, _option("--lr", "Learning rate at the start.", metavar="X")
    ] = TrainConfig.lr,
    min_lr: Annotated[
        float | None, _option("--min-lr", "Learning rate at the end; else lr/10000.", metavar="X")
    ] = TrainConfig.min_lr,
    seed: Annotated[
        int, _option("--seed", "Start of all random numbers.", metavar="N")
    ] = TrainConfig.seed,
    encoding: EncodingOption = TrainConfig.encoding,
    encoding_errors: EncodingErrorsOption = TrainConfig.encoding_errors,
    split: SplitOption = TrainConfig.split,
    tokenizer: TokenizerOption = TrainConfig.tokenizer,
    lowercase: LowercaseOption = TrainConfig.lowercase,
    max_token_bytes: MaxTokenBytesOption = TrainConfig.max_token_bytes,
    text_field: TextFieldOption = TrainConfig.text_field,
    column: ColumnOption = TrainConfig.column,
    threads: ThreadsOption = RunOptions.threads,
    memory: MemoryOption = None,
    force: Annotated[
        bool, _option("--force", "Replace an existing output.", panel=RUN)
    ] = RunOptions.force,
    dry_run: Annotated[
        bool,
        _option("--dry-run", "Count, say what training would take, write nothing.", panel=RUN),
    ] = False,
    quiet: Annotated[bool, _option("--quiet", "Say nothing but errors.", panel=RUN)] = False,
    debug: DebugOption = False,
) -> None:
    """Train word vectors on a corpus and write them to a model file.

    With one thread, the same command gives the same file, byte for byte.
    With more, the threads race on purpose and the vectors vary a little.
    """
    config = TrainConfig(
        dim=dim,
        window=window,
        fixed_window=fixed_window,
        negative=negative,
        noise_exponent=noise_exponent,
        collisions=collisions,
        sample=sample,
        epochs=epochs,
        lr=lr,
        min_lr=min_lr,
        min_count=min_count,
        max_vocab=max_vocab,
        keep_words=keep_words,
        seed=seed,
        encoding=encoding,
        encoding_errors=encoding_errors,
        split=split,
        tokenizer=tokenizer,
        lowercase=lowercase,
        max_token_bytes=max_token_bytes,
        text_field=text_field,
        column=column,
        recursive=recursive,
    )
    options = RunOptions(
        output=output,
        threads=threads,
        memory=memory,
        force=force,
        save_vocab=save_vocab,
        read_vocab=read_vocab,
        vocab_format=vocab_format,
    )
    if dry_run:
        _estimate(corpus, config, options, quiet=quiet)
    else:
        _run(corpus, config, options, quiet=quiet)


def _run(corpus: list[str], config: TrainConfig, options: RunOptions, *, quiet: bool) -> None:
    from w2v_sgns.corpus.inputs import open_paths
    from w2v_sgns.training.progress import TerminalProgress, summary
    from w2v_sgns.training.trainer import train_model

    source = open_paths(corpus, config)
    with (
        TerminalProgress(sys.stderr, config, escape=shown) as progress,
        PromptInterrupt() as watch,
    ):

        def tell(event: Event) -> None:
            if event.phase in ("train", "epoch"):
                watch.end()  # from here on Python's own handling is prompt, and files are written
            if not quiet:
                progress(event)

        model = train_model(source, config, options=options, progress=tell)
    if quiet:
        return
    assert progress.last is not None and options.output is not None
    for line in summary(model, progress.last, options.output):
        typer.echo(shown(line), err=True)


def _estimate(corpus: list[str], config: TrainConfig, options: RunOptions, *, quiet: bool) -> None:
    from w2v_sgns.corpus.inputs import open_paths
    from w2v_sgns.training.estimate import estimate
    from w2v_sgns.training.progress import TerminalProgress

    source = open_paths(corpus, config)
    with TerminalProgress(sys.stderr, config, escape=shown) as progress:
        watch = None if quiet else progress
        found = estimate(source, config, options=options, progress=watch)
    for line in found.lines(config):
        typer.echo(line)
