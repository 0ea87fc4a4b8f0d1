"""`w2v train`: a text file in, a model file out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption
from w2v_sgns.config import RunOptions, TrainConfig

__all__ = ["ALIASES", "TrainCommand", "train"]

CORPUS, TRAINING, RUN = "Corpus and vocabulary", "Training", "Output and machine"

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


def train(
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS", help="Text: words between blanks, a context a line.")
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Model to write.", rich_help_panel=RUN),
    ] = DEFAULT_MODEL,
    min_count: Annotated[
        int, _option("--min-count", "Drop words seen less often.", panel=CORPUS, metavar="N")
    ] = TrainConfig.min_count,
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
        int, _option("--window", "Most words on either side that are context.", metavar="N")
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
    threads: Annotated[
        int, _option("--threads", "0: all this process may use.", panel=RUN, metavar="N")
    ] = RunOptions.threads,
    memory: Annotated[
        str | None,
        _option(
            "--memory",
            "Keep token ids in memory up to this size (512M, 4G), else in a temporary file; "
            "a quarter of the machine's unless given.",
            panel=RUN,
            metavar="SIZE",
        ),
    ] = None,
    force: Annotated[
        bool, _option("--force", "Replace an existing output.", panel=RUN)
    ] = RunOptions.force,
    quiet: Annotated[bool, _option("--quiet", "Say nothing but errors.", panel=RUN)] = False,
    debug: DebugOption = False,
) -> None:
    """Train word vectors on a text file and write them to a model file.

    With one thread, the same command gives the same file, byte for byte; with more, the threads
    race on purpose and the vectors vary a little.
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
        seed=seed,
    )
    options = RunOptions(output=output, threads=threads, memory=memory, force=force)
    _run(corpus, config, options, quiet=quiet)


def _run(corpus: Path, config: TrainConfig, options: RunOptions, *, quiet: bool) -> None:
    from w2v_sgns.training.progress import TerminalProgress, summary
    from w2v_sgns.training.trainer import train_model

    if quiet:
        train_model(corpus, config, options=options)
        return
    with TerminalProgress(sys.stderr, config) as progress:
        model = train_model(corpus, config, options=options, progress=progress)
    assert progress.last is not None and options.output is not None
    for line in summary(model, progress.last, options.output):
        typer.echo(line, err=True)
