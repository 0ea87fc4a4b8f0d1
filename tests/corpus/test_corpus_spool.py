"""Ids beyond the budget lie in a temporary file: the same corpus, and nothing left behind."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from naive_corpus import lines_of, naive_corpus, words_of

from w2v_sgns.corpus import load_corpus, store
from w2v_sgns.errors import ResourceError

TEXT = b"".join(b"w%d x%d y\n" % (i % 7, i % 11) for i in range(400)) + b"rare end"


@pytest.fixture
def spool_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "spool"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, object]]:
    """The temporary files that were made, with the folder of each."""
    files: list[tuple[Path, object]] = []
    make = tempfile.TemporaryFile

    def spy(**options):
        file = make(**options)
        files.append((Path(options["dir"]), file))
        return file

    monkeypatch.setattr(tempfile, "TemporaryFile", spy)
    return files


@pytest.mark.parametrize("memory_bytes", [1, 2_000, 4_802])
@pytest.mark.parametrize("block_bytes", [64, None])
def test_spool_equals_memory(load, spool_folder, made, memory_bytes, block_bytes) -> None:
    twin = naive_corpus(TEXT, 2)
    in_memory = load(TEXT, min_count=2)
    assert not in_memory.stats.spooled
    assert not made
    spooled = load(TEXT, min_count=2, memory_bytes=memory_bytes, block_bytes=block_bytes)
    assert spooled.stats.spooled
    assert spooled.store.spooled
    assert [folder for folder, _ in made] == [spool_folder]
    assert np.array_equal(spooled.store.tokens, in_memory.store.tokens)
    assert lines_of(spooled) == twin.lines
    assert words_of(spooled) == twin.words
    assert spooled.store.tokens.flags.writeable is in_memory.store.tokens.flags.writeable is False
    base = spooled.store.tokens.base
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_the_file_goes_with_the_corpus(load, spool_folder, made) -> None:
    corpus = load(TEXT, memory_bytes=1)
    assert not made[0][1].closed
    assert corpus.store.tokens.size == 1_202
    corpus.close()
    assert made[0][1].closed
    assert list(spool_folder.iterdir()) == []


def test_the_file_goes_on_failure(tmp_path, spool_folder, made) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(TEXT)

    def stop_after_reading() -> bool:
        return bool(made) and path.stat().st_size == len(TEXT) and reading == [len(TEXT)]

    reading = [0]

    def progress(done: int, _: int) -> None:
        reading[0] = done

    with pytest.raises(KeyboardInterrupt):
        load_corpus(path, threads=1, memory_bytes=1, progress=progress, stop=stop_after_reading)
    assert len(made) == 1
    assert made[0][1].closed
    assert list(spool_folder.iterdir()) == []


def test_a_disk_too_small_is_told_before_writing(load, spool_folder, made, monkeypatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10_000, 9_900, 100))
    with pytest.raises(ResourceError) as caught:
        load(TEXT, memory_bytes=1, block_bytes=64)
    message = str(caught.value)
    assert "\n" not in message
    assert "100 free" in message
    assert str(spool_folder) in message
    assert "TMPDIR" in message
    assert not made
    # The need is foreseen from the first blocks: within a third of 4 bytes a token.
    needed = int(message.split(" bytes")[0].split()[-1].replace(",", ""))
    assert 4 * 1_202 * 0.75 < needed < 4 * 1_202 * 1.5


def test_a_disk_that_fills_up(load, spool_folder, made, monkeypatch) -> None:
    def full(self: store.Spool, *_: object) -> None:
        raise self._failure(OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(store.Spool, "write", full)
    with pytest.raises(ResourceError, match="No space left on device"):
        load(TEXT, memory_bytes=1)
    assert made[0][1].closed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_write_that_really_fails(load, spool_folder, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: open("/dev/full", "r+b", 0))  # noqa: SIM115
    with pytest.raises(ResourceError, match=r"No space left on device.*TMPDIR"):
        load(TEXT, memory_bytes=1)


def test_a_store_of_nothing_can_be_spooled() -> None:
    spool = store.Spool(0)
    spool.write(0, np.arange(5, dtype=np.uint32))
    assert spool.read(1, 3).tolist() == [1, 2, 3]
    with store.TokenStore(spool.mapped(2), spool) as tokens:
        assert tokens.tokens.tolist() == [0, 1]
    with pytest.raises(ValueError, match="closed"):
        spool.read(0, 1)
