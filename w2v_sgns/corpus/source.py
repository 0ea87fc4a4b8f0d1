"""Where the text comes from: one plain file, read in blocks of bytes.

A source yields blocks that end right after a separator byte, so that no token straddles two of
them, however long the token. It does not split, decode or count. Compression, pipes and many
files will be further classes with the same four members.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from w2v_sgns.errors import CorpusError

__all__ = ["LINE_BREAK", "SEPARATORS", "FileSource", "open_source"]

LINE_BREAK = b"\n"  # the one byte that ends a line
SEPARATORS = b" \t\r\v\f" + LINE_BREAK  # the bytes that end a token; all others belong to words
_BOM = b"\xef\xbb\xbf"  # of UTF-8; at the start of a file it is a mark, elsewhere part of a word
_FIRST_LOOK = 4096  # bytes searched for the last separator before the whole block is


class FileSource:
    """A plain file as blocks of bytes.

    Attributes:
        names: the file's name as it was given.
        sizes: its bytes on disk.
        position: bytes read so far, for progress; never above `size`, even if the file grows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: tuple[str, ...] = (str(path),)
        self.sizes: tuple[int, ...] = (_plain_file_size(path),)
        self.position = 0

    @property
    def size(self) -> int:
        """Bytes on disk, all files together."""
        return sum(self.sizes)

    def blocks(self, block_bytes: int) -> Iterator[bytes]:
        """Yield the text, about `block_bytes` at a time, each cut right after a separator.

        Only the last block may end within a token's last byte (the end of the file ends it), and
        a block is longer than `block_bytes` where one token is.

        Raises:
            CorpusError: the file cannot be read.
        """
        self.position = 0
        parts: list[bytes] = []  # text after the last separator seen: the start of a token
        for data in self._read(block_bytes):
            cut = _after_last_separator(data)
            if cut:
                yield b"".join((*parts, memoryview(data)[:cut]))
                parts.clear()
            if cut < len(data):
                parts.append(data[cut:])
        if parts:
            yield b"".join(parts)

    def _read(self, block_bytes: int) -> Iterator[bytes]:
        """Yield the file's bytes without its byte order mark, `block_bytes` at most a time."""
        try:
            with self.path.open("rb", buffering=0) as file:
                data = _without_mark(_filled(file, len(_BOM)))
                while data or not self.position:
                    self.position = min(file.tell(), self.size)
                    yield data
                    data = file.read(block_bytes)
        except OSError as error:
            raise _unreadable(self.path, error) from error


def open_source(path: Path | str) -> FileSource:
    """Return the source of the text at `path`.

    Raises:
        CorpusError: no such file, a directory, not a plain file, empty, or not readable.
    """
    source = FileSource(Path(path))
    if source.size == 0:
        raise CorpusError(f"{path}: the file is empty (0 bytes); there is no text to train on")
    return source


def _plain_file_size(path: Path) -> int:
    """Return the bytes of the plain, readable file at `path`."""
    try:
        status = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise CorpusError(f"{path}: is a directory; give the path of a text file")
    if not stat.S_ISREG(status.st_mode):
        raise CorpusError(f"{path}: is not a plain file; write its text to a file and give that")
    if not os.access(path, os.R_OK):
        raise CorpusError(f"{path}: cannot be read (no permission)")
    return status.st_size


def _unreadable(path: Path, error: OSError) -> CorpusError:
    if isinstance(error, FileNotFoundError):
        place = "" if path.is_absolute() else f" in {Path.cwd()}"
        return CorpusError(f"{path}: no such file{place}; give the path of a text file")
    return CorpusError(f"{path}: cannot be read ({error.strerror or error})")


def _filled(file: BinaryIO, count: int) -> bytes:
    """Read `count` bytes, fewer only at the end of the file."""
    data = b""
    while len(data) < count and (more := file.read(count - len(data))):
        data += more
    return data


def _without_mark(start: bytes) -> bytes:
    return b"" if start == _BOM else start


def _after_last_separator(data: bytes) -> int:
    """Return the position behind the last separator byte of `data`, 0 if there is none."""
    start = max(0, len(data) - _FIRST_LOOK)
    while True:
        last = max(data.rfind(separator, start) for separator in _EACH_SEPARATOR)
        if last >= 0 or start == 0:
            return last + 1
        start = 0


_EACH_SEPARATOR = tuple(bytes((byte,)) for byte in SEPARATORS)
