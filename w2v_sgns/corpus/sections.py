"""A text cut into parts of about the same size, for several readers: at line ends.

Plain files of UTF-8 are cut inside; compressed ones, addresses, columns and other encodings go
whole to one reader. Where no line ends for a mebibyte, the cut is between two words, and the line
goes on in the next part. Reads no more than what lies around the cuts.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.openers import File
from w2v_sgns.corpus.source import LINE_BREAK, SEPARATORS, Member, Source, TextMember
from w2v_sgns.streams import HEAD_BYTES, compression_of

__all__ = ["Section", "cut_source", "sections_of"]

LOOK = 1 << 20  # bytes behind a cut in which a line end is looked for
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # UTF-32's begin with them


@dataclass(frozen=True, kw_only=True)
class Section:
    """Bytes begin..end of one member of a source; end None: to its end."""

    member: int
    begin: int = 0
    end: int | None = None
    ends_line: bool = True  # its last line does not go on in the next section


def cut_source(source: Source, parts: int) -> list[list[Section]]:
    """Return the sections of each part, in the text's order; parts may be empty.

    Raises:
        CorpusError: a file cannot be read.
    """
    sizes = [member.size or 0 for member in source.members]
    places = [_place(source, sizes, sum(sizes) * n // parts) for n in range(1, parts)]
    edges = sorted([_Bound(0, 0, True), *places, _Bound(len(sizes), 0, True)])
    return [list(_between(*pair)) for pair in itertools.pairwise(edges)]


@dataclass(frozen=True, order=True)
class _Bound:
    """Ahead of a byte of a member."""

    member: int
    offset: int
    ends_line: bool


def _between(begin: _Bound, end: _Bound) -> Iterator[Section]:
    if (begin.member, begin.offset) == (end.member, end.offset):
        return
    for member in range(begin.member, end.member + (end.offset > 0)):
        first = begin.offset if member == begin.member else 0
        if member == end.member:
            yield Section(member=member, begin=first, end=end.offset, ends_line=end.ends_line)
        else:
            yield Section(member=member, begin=first)


def _place(source: Source, sizes: Sequence[int], position: int) -> _Bound:
    """Return a bound near a position of all bytes."""
    for number, size in enumerate(sizes):
        if position < size:
            return _inside(source.members[number], source.text, number, position, size)
        position -= size
    return _Bound(len(sizes), 0, True)


def _inside(member: Member, text: TextOptions, number: int, offset: int, size: int) -> _Bound:
    """Return a bound near an offset of a member: at its nearest end, if it cannot be cut."""
    opener = getattr(member, "opener", None)
    plain = isinstance(member, TextMember) and isinstance(opener, File) and _is_plain(opener, text)
    if offset == 0 or not plain:
        return _Bound(number + (2 * offset > size), 0, True)
    assert isinstance(opener, File)
    with open(opener.path, "rb") as stream:
        cut, ends_line = _cut_behind(stream, offset)
    return _Bound(number, cut, ends_line) if cut < size else _Bound(number + 1, 0, True)


def _is_plain(opener: File, text: TextOptions) -> bool:
    """Tell whether a file is UTF-8 as it lies there."""
    if codecs.lookup(text.encoding).name != "utf-8" or text.encoding_errors == "strict":
        return False  # the strict check tells lines and bytes from the file's start
    with open(opener.path, "rb") as stream:
        head = stream.read(HEAD_BYTES)
    return compression_of(head) is None and not head.startswith(MARKS[1:])


def _cut_behind(stream: BinaryIO, offset: int) -> tuple[int, bool]:
    """Return where to cut, at or behind an offset, and whether a line ends there."""
    base = offset - 1  # so that an offset that begins a line is a place
    data = _read(stream, base)
    at = data.find(LINE_BREAK, 0, LOOK)
    while at >= 0 and data.startswith(MARKS, at + 1):  # it would be taken for the file's mark
        at = data.find(LINE_BREAK, at + 1, LOOK)
    return (base + at + 1, True) if at >= 0 else _between_words(stream, base)


def _between_words(stream: BinaryIO, base: int) -> tuple[int, bool]:
    """Return the place behind the next line end, or ahead of the next word; see _cut_behind."""
    after = False
    while data := _read(stream, base):
        for place, byte in enumerate(data[:LOOK]):
            if byte == LINE_BREAK[0] and not data.startswith(MARKS, place + 1):
                return base + place + 1, True
            if after and _begins_word(data, place):
                return base + place, False
            after = byte in SEPARATORS
        base += len(data[:LOOK])
    return base, True


def _begins_word(data: bytes, place: int) -> bool:
    """Tell whether a word begins behind a separator, also where any Unicode space is one."""
    if data[place] in SEPARATORS or data.startswith(MARKS, place):
        return False
    first = data[place : place + 4].decode("utf-8", "ignore")[:1]
    return bool(first) and not first.isspace()


def _read(stream: BinaryIO, base: int) -> bytes:
    """Return LOOK bytes and a mark's length more."""
    stream.seek(base)
    return stream.read(LOOK + len(codecs.BOM_UTF8))


def sections_of(source: Source, sections: Sequence[Section]) -> Source:
    """Return a source of these sections alone."""
    return Source([_member(source, section) for section in sections], source.text)


def _member(source: Source, section: Section) -> Member:
    member = source.members[section.member]
    if section.begin == 0 and section.end is None:
        return member
    assert isinstance(member, TextMember)
    assert isinstance(member.opener, File)
    part = TextMember(_Bytes(member.opener, section), source.text)
    part.ends_line = section.ends_line
    return part


class _Bytes(File):
    """A part of a plain file."""

    def __init__(self, file: File, section: Section) -> None:
        super().__init__(file.path, label=file.label)
        self.name = file.name
        self._begin, whole = section.begin, self.size or 0
        self._whole = whole
        self.size = (whole if section.end is None else section.end) - section.begin

    @property
    def position(self) -> int:
        """Bytes of the part read so far."""
        raw = self._raw
        if raw is not None and not raw.closed:
            self._read = raw.tell() - self._begin
        return min(self._read, self.size or 0)

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the file at the part's start."""
        with super().open() as raw:
            raw.seek(self._begin)
            yield _Limited(raw, self.size or 0)

    def _check_unchanged(self) -> None:
        part, self.size = self.size, self._whole
        try:
            super()._check_unchanged()
        finally:
            self.size = part


class _Limited:
    """A stream that ends after so many bytes."""

    def __init__(self, raw: BinaryIO, size: int) -> None:
        self._raw, self._left = raw, size

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data
