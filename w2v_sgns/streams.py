"""Files as streams of plain bytes: gzip, bzip2, xz, zstandard and one-member zip taken apart.

What a file is, is told by its first bytes, never by its name. Data come in pieces of at most
1 MiB however much a few bytes unpack to, so a reader that stops in time is safe from bombs.
What the bytes mean is the caller's business.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from w2v_sgns.errors import StreamError

__all__ = ["HEAD_BYTES", "PIECE_BYTES", "compression_of", "decompressed", "open_decompressed"]

HEAD_BYTES = 10  # needed to tell the kind
PIECE_BYTES = 1 << 20  # most that is unpacked in one step
INPUT_BYTES = 1 << 16  # packed bytes read at once
MOST_MEMORY = 1 << 28  # an xz dictionary may ask for; `xz -9` needs 65 MiB
ENCRYPTED = 1  # flag bit of a zip member

MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstandard"),
    (b"PK\x03\x04", "zip"),
)
SKIPPABLE = b"\x2a\x4d\x18"  # behind 0x50 to 0x5f: a frame of zstandard that holds no content
BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")  # what follows BZh and a digit


def compression_of(head: bytes) -> str | None:
    """Return "gzip", "bzip2", "xz", "zstandard" or "zip" for such first bytes, else None.

    Args:
        head: the first `HEAD_BYTES` of a file, or more.
    """
    kind = next((kind for magic, kind in MAGIC if head.startswith(magic)), None)
    if head[1:4] == SKIPPABLE and head[0] >> 4 == 5:
        return "zstandard"
    if kind == "bzip2" and not _is_bzip2(head):
        return None  # a word that begins so
    return kind


def _is_bzip2(head: bytes) -> bool:
    size, block = head[3:4], head[4:10]
    return size.isdigit() and any(magic.startswith(block) for magic in BZIP2_BLOCKS)


def open_decompressed(path: Path | str) -> BinaryIO:
    """Open a file for reading its plain bytes, once, from front to back.

    A file that is not compressed comes back as the plain open file, which can seek.

    Raises:
        OSError: it cannot be opened.
        StreamError: a zip archive of several members, or zstandard without its package. Reading
            raises it where the data is damaged or ends early.
    """
    stream = Path(path).open("rb")  # noqa: SIM115  the caller closes it
    try:
        if not stream.seekable():
            return decompressed(stream, str(path))
        kind = compression_of(stream.read(HEAD_BYTES))
        stream.seek(0)
        if kind == "zip":
            return _reader(_zip_pieces(stream, str(path)), stream)
        return stream if kind is None else _reader(_pieces(stream, kind, str(path)), stream)
    except BaseException:
        stream.close()
        raise


def decompressed(stream: BinaryIO, name: str) -> BinaryIO:
    """Return a reader of the plain bytes of an open stream, such as a pipe; `name` is for errors.

    Closing the reader closes the stream. Raises as :func:`open_decompressed`.
    """
    head = _filled(stream, HEAD_BYTES)
    kind = compression_of(head)
    whole = _reader(_with_head(head, stream), stream)
    if kind is None:
        return whole
    if kind == "zip":
        raise StreamError(f"{name}: a zip archive cannot be read from a pipe; save it as a file")
    return _reader(_pieces(whole, kind, name), whole)


# --- one reader for all kinds ----------------------------------------------------------------


class _PieceReader(io.RawIOBase):
    """Bytes that come in pieces, as a file."""

    def __init__(self, pieces: Iterator[bytes], source: BinaryIO) -> None:
        self._pieces, self._source = pieces, source
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        target = memoryview(buffer).cast("B")
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        if not self.closed:
            self._rest = memoryview(b"")
            self._source.close()
        super().close()


def _reader(pieces: Iterator[bytes], source: BinaryIO) -> BinaryIO:
    return io.BufferedReader(_PieceReader(pieces, source), PIECE_BYTES)


def _filled(stream: BinaryIO, count: int) -> bytes:
    """Read `count` bytes, fewer only at the end."""
    data = b""
    while len(data) < count and (more := stream.read(count - len(data))):
        data += more
    return data


def _with_head(head: bytes, stream: BinaryIO) -> Iterator[bytes]:
    yield head
    while piece := stream.read(INPUT_BYTES):
        yield piece


# --- gzip, bzip2, xz, zstandard --------------------------------------------------------------


def _pieces(stream: BinaryIO, kind: str, name: str) -> Iterator[bytes]:
    """Return the pieces of plain bytes; whether the kind can be read is judged at once."""
    begin, fault = _decompressor(kind, name)
    return _members(stream, begin, fault, f"{name}: {kind} data")


def _members(
    stream: BinaryIO, begin: Callable[[], Any], fault: type[Exception], what: str
) -> Iterator[bytes]:
    """Yield the plain bytes of one or more members; zeros may follow the last one."""
    taken = unpacked = 0  # packed bytes handed over, plain bytes that came out
    data = b""
    member: Any = None
    while True:
        if not data and (member is None or member.needs_input):
            data = stream.read(INPUT_BYTES)
            taken += len(data)
            if not data:
                break
        if member is None:
            data = data.lstrip(b"\0") if taken > len(data) else data  # padding
            if not data:
                continue
            member = begin()
        try:
            piece = member.decompress(data, PIECE_BYTES)
        except (fault, EOFError, ValueError) as error:
            place = taken - len(data)
            raise StreamError(
                f"{what} is damaged near byte {place:,} of the file, after "
                f"{unpacked:,} bytes of content ({error}); fetch or make the file again"
            ) from error
        unpacked += len(piece)
        data = member.unused_data if member.eof else b""
        member = None if member.eof else member
        if piece:
            yield piece
    if member is not None:
        raise StreamError(
            f"{what} ended early, at byte {taken:,} of the file, after {unpacked:,} "
            "bytes of content; the file is cut short: fetch or make it again"
        )


def _decompressor(kind: str, name: str) -> tuple[Callable[[], Any], type[Exception]]:
    """Return what starts a member of this kind, and what it raises."""
    if kind == "gzip":
        return _Gzip, zlib.error
    if kind == "bzip2":
        return bz2.BZ2Decompressor, OSError
    if kind == "xz":
        return lambda: lzma.LZMADecompressor(memlimit=MOST_MEMORY), lzma.LZMAError
    zstd = _zstandard(name)
    return zstd.ZstdDecompressor, zstd.ZstdError


class _Gzip:
    """One gzip member, with the members' common face."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, most: int) -> bytes:
        return self._inflate.decompress(self._inflate.unconsumed_tail + data, most)

    @property
    def needs_input(self) -> bool:
        return not self._inflate.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data


def _zstandard(name: str) -> Any:
    """Return the module of Python 3.14, or its backport for older ones."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(module)
        except ImportError:
            continue
    raise StreamError(
        f"{name}: is zstandard data; Python before 3.14 needs a package to read it: "
        "pip install 'w2v-sgns[zst]'"
    )


# --- zip -------------------------------------------------------------------------------------


def _zip_pieces(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Return the pieces of the only member of an archive; the archive is judged at once."""
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise StreamError(f"{name}: the zip archive is damaged or cut short ({error})") from error
    files = [member for member in archive.infolist() if not member.is_dir()]
    if len(files) != 1:
        listed = ", ".join(ascii(member.filename[:60])[1:-1] for member in files[:5])
        more = f" and {len(files) - 5:,} more" if len(files) > 5 else ""
        raise StreamError(
            f"{name}: a zip archive of {len(files):,} files ({listed}{more}), needed: exactly one; "
            "unpack it and name the file"
        )
    if files[0].flag_bits & ENCRYPTED:
        raise StreamError(f"{name}: the zip archive is encrypted; unpack it and name the file")
    return _member_pieces(archive, files[0], name)


def _member_pieces(archive: zipfile.ZipFile, member: Any, name: str) -> Iterator[bytes]:
    unpacked = 0
    faults = (zipfile.BadZipFile, NotImplementedError, zlib.error, OSError, lzma.LZMAError)
    try:
        with archive.open(member) as content:
            while piece := content.read(PIECE_BYTES):
                unpacked += len(piece)
                yield piece
    except (*faults, EOFError, ValueError, RuntimeError) as error:
        raise StreamError(
            f"{name}: the zip member at byte {member.header_offset:,} is damaged or cut short, "
            f"after {unpacked:,} bytes of content ({error})"
        ) from error
