"""Compressed files: told by content, taken apart in pieces, damage named with its place."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import threading
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from w2v_sgns.errors import StreamError
from w2v_sgns.streams import (
    HEAD_BYTES,
    PIECE_BYTES,
    compression_of,
    decompressed,
    open_decompressed,
)

TEXT = "king 0.1\nqueen größe\n".encode() * 5000
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def zstandard() -> Callable[[bytes], bytes]:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name).compress  # type: ignore[no-any-return]
        except ImportError:
            continue
    pytest.skip("needs backports.zstd: pip install -e '.[zst]'")


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def read_all(path: Path) -> bytes:
    with open_decompressed(path) as stream:
        return stream.read()


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("size", [0, 1, len(TEXT)])
def test_whole_files(kind: str, size: int, tmp_path: Path) -> None:
    file = tmp_path / "no-suffix"
    packed = PACKERS[kind](TEXT[:size])
    file.write_bytes(packed)
    assert compression_of(packed[:HEAD_BYTES]) == kind
    assert read_all(file) == TEXT[:size]
    file.write_bytes(packed + packed + bytes(12))  # members one after another, padded
    assert read_all(file) == TEXT[:size] * 2


def test_zstandard(tmp_path: Path) -> None:
    pack = zstandard()
    file = tmp_path / "file"
    file.write_bytes(pack(TEXT) + pack(b"more"))
    assert read_all(file) == TEXT + b"more"
    skipped = b"\x53\x2a\x4d\x18\x05\0\0\0hello"  # a frame without content, at any place
    file.write_bytes(skipped + pack(TEXT) + skipped + pack(b"more") + skipped)
    assert read_all(file) == TEXT + b"more"
    file.write_bytes(pack(TEXT)[:-5])
    with pytest.raises(StreamError, match="zstandard data ended early, at byte"):
        read_all(file)


def test_zstandard_without_its_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from w2v_sgns import streams

    def none(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(streams, "import_module", none)
    (tmp_path / "file").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(9))
    with pytest.raises(StreamError, match=r"pip install 'w2v-sgns\[zst\]'"):
        open_decompressed(tmp_path / "file")


def test_plain_files_come_back_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "plain.gz"
    for data in (b"", b"a", b"\x1f", b"BZ", b"BZhello there", b"BZh9 there", TEXT):
        file.write_bytes(data)
        with open_decompressed(file) as stream:
            assert stream.seekable()
            assert stream.read() == data


@pytest.mark.parametrize("kind", PACKERS)
def test_every_cut_is_an_error_with_the_offset(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    packed = PACKERS[kind](b"king 0.1\nqueen 0.2\n")
    for size in range(8, len(packed)):
        file.write_bytes(packed[:size])
        with pytest.raises(StreamError, match=f"{kind} data ended early, at byte {size} of"):
            read_all(file)


@pytest.mark.parametrize("kind", PACKERS)
def test_damage_never_passes_and_has_one_kind_of_error(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    packed = bytearray(PACKERS[kind](TEXT[:600]))
    for place in range(HEAD_BYTES, len(packed)):
        packed[place] ^= 0x41
        file.write_bytes(packed)
        try:
            assert read_all(file) == TEXT[:600]  # a byte nobody reads, such as the time in gzip
        except StreamError as error:
            assert "\n" not in str(error)
            assert "byte" in str(error)
        packed[place] ^= 0x41


@pytest.mark.parametrize("kind", PACKERS)
def test_garbage_behind_is_an_error(kind: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(PACKERS[kind](TEXT) + b"garbage")
    with pytest.raises(StreamError, match="damaged near byte"):
        read_all(tmp_path / "file")


@pytest.mark.parametrize("kind", PACKERS)
def test_a_bomb_takes_pieces_of_one_mebibyte(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "bomb"
    file.write_bytes(PACKERS[kind](bytes(16 << 20)))
    tracemalloc.start()
    try:
        with open_decompressed(file) as stream:
            for _ in range(8):
                assert len(stream.read(1 << 18)) == 1 << 18
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (14 if kind == "xz" else 6) * PIECE_BYTES  # an xz dictionary takes 8


def test_an_xz_header_cannot_ask_for_gigabytes(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29, "preset": 0}]
    packer = lzma.LZMACompressor(filters=filters)
    (tmp_path / "file").write_bytes(packer.compress(b"abc") + packer.flush())
    with pytest.raises(StreamError, match="Memory usage limit"):
        read_all(tmp_path / "file")


def test_a_zip_of_one_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(zipped(**{"folder/": b"", "folder/a.txt": TEXT}))
    assert read_all(file) == TEXT
    file.write_bytes(zipped(a=b"1", b=b"2"))
    with pytest.raises(StreamError, match=r"2 files \(a, b\), needed: exactly one"):
        open_decompressed(file)
    whole = zipped(a=TEXT)
    file.write_bytes(whole[:-30])
    with pytest.raises(StreamError, match="zip archive is damaged"):
        open_decompressed(file)
    damaged = bytearray(whole)
    damaged[60] ^= 0xFF
    file.write_bytes(damaged)
    with pytest.raises(StreamError, match="zip member at byte 0 is damaged"):
        read_all(file)


def test_pipes(tmp_path: Path) -> None:
    for data in (b"", b"ab", TEXT, gzip.compress(TEXT)):
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
        writer.start()
        plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        assert read_all(tmp_path / "pipe") == plain
        writer.join()
        (tmp_path / "pipe").unlink()
    with pytest.raises(StreamError, match="save it as a file"):
        decompressed(io.BytesIO(zipped(a=b"1")), "stdin")


def test_closing_closes_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(gzip.compress(TEXT))
    source = (tmp_path / "file").open("rb")
    with decompressed(source, "file") as stream:
        stream.read(10)
    assert source.closed
