"""Options of the verbs that encode texts: how texts are split, and the encoder that does it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from w2v_sgns.cli.corpus_options import EncodingErrorsOption, EncodingOption
from w2v_sgns.config import TextOptions

if TYPE_CHECKING:
    from w2v_sgns.text import Encoder

__all__ = [
    "EncodingErrorsOption",
    "EncodingOption",
    "LowercaseOption",
    "TokenizerOption",
    "encoder_of",
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


def encoder_of(model: Path, asked: TextOptions) -> Encoder:
    """Return the model's encoder, which splits as its training did and as is asked beyond that."""
    from w2v_sgns.formats import describe
    from w2v_sgns.text.encoder import Encoder, text_options

    return Encoder.load(model, text=text_options(describe(model).config, asked))
