"""`w2v export`: vectors of any readable file into any format that can be written."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption, ModelOption
from w2v_sgns.cli.output import shown, warn

if TYPE_CHECKING:
    from w2v_sgns.formats.export import Written
    from w2v_sgns.formats.rows import Loaded

__all__ = ["export"]

OTHER = "texts encoded by what is written find each other worse than by the model itself"
TOWERS = {
    "input": f"only the queries' rows are written, --which output writes the documents'; {OTHER}",
    "output": f"only the documents' rows are written; {OTHER}",
    "sum": f"what is written mixes queries' and documents' rows; {OTHER}",
    "concat": f"what is written mixes queries' and documents' rows; {OTHER}",
}


def export(
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="The file or folder to write; - is stdout.")
    ],
    model: ModelOption = DEFAULT_MODEL,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="safetensors, text, binary, glove, npy, tsv, parquet or folder (for model2vec "
            "and sentence-transformers); else what OUT's suffix means: .safetensors .txt .vec "
            ".bin .npy .tsv .parquet.",
            show_default=False,
        ),
    ] = None,
    which: Annotated[
        str,
        typer.Option(
            "--which",
            metavar="NAME",
            help="input or output vectors; sum or concat: the unit rows of both added, or side by "
            "side.",
        ),
    ] = "input",
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Scale every row to length 1.")
    ] = False,
    dtype: Annotated[
        str,
        typer.Option(
            "--dtype",
            metavar="TYPE",
            help="float32; float16 (safetensors, npy); int8 (safetensors). Says what it loses.",
        ),
    ] = "float32",
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Only the first N rows.")
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option("--words", metavar="FILE", help="Only the words of this file, one a line."),
    ] = None,
    read_vocab: Annotated[
        Path | None,
        typer.Option(
            "--read-vocab",
            metavar="FILE",
            help="Take the words' counts from this vocabulary file (word and count a line).",
        ),
    ] = None,
    space_replacement: Annotated[
        str | None,
        typer.Option(
            "--space-replacement",
            metavar="CHAR",
            help="Write CHAR for every blank in a word, which text and binary cannot hold.",
        ),
    ] = None,
    neighbors: Annotated[
        int | None,
        typer.Option(
            "--neighbors",
            metavar="N",
            help="Nearest rows written with each row of Parquet, 0: none; else 10 for up to 20,000 "
            "rows: the time grows with their square.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="What is odd about the file is an error.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing output.")] = False,
    debug: DebugOption = False,
) -> None:
    """Write vectors in another format, or some of them, or the output vectors."""
    from w2v_sgns.corpus.vocabulary_file import read_words
    from w2v_sgns.formats import selection
    from w2v_sgns.formats.counts import with_counts
    from w2v_sgns.formats.export import format_named, with_neighbors, write, write_stream
    from w2v_sgns.formats.which import load_which

    kind = format_named(format or ("text" if out == "-" else None), out)
    kind = kind if neighbors is None else with_neighbors(kind, neighbors)
    wanted = selection(limit, None if words is None else read_words(words))
    loaded = load_which(model, wanted, which=which, normalize=normalize)
    if read_vocab is not None:
        loaded = with_counts(loaded, read_vocab)
    _judge(model, loaded.notes, strict=strict)
    if space_replacement is not None:
        loaded = _without_blanks(loaded, space_replacement)
    if out == "-":
        written = write_stream(
            sys.stdout.buffer,
            loaded.matrix,
            loaded.vocabulary,
            kind=kind,
            dtype=dtype,
            weights=loaded.weights,
            log_scale=loaded.log_scale,
        )
    else:
        written = write(
            out,
            loaded.matrix,
            loaded.vocabulary,
            kind=kind,
            dtype=dtype,
            weights=loaded.weights,
            log_scale=loaded.log_scale,
            force=force,
            inputs=(model, words, read_vocab),
        )
    if loaded.weights is not None and kind.name not in ("folder", "safetensors"):
        warn("the words' learned weights are left out; --format folder or safetensors keeps them")
    if loaded.two_towers:
        warn(f"warning: {shown(str(model))} has two towers; {TOWERS[which]}")
    typer.echo(_summary(written, loaded, dtype), err=True)


def _judge(model: Path, notes: Sequence[str], *, strict: bool) -> None:
    """Print what is odd about a file, or make an error of it."""
    if strict and notes:
        from w2v_sgns.errors import FormatError

        raise FormatError(f"{model}: {notes[0]} (--strict)")
    for note in notes:
        warn(f"warning: {model}: {note}")


def _without_blanks(loaded: Loaded, by: str) -> Loaded:
    from w2v_sgns.formats.blanks import replace_blanks

    vocabulary, changed = replace_blanks(loaded.vocabulary, by)
    warn(f"blanks become {by} in {changed:,} word{'s' * (changed != 1)}")
    return replace(loaded, vocabulary=vocabulary)


def _summary(written: Written, loaded: Loaded, dtype: str) -> str:
    rows, dim = loaded.matrix.shape
    place = " and ".join(shown(str(file)) for file in written.files) or "stdout"
    loss = ""
    if written.error is not None:
        loss = f"; {dtype} changes a row by at most {100 * written.error:.2g} % of its length"
    return f"written     {place}: {rows:,} words × {dim:,}, {written.format}{loss}"
