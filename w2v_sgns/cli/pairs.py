"""`w2v pairs`: tune word vectors on text pairs, for search."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from w2v_sgns.cli.corpus_options import (
    EncodingOption,
    LowercaseOption,
    MaxTokenBytesOption,
    SplitOption,
    TokenizerOption,
)
from w2v_sgns.cli.options import DebugOption, given
from w2v_sgns.cli.output import shown, warn
from w2v_sgns.cli.text_options import EncodingErrorsOption
from w2v_sgns.config import PairConfig

if TYPE_CHECKING:
    from w2v_sgns.text.pairing import Loaded
    from w2v_sgns.text.tuning import Tuned

__all__ = ["pairs"]

LOSS, TUNING, SCRATCH = "Loss", "Tuning", "From scratch"
MOST_LINES = 20  # malformed lines listed


def _option(name: str, text: str, *, panel: str = TUNING, metavar: str | None = None) -> Any:
    return typer.Option(name, help=text, rich_help_panel=panel, metavar=metavar)


def pairs(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="PAIRS…",
            help="Lines query<TAB>document[<TAB>hard negative], plain or compressed; for "
            "simcse-unsup a sentence a line.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The tuned model to write.")
    ],
    model: Annotated[
        Path | None,
        typer.Option(
            "-m", "--model", envvar="W2V_MODEL", metavar="PATH", help="The vectors to begin with."
        ),
    ] = None,
    loss: Annotated[
        str,
        _option(
            "--loss",
            "dpr: each query picks its document; clip: both ways, learned scale; simcse: dpr "
            "by cosine (hard negatives count with all); simcse-unsup: two views of one sentence.",
            panel=LOSS,
            metavar="dpr|clip|simcse|simcse-unsup",
        ),
    ] = PairConfig.loss,
    similarity: Annotated[
        str,
        _option(
            "--similarity",
            "Of dpr. search always goes by cosine.",
            panel=LOSS,
            metavar="cosine|dot",
        ),
    ] = PairConfig.similarity,
    temperature: Annotated[
        float | None,
        _option(
            "--temperature",
            "Divides the logits; clip only starts there. Else 0.05, for clip 0.07, for dot 1.",
            panel=LOSS,
            metavar="T",
        ),
    ] = PairConfig.temperature,
    duplicates: Annotated[
        str,
        _option(
            "--duplicates",
            "Documents known to be right for an equal query: no negatives, or kept.",
            panel=LOSS,
            metavar="mask|keep",
        ),
    ] = PairConfig.duplicates,
    logq: Annotated[
        bool,
        _option("--logq", "Subtract the log of how often a document is drawn.", panel=LOSS),
    ] = PairConfig.logq,
    form: Annotated[
        str,
        _option(
            "--form",
            "Of simcse-unsup: first views pick among second ones, or all among all.",
            panel=LOSS,
            metavar="official|ntxent",
        ),
    ] = PairConfig.form,
    batch: Annotated[
        int, _option("--batch", "Most pairs in a batch: each other's negatives.", metavar="N")
    ] = PairConfig.batch,
    epochs: Annotated[
        int, _option("--epochs", "Passes over the pairs.", metavar="N")
    ] = PairConfig.epochs,
    lr: Annotated[
        float, _option("--lr", "Learning rate at its highest.", metavar="X")
    ] = PairConfig.lr,
    warmup: Annotated[
        float, _option("--warmup", "Share of the steps that it rises; then it falls.", metavar="S")
    ] = PairConfig.warmup,
    optimizer: Annotated[
        str, _option("--optimizer", "On touched rows only.", metavar="adagrad|adam")
    ] = PairConfig.optimizer,
    towers: Annotated[
        int,
        _option("--towers", "2: queries and documents have a row each for a word.", metavar="1|2"),
    ] = PairConfig.towers,
    weights: Annotated[
        bool,
        _option("--weights", "Learn a weight a word, from smooth inverse frequency on."),
    ] = PairConfig.weights,
    mine: Annotated[
        int,
        _option(
            "--mine",
            "Before every epoch, search N wrong documents near each query.",
            metavar="N",
        ),
    ] = PairConfig.mine,
    dropout: Annotated[
        float | None,
        _option(
            "--dropout",
            "Share of words left out of each text; else 0, for simcse-unsup 0.1.",
            metavar="S",
        ),
    ] = PairConfig.dropout,
    seed: Annotated[
        int, _option("--seed", "Start of all random numbers.", metavar="N")
    ] = PairConfig.seed,
    from_scratch: Annotated[
        bool,
        _option("--from-scratch", "Words of the pairs, rows drawn at random.", panel=SCRATCH),
    ] = PairConfig.from_scratch,
    dim: Annotated[
        int, _option("--dim", "Numbers in a vector.", panel=SCRATCH, metavar="D")
    ] = PairConfig.dim,
    min_count: Annotated[
        int, _option("--min-count", "Drop words seen less often.", panel=SCRATCH, metavar="N")
    ] = PairConfig.min_count,
    encoding: EncodingOption = PairConfig.encoding,
    encoding_errors: EncodingErrorsOption = PairConfig.encoding_errors,
    split: SplitOption = PairConfig.split,
    tokenizer: TokenizerOption = PairConfig.tokenizer,
    lowercase: LowercaseOption = PairConfig.lowercase,
    max_token_bytes: MaxTokenBytesOption = PairConfig.max_token_bytes,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    debug: DebugOption = False,
) -> None:
    """Tune word vectors on text pairs, so that queries find their documents.

    A text is the mean of its words' vectors: no transformer, no images, and word order is ignored.
    Ask the result with `w2v search`, judge it with `w2v eval PAIRS --pool DOCS`.
    """
    config = PairConfig(
        loss=loss,
        similarity=similarity,
        temperature=temperature,
        batch=batch,
        epochs=epochs,
        lr=lr,
        warmup=warmup,
        optimizer=optimizer,
        towers=towers,
        weights=weights,
        mine=mine,
        duplicates=duplicates,
        logq=logq,
        form=form,
        dropout=dropout,
        from_scratch=from_scratch,
        dim=dim,
        min_count=min_count,
        seed=seed,
        encoding=encoding,
        encoding_errors=encoding_errors,
        split=split,
        tokenizer=tokenizer,
        lowercase=lowercase,
        max_token_bytes=max_token_bytes,
    )
    from w2v_sgns.text.pairing import tune_pairs

    report = _Report(config, quiet=quiet)
    tune_pairs(
        files,
        model=None if from_scratch and not given(context, "model") else model,
        output=output,
        config=config,
        force=force,
        loaded=report.loaded,
        tell=report.tuned,
    )
    if not quiet:
        typer.echo(f"written     {shown(str(output))}", err=True)
        typer.echo(f"next        w2v search -m {shown(str(output))} --documents FILE", err=True)


class _Report:
    """What is said on stderr: what was read, then a line an epoch."""

    def __init__(self, config: PairConfig, *, quiet: bool) -> None:
        self.config, self.quiet = config, quiet
        self.begun = 0.0
        self.terminal = sys.stderr.isatty()

    def loaded(self, found: Loaded) -> None:
        """Say what was read; malformed lines are named even where little else is said."""
        for bad in found.malformed[:MOST_LINES]:
            warn(f"{bad.file}:{bad.line}: left out: {bad.message}")
        if len(found.malformed) > MOST_LINES:
            warn(f"{len(found.malformed) - MOST_LINES:,} more malformed lines were left out")
        self.begun = time.monotonic()
        if self.quiet:
            return
        kind = "sentences" if self.config.unsupervised else "pairs"
        hard = f", {found.texts.hard:,} hard negatives" if found.texts.hard else ""
        self._say(f"{kind:<10}  {len(found.examples):,}{hard}")
        if found.examples.left_out:
            self._say(f"left out    {found.examples.left_out:,} without a known word on a side")
        self._say(f"vectors     {found.words:,} words of dim {found.dim}")
        for note in found.notes:
            self._say(f"note        {note}")

    def tuned(self, state: Tuned) -> None:
        """Show the progress of an epoch, and keep a line of it at its end."""
        if self.quiet:
            return
        scale = f"  scale {state.scale:.2f}" if self.config.loss == "clip" else ""
        seconds = time.monotonic() - self.begun
        line = (
            f"epoch {state.epoch}/{self.config.epochs}   {state.done:,} of {state.pairs:,}  "
            f"loss {state.loss:z.4f}  lr {state.lr:.4f}{scale}  {seconds:.1f} s"
        )
        over = state.done == state.pairs
        if self.terminal:
            typer.echo(f"\r\x1b[K{line}", nl=over, err=True)
        elif over:
            self._say(line)

    def _say(self, line: str) -> None:
        typer.echo(shown(line), err=True)
