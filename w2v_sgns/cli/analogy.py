"""`w2v analogy`: the word that is to C as B is to A."""

from __future__ import annotations

from typing import Annotated

import typer

from w2v_sgns.cli.options import (
    DEFAULT_MODEL,
    DebugOption,
    JsonOption,
    ModelOption,
    RestrictOption,
    TopOption,
)
from w2v_sgns.cli.output import hits_document, hits_table, write_json

__all__ = ["analogy"]


def analogy(
    a: Annotated[str, typer.Argument(metavar="A", help="As in: man")],
    b: Annotated[str, typer.Argument(metavar="B", help="is to: king")],
    c: Annotated[str, typer.Argument(metavar="C", help="so is: woman")],
    model: ModelOption = DEFAULT_MODEL,
    top: TopOption = 10,
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="add|mul", help="Nearest to B - A + C, or products of cosines."
        ),
    ] = "add",
    restrict: RestrictOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the words that are to C as B is to A: `w2v analogy man king woman`."""
    from w2v_sgns.errors import ConfigError
    from w2v_sgns.formats import load_vectors

    if method not in ("add", "mul"):
        raise ConfigError(f"--method must be add or mul, not {method!r}")
    vectors = load_vectors(model)
    ask = vectors.most_similar if method == "add" else vectors.most_similar_cosmul
    hits = ask([b, c], [a], topn=top, restrict=restrict)
    score = "cosine" if method == "add" else "score"
    if json:
        answers = hits_document(hits, score)
        write_json({"a": a, "b": b, "c": c, "method": method, "answers": answers})
        return
    for line in hits_table(f"{a} : {b} = {c} : ?", hits):
        typer.echo(line)
