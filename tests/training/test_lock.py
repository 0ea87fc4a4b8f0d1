"""Two runs that would write one file: the second is told at once, and both stay whole."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from w2v_sgns import Model, OutputError, train
from w2v_sgns.training import lock
from w2v_sgns.training.checkpoint import checkpoint_path
from w2v_sgns.training.events import Event

SETTINGS: dict[str, Any] = {"dim": 8, "epochs": 3, "min_count": 1, "threads": 1}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "c.txt"
    path.write_text("a b c d e f g h\n" * 60)
    return path


@pytest.fixture
def output(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "m.safetensors"


def at_epoch(number: int, call: Any) -> Any:
    def watch(event: Event) -> None:
        if event.phase == "epoch" and event.epoch == number:
            call()

    return watch


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("force", [False, True])
def test_a_second_training_to_one_name(corpus: Path, output: Path, force: bool) -> None:
    refused: list[str] = []

    def second() -> None:
        with pytest.raises(OutputError) as caught:
            train(corpus, output=output, force=force, **SETTINGS | {"seed": 2})
        refused.append(str(caught.value))

    train(corpus, output=output, progress=at_epoch(2, second), **SETTINGS)
    assert refused == [
        f"{output}: another run (process {os.getpid()}) is writing it; wait until it has ended, "
        "or choose another name with -o"
    ]
    assert Model.load(output).config.seed == 1
    assert names(output.parent) == [output.name], "no lock is left"


def test_a_checkpoint_is_resumed_once_at_a_time(corpus: Path, output: Path, tmp_path: Path) -> None:
    train(corpus, output=output, stop_after=1, **SETTINGS)
    checkpoint = checkpoint_path(output)
    refused: list[str] = []

    def second() -> None:
        for given in ({}, {"output": tmp_path / "other.safetensors"}):
            with pytest.raises(OutputError, match="another run") as caught:
                train(resume=checkpoint, **given)
            refused.append(str(caught.value))

    train(resume=checkpoint, progress=at_epoch(2, second))
    assert len(refused) == 2
    assert str(checkpoint) in refused[1]
    assert names(output.parent) == [output.name]
    assert not (tmp_path / "other.safetensors").exists()


def test_another_process_is_told_too(corpus: Path, output: Path) -> None:
    told: list[subprocess.CompletedProcess[str]] = []

    def second() -> None:
        command = [sys.executable, "-m", "w2v_sgns", "train", str(corpus), "-o", str(output)]
        told.append(subprocess.run(command, capture_output=True, text=True, timeout=120))

    train(corpus, output=output, progress=at_epoch(2, second), **SETTINGS)
    assert told[0].returncode == 1
    assert f"another run (process {os.getpid()}) is writing it" in told[0].stderr
    assert "Traceback" not in told[0].stderr


def test_what_a_killed_run_has_left_locks_nothing(corpus: Path, output: Path) -> None:
    script = (
        "import os, sys\nfrom w2v_sgns.training.lock import sole_writer\n"
        "with sole_writer([sys.argv[1]]):\n    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(output)], timeout=120)
    assert [name.endswith(".lock") for name in names(output.parent)] == [True]
    train(corpus, output=output, **SETTINGS)
    assert names(output.parent) == [output.name]


def test_many_at_once_take_turns(tmp_path: Path) -> None:
    """Removing the file while others open it lets no two in."""
    inside, most, entered = 0, 0, 0
    guard = threading.Lock()

    def often() -> None:
        nonlocal inside, most, entered
        for _ in range(300):
            try:
                with lock.sole_writer([tmp_path / "m"]):
                    with guard:
                        inside, entered = inside + 1, entered + 1
                        most = max(most, inside)
                    with guard:
                        inside -= 1
            except OutputError:
                continue

    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert entered > 1
    assert not names(tmp_path)


@pytest.mark.parametrize("error", [OSError(95, "no locks here"), None])
def test_where_nothing_can_be_locked_it_goes_on(
    corpus: Path, output: Path, monkeypatch: pytest.MonkeyPatch, error: OSError | None
) -> None:
    class Fcntl:
        LOCK_EX = LOCK_NB = 0

        @staticmethod
        def flock(descriptor: int, how: int) -> None:
            assert error is not None
            raise error

    monkeypatch.setattr(lock, "fcntl", Fcntl if error else None)
    train(corpus, output=output, **SETTINGS)
    assert Model.load(output).config.dim == 8
    assert names(output.parent) == [output.name]


def test_a_full_disk_is_locked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of a disk without room is said by who writes there."""

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with (
        lock.sole_writer([tmp_path / "m"]),
        pytest.raises(OutputError, match="another run is writing it"),
        lock.sole_writer([tmp_path / "m"]),
    ):
        pass
    assert not names(tmp_path)


def test_a_folder_that_is_not_there_is_told_as_ever(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="does not exist"):
        train(corpus, output=tmp_path / "none" / "m.safetensors", **SETTINGS)


def test_a_killed_checkpoint_leaves_nothing_in_the_end(corpus: Path, output: Path) -> None:
    """The writer is killed at its second checkpoint; the resumed run writes none itself."""
    script = """
import os, sys
from w2v_sgns import train
left = [2]
from w2v_sgns.formats import native
right = native.write_model
def write_model(stream, model):
    left[0] -= 1
    if not left[0]:
        stream.write(b"half")
        stream.flush()
        os.kill(os.getpid(), 9)
    right(stream, model)
native.write_model = write_model
train(sys.argv[1], output=sys.argv[2], dim=8, epochs=3, min_count=1, threads=1, checkpoint_every=1)
"""
    done = subprocess.run([sys.executable, "-c", script, str(corpus), str(output)], timeout=120)
    assert done.returncode == -9
    assert any(name.endswith(".tmp") for name in names(output.parent))
    train(resume=checkpoint_path(output), checkpoint_every=1e6)
    assert names(output.parent) == [output.name]
