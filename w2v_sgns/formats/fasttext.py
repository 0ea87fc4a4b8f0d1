"""fastText's model file (.bin): the input vectors of its whole words, with their counts.

Subword rows and the output matrix are passed over, and so said; quantised models are refused.
Nothing is written here. Layout: magic, version, 12 int32 and a double of settings; the
dictionary (word, zero byte, count int64, kind int8); a quantised flag; rows and columns (int64)
and the float32 of the input matrix.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.formats.findings import plural
from w2v_sgns.formats.rows import Loaded, Rows, Selection
from w2v_sgns.formats.source import Source

__all__ = ["TITLE", "load", "matches"]

TITLE = "fastText model (.bin)"
MAGIC = struct.pack("<i", 793712314)
VERSIONS = (11, 12)
SETTINGS = struct.Struct("<12id")
COUNTS = struct.Struct("<3i2q")  # entries, words, labels, tokens, pruned rows
ENTRY_BYTES = 10  # of a dictionary entry at least: zero byte, count, kind
MOST_WORD = 1 << 20
MOST_DIM = 1 << 26
WORD = 0  # kind of an entry
PIECE_BYTES = 1 << 20


def matches(head: bytes) -> bool:
    """Return whether a file that begins so is a fastText model."""
    return head.startswith(MAGIC)


def load(source: Source, selection: Selection, *, keep: bool = True) -> Loaded:
    """Read the wanted words' rows; `keep=False` looks at all and keeps no numbers.

    Raises:
        FormatError: of another version, quantised, damaged or cut short.
    """
    reader = _Cursor(source)
    version = struct.unpack("<4xi", reader.take(8, "the version"))[0]
    if version not in VERSIONS:
        source.refuse(f"fastText version {version}; needed: 11 or 12", byte=4)
    dim = SETTINGS.unpack(reader.take(SETTINGS.size, "the settings"))[0]
    words, counts, nwords = _dictionary(reader)
    if reader.take(1, "the quantised flag") != b"\0":
        source.refuse(
            "a quantised fastText model (.ftz) holds no plain vectors; use the model it was made "
            "from",
            byte=reader.position - 1,
        )
    rows, columns = struct.unpack("<2q", reader.take(16, "the size of the matrix"))
    if not 0 < dim <= MOST_DIM or columns != dim or rows < nwords:
        source.refuse(
            f"an input matrix of {rows:,} × {columns:,} for {plural(nwords, 'word')} of dim "
            f"{dim:,}: the file is damaged",
            byte=reader.position - 16,
        )
    reader.expect(rows * dim * 4, "the input matrix")
    collected = _rows(reader, selection, words, dim, keep)
    known = np.array([counts[number - 1] for number in collected[1]], np.int64)
    matrix, vocabulary = collected[0].finish(known)
    notes = collected[0].findings.sentences(collected[0].count)
    if rows > nwords:
        notes.append(
            f"{rows - nwords:,} rows of subwords are ignored: the vectors are those of whole "
            "words without their parts, as fastText's own queries would add them"
        )
    return Loaded(matrix, vocabulary, "fastText model (.bin), input vectors", tuple(notes))


def _dictionary(reader: _Cursor) -> tuple[list[bytes], list[int], int]:
    """Return the words, their counts and how many there are."""
    place = reader.position
    entries, nwords, nlabels, _, pruned = COUNTS.unpack(
        reader.take(COUNTS.size, "the dictionary's size")
    )
    if min(entries, nwords, nlabels) < 0 or nwords + nlabels != entries:
        reader.source.refuse(
            f"a dictionary of {entries:,} entries, {nwords:,} words and {nlabels:,} labels: the "
            "file is damaged",
            byte=place,
        )
    reader.expect(entries * ENTRY_BYTES, f"a dictionary of {entries:,} entries")
    words, counts = [], []
    for entry in range(entries):
        word = reader.until_zero(MOST_WORD, f"entry {entry + 1:,} of the dictionary")
        count, kind = struct.unpack("<qb", reader.take(9, f"entry {entry + 1:,} of the dictionary"))
        if count < 0 or (kind == WORD) != (entry < nwords):
            reader.source.refuse(
                f"entry {entry + 1:,} of the dictionary ({word!a:.60}) has count {count:,} and "
                f"kind {kind}; needed: a count from 0, words ahead of labels",
                byte=reader.position - 9,
            )
        words.append(word)
        counts.append(count)
    if pruned > 0:
        reader.expect(pruned * 8, "the table of pruned subwords")
        reader.skip(pruned * 8, "the table of pruned subwords")
    return words[:nwords], counts[:nwords], nwords


def _rows(
    reader: _Cursor, selection: Selection, words: list[bytes], dim: int, keep: bool
) -> tuple[Rows, list[int]]:
    """Return the rows of the wanted words, and their numbers in the file, from 1."""
    wanted = selection.words
    stop = len(words) if selection.limit is None else min(selection.limit, len(words))
    rows, numbers = Rows(reader.source.path, dim, keep=keep), []
    step = max(1, PIECE_BYTES // (4 * dim))
    for start in range(0, stop, step):
        some = words[start : min(start + step, stop)]
        raw = reader.take(4 * dim * len(some), f"the vector of word {start + 1:,}")
        block: NDArray[np.float32] = np.frombuffer(raw, "<f4").reshape(-1, dim)
        chosen = [row for row, word in enumerate(some) if wanted is None or word in wanted]
        if chosen:
            rows.room(len(chosen))[:] = block[chosen]
            found = np.array(chosen, np.int64) + (start + 1)
            rows.add([some[row] for row in chosen], found)
            numbers += found.tolist()
        reader.source.rows = start + len(some)
    return rows, numbers


class _Cursor:
    """Takes pieces of known size or up to a zero byte; a file that ends early is an error."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.position = 0
        self._data = b""
        self._place = 0

    def expect(self, count: int, what: str) -> None:
        """Refuse a promise of more bytes than the file has, where its size is known."""
        left = None if self.source.size is None else self.source.size - self.position
        if left is not None and count > left:
            self.source.refuse(
                f"{what} needs {count:,} bytes, the file has {left:,} more", byte=self.position
            )

    def take(self, count: int, what: str) -> bytes:
        """Return so many bytes."""
        while len(self._data) - self._place < count:
            self._more(count - (len(self._data) - self._place), what)
        data = self._data[self._place : self._place + count]
        self._place += count
        self.position += count
        return data

    def skip(self, count: int, what: str) -> None:
        """Pass over so many bytes."""
        while count:
            count -= len(self.take(min(count, PIECE_BYTES), what))

    def until_zero(self, most: int, what: str) -> bytes:
        """Return the bytes ahead of the next zero byte, which is passed over."""
        start = 0
        while (end := self._data.find(b"\0", self._place + start)) < 0:
            start = len(self._data) - self._place
            if start > most:
                break
            self._more(1, what)
        if end < 0 or end - self._place > most:
            self.source.refuse(f"{what}: a word of more than {most:,} bytes", byte=self.position)
        word = self._data[self._place : end]
        self.position += end + 1 - self._place
        self._place = end + 1
        return word

    def _more(self, needed: int, what: str) -> None:
        piece = self.source.read(max(needed, PIECE_BYTES))
        if not piece:
            found = len(self._data) - self._place
            self.source.refuse(
                f"the file ends in {what}: {found:,} bytes found, needed: {needed:,} more",
                byte=self.position,
            )
        self._data = self._data[self._place :] + piece
        self._place = 0
