"""Text for a terminal: words made harmless, columns that line up, JSON that any stdout takes."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

import typer

__all__ = ["align", "shorten", "shown", "width", "write_json"]

JOINERS = "\u200c\u200d"  # invisible, but Persian and Indic words are spelled with them
SURROGATE = re.compile("[\ud800-\udfff]")


def shown(text: str) -> str:
    r"""Return the text with controls, bidi marks, odd blanks and broken bytes escaped (`\x1b`)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in JOINERS else _escape(c) for c in text)


def _escape(letter: str) -> str:
    if "\udc80" <= letter <= "\udcff":  # a byte that was no UTF-8
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter.encode("unicode_escape").decode()


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
