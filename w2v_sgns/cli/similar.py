"""`w2v similar`: the nearest words of each word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from w2v_sgns.cli.options import (
    DEFAULT_MODEL,
    DebugOption,
    JsonOption,
    ModelOption,
    RestrictOption,
    TopOption,
)
from w2v_sgns.cli.output import align, shorten, shown, write_json

if TYPE_CHECKING:
    from w2v_sgns.vectors.vectors import Neighbours

__all__ = ["similar"]

WIDEST = 60  # columns of a word in the table; --json has all of it


def similar(
    words: Annotated[
        list[str], typer.Argument(metavar="WORD...", help="Words of the model, as it spells them.")
    ],
    model: ModelOption = DEFAULT_MODEL,
    top: TopOption = 10,
    restrict: RestrictOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the words nearest to each WORD, by cosine; every word gets its own list."""
    from w2v_sgns.formats import load_vectors

    vectors = load_vectors(model)
    found = vectors.most_similar_each(words, topn=top, restrict=restrict)
    if json:
        write_json([_document(word, hits) for word, hits in zip(words, found, strict=True)])
        return
    for place, (word, hits) in enumerate(zip(words, found, strict=True)):
        typer.echo("\n" * (place > 0) + "\n".join(_table(word, hits)))


def _document(word: str, hits: Neighbours) -> dict[str, object]:
    similar = [{"word": other, "cosine": round(cosine, 6)} for other, cosine in hits]
    return {"word": word, "similar": similar}


def _table(word: str, hits: Neighbours) -> list[str]:
    if not hits:
        return [_cell(word), "  no neighbours: its vector is zero, or no other word may answer"]
    rows = [("  " + _cell(other), f"{cosine:.4f}") for other, cosine in hits]
    return [_cell(word), *align(rows, right=[1])]


def _cell(word: str) -> str:
    return shorten(shown(word), WIDEST) or "(the empty word)"
