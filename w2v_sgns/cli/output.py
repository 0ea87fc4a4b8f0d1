"""Text for a terminal: words made harmless, columns that line up, JSON that any stdout takes."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import typer

from w2v_sgns.escape import shown

if TYPE_CHECKING:
    from w2v_sgns.evaluation.report import Table
    from w2v_sgns.vectors.vectors import Neighbours

__all__ = [
    "Markdown",
    "Terminal",
    "align",
    "hits_document",
    "hits_table",
    "shorten",
    "shown",
    "warn",
    "width",
    "write_json",
]

COLUMNS = 80
WIDEST_WORD = 60  # columns of a word in a list; --json has all of it

SURROGATE = re.compile("[\ud800-\udfff]")


def width(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    return sum(map(_letter_width, text)) if not text.isascii() else len(text)


def _letter_width(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def shorten(text: str, most: int) -> str:
    """Cut the text to so many columns, with … at the cut."""
    if width(text) <= most:
        return text
    used, kept = 0, []
    for letter in text:
        used += _letter_width(letter)
        if used >= most:
            break
        kept.append(letter)
    return "".join(kept) + "…"


def align(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Return one line a row, columns two blanks apart; those named in `right` end together."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for place, (cell, most) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (most - width(cell))
            cells.append(blanks + cell if place in right else cell + blanks)
        lines.append("  ".join(cells).rstrip())
    return lines


def write_json(document: Any) -> None:
    """Print one document; letters stay readable where stdout can show them."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    text = SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, indent=2)
    typer.echo(text)


def hits_table(title: str, hits: Neighbours) -> list[str]:
    """Return the lines of a list of words and their scores."""
    if not hits:
        why = "the vector is zero or not finite, or no other word may answer"
        return [_word(title), f"  no neighbours: {why}"]
    rows = [("  " + _word(other), f"{score:.4f}") for other, score in hits]
    return [_word(title), *align(rows, right=[1])]


def hits_document(hits: Neighbours, score: str) -> list[dict[str, Any]]:
    """Return words and their scores for JSON."""
    return [{"word": word, score: round(value, 6)} for word, value in hits]


def _word(word: str) -> str:
    return shorten(shown(word), WIDEST_WORD) or "(the empty word)"


def warn(line: str) -> None:
    """Print one line on stderr."""
    typer.echo(f"w2v: {shown(line)}", err=True)


class Terminal:
    """Tables and notes for 80 columns."""

    def table(self, table: Table) -> Iterator[str]:
        """Yield a title and the columns; a first column that is too wide is cut."""
        yield from _wrapped(shown(table.title), "")
        rows = [list(map(shown, row)) for row in table.rows]
        others = align([row[1:] for row in rows], right=range(len(rows[0])))
        most = COLUMNS - 2 - max(map(width, others))
        names = [[shorten(row[0], most)] for row in rows]
        for name, rest in zip(align([*names]), others, strict=True):
            yield f"{name}{' ' * (max(width(cell[0]) for cell in names) - width(name))}  {rest}"

    def notes(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield the notes, wrapped."""
        for line in lines:
            yield from _wrapped(shown(line), "  ")


class Markdown:
    """The same as Markdown."""

    def table(self, table: Table) -> Iterator[str]:
        """Yield a heading and a table whose numbers stand at the right."""
        yield from [f"### {_plain(table.title)}", ""]
        for place, row in enumerate(table.rows):
            yield "| " + " | ".join(map(_plain, row)) + " |"
            if place == 0:
                yield "|---|" + "---:|" * (len(row) - 1)
        yield ""

    def notes(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield the notes as a list."""
        return (f"- {_plain(line)}" for line in lines)


def _wrapped(text: str, indent: str) -> list[str]:
    further = indent + "  "
    return wrap(text, COLUMNS, initial_indent=indent, subsequent_indent=further) or [""]


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_|<>\[\]#])", r"\\\1", shown(text))
