"""`w2v odd`: the word that does not match the others."""

from __future__ import annotations

from typing import Annotated

import typer

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption, JsonOption, ModelOption
from w2v_sgns.cli.output import shown, write_json

__all__ = ["odd"]


def odd(
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Three words or more.")],
    model: ModelOption = DEFAULT_MODEL,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the WORD that does not match: the one least like the mean of all."""
    from w2v_sgns.formats import load_vectors

    answer = load_vectors(model).doesnt_match(words)
    if json:
        write_json({"words": words, "odd": answer})
    else:
        typer.echo(shown(answer))
