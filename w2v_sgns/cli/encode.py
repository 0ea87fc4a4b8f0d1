"""`w2v encode`: texts to vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption, ModelOption
from w2v_sgns.cli.output import warn
from w2v_sgns.cli.text_options import (
    EncodingErrorsOption,
    EncodingOption,
    LowercaseOption,
    TokenizerOption,
)
from w2v_sgns.config import TextOptions

__all__ = ["encode"]


def encode(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE…", help="A text a line, plain or compressed; - reads a pipe."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="NumPy's .npy, or .parquet (extra: arrow)."
        ),
    ],
    model: ModelOption = DEFAULT_MODEL,
    tower: Annotated[
        str,
        typer.Option(
            "--tower", metavar="query|document", help="Which side of a model with two towers."
        ),
    ] = "document",
    encoding: EncodingOption = TextOptions.encoding,
    encoding_errors: EncodingErrorsOption = TextOptions.encoding_errors,
    tokenizer: TokenizerOption = TextOptions.tokenizer,
    lowercase: LowercaseOption = TextOptions.lowercase,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing output.")] = False,
    debug: DebugOption = False,
) -> None:
    """Write a vector a line: the weighted mean of its words' vectors, at length 1.

    Word order is ignored. A line without a known word gets a row of zeros.
    """
    from w2v_sgns.corpus.inputs import open_paths
    from w2v_sgns.text import Encoder
    from w2v_sgns.text.rows import check_output, write_rows

    text = TextOptions(
        encoding=encoding,
        encoding_errors=encoding_errors,
        tokenizer=tokenizer,
        lowercase=lowercase,
    )
    source = open_paths(files, text)
    check_output(output, force=force, inputs=(model, *source.paths))
    encoder = Encoder.load(model, text=text)
    encoded = encoder.encode_source(source, tower=tower)
    written = write_rows(output, encoded, encoder.dim, force=force)
    warn(
        f"{written.texts:,} texts of dim {encoder.dim} written to {output}; "
        f"{written.empty:,} without a known word, their rows are zero"
    )
