"""What kind of word2vec-like file begins so: a header or none, text or bytes, how wide.

Looks at the first bytes only and reads no rows.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from w2v_sgns.formats.digits import NUMBER
from w2v_sgns.formats.sniff import is_known

__all__ = ["Layout", "layout_of"]

BOM = b"\xef\xbb\xbf"
HEADER = re.compile(rb"([+-]?\d{1,19})[ \t]+([+-]?\d{1,19})[ \t]*\r?\n")
WHOLE_HEADER = re.compile(rb"([+-]?\d{1,19})[ \t]+([+-]?\d{1,19})[ \t]*\r?\Z")
NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
TEXT_SAMPLE = 1 << 12
MOST_LINES = 100  # looked at for the width of a file without a header


@dataclass(frozen=True)
class Layout:
    """How to read the rows.

    Attributes:
        binary: numbers are raw float32, not text.
        header: rows and numbers a row that the first line promises; None without such a line.
        dim: numbers a row.
        start: the byte where the rows begin.
        separator: the byte between the fields of a text.
    """

    binary: bool
    header: tuple[int, int] | None
    dim: int
    start: int
    separator: bytes = b" "


def layout_of(head: bytes) -> Layout | None:
    """Return how a file that begins so is to be read; None where it holds no vectors.

    A header may promise nonsense (see :attr:`Layout.header`): that is for the reader to say.
    """
    mark = len(BOM) if head.startswith(BOM) else 0
    found = HEADER.match(head, mark) or WHOLE_HEADER.match(head, mark)
    if found and not _is_row(head, found.end(), int(found[2])):
        rows, dim = int(found[1]), int(found[2])
        binary = dim > 0 and not _is_text(head[found.end() :], dim)
        separator = b" " if binary else _separator(head[found.end() :])
        return Layout(binary, (rows, dim), dim, found.end(), separator)
    if b"\0" in head[:TEXT_SAMPLE] or is_known(head):
        return None
    separator = _separator(head[mark:])
    dim = _commonest_width(head[mark:], separator)
    return Layout(False, None, dim, mark, separator) if dim else None


def _is_row(head: bytes, end: int, dim: int) -> bool:
    """Tell whether two whole numbers are a word and its number: so is the next line, then."""
    following = head[end:].split(b"\n", 1)[0].split()
    return dim != 1 and len(following) == 2 and all(map(NUMBER.fullmatch, following))


def _is_text(rows: bytes, dim: int) -> bool:
    """Tell whether the rows after a header are text: the first line ends with d numbers."""
    line = rows.split(b"\n", 1)[0]
    if len(line) < len(rows):
        fields = line.rsplit(None, dim)
        if len(fields) >= dim and all(map(NUMBER.fullmatch, fields[-dim:])):
            return True
    return not NOT_TEXT.search(rows[:TEXT_SAMPLE])


def _separator(rows: bytes) -> bytes:
    line = rows.split(b"\n", 1)[0]
    return b"\t" if b"\t" in line.rstrip() and b" " not in line.rstrip() else b" "


def _commonest_width(text: bytes, separator: bytes) -> int:
    """Return how many numbers most of the first lines end with; 0 where most end with none."""
    lines = text.split(b"\n", MOST_LINES)[:MOST_LINES]
    if len(lines) > 1 and len(text) >= 1 << 16:
        lines = lines[:-1]  # the last one may be cut
    widths = [_width(line, separator) for line in lines if line.strip()]
    counted = Counter(widths).most_common()
    return min((width for width, times in counted if times == counted[0][1]), default=0)


def _width(line: bytes, separator: bytes) -> int:
    """Return how many numbers a line ends with; its first field is a word whatever it looks."""
    fields = line.rstrip(b" \t\r").split(separator)
    width = 0
    for field in reversed(fields[1:]):
        if field and not NUMBER.fullmatch(field):
            break
        width += bool(field)
    return width
