"""Vectors as text, a word and its numbers a line: word2vec text, fastText .vec, GloVe.

A header line may be there or not. The last d fields of a line are the numbers, whatever stands
before them is the word. What the numbers' digits mean is digits.py's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.formats.digits import NUMBER, BadNumberError, read_rows, write_rows
from w2v_sgns.formats.findings import plural
from w2v_sgns.formats.header import Layout, layout_of
from w2v_sgns.formats.rows import Loaded, Rows, Selection
from w2v_sgns.formats.source import Source

__all__ = ["TITLE", "load", "matches", "write"]

TITLE = "word2vec, GloVe or .vec text"
PIECE_BYTES = 1 << 20
MOST_ROWS = 1 << 63
MOST_LINE = 64 << 20  # bytes
MOST_WORD = 1 << 20  # bytes
BLANKS = b" \t\r"
WRITTEN_ROWS = 1024


def matches(head: bytes) -> bool:
    """Return whether a file that begins so holds vectors as text."""
    layout = layout_of(head)
    return layout is not None and not layout.binary


def load(source: Source, selection: Selection, *, keep: bool = True) -> Loaded:
    """Read the wanted rows; `keep=False` looks at all and keeps no numbers.

    Raises:
        FormatError: a header, row or number that cannot be; names the row and the byte.
    """
    layout = layout_of(source.head)
    assert layout is not None  # it matched
    check_header(source, layout, least_row=2 * layout.dim)
    source.read(layout.start)
    reader = _Reader(source, layout, selection, keep)
    reader.run()
    matrix, vocabulary = reader.rows.finish()
    notes = tuple(reader.rows.findings.sentences(reader.rows.count))
    kind = "GloVe text (no header)" if layout.header is None else "word2vec text"
    return Loaded(matrix, vocabulary, kind, notes)


def check_header(source: Source, layout: Layout, *, least_row: int) -> None:
    """Refuse a header that no file, or not this one, could keep.

    Args:
        source: the file.
        layout: what its head says.
        least_row: bytes that a row takes at least.
    """
    if layout.header is None:
        return
    rows, dim = layout.header
    if not 0 <= rows < MOST_ROWS or dim < 1 or (rows and dim > MOST_LINE):
        source.refuse(
            f"bad header: {rows:,} rows of {dim:,} numbers; needed: 0 to 2^63 rows of 1 to "
            f"{MOST_LINE:,} numbers",
            byte=0,
        )
    if source.size is not None and rows and source.size - layout.start < least_row:
        source.refuse(
            f"the header promises {rows:,} rows of {dim:,} numbers, which need at least "
            f"{rows * least_row:,} bytes; the file has {source.size:,}, not enough for one row",
            byte=0,
        )


class _Reader:
    """One pass over the lines."""

    def __init__(self, source: Source, layout: Layout, selection: Selection, keep: bool) -> None:
        self.source, self.layout, self.selection = source, layout, selection
        promised = 0 if layout.header is None else layout.header[0]
        most = (source.size or 0) // (2 * layout.dim)  # rows the file could hold
        limit = promised if selection.limit is None else min(promised, selection.limit)
        expected = min(limit, most) if selection.words is None else 0
        self.rows = Rows(source.path, layout.dim, expected=expected, keep=keep)
        self.seen = 0  # rows so far, wanted or not
        self.lines = 0

    def run(self) -> None:
        limit = self.selection.limit
        for lines, start in _lines(self.source):
            self._take(lines, start)
            self.source.rows = self.seen
            if limit is not None and self.seen >= limit:
                return
        header = self.layout.header
        if header is not None and header[0] != self.seen:
            self.rows.findings.notes.append(
                f"the header promises {plural(header[0], 'row')}, the file has {self.seen:,}; "
                f"all {self.seen:,} are read"
            )

    def _take(self, lines: list[bytes], start: int) -> None:
        """Split lines into words and numbers, read the numbers."""
        words, texts, numbers, places = [], [], [], []
        limit, wanted = self.selection.limit, self.selection.words
        for place, line in enumerate(lines):
            if limit is not None and self.seen >= limit:
                break
            parts = self._split(line, lines, place, start)
            if parts is None:
                continue
            self.seen += 1
            if wanted is None or parts[0] in wanted:
                words.append(parts[0])
                texts.append(parts[1])
                numbers.append(self.seen)
                places.append(place)
        self.lines += len(lines)
        if words:
            self._read(words, texts, np.array(numbers, np.int64), lines, places, start)

    def _read(
        self,
        words: list[bytes],
        texts: list[bytes],
        numbers: NDArray[np.int64],
        lines: list[bytes],
        places: list[int],
        start: int,
    ) -> None:
        try:
            read_rows(texts, self.rows.room(len(words)))
        except BadNumberError as error:
            byte = start + sum(len(line) + 1 for line in lines[: places[error.row]])
            self.source.refuse(
                f"row {numbers[error.row]:,} ({words[error.row]!a:.60}): {error.field!a:.60} is "
                f"no number; needed: {self.layout.dim:,} numbers with a decimal point",
                byte=byte,
            )
        self.rows.add(words, numbers)

    def _split(
        self, line: bytes, lines: list[bytes], place: int, start: int
    ) -> tuple[bytes, bytes] | None:
        """Return a line's word and the text of its numbers; None for a blank line."""
        separator, dim = self.layout.separator, self.layout.dim
        line = line.rstrip(BLANKS)
        if line.count(separator) == dim:
            word, _, text = line.partition(separator)
            if len(word) <= MOST_WORD:
                return word, text
        parts = line.rsplit(None, dim)
        if not parts:
            self.rows.findings.add("blank", [self.seen + 1])
            return None
        texts = parts[-dim:] if len(parts) >= dim else []
        if len(texts) < dim or (len(parts) == dim and line[:1] not in (b" ", b"\t")):
            byte = start + sum(len(other) + 1 for other in lines[:place])
            found = len(parts) if line[:1] in (b" ", b"\t") else len(parts) - 1
            self.source.refuse(
                f"row {self.seen + 1:,}: found {plural(found, 'number')} after the word, needed: "
                f"{dim:,}; the line is {line[:60]!a}",
                byte=byte,
            )
        word = _before(line, parts[0] if len(parts) > dim else b"", texts[0])
        if len(word) > MOST_WORD:
            self.source.refuse(
                f"row {self.seen + 1:,}: a word of {len(word):,} bytes; at most {MOST_WORD:,} "
                f"can be right: {word[:40]!a}…",
                byte=start + sum(len(other) + 1 for other in lines[:place]),
            )
        if len(fields := word.split()) > 1 and NUMBER.fullmatch(fields[-1]):
            self.rows.findings.add("number", [self.seen + 1])
        return word, b" ".join(texts)


def _before(line: bytes, word: bytes, first: bytes) -> bytes:
    """Return the word of a line with odd blanks; a word of blanks only loses its separator."""
    if word.strip(BLANKS):
        return line[: line.index(word) + len(word)] if line[:1] in (b" ", b"\t") else word
    blanks = line[: len(line) - len(line.lstrip(BLANKS))]
    return blanks[:-1]


def _lines(source: Source) -> Iterator[tuple[list[bytes], int]]:
    """Yield lists of whole lines without their ends, and the byte where the first begins."""
    start = source.position
    rest: list[bytes] = []  # pieces of a line that goes on
    length = 0
    while piece := source.read(PIECE_BYTES):
        cut = piece.rfind(b"\n") + 1
        if cut:
            whole = b"".join((*rest, piece[: cut - 1]))
            yield whole.split(b"\n"), start
            start += len(whole) + 1
            rest, length = [], 0
        rest.append(piece[cut:])
        length += len(piece) - cut
        if length > MOST_LINE:
            source.refuse(
                f"a line of more than {MOST_LINE:,} bytes ({rest[0][:40]!a}…): no text of vectors",
                byte=start,
            )
    last = b"".join(rest)
    if last:
        yield [last], start


def write(
    stream: BinaryIO, matrix: NDArray[np.float32], vocabulary: Vocabulary, *, header: bool = True
) -> None:
    """Write rows in the shortest digits that read back to the same float32.

    Args:
        stream: takes the bytes.
        matrix: (V, d).
        vocabulary: V words; the caller has made sure that the format can hold them.
        header: False: GloVe's layout, without the line of rows and numbers.
    """
    if header:
        stream.write(b"%d %d\n" % matrix.shape)
    words = vocabulary.iter_bytes()
    for start in range(0, len(matrix), WRITTEN_ROWS):
        lines = write_rows(matrix[start : start + WRITTEN_ROWS])
        stream.write(b"".join(b"%b %b\n" % (next(words), line) for line in lines))
