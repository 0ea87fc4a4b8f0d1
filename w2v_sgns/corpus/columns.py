"""Corpora in columns: one field of JSON lines, one column of Parquet or Arrow files.

A string is text like any other, split by the usual rule; a list of strings or of whole numbers
is a line whose words are ready. Read in batches, in flat memory. Does not split text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.openers import File, Opener, Remote
from w2v_sgns.corpus.sentences import line_bytes
from w2v_sgns.corpus.text import utf8_pieces
from w2v_sgns.errors import CorpusError

__all__ = ["column_member"]

JQ = "jq -c '.[]' makes that of one long list"
ROWS = 4096  # of a column at a time
ARROW_MAGIC = b"ARROW1"
PARQUET_MAGIC = b"PAR1"


def column_member(opener: Opener, text: TextOptions) -> JsonLines | Table:
    """Return the member that reads the field or the column which `text` names."""
    return JsonLines(opener, text) if text.text_field is not None else Table(opener, text)


class _Column:
    """Values one after another, each a text or a ready-made line, all of one kind."""

    ends_line = True

    def __init__(self, opener: Opener, text: TextOptions) -> None:
        self.opener, self.text = opener, text
        self.name, self.label, self.once = opener.name, opener.label, opener.once
        self.ready = False
        self._kind: bool | None = None

    @property
    def size(self) -> int | None:
        """Bytes on disk; None where only reading tells."""
        return self.opener.size

    @property
    def position(self) -> int:
        """Bytes on disk read so far."""
        return self.opener.position

    def pieces(self, piece_bytes: int) -> Iterator[bytes]:
        """Yield the values as lines.

        Raises:
            CorpusError: a value is missing or is neither text nor a list of words.
        """
        waiting, size = [], 0
        for value, place in self._values(piece_bytes):
            waiting.append(self._line(value, place))
            size += len(waiting[-1])
            if size >= piece_bytes:
                yield b"".join(waiting)
                waiting, size = [], 0
        if waiting:
            yield b"".join(waiting)

    def _values(self, piece_bytes: int) -> Iterator[tuple[Any, str]]:
        raise NotImplementedError

    def _line(self, value: Any, place: str) -> bytes:
        if value is None:
            return b"\n"
        ready = not isinstance(value, (str, bytes))
        if self._kind is None:
            self._kind = self.ready = ready
        if self._kind is not ready:
            raise CorpusError(f"{place} mixes texts with lists of words; use one kind in a file")
        if isinstance(value, bytes):
            return value + b"\n"
        if isinstance(value, str):
            return _encoded(value, place) + b"\n"
        try:
            return line_bytes(value, place)
        except TypeError as error:
            raise CorpusError(f"{error}, or one string of text") from error


def _encoded(text: str, place: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{place} holds the lone surrogate {text[error.start]!a}, which is no text"
        ) from None


class JsonLines(_Column):
    """One field of a file with a JSON object on every line."""

    def _values(self, piece_bytes: int) -> Iterator[tuple[Any, str]]:
        field = self.text.text_field
        for number, line in enumerate(self._lines(piece_bytes), 1):
            place = f"{self.name}: line {number:,}"
            if line.isspace() or not line:
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise CorpusError(
                    f"{place} is no JSON ({error}); needed: one object a line ({JQ})"
                ) from error
            if not isinstance(record, dict):
                raise CorpusError(
                    f"{place} is {type(record).__name__}, needed: an object a line ({JQ})"
                )
            if field not in record:
                known = ", ".join(map(str, list(record)[:8])) or "none"
                raise CorpusError(
                    f"{place} has no field {field!r} (--text-field); its fields: {known}"
                )
            yield record[field], f"{place}, field {field!r}"

    def _lines(self, piece_bytes: int) -> Iterator[bytes]:
        with self.opener.open() as stream:
            rest: list[bytes] = []
            for data in utf8_pieces(stream, self.text, name=self.name, piece_bytes=piece_bytes):
                first, *lines = data.split(b"\n")
                rest.append(first)
                if lines:
                    yield b"".join(rest)
                    yield from lines[:-1]
                    rest = [lines[-1]]
            yield b"".join(rest)


class Table(_Column):
    """One column of a Parquet file, an Arrow file or an Arrow stream."""

    def _values(self, piece_bytes: int) -> Iterator[tuple[Any, str]]:
        row = 0
        for batch in self._batches():
            for value in batch.column(0).to_pylist():
                row += 1
                yield value, f"{self.name}: row {row:,}, column {self.text.column!r}"

    def _batches(self) -> Iterator[Any]:
        try:
            import pyarrow as arrow
        except ImportError:
            raise CorpusError(
                f"{self.name}: Parquet and Arrow files need the package pyarrow: "
                "pip install 'w2v-sgns[arrow]'"
            ) from None
        if not isinstance(self.opener, (File, Remote)):
            raise CorpusError(f"{self.name}: a table cannot be read from a pipe; save it as a file")
        stream: Any = (
            self.opener.path.open("rb") if isinstance(self.opener, File) else (self.opener.raw())
        )
        if isinstance(self.opener, File):
            self.opener.follow(stream)
        with stream:
            try:
                yield from self._read(stream)
            except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError, OSError) as error:
                reason = str(error).splitlines()[0]
                raise CorpusError(
                    f"{self.name}: is no readable Parquet or Arrow file ({reason}); a text needs "
                    "no --column"
                ) from error

    def _read(self, stream: Any) -> Iterator[Any]:
        from pyarrow import ipc, parquet

        magic = stream.read(6)
        stream.seek(0)
        if magic.startswith(PARQUET_MAGIC):
            file = parquet.ParquetFile(stream)
            self._check(file.schema_arrow.names)
            yield from file.iter_batches(ROWS, columns=[self.text.column])
        elif magic == ARROW_MAGIC:
            reader = ipc.open_file(stream)
            self._check(reader.schema.names)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index).select([self.text.column])
        else:
            batches = ipc.open_stream(stream)
            self._check(batches.schema.names)
            for batch in batches:
                yield batch.select([self.text.column])

    def _check(self, names: list[str]) -> None:
        if self.text.column not in names:
            raise CorpusError(
                f"{self.name}: has no column {self.text.column!r} (--column); its columns: "
                + ", ".join(names[:12])
            )
