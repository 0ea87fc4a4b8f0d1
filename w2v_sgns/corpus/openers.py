"""Where bytes come from: a file, a pipe, a remote address. Opens, decompresses, tells progress.

Each opener has a name (for messages), a label (for the provenance: relative, no folder of this
machine), its size on disk where known, and the position reached. It does not decode text.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import urlsplit

from w2v_sgns.errors import CorpusError
from w2v_sgns.streams import HEAD_BYTES, compression_of, decompressed, open_decompressed

__all__ = ["STDIN", "File", "Opener", "Pipe", "Remote", "is_remote", "opener_for", "unreadable"]

STDIN = "-"
_PART = re.compile(r"smart_open\[\w+\]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


class Opener(Protocol):
    """One member of a corpus."""

    name: str
    label: str
    size: int | None  # bytes on disk; None until it has been read
    once: bool  # it can be read only once

    @property
    def position(self) -> int:
        """Bytes on disk read so far."""

    def open(self) -> Any:
        """Return a context with the stream of plain bytes."""


class File:
    """A plain file, compressed or not."""

    once = False

    def __init__(self, path: Path, *, label: str | None = None) -> None:
        self.path = path
        self.name = str(path)
        self.label = label or relative_label(path)
        self.size: int | None = _plain_file_size(path)
        self._raw: BinaryIO | None = None
        self._read = 0

    @property
    def position(self) -> int:
        """Bytes on disk read so far; never above `size`, even if the file grows."""
        if self._raw is not None and not self._raw.closed:
            self._read = self._raw.tell()
        return min(self._read, self.size or 0)

    def follow(self, raw: BinaryIO) -> None:
        """Tell the position of a stream that someone else has opened."""
        self._raw = raw

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file and take its compression apart."""
        with _reading(self.name, self.path), self.path.open("rb") as raw:
            kind = compression_of(raw.read(HEAD_BYTES))
            raw.seek(0)
            self.follow(raw)
            if kind is None:
                yield raw
            else:
                with self._unpacked(raw, kind) as stream:
                    yield stream
            self._check_unchanged()
            self._read = self.size or 0

    def _check_unchanged(self) -> None:
        now = self.path.stat().st_size
        if now != self.size:
            raise CorpusError(
                f"{self.name}: changed while it was read, from {self.size:,} to {now:,} bytes; "
                "train on a file that is complete"
            )

    def _unpacked(self, raw: BinaryIO, kind: str) -> BinaryIO:
        return open_decompressed(self.path) if kind == "zip" else decompressed(raw, self.name)


class _Streamed:
    """Bytes that are counted on their way: how many there are is known at their end."""

    once = False

    def __init__(self, name: str, label: str) -> None:
        self.name, self.label = name, label
        self.size: int | None = None
        self._counted: _Counted | None = None

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return self._counted.count if self._counted is not None else 0

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the stream and take its compression apart."""
        with self._errors(), self.raw() as raw:
            self._counted = _Counted(raw)
            yield decompressed(self._counted, self.name)  # type: ignore[arg-type]
        self.size = self._counted.count

    def raw(self) -> Any:
        """Return a context with the bytes as they are."""
        raise NotImplementedError

    def _errors(self) -> Any:
        """Return a context that makes one line of what goes wrong."""
        raise NotImplementedError


class Pipe(_Streamed):
    """Standard input, a named pipe or another stream that can be read once."""

    once = True

    def __init__(self, path: str) -> None:
        self.path = path
        is_stdin = path == STDIN
        super().__init__("standard input" if is_stdin else path, STDIN if is_stdin else "pipe")

    @contextmanager
    def raw(self) -> Iterator[BinaryIO]:
        """Open the pipe; a second time is an error."""
        if self._counted is not None:
            raise CorpusError(f"{self.name}: a pipe can be read only once; save it as a file")
        if self.path != STDIN:
            with open(self.path, "rb") as raw:
                yield raw
        elif sys.stdin is None or sys.stdin.closed:
            raise CorpusError("standard input is closed; pipe a text into it, or name a file")
        else:
            yield sys.stdin.buffer

    def _errors(self) -> Any:
        return _reading(self.name, None)


class Remote(_Streamed):
    """An object behind an address such as s3://bucket/key or https://host/file."""

    def __init__(self, address: str) -> None:
        self.address = address
        parts = urlsplit(address)  # no password, token or host goes into messages or models
        super().__init__(
            f"{parts.scheme}://{parts.hostname or ''}{parts.path}",
            parts.path.rstrip("/").rsplit("/", 1)[-1] or parts.scheme,
        )

    def raw(self) -> Any:
        """Return the object's bytes as they are, as a file that may seek."""
        try:
            from smart_open import open as smart_open
        except ImportError:
            raise CorpusError(
                f"{self.name}: remote paths need the package smart_open: "
                "pip install 'w2v-sgns[remote]', or download the file"
            ) from None
        return smart_open(self.address, "rb", compression="disable")

    def _errors(self) -> Any:
        return _fetching(self.name)


class _Counted:
    """A stream that counts what is read from it."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self.count = raw, 0

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self.count += len(data)
        return data

    def close(self) -> None:
        """Leave the stream to who opened it."""


def opener_for(path: Path | str, *, label: str | None = None) -> File | Pipe | Remote:
    """Return what opens a path, `-` or an address.

    Raises:
        CorpusError: no such file, a folder, or no permission.
    """
    if path == STDIN:
        return Pipe(STDIN)
    if isinstance(path, str) and is_remote(path):
        return Remote(path)
    mode = _mode(Path(path))
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode):
        return Pipe(str(path))
    return File(Path(path), label=label)


def is_remote(path: str) -> bool:
    """Tell whether a path is an address with a scheme."""
    return bool(_SCHEME.match(path))


def relative_label(path: Path) -> str:
    """Return a path for the provenance: as it was given, or its last part if absolute."""
    return path.name if path.is_absolute() or ".." in path.parts else path.as_posix()


def unreadable(name: str, error: OSError, path: Path | None = None) -> CorpusError:
    """Say why something cannot be read."""
    if isinstance(error, FileNotFoundError):
        place = "" if path is None or path.is_absolute() else f" in {Path.cwd()}"
        return CorpusError(f"{name}: no such file{place}; give the path of a text file")
    return CorpusError(f"{name}: cannot be read ({error.strerror or error})")


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError as error:
        raise unreadable(str(path), error, path) from error


def _plain_file_size(path: Path) -> int:
    """Return the bytes of the plain, readable file at `path`."""
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(str(path), error, path) from error
    if stat.S_ISDIR(status.st_mode):
        raise CorpusError(f"{path}: is a directory; give the path of a text file")
    if not stat.S_ISREG(status.st_mode):
        raise CorpusError(f"{path}: is not a plain file; write its text to a file and give that")
    if not os.access(path, os.R_OK):
        raise CorpusError(f"{path}: cannot be read (no permission)")
    return status.st_size


@contextmanager
def _reading(name: str, path: Path | None) -> Iterator[None]:
    """Turn the system's errors into ours."""
    try:
        yield
    except OSError as error:
        raise unreadable(name, error, path) from error


@contextmanager
def _fetching(name: str) -> Iterator[None]:
    """Turn whatever a remote library raises into one line; ours pass."""
    from w2v_sgns.errors import W2VError

    try:
        yield
    except (W2VError, KeyboardInterrupt, GeneratorExit):
        raise
    except ImportError as error:  # smart_open has parts, a scheme each
        part = _PART.search(str(error))
        package = f"'{part[0]}'" if part else "what smart_open asks for"
        raise CorpusError(
            f"{name}: this kind of address needs another package: pip install {package}, or "
            "download the file"
        ) from error
    except Exception as error:
        first = str(error).strip().splitlines()[:1]
        reason = f"{type(error).__name__}: {first[0]}" if first else type(error).__name__
        raise CorpusError(f"{name}: cannot be fetched ({reason})") from error
