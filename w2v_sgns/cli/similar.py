"""`w2v similar`: the nearest words of words, of a mean of words, or of a vector."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from w2v_sgns.cli.options import (
    DEFAULT_MODEL,
    DebugOption,
    JsonOption,
    ModelOption,
    RestrictOption,
    TopOption,
)
from w2v_sgns.cli.output import hits_document, hits_table, warn, write_json

if TYPE_CHECKING:
    from w2v_sgns.vectors.vectors import Neighbours, Vectors

__all__ = ["similar"]

PROMPT = "word> "
STDIN = "-"


def similar(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD...]",
            help="Words of the model, as it spells them; - reads one a line. None: a prompt.",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = DEFAULT_MODEL,
    top: TopOption = 10,
    restrict: RestrictOption = None,
    mean: Annotated[bool, typer.Option("--mean", help="One list, for the mean of all.")] = False,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="WORD", help="Subtract this word; implies --mean."),
    ] = None,
    by_vector: Annotated[
        bool,
        typer.Option("--by-vector", help="Read JSON from stdin: a list of numbers, or of lists."),
    ] = False,
    index: Annotated[
        bool,
        typer.Option("--index", help="Approximate search, for millions of words (extra: ann)."),
    ] = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the words nearest to each WORD, by cosine; every word gets its own list."""
    asked = list(words or ())
    talking = not (asked or without or by_vector)
    if by_vector and (asked or without or mean):
        raise typer.BadParameter("--by-vector asks with stdin; leave out the words")
    if talking and (json or mean or not (sys.stdin.isatty() and sys.stdout.isatty())):
        raise typer.BadParameter("name a word, or - to read words from stdin")
    from w2v_sgns.formats import load_vectors

    vectors = load_vectors(model)
    search = _Search(vectors, model if index else None, top, restrict)
    if talking:
        _talk(search)
        return
    if by_vector:
        lists = search.by_vector(_read_vectors())
    else:
        asked = [word for one in asked for word in (_read_words() if one == STDIN else [one])]
        lists = search.mean(asked, without or []) if mean or without else search.each(asked)
    _print(lists, json=json)


class _Search:
    """The vectors, how many answers are wanted, and by which kind of search."""

    def __init__(
        self, vectors: Vectors, index_of: Path | None, topn: int, restrict: int | None
    ) -> None:
        self.vectors = vectors
        self.options: dict[str, Any] = {"topn": topn, "restrict": restrict}
        if index_of is not None:
            from w2v_sgns.vectors.ann import open_index

            self.options["index"] = open_index(vectors, index_of, say=warn)

    def each(self, words: Sequence[str]) -> list[tuple[str, Neighbours]]:
        """Return a list for every word."""
        found = self.vectors.most_similar_each(words, **self.options)
        return list(zip(words, found, strict=True))

    def mean(self, words: list[str], without: list[str]) -> list[tuple[str, Neighbours]]:
        """Return one list, for the mean of all."""
        title = " + ".join(words) + "".join(f" - {word}" for word in without)
        return [(title.strip(), self.vectors.most_similar(words, without, **self.options))]

    def by_vector(self, vectors: dict[str, Any]) -> list[tuple[str, Neighbours]]:
        """Return a list for every vector."""
        return [
            (name, self.vectors.similar_by_vector(vector, **self.options))
            for name, vector in vectors.items()
        ]


def _print(lists: list[tuple[str, Neighbours]], *, json: bool) -> None:
    if json:
        write_json(
            [{"word": name, "similar": hits_document(hits, "cosine")} for name, hits in lists]
        )
        return
    for place, (name, hits) in enumerate(lists):
        typer.echo("\n" * (place > 0) + "\n".join(hits_table(name, hits)))


def _talk(search: _Search) -> None:
    """Answer line by line until the end of input; unknown words do not end it."""
    from w2v_sgns.errors import UnknownWordError

    _remember_lines()
    for line in _lines():
        words = [line] if line in search.vectors else line.split()
        try:
            _print(search.each(words), json=False)
        except UnknownWordError as error:
            warn(str(error))


def _remember_lines() -> None:
    """Give the prompt a history and editing, where the system has them."""
    try:
        import readline  # noqa: F401  # input() uses it once it is loaded
    except ImportError:
        return  # Windows has its own


def _lines() -> Iterator[str]:
    while True:
        try:
            line = input(PROMPT).strip()
        except EOFError:
            typer.echo()
            return
        if line:
            yield line


def _read_words() -> list[str]:
    """Return the lines of stdin; bytes that are no UTF-8 stay what they are."""
    from w2v_sgns.corpus.vocabulary import decode_word

    lines = (line.rstrip(b"\r\n") for line in sys.stdin.buffer)
    return [decode_word(line) for line in lines if line.strip()]


def _read_vectors() -> dict[str, Any]:
    """Return named vectors from JSON: one list of numbers, several, or a table of them."""
    import json

    from w2v_sgns.errors import ConfigError

    try:
        document = json.loads(sys.stdin.buffer.read())
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"stdin: no valid JSON: {error}") from error
    if isinstance(document, list) and document and isinstance(document[0], list):
        document = {f"vector {place}": one for place, one in enumerate(document, start=1)}
    named = document if isinstance(document, dict) else {"vector": document}
    for name, vector in named.items():
        if not isinstance(vector, list) or not all(type(x) in (int, float) for x in vector):
            raise ConfigError(f"stdin: {name!a:.80} is no list of numbers")
    return named
