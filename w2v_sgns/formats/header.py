"""What kind of word2vec-like file begins so: a header or none, text or bytes, how wide.

Looks at the first bytes only and reads no rows.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from w2v_sgns.formats.digits import NUMBER
from w2v_sgns.formats.sniff import is_known, lacks_line_feeds
from w2v_sgns.formats.source import HEAD_BYTES

__all__ = ["Layout", "layout_of", "rows_that_fit"]

BOM = b"\xef\xbb\xbf"
HEADER = re.compile(rb"([+-]?\d{1,40})[ \t]+([+-]?\d{1,40})[ \t]*\r?\n")
WHOLE_HEADER = re.compile(rb"([+-]?\d{1,40})[ \t]+([+-]?\d{1,40})[ \t]*\r?\Z")
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
        body = head[found.end() :]
        binary = dim > 0 and not _is_text(body, rows, dim, whole=len(head) < HEAD_BYTES)
        separator = b" " if binary else _separator(body)
        return Layout(binary, (rows, dim), dim, found.end(), separator)
    if b"\0" in head[:TEXT_SAMPLE] or is_known(head) or lacks_line_feeds(head):
        return None
    separator = _separator(head[mark:])
    dim = _commonest_width(head[mark:], separator)
    return Layout(False, None, dim, mark, separator) if dim else None


def _is_row(head: bytes, end: int, dim: int) -> bool:
    """Tell whether two whole numbers are a word and its number: so is the next line, then."""
    following = head[end:].split(b"\n", 1)[0].split()
    return dim != 1 and len(following) == 2 and all(map(NUMBER.fullmatch, following))


def _is_text(body: bytes, rows: int, dim: int, *, whole: bool) -> bool:
    """Tell whether the rows after a header are text: the first line ends with d numbers.

    A damaged text is still one; a few raw numbers may look like letters, but fit the file.
    """
    line = body.split(b"\n", 1)[0]
    if len(line) < len(body):
        fields = line.rsplit(None, dim)
        if len(fields) >= dim and all(map(NUMBER.fullmatch, fields[-dim:])):
            return True
    if NOT_TEXT.search(body[:TEXT_SAMPLE]):
        return False
    return not (whole and rows_that_fit(body, rows, 4 * dim, whole=True) > rows > 0)


def rows_that_fit(body: bytes, rows: int, size: int, *, whole: bool) -> int:
    """Return how many rows of so many bytes begin with a word; one more if the end fits too.

    Args:
        body: what follows the header.
        rows: looked at.
        size: bytes of a row's numbers.
        whole: whether `body` is all there is.
    """
    place = 0
    for row in range(rows):
        blank = body.find(b" ", place)
        word = body[place : max(blank, place)].removeprefix(b"\n")
        if blank < 0 or NOT_TEXT.search(word) or blank + 1 + size > len(body):
            return row
        place = blank + 1 + size
    return rows + (whole and body[place:] in (b"", b"\n"))


def _separator(rows: bytes) -> bytes:
    line = rows.split(b"\n", 1)[0]
    return b"\t" if b"\t" in line.rstrip() and b" " not in line.rstrip() else b" "


def _commonest_width(text: bytes, separator: bytes) -> int:
    """Return how many numbers most of the first lines end with; 0 where most end with none."""
    lines = text.split(b"\n", MOST_LINES)[:MOST_LINES]
    if len(lines) > 1 and len(text) >= HEAD_BYTES - len(BOM):
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
