"""word2vec's binary file: a header line, then each word, a blank and d raw float32.

A line end may follow each row, some rows or none. Rows are found by their blanks, copied in
blocks that stay in the processor's cache, and never padded: a file that ends early is an error.
"""

from __future__ import annotations

import re
from typing import BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.formats.findings import plural
from w2v_sgns.formats.header import Layout, layout_of, rows_that_fit
from w2v_sgns.formats.rows import Loaded, Rows, Selection
from w2v_sgns.formats.source import HEAD_BYTES, Source
from w2v_sgns.formats.text import MOST_WORD, check_header

__all__ = ["TITLE", "load", "matches", "write"]

TITLE = "word2vec binary"
BUFFER_BYTES = 1 << 19  # half a megabyte: read, looked through and copied within the cache
WRITTEN_BYTES = 1 << 20
BLANK = ord(" ")
CHECKED_ROWS = 20  # for the width of the numbers
UNLIKELY = 1000  # times the rows of the file in its header: more than a broken download


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
    narrow, wide = (rows_that_fit(body, rows, n * layout.dim, whole=whole) for n in (4, 8))
    if wide > narrow:
        source.refuse(
            f"the size does not fit {plural(layout.header[0], 'row')} of {layout.dim:,} 4-byte "
            "floats; these look like 8-byte floats, which this format does not know",
            byte=layout.start,
        )


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
        self.rows = Rows(source.path, layout.dim, expected=expected, keep=keep)
        self.seen = 0
        # A word, a blank and a row; no row ends in what is left. No byte is looked at twice.
        self.pattern = re.compile(rb"([^ ]*+) .{%d}|.+" % self.size, re.DOTALL)
        self.buffer = bytearray(BUFFER_BYTES)
        self.place, self.end = 0, 0  # of what is not taken in yet

    def run(self) -> None:
        """Read block by block; a block begins with a row that is not complete yet."""
        while self.seen < self.wanted:
            if not self._fill():
                self._ends_early()
            self._take()
            self.source.rows = self.seen
        if self.seen == self.promised:
            self._look_behind()

    def _fill(self) -> bool:
        """Move what is left to the front of the buffer and read on; False at the end."""
        left, view = self.end - self.place, memoryview(self.buffer)
        if left > len(view) // 2:  # a row that the buffer does not hold
            self.buffer = bytearray(2 * len(view))
        wider = memoryview(self.buffer)
        wider[:left] = view[self.place : self.end]
        count = self.source.readinto(wider[left:])
        self.place, self.end = 0, left + count
        return count > 0

    @property
    def _start(self) -> int:
        """Byte of the file where what is not taken in begins."""
        return self.source.position - (self.end - self.place)

    def _take(self) -> None:
        """Take in the complete rows of the buffer."""
        # What is left at the end is found as one more word, an empty one, which has no blank.
        found: list[bytes] = self.pattern.findall(self.buffer, self.place, self.end)
        lengths = np.fromiter(map(len, found), np.int64, len(found))
        ends = np.cumsum(lengths + (1 + self.size)) + self.place  # of the rows
        count = int(np.searchsorted(ends, self.end, side="right"))
        count -= count > 0 and self.buffer[ends[count - 1] - self.size - 1] != BLANK
        count = min(count, self.wanted - self.seen)
        rest = int(ends[count - 1]) if count else self.place
        self._check_words(lengths[:count], rest)
        self._keep(_without_line_ends(found[:count]), ends[:count] - self.size)
        self.seen += count
        self.place = rest

    def _check_words(self, lengths: NDArray[np.int64], rest: int) -> None:
        """Refuse a word that is too long to be one, seen or not yet ended."""
        most = MOST_WORD + 1  # the line end of the row ahead may lead
        long = np.flatnonzero(lengths > most)
        if len(long):
            row = int(long[0])
            self._refuse_word(row, self.place + int(lengths[:row].sum()) + row * (1 + self.size))
        if self.end - rest > most and self.buffer.find(b" ", rest, rest + most + 1) < 0:
            self._refuse_word(len(lengths), rest)

    def _refuse_word(self, row: int, place: int) -> NoReturn:
        self.source.refuse(
            f"row {self.seen + row + 1:,}: no blank ends the word within {MOST_WORD:,} bytes; it "
            f"begins with {bytes(self.buffer[place : place + 20])!a}: the file is damaged, or no "
            "word2vec binary",
            byte=self._start + place - self.place,
        )

    def _keep(self, words: list[bytes], places: NDArray[np.int64]) -> None:
        """Take in the wanted ones of these words; `places` are where their numbers begin."""
        wanted = self.selection.words
        chosen = np.arange(len(words))
        if wanted is not None:
            chosen = np.flatnonzero([word in wanted for word in words])
            words, places = [words[row] for row in chosen.tolist()], places[chosen]
        if not words:
            return
        broken = [row for row, word in enumerate(words) if b"\n" in word]
        if broken:
            self.rows.findings.add("line", (chosen[broken] + (self.seen + 1)).tolist())
        # Every place of the buffer seen as the start of a row: copying some of these copies rows.
        every: NDArray[np.void] = np.ndarray(
            (len(self.buffer) - self.size + 1,), f"V{self.size}", self.buffer, strides=(1,)
        )
        out = self.rows.room(len(words))
        out[:] = every[places].view("<f4").reshape(out.shape)
        self.rows.add(words, chosen + (self.seen + 1))

    def _ends_early(self) -> NoReturn:
        data = bytes(self.buffer[self.place : self.end])
        data = data.lstrip(b"\n") if len(data) < 2 else data
        word, blank, numbers = data.partition(b" ")
        word = word.removeprefix(b"\n")
        part = (
            f"word {word!a:.60}, {len(numbers):,} bytes of numbers found, needed: {self.size:,}"
            if blank
            else f"word so far {word!a:.60}, needed: a blank and {self.size:,} bytes of numbers"
        )
        advice = f"--limit {self.seen} would read the complete rows"
        if self.promised > UNLIKELY * (self.seen + 1):  # rows cut out of noise, perhaps
            advice = "the header is damaged, or nearly all of the file is missing"
        self.source.refuse(
            f"the file ends in row {self.seen + 1:,} of {self.promised:,}: {part}; {advice}",
            byte=self._start,
        )

    def _look_behind(self) -> None:
        """Note what follows the last row, a line end excepted."""
        extra, first = 0, b""
        while self.end > self.place or self._fill():
            first = first or bytes(self.buffer[self.place : self.place + 1])
            extra += self.end - self.place
            self.place = self.end
        extra -= first == b"\n"
        if extra:
            self.rows.findings.notes.append(
                f"{plural(extra, 'byte')} after the last vector are not read: the header promises "
                f"{plural(self.promised, 'row')}"
            )


def _without_line_ends(words: list[bytes]) -> list[bytes]:
    """Return the words, which hold no blank, without a line end ahead."""
    joined = b" ".join((b"", *words))
    return joined.replace(b" \n", b" ").split(b" ")[1:]


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
