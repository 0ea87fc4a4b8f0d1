"""Options of the verbs that encode texts: how texts are split."""

from __future__ import annotations

from typing import Annotated

import typer

from w2v_sgns.cli.corpus_options import EncodingOption, option

__all__ = [
    "EncodingErrorsOption",
    "EncodingOption",
    "LowercaseOption",
    "TokenizerOption",
]

EncodingErrorsOption = Annotated[
    str,
    option(
        "--encoding-errors",
        "Bytes that are no text: keep them, or strict: refuse.",
        metavar="keep|strict",
    ),
]
LowercaseOption = Annotated[
    bool, typer.Option("--lowercase", help="Lower-case the texts, if the model does not say so.")
]
TokenizerOption = Annotated[
    str,
    typer.Option(
        "--tokenizer", metavar="whitespace|words", help="As for train, if the model says nothing."
    ),
]
