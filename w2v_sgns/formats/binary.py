"""word2vec's binary file: a header line, then each word, a blank and d raw float32.

A line end may follow each row, some rows or none. Rows are found by their blanks, copied in
blocks, and never padded: a file that ends early is an error.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.formats.header import NOT_TEXT, Layout, layout_of
from w2v_sgns.formats.rows import Loaded, Rows, Selection, plural
from w2v_sgns.formats.source import HEAD_BYTES, Source
from w2v_sgns.formats.text import MOST_WORD, check_header

__all__ = ["TITLE", "load", "matches", "write"]

TITLE = "word2vec binary"
PIECE_BYTES = 1 << 20
WRITTEN_BYTES = 1 << 20
CHECKED_ROWS = 20  # for the width of the numbers


def matches(head: bytes) -> bool:
    """Return whether a file that begins so is word2vec binary."""
    layout = layout_of(head)
    return layout is not None and layout.binary


def load(source: Source, selection: Selection, *, keep: bool = True) -> Loaded:
    """Read the wanted rows; `keep=False` looks at all and keeps no numbers.

    Raises:
        FormatError: a header or row that cannot be; names the row and the byte.
    """
    layout = layout_of(source.head)
    assert layout is not None  # it matched
    check_header(source, layout, least_row=4 * layout.dim + 1)
    _check_width(source, layout)
    source.read(layout.start)
    reader = _Reader(source, layout, selection, keep)
    reader.run()
    matrix, vocabulary = reader.rows.finish()
    notes = tuple(reader.rows.findings.sentences(reader.rows.count))
    return Loaded(matrix, vocabulary, "word2vec binary", notes)


def _check_width(source: Source, layout: Layout) -> None:
    """Refuse 8-byte floats: read as such, more of the first rows begin with a word."""
    assert layout.header is not None
    rows = min(layout.header[0], CHECKED_ROWS)
    body, whole = source.head[layout.start :], len(source.head) < HEAD_BYTES
    narrow, wide = (_rows_that_fit(body, rows, n * layout.dim, whole) for n in (4, 8))
    if wide > narrow:
        source.refuse(
            f"the size does not fit {plural(layout.header[0], 'row')} of {layout.dim:,} 4-byte "
            "floats; these look like 8-byte floats, which this format does not know",
            byte=layout.start,
        )


def _rows_that_fit(body: bytes, rows: int, size: int, whole: bool) -> int:
    """Return how many rows of so many bytes begin with a word; one more if the end fits too."""
    place = 0
    for row in range(rows):
        blank = body.find(b" ", place)
        word = body[place : max(blank, place)].removeprefix(b"\n")
        if blank < 0 or NOT_TEXT.search(word) or blank + 1 + size > len(body):
            return row
        place = blank + 1 + size
    return rows + (whole and body[place:] in (b"", b"\n"))


class _Reader:
    """One pass over the rows."""

    def __init__(self, source: Source, layout: Layout, selection: Selection, keep: bool) -> None:
        assert layout.header is not None
        self.source, self.selection = source, selection
        self.promised = layout.header[0]
        self.size = 4 * layout.dim  # bytes of a row's numbers
        self.wanted = self.promised
        if selection.limit is not None:
            self.wanted = min(self.wanted, selection.limit)
        room = (source.size or 0) // (self.size + 1)  # rows the file could hold
        expected = min(self.wanted, room) if selection.words is None else 0
        self.rows = Rows(layout.dim, expected=expected, keep=keep)
        self.seen = 0

    def run(self) -> None:
        """Read block by block; `data` begins with a row that is not complete yet."""
        data, start = b"", self.source.position
        least = max(PIECE_BYTES, self.size)
        while self.seen < self.wanted:
            piece = self.source.read(least)
            if not piece:
                self._ends_early(data, start)
            data += piece
            used = self._take(data, start)
            data, start = data[used:], start + used
            self.source.rows = self.seen
        if self.seen == self.promised:
            self._look_behind(data)

    def _take(self, data: bytes, start: int) -> int:
        """Take in the complete rows of `data`; return how many bytes they have."""
        size, most = self.size, self.wanted - self.seen
        words: list[bytes] = []
        places: list[int] = []
        place, last = 0, len(data) - size
        find = data.find
        while len(words) < most:
            blank = find(b" ", place) + 1
            if blank == 0 or blank > last:
                break
            words.append(data[place : blank - 1])
            places.append(blank)
            place = blank + size
        self._check_word(data, place, start, words)
        words = [word[1:] if word[:1] == b"\n" else word for word in words]
        self._keep(words, places, data)
        self.seen += len(words)
        return place

    def _check_word(self, data: bytes, place: int, start: int, words: list[bytes]) -> None:
        """Refuse a word that is too long to be one, seen or not yet ended."""
        long = next((row for row, word in enumerate(words) if len(word) > MOST_WORD), None)
        if long is not None:
            place = sum(len(word) + 1 + self.size for word in words[:long])
        elif len(data) - place <= MOST_WORD or b" " in data[place : place + MOST_WORD + 1]:
            return
        row = self.seen + (len(words) if long is None else long) + 1
        self.source.refuse(
            f"row {row:,}: no blank ends the word within {MOST_WORD:,} bytes; it begins with "
            f"{data[place : place + 20]!a}: the file is damaged, or no word2vec binary",
            byte=start + place,
        )

    def _keep(self, words: list[bytes], places: list[int], data: bytes) -> None:
        wanted = self.selection.words
        chosen = range(len(words))
        if wanted is not None:
            chosen = [row for row in chosen if words[row] in wanted]  # type: ignore[assignment]
            words, places = [words[row] for row in chosen], [places[row] for row in chosen]
        if not words:
            return
        numbers = np.fromiter(chosen, np.int64, len(words)) + (self.seen + 1)
        # Every place of the bytes seen as the start of a row: copying some of these copies rows.
        every: NDArray[np.void] = np.ndarray(
            (len(data) - self.size + 1,), f"V{self.size}", data, strides=(1,)
        )
        out = self.rows.room(len(words))
        out[:] = every[places].view("<f4").reshape(out.shape)
        self.rows.add(words, numbers)

    def _ends_early(self, data: bytes, start: int) -> None:
        data = data.lstrip(b"\n") if len(data) < 2 else data
        word, blank, numbers = data.partition(b" ")
        word = word.removeprefix(b"\n")
        part = (
            f"word {word!a:.60}, {len(numbers):,} bytes of numbers found, needed: {self.size:,}"
            if blank
            else f"word so far {word!a:.60}, needed: a blank and {self.size:,} bytes of numbers"
        )
        self.source.refuse(
            f"the file ends in row {self.seen + 1:,} of {self.promised:,}: {part}; --limit "
            f"{self.seen} would read the complete rows",
            byte=start,
        )

    def _look_behind(self, data: bytes) -> None:
        """Note what follows the last row, a line end excepted."""
        extra = len(data)
        while piece := self.source.read(PIECE_BYTES):
            data = data or piece[:1]
            extra += len(piece)
        extra -= data[:1] == b"\n"
        if extra:
            self.rows.findings.notes.append(
                f"{plural(extra, 'byte')} after the last vector are not read: the header promises "
                f"{plural(self.promised, 'row')}"
            )


def write(stream: BinaryIO, matrix: NDArray[np.float32], vocabulary: Vocabulary) -> None:
    """Write every row with a line end behind it, as the C tool does.

    Args:
        stream: takes the bytes.
        matrix: (V, d).
        vocabulary: V words; the caller has made sure that the format can hold them.
    """
    stream.write(b"%d %d\n" % matrix.shape)
    words = vocabulary.iter_bytes()
    step = max(1, WRITTEN_BYTES // max(1, 4 * matrix.shape[1]))
    for start in range(0, len(matrix), step):
        rows = np.ascontiguousarray(matrix[start : start + step], "<f4")
        parts = [b"%b %b\n" % (next(words), row.tobytes()) for row in rows]
        stream.write(b"".join(parts))
