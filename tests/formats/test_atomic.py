"""A file appears whole or not at all, and what cannot be written is said beforehand."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from w2v_sgns.errors import OutputError
from w2v_sgns.formats import atomic
from w2v_sgns.formats.atomic import check_writable, replacing


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "m.safetensors"


@pytest.fixture
def old(target: Path) -> Path:
    target.write_bytes(b"old")
    return target


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_bytes_arrive_and_nothing_else_is_left(target: Path) -> None:
    with replacing(target) as stream:
        stream.write(b"new")
        assert not target.exists()
    assert target.read_bytes() == b"new"
    assert names(target.parent) == [target.name]


def test_checking_leaves_nothing(target: Path) -> None:
    assert check_writable(target) == target
    assert names(target.parent) == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_failure_in_the_block_leaves_the_old_file(old: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), replacing(old, force=True) as stream:
        stream.write(b"half")
        raise error
    assert old.read_bytes() == b"old"
    assert names(old.parent) == [old.name]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failing_system_call_leaves_the_old_file(
    old: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, step, fail)
    refused = pytest.raises(OutputError, match="No space left on device; nothing was changed")
    with refused, replacing(old, force=True) as stream:
        stream.write(b"new")
    assert old.read_bytes() == b"old"
    assert names(old.parent) == [old.name]


@pytest.fixture
def small_files() -> Iterator[int]:
    """No file of this process may grow beyond 64 KiB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    yield 1 << 16
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_old_file(old: Path, small_files: int) -> None:
    refused = pytest.raises(OutputError, match="File too large")
    with refused as caught, replacing(old, force=True) as stream:
        for _ in range(4):
            stream.write(bytes(small_files))
    assert str(old) in str(caught.value)
    assert old.read_bytes() == b"old"
    assert names(old.parent) == [old.name]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_follow_the_umask(target: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with replacing(target):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask


def test_an_existing_file_needs_force(old: Path) -> None:
    with pytest.raises(OutputError, match="exists; use --force"):
        check_writable(old)
    assert check_writable(old, force=True) == old


def test_a_link_is_followed_and_stays(tmp_path: Path, old: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link = folder / "link.safetensors"
    link.symlink_to(old)
    with replacing(link, force=True) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert old.read_bytes() == b"new"
    assert names(folder) == [link.name]


def test_a_dangling_link_is_filled(tmp_path: Path, target: Path) -> None:
    link = tmp_path / "link.safetensors"
    link.symlink_to(target)
    with replacing(link) as stream:
        stream.write(b"new")
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("name", ["m.npz", "m", "m.safetensors.gz", ".safetensors"])
def test_another_suffix_is_refused_with_a_proposal(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        OutputError, match=r"must end in \.safetensors or \.bin.*try .*\.safetensors$"
    ):
        check_writable(tmp_path / name)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no/such does not exist; make it first"):
        check_writable(tmp_path / "no" / "such" / "m.safetensors")


def test_a_file_for_a_folder_is_refused(old: Path) -> None:
    with pytest.raises(OutputError, match="does not exist"):
        check_writable(old / "m.safetensors")


def test_a_directory_is_refused_even_with_force(target: Path) -> None:
    target.mkdir()
    with pytest.raises(OutputError, match="is a directory"):
        check_writable(target, force=True)


def test_a_pipe_is_refused_even_with_force(target: Path) -> None:
    os.mkfifo(target)
    with pytest.raises(OutputError, match="no regular file"):
        check_writable(target, force=True)


def test_a_name_too_long_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="File name too long"):
        check_writable(tmp_path / ("x" * 250 + ".safetensors"))


UNWRITABLE = """
import os, sys
from w2v_sgns.errors import OutputError
from w2v_sgns.formats.atomic import check_writable
if os.geteuid() == 0:
    os.setegid(65534); os.seteuid(65534)  # root may write anywhere
try:
    check_writable(sys.argv[1])
except OutputError as error:
    sys.exit(f"OutputError: {error}")
"""


def test_an_unwritable_folder_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder:  # not tmp_path: another user must reach it
        os.chmod(folder, 0o555)
        command = [sys.executable, "-c", UNWRITABLE, f"{folder}/m.safetensors"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "OutputError" in done.stderr, done.stderr
    assert "takes no files (Permission denied)" in done.stderr


def test_a_read_only_file_system_is_told_before_the_work(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(atomic.os, "open", refuse)
    with pytest.raises(OutputError, match=r"takes no files \(Read-only file system\)"):
        check_writable(target)
