"""What kill -9 leaves beside a file goes with the next write; what another needs stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from w2v_sgns.formats import temporary
from w2v_sgns.formats.atomic import check_writable, replacing

KILLED = (
    "import os, sys\nfrom w2v_sgns.formats.atomic import replacing\n"
    "with replacing(sys.argv[1]) as stream:\n"
    "    stream.write(b'half')\n    stream.flush()\n    os.kill(os.getpid(), 9)\n"
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A file whose writer was killed in the middle."""
    target = tmp_path / "m.safetensors"
    done = subprocess.run([sys.executable, "-c", KILLED, str(target)], timeout=120)
    assert done.returncode == -9
    assert len(names(tmp_path)) == 1
    return target


def test_the_next_write_takes_it_away(target: Path) -> None:
    with replacing(target) as stream:
        stream.write(b"whole")
    assert names(target.parent) == ["m.safetensors"]


def test_looking_is_enough(target: Path) -> None:
    check_writable(target)
    assert names(target.parent) == []


def test_that_of_another_target_stays(target: Path) -> None:
    left = names(target.parent)
    check_writable(target.with_name("other.safetensors"))
    assert names(target.parent) == left


def test_that_of_a_living_writer_stays(tmp_path: Path) -> None:
    target = tmp_path / "m.safetensors"
    with replacing(target) as stream:
        stream.write(b"one")
        check_writable(target)
        with replacing(target.with_name("x.safetensors")) as other:
            other.write(b"two")
    assert target.read_bytes() == b"one"


@pytest.mark.parametrize("part", ["home", "process"])
def test_a_number_alone_says_nothing(target: Path, part: str) -> None:
    """Another machine's process, and one that has the number of the dead."""
    [left] = target.parent.iterdir()
    prefix = temporary._prefix(target)
    home, process, began, rest = left.name.removeprefix(prefix).split("-")
    if part == "home":
        kept = left.with_name(f"{prefix}elsewhere-{process}-{began}-{rest}")
    else:
        ours = os.getpid()
        kept = left.with_name(f"{prefix}{home}-{ours}-{temporary._began(ours)}-{rest}")
    left.rename(kept)
    check_writable(target)
    assert names(target.parent) == [kept.name]


def test_the_number_of_the_dead_used_anew(target: Path) -> None:
    [left] = target.parent.iterdir()
    prefix = temporary._prefix(target)
    home, _, began, rest = left.name.removeprefix(prefix).split("-")
    left.rename(left.with_name(f"{prefix}{home}-{os.getpid()}-{int(began) - 1}-{rest}"))
    check_writable(target)
    assert names(target.parent) == []


def test_a_system_that_does_not_tell(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "PROC", target.parent / "nothing")
    left = names(target.parent)
    with replacing(target) as stream:
        stream.write(b"whole")
    assert names(target.parent) == sorted([*left, target.name])


def test_a_stranger_with_such_a_name_stays(tmp_path: Path) -> None:
    target = tmp_path / "m.safetensors"
    strange = [f"{temporary._prefix(target)}{end}.tmp" for end in ("", "a", "a-b-c", "--")]
    for name in strange:
        (tmp_path / name).touch()
    check_writable(target)
    assert names(tmp_path) == sorted(strange)
