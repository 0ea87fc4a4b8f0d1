"""Options that several verbs share, each spelled once.

Values are parsed here, never judged: ranges are the library's business.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from w2v_sgns.config import DEFAULT_MODEL

__all__ = [
    "DEFAULT_MODEL",
    "DebugOption",
    "JsonOption",
    "ModelOption",
    "RestrictOption",
    "TopOption",
    "asked_for_debug",
    "given",
]

_DEBUG = "w2v_sgns.debug"  # key in the table that all contexts of one command share


def _remember_debug(context: typer.Context, value: bool) -> bool:
    context.meta[_DEBUG] = value
    return value


def asked_for_debug(context: typer.Context) -> bool:
    """Return whether the verb was given --debug."""
    return bool(context.meta.get(_DEBUG, False))


def given(context: typer.Context, name: str) -> bool:
    """Return whether an option stands on the command line: no default, no environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


ModelOption = Annotated[
    Path,
    typer.Option("-m", "--model", envvar="W2V_MODEL", metavar="PATH", help="The vectors to ask."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
TopOption = Annotated[int, typer.Option("--top", metavar="N", help="How many neighbours to show.")]
RestrictOption = Annotated[
    int | None,
    typer.Option(
        "--restrict", metavar="N", help="Only the N most frequent words may be an answer."
    ),
]
DebugOption = Annotated[
    bool,
    typer.Option(
        "--debug", callback=_remember_debug, help="Show where in the program an error came from."
    ),
]
