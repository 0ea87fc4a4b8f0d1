"""`w2v map`: the words on a map, as one HTML file or as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption, ModelOption
from w2v_sgns.cli.output import shown, warn

__all__ = ["draw_map"]

DEFAULT_OUT = Path("map.html")


def draw_map(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="[OUT]", help="The file to write: .html, or .png and .svg (extra: plot)."
        ),
    ] = DEFAULT_OUT,
    model: ModelOption = DEFAULT_MODEL,
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", help="The N most frequent words.", show_default="10000"),
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option("--words", metavar="FILE", help="The words of this file, one a line."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="pca|tsne",
            help="How words find their place; tsne (extra: plot) is better and takes minutes.",
        ),
    ] = "pca",
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Start of the random numbers.")
    ] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing output.")] = False,
    debug: DebugOption = False,
) -> None:
    """Draw a map of words: a page to open in any browser, offline, or a picture.

    In the page: search, the nearest words of a word, analogies, colours by class.
    """
    from w2v_sgns.formats.findings import plural
    from w2v_sgns.machine import human_bytes
    from w2v_sgns.plots.map import build_map, check_map, open_words, save_map

    check_map(out, method=method, force=force, inputs=(model, words))
    vectors = open_words(model, top=top, words=words)
    if method == "tsne" and len(vectors) > 1000:  # fewer take seconds
        _tell(f"t-SNE       {len(vectors):,} words; 10,000 take a minute and a half or more")
    drawn = build_map(vectors, method=method, seed=seed)
    if drawn.left_out:
        warn(f"warning: words without a direction (zero, or not finite) left out: {drawn.left_out}")
    save_map(out, drawn, name=model.name, force=force)
    size = human_bytes(out.stat().st_size)
    _tell(f"written     {shown(str(out))}: {plural(len(drawn.words), 'word')}, {size}")


def _tell(line: str) -> None:
    typer.echo(line, err=True)
