"""`w2v classes`: words divided into classes of similar direction."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption, JsonOption, ModelOption
from w2v_sgns.cli.output import shown, warn, write_json

if TYPE_CHECKING:
    from w2v_sgns.corpus.vocabulary import Vocabulary
    from w2v_sgns.vectors.classes import WordClasses

__all__ = ["classes"]


def classes(
    count: Annotated[int, typer.Argument(metavar="K", help="How many classes.")],
    model: ModelOption = DEFAULT_MODEL,
    top: Annotated[
        int | None,
        typer.Option(
            "--top", metavar="N", help="Only the N most frequent words.", show_default="all"
        ),
    ] = None,
    by_class: Annotated[
        bool, typer.Option("--by-class", help="Class after class, not in the model's order.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Start of the random numbers.")
    ] = 1,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write here, not to stdout."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing output.")] = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print every word and its class, a tab between (spherical k-means).

    Classes count from 0, in the order of their first words. The same seed gives the same classes.
    """
    if output is not None and json:
        raise typer.BadParameter("--json prints; leave out -o, or redirect stdout")
    from w2v_sgns.formats import check_writable, load_vectors
    from w2v_sgns.vectors.classes import word_classes
    from w2v_sgns.vectors.neighbours import check_counts

    check_counts(1 if top is None else top, None)
    if output is not None:
        check_writable(output, force=force, suffixes=None, inputs=(model,))
    vectors = load_vectors(model, limit=top)
    found = word_classes(vectors.matrix, count, seed=seed)
    _tell_what_has_none(found)
    if json:
        write_json(_document(vectors.vocabulary, found, by_class))
    else:
        _write(vectors.vocabulary, found, by_class, output, force)


def _tell_what_has_none(found: WordClasses) -> None:
    without = int((found.labels < 0).sum())
    if without:
        words = "1 word has" if without == 1 else f"{without:,} words have"
        warn(f"warning: {words} no direction (zero, or not finite) and class -1")


def _document(words: Vocabulary, found: WordClasses, by_class: bool) -> dict[str, Any]:
    labels = found.labels.tolist()
    return {
        "classes": len(found.centres),
        "mean_cosine": round(found.cosine, 6),
        "iterations": found.iterations,
        "settled": found.settled,
        "words": [
            {"word": words.word(row), "class": labels[row]}
            for row in found.order(by_class=by_class).tolist()
        ],
    }


def _write(
    words: Vocabulary, found: WordClasses, by_class: bool, output: Path | None, force: bool
) -> None:
    from w2v_sgns.corpus.vocabulary import decode_word
    from w2v_sgns.formats.atomic import replacing

    lines = found.lines(words, by_class=by_class)
    if output is not None:
        with replacing(output, force=force, suffixes=None) as stream:
            stream.writelines(lines)
    elif sys.stdout.isatty():
        for line in lines:
            word, _, label = decode_word(line[:-1]).rpartition("\t")
            typer.echo(f"{shown(word)}\t{label}")
    else:
        sys.stdout.buffer.writelines(lines)
