"""Encoded text to UTF-8: byte order marks, other encodings, the strict check.

UTF-8 passes through untouched, valid or not; what is wrong with it is found while counting.
This module does not split, count or open files.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from w2v_sgns.config import TextOptions
from w2v_sgns.errors import CorpusError

__all__ = ["utf8_pieces"]

UTF8 = "utf-8"
# The longer marks first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LONGEST_MARK = 4


def utf8_pieces(
    stream: BinaryIO, text: TextOptions, *, name: str, piece_bytes: int
) -> Iterator[bytes]:
    """Yield the stream's text as UTF-8, without its byte order mark.

    Raises:
        CorpusError: bytes that the encoding does not have; for UTF-8 only where
            `encoding_errors` is strict.
    """
    head = _filled(stream, _LONGEST_MARK)
    encoding = codecs.lookup(text.encoding).name
    if encoding == UTF8:
        mark, encoding = next(
            ((mark, coding) for mark, coding in _MARKS if head.startswith(mark)), (b"", UTF8)
        )
        if encoding == UTF8:
            head = head[len(mark) :]
    raw = _raw_pieces(head, stream, piece_bytes)
    if encoding != UTF8:
        return _decoded(raw, encoding, text.encoding_errors, name)
    if text.encoding_errors == "strict":
        offset = len(mark)
        return _checked(raw, offset, name)
    return raw


def _filled(stream: BinaryIO, count: int) -> bytes:
    """Read `count` bytes, fewer only at the end of the stream."""
    data = b""
    while len(data) < count and (more := stream.read(count - len(data))):
        data += more
    return data


def _raw_pieces(head: bytes, stream: BinaryIO, piece_bytes: int) -> Iterator[bytes]:
    if data := head + stream.read(piece_bytes):
        yield data
    while data := stream.read(piece_bytes):
        yield data


def _checked(pieces: Iterator[bytes], offset: int, name: str) -> Iterator[bytes]:
    """Yield the pieces as long as they are valid UTF-8; `offset`: bytes of the file before."""
    decoder = codecs.getincrementaldecoder(UTF8)("strict")
    place = _Place(name, UTF8, offset)
    for data in pieces:
        place.feed(data, decoder)
        yield data
    place.feed(b"", decoder, final=True)


def _decoded(pieces: Iterator[bytes], encoding: str, errors: str, name: str) -> Iterator[bytes]:
    """Decode; bytes that an 8-bit encoding does not have stay bytes unless errors are strict."""
    handler = "strict" if errors == "strict" else "surrogateescape"
    decoder = codecs.getincrementaldecoder(encoding)(handler)
    place = _Place(name, encoding, 0)
    at_start = True
    for data in pieces:
        decoded = place.feed(data, decoder)
        if at_start and decoded:  # utf-16-le given by name keeps its mark
            decoded, at_start = decoded.removeprefix("\ufeff"), False
        yield _encoded(decoded, place)
    yield _encoded(place.feed(b"", decoder, final=True), place)


def _encoded(text: str, place: _Place) -> bytes:
    try:
        return text.encode(UTF8, "surrogateescape")
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{place.name}: line {place.line:,} or before holds the lone surrogate "
            f"{text[error.start]!a}, which is no text in {place.encoding}"
        ) from error


class _Place:
    """Where a decoder stands in its file: for its errors."""

    def __init__(self, name: str, encoding: str, offset: int) -> None:
        self.name, self.encoding = name, encoding
        self.offset = offset  # bytes of the file handed over
        self.line = 1  # of what comes next

    def feed(self, data: bytes, decoder: codecs.IncrementalDecoder, *, final: bool = False) -> str:
        """Decode the next bytes of the file, or say where it cannot be done."""
        self.offset += len(data)
        try:
            text = decoder.decode(data, final)
        except UnicodeDecodeError as error:
            raise self._error(error) from error
        except UnicodeError as error:  # of a few codecs; it knows no place
            raise CorpusError(
                f"{self.name}: line {self.line:,} or behind: no text in {self.encoding} ({error}); "
                "give the right --encoding (utf-16-le or utf-16-be for UTF-16 without a mark)"
            ) from error
        self.line += text.count("\n")
        return text

    def _error(self, error: UnicodeDecodeError) -> CorpusError:
        start = self.offset - len(error.object) + error.start
        good = error.object[: error.start].decode(self.encoding, "ignore")
        found = error.object[error.start : error.end].hex(" ")
        advice = "give the right --encoding" + (
            ", or --encoding-errors keep" if self.encoding == UTF8 else ""
        )
        return CorpusError(
            f"{self.name}: line {self.line + good.count(chr(10)):,}, byte {start:,}: "
            f"{found} is not valid {self.encoding} ({error.reason}); {advice}"
        )
