"""`w2v export`: vectors of any readable file into any format that can be written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption, ModelOption
from w2v_sgns.cli.output import shown

if TYPE_CHECKING:
    from w2v_sgns.formats.export import Written
    from w2v_sgns.formats.rows import Loaded

__all__ = ["export"]


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
            metavar="input|output|sum|concat",
            help="Input vectors, output vectors, or the unit rows of both added or side by side.",
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
    force: Annotated[bool, typer.Option("--force", help="Replace an existing output.")] = False,
    debug: DebugOption = False,
) -> None:
    """Write vectors in another format, or some of them, or the output vectors."""
    from w2v_sgns.formats import selection
    from w2v_sgns.formats.export import format_named, write, write_stream
    from w2v_sgns.formats.which import load_which

    kind = format_named(format or ("text" if out == "-" else None), out)
    loaded = load_which(
        model, selection(limit, _read_words(words)), which=which, normalize=normalize
    )
    for note in loaded.notes:
        _tell(f"warning: {shown(str(model))}: {note}")
    if out == "-":
        written = write_stream(
            sys.stdout.buffer, loaded.matrix, loaded.vocabulary, kind=kind, dtype=dtype
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
        )
    if loaded.weights is not None and kind.name != "folder":
        _tell("note        the words' learned weights are left out; --format folder keeps them")
    _tell(_summary(written, loaded, dtype))


def _read_words(path: Path | None) -> list[bytes] | None:
    """Return the lines of a file of words, without their ends; blank lines are no words."""
    if path is None:
        return None
    from w2v_sgns.formats.source import Source

    pieces = []
    with Source(path) as source:
        while piece := source.read(1 << 20):
            pieces.append(piece)
    lines = b"".join(pieces).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.removesuffix(b"\r") for line in lines if line.strip()]


def _summary(written: Written, loaded: Loaded, dtype: str) -> str:
    rows, dim = loaded.matrix.shape
    place = " and ".join(shown(str(file)) for file in written.files) or "stdout"
    loss = ""
    if written.error is not None:
        loss = f"; {dtype} changes a row by at most {100 * written.error:.2g} % of its length"
    return f"written     {place}: {rows:,} words × {dim:,}, {written.format}{loss}"


def _tell(line: str) -> None:
    typer.echo(line, err=True)
