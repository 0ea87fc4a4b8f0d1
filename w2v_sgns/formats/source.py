"""A file or pipe of vectors as plain bytes, front to back, with the place of every byte.

Compression is taken away here; what the bytes mean is the formats' business.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NoReturn, Self

from w2v_sgns.errors import FormatError, StreamError
from w2v_sgns.streams import HEAD_BYTES as MAGIC_BYTES
from w2v_sgns.streams import PIECE_BYTES, compression_of, open_decompressed

__all__ = ["HEAD_BYTES", "Source"]

HEAD_BYTES = 1 << 16  # looked at to tell what a file is


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
        self.plain = stat.S_ISREG(status.st_mode)
        if self.plain:
            with path.open("rb") as stream:
                self.packed = compression_of(stream.read(MAGIC_BYTES))
            self.size = None if self.packed else status.st_size

    @property
    def remaining(self) -> int | None:
        """Plain bytes not handed out yet, where that is known."""
        return None if self.size is None else max(0, self.size - self.position)

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

    def _take(self, count: int) -> bytes:
        """Read on; what comes before damage is handed out first, then the damage is told."""
        pieces: list[bytes] = []
        try:
            while count and not self._fault:
                piece = self._stream.read1(min(count, PIECE_BYTES))  # type: ignore[attr-defined]
                if not piece:
                    break
                pieces.append(piece)
                count -= len(piece)
        except StreamError as error:
            self._fault = str(error)
        except OSError as error:
            self._fault = f"{self.path}: cannot be read on: {error.strerror or error}"
        if self._fault and not pieces:
            rows = f"; {self.rows:,} rows were read before" if self.rows else ""
            raise FormatError(self._fault + rows)
        return b"".join(pieces)

    def mapped_path(self) -> Path:
        """Return the path of a plain file, whose rows can be mapped.

        Raises:
            FormatError: it is packed or a pipe.
        """
        if self.packed:
            self.refuse(f"is {self.packed} data; this format is mapped, not read: unpack it first")
        if not self.plain:
            self.refuse("is no regular file; this format is mapped, not read: save it first")
        return self.path

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
