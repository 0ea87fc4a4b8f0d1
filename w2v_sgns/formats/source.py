"""A file or pipe of vectors as plain bytes, front to back, with the place of every byte.

Compression is taken away here; what the bytes mean is the formats' business. Where a format
needs all of its bytes at hand, a plain file is mapped, and what is packed or comes through a pipe
is first unpacked by spool.py.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import FormatError, StreamError
from w2v_sgns.formats.spool import Spool
from w2v_sgns.streams import HEAD_BYTES as MAGIC_BYTES
from w2v_sgns.streams import PIECE_BYTES, compression_of, open_decompressed

__all__ = ["HEAD_BYTES", "Source", "refuse_pipe"]

HEAD_BYTES = 1 << 16  # looked at to tell what a file is

T = TypeVar("T")


class Source:
    """The plain bytes of one file.

    Attributes:
        path: the file.
        packed: "gzip" and the like, or None.
        size: plain bytes in all; None where only reading to the end tells (packed, or a pipe).
        position: plain bytes handed out so far.
        rows: that a reader has read; for the message about damage.
        head: the first bytes, `HEAD_BYTES` at most; reading starts with them all the same.

    Raises:
        FormatError: missing, a directory, unreadable or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.packed: str | None = None
        self.size: int | None = None
        self.rows = 0
        self._fault = ""
        try:
            self._look(path)
            self._stream: BinaryIO = open_decompressed(path)
        except StreamError as error:
            raise FormatError(str(error)) from error
        except FileNotFoundError as error:
            raise FormatError(
                f"{path}: no such file; name a model with -m, or train one with: w2v train CORPUS"
            ) from error
        except OSError as error:
            raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from error
        try:
            self.head = self._ahead = self._take(HEAD_BYTES)
        except BaseException:
            self._stream.close()
            raise

    def _look(self, path: Path) -> None:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise FormatError(f"{path}: is a directory; name the file of vectors in it")
        self.regular = stat.S_ISREG(status.st_mode)
        if self.regular:
            with path.open("rb") as stream:
                self.packed = compression_of(stream.read(MAGIC_BYTES))
            self.size = None if self.packed else status.st_size

    @property
    def remaining(self) -> int | None:
        """Plain bytes not handed out yet, where that is known."""
        return None if self.size is None else max(0, self.size - self.position)

    @property
    def stored(self) -> int:
        """Bytes that the file takes; of a pipe, those that came."""
        return self.path.stat().st_size if self.regular else self.position

    def read(self, count: int) -> bytes:
        """Return `count` bytes, fewer only at the end.

        Raises:
            FormatError: the file is damaged, cut short or cannot be read.
        """
        data = self._ahead[:count]
        self._ahead = self._ahead[count:]
        if len(data) < count and not (data and self._fault):
            data += self._take(count - len(data))
        self.position += len(data)
        return data

    def readinto(self, buffer: memoryview) -> int:
        """Fill the front of a buffer and return how many bytes; 0 only at the end.

        Raises:
            FormatError: as :meth:`read`.
        """
        if self._ahead:
            data, self._ahead = self._ahead[: len(buffer)], self._ahead[len(buffer) :]
            buffer[: len(data)] = data
            count = len(data)
        else:
            stream: Any = self._stream
            count = self._guarded(lambda: int(stream.readinto1(buffer)), 0)
            if self._fault:
                self._tell_fault()
        self.position += count
        return count

    def _take(self, count: int) -> bytes:
        """Read on; what comes before damage is handed out first, then the damage is told."""
        pieces: list[bytes] = []
        stream: Any = self._stream
        while count and not self._fault:
            most = min(count, PIECE_BYTES)
            piece = self._guarded(lambda most=most: bytes(stream.read1(most)), b"")  # type: ignore[misc]
            if not piece:
                break
            pieces.append(piece)
            count -= len(piece)
        if self._fault and not pieces:
            self._tell_fault()
        return b"".join(pieces)

    def _guarded(self, read: Callable[[], T], nothing: T) -> T:
        """Read once; damage is remembered, and nothing returned."""
        if not self._fault:
            try:
                return read()
            except StreamError as error:
                self._fault = str(error)
            except OSError as error:
                self._fault = f"{self.path}: cannot be read on: {error.strerror or error}"
        return nothing

    def _tell_fault(self) -> NoReturn:
        rows = f"; {self.rows:,} rows were read before" if self.rows else ""
        raise FormatError(self._fault + rows)

    def mapped(self, count: int) -> NDArray[np.uint8]:
        """Return the next `count` bytes, which must be the last, mapped and read-only.

        Raises:
            FormatError: fewer or more bytes are there, or the file is damaged.
            ResourceError: what is packed or a pipe finds no room on the disk of temporary files.
        """
        if self.size is not None and self.remaining != count:
            self._refuse_rest(count, f"{self.remaining:,}")
        if not count:
            if self.read(1):
                self._refuse_rest(count, "more")
            return np.empty(0, np.uint8)
        if self.size is not None:
            place, self.position = self.position, self.size
            return np.memmap(self._stream, np.uint8, "r", place, (count,)).view(np.ndarray)
        with Spool(self.path, count) as spool:
            left = count
            while left and (piece := self.read(min(left, PIECE_BYTES))):
                spool.write(piece)
                left -= len(piece)
            if left or self.read(1):
                self._refuse_rest(count, f"{count - left:,}" if left else "more")
            return np.memmap(spool.file, np.uint8, "r", 0, (count,)).view(np.ndarray)

    def _refuse_rest(self, count: int, found: str) -> NoReturn:
        self.refuse(
            f"the header promises {count:,} bytes from here on, the file has {found}; "
            + ("something was appended to it" if found == "more" else "it is damaged"),
            byte=self.position,
        )

    def whole(self) -> BinaryIO:
        """Return a file of all bytes that can be read in any order; the caller closes it.

        Raises:
            FormatError: the file is damaged.
            ResourceError: as :meth:`mapped`.
        """
        if self.size is not None:
            return self.path.open("rb")
        spool = Spool(self.path)
        try:
            while piece := self.read(PIECE_BYTES):
                spool.write(piece)
            spool.file.seek(0)
        except BaseException:
            spool.file.close()
            raise
        return spool.file

    def refuse(self, fault: str, *, byte: int | None = None) -> NoReturn:
        """Raise the FormatError that names this file, and a byte of its plain content."""
        place = "" if byte is None else f"byte {byte:,}: "
        raise FormatError(f"{self.path}: {place}{fault}")

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def refuse_pipe(path: Path | str) -> None:
    """Refuse a model that can be read only once.

    Raises:
        FormatError: what is there is neither a file nor a folder.
    """
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise FormatError(
            f"{path}: is a pipe, and a model is read twice here; save it as a file first"
        )
