"""Disks that fail: the training goes on, the old file stays, and what was trained is not lost."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns import Model, train
from w2v_sgns.errors import DivergenceError, OutputError
from w2v_sgns.formats import atomic
from w2v_sgns.training import keeper as keeper_module
from w2v_sgns.training.checkpoint import checkpoint_path, read_checkpoint
from w2v_sgns.training.events import Event
from w2v_sgns.training.keeper import Keeper

SETTINGS: dict[str, Any] = {"dim": 50, "epochs": 3, "min_count": 1, "threads": 1}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"a{n % 7} b{n % 11} c{n % 13}\n" for n in range(3000)))
    return path


@pytest.fixture
def output(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "m.safetensors"


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only other folder there is: the current one, the temporary one, the home."""
    folder = tmp_path / "other"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(keeper_module.tempfile, "gettempdir", lambda: str(folder))
    monkeypatch.setenv("HOME", str(folder))
    return folder


@contextmanager
def full_disk(number: int = errno.ENOSPC) -> Iterator[None]:
    """Let every flush to a disk fail."""

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic.os, "fsync", fail)
        yield


@contextmanager
def small_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def failing_after(
    first: int, context: Any, until: str = ""
) -> tuple[list[Event], Callable[..., Any]]:
    """Return the events, and a callback that lets the disk fail from the n-th epoch's end on."""
    events: list[Event] = []
    open_contexts: list[Any] = []

    def watch(event: Event) -> None:
        events.append(event)
        if event.phase == "epoch" and event.epoch == first:
            open_contexts.append(context())
            open_contexts[-1].__enter__()
        if open_contexts and event.phase == "note":
            open_contexts.pop().__exit__(None, None, None)

    return events, watch


@pytest.mark.parametrize("context", [full_disk, small_files])
def test_a_failing_checkpoint_is_told_and_tried_again(
    corpus: Path, output: Path, context: Any
) -> None:
    events, watch = failing_after(1, context)
    model = train(corpus, output=output, checkpoint_every=1, progress=watch, **SETTINGS)
    (note,) = [event.text for event in events if event.phase == "note"]
    assert note.startswith(f"no checkpoint: {checkpoint_path(output)}: cannot be written: ")
    assert note.endswith("; the training goes on and tries again")
    assert [event.epoch for event in events if event.phase == "checkpoint"] == [2]
    assert len(model.history) == 3
    assert [path.name for path in output.parent.iterdir()] == ["m.safetensors"]


def test_a_note_names_the_earlier_state(corpus: Path, output: Path) -> None:
    events, watch = failing_after(2, full_disk)
    train(corpus, output=output, checkpoint_every=1, progress=watch, **SETTINGS)
    (note,) = [event.text for event in events if event.phase == "note"]
    assert f"; {checkpoint_path(output)} still holds an earlier state; " in note


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_failing_end_keeps_all_in_another_place(
    corpus: Path, output: Path, other: Path, number: int
) -> None:
    output.write_bytes(b"old")
    events: list[Event] = []

    def fail(source: Path, target: Path) -> None:
        if Path(target).parent == output.parent:
            raise OSError(number, os.strerror(number))
        right(source, target)

    right = os.replace
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic.os, "replace", fail)
        with pytest.raises(OutputError) as caught:
            train(corpus, output=output, force=True, progress=events.append, **SETTINGS)
    kept = other / "m.checkpoint.safetensors"
    (note,) = [event.text for event in events if event.phase == "note"]
    assert note.startswith("no checkpoint: ")
    assert "tries again" not in note
    assert os.strerror(number) in str(caught.value)
    assert str(caught.value).endswith(
        f"nothing is lost: free some room, then w2v train --resume {kept}"
    )
    assert output.read_bytes() == b"old"
    assert [path.name for path in output.parent.iterdir()] == ["m.safetensors"]
    assert read_checkpoint(kept).place["epoch"] == 3
    resumed = train(resume=kept)
    assert Model.load(output).history == resumed.history
    straight = train(corpus, **SETTINGS)
    assert np.array_equal(resumed.E, straight.E)
    assert not kept.exists()


def test_a_failing_end_everywhere(
    corpus: Path, output: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def watch(event: Event) -> None:
        if event.phase == "epoch" and event.epoch == 3:
            monkeypatch.setattr(atomic.os, "fsync", fail)

    with pytest.raises(OutputError) as caught:
        train(corpus, output=output, checkpoint_every=1, progress=watch, **SETTINGS)
    message = str(caught.value)
    assert f"{checkpoint_path(output)} holds an earlier state" in message
    assert f"it could not be kept in {other} (" in message
    assert "free) either" in message
    assert read_checkpoint(checkpoint_path(output)).place["epoch"] == 2


def test_a_vanished_folder(corpus: Path, output: Path, other: Path) -> None:
    def watch(event: Event) -> None:
        if event.phase == "epoch" and event.epoch == 2:
            shutil.rmtree(output.parent)

    with pytest.raises(OutputError) as caught:
        train(corpus, output=output, checkpoint_every=1, progress=watch, **SETTINGS)
    kept = other / "m.checkpoint.safetensors"
    assert f"w2v train --resume {kept}" in str(caught.value)
    output.parent.mkdir()
    train(resume=kept)
    assert output.exists()


def test_two_runs_to_one_new_name(corpus: Path, output: Path) -> None:
    """The one that ends later finds the name taken: its hours are not lost, nor the other's."""
    first: list[bytes] = []

    def meanwhile(event: Event) -> None:
        if event.phase == "epoch" and event.epoch == 2:
            train(corpus, output=output.with_name("x.safetensors"), seed=2, **SETTINGS)
            os.rename(output.with_name("x.safetensors"), output)
            first.append(output.read_bytes())

    events: list[Event] = []

    def watch(event: Event) -> None:
        events.append(event)
        meanwhile(event)

    train(corpus, output=output, progress=watch, **SETTINGS)
    assert output.read_bytes() == first[0]
    assert events[-1].path == output.with_name("m-2.safetensors")
    assert any("has been written by another run meanwhile" in event.text for event in events)
    assert Model.load(output.with_name("m-2.safetensors")).config.seed == 1


def test_two_runs_have_two_checkpoints(corpus: Path, output: Path) -> None:
    events: list[Event] = []

    def watch(event: Event) -> None:
        events.append(event)
        if event.phase == "epoch" and event.epoch == 1:
            checkpoint_path(output).write_bytes(b"another's")

    train(corpus, output=output, checkpoint_every=1, progress=watch, **SETTINGS)
    places = [event.path for event in events if event.phase == "checkpoint"]
    assert places == [output.with_name("m-2.checkpoint.safetensors")] * 2
    assert checkpoint_path(output).read_bytes() == b"another's"
    assert {path.name for path in output.parent.iterdir()} == {
        "m.checkpoint.safetensors",
        "m.safetensors",
    }


def test_a_name_taken_at_the_last_moment_is_not_replaced(output: Path) -> None:
    """Between the look and the renaming another program may write the file."""
    with (
        pytest.raises(OutputError, match="exists; use --force"),
        atomic.replacing(output) as stream,
    ):
        stream.write(b"ours")
        output.write_bytes(b"theirs")
    assert output.read_bytes() == b"theirs"
    assert [path.name for path in output.parent.iterdir()] == ["m.safetensors"]


def test_no_checkpoint_holds_a_row_that_is_not_finite(
    corpus: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Keeper.save

    def broken(keeper: Keeper, model: Model, state: Any) -> bool:
        if state.epoch == 2:
            state.Ep[1, 0] = np.nan
        return right(keeper, model, state)

    monkeypatch.setattr(Keeper, "save", broken)
    with pytest.raises(DivergenceError) as caught:
        train(corpus, output=output, checkpoint_every=1, **SETTINGS)
    checkpoint = checkpoint_path(output)
    assert f"--resume {checkpoint} --force --lr" in str(caught.value)
    assert read_checkpoint(checkpoint).place["epoch"] == 1
    assert [path.name for path in output.parent.iterdir()] == [checkpoint.name]


def test_how_often(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now = [0.0]
    monkeypatch.setattr(keeper_module.time, "monotonic", lambda: now[0])

    def keeper(every: float | None) -> Keeper:
        return Keeper(
            tmp_path / "m.safetensors",
            every=every,
            force=False,
            resumed=None,
            asked={},
            say=lambda event: None,
        )

    unasked, given = keeper(None), keeper(0.5)
    for seconds, due in (
        (29, (0, 0, 0, 1)),
        (31, (0, 0, 1, 1)),
        (61, (0, 1, 1, 1)),
        (601, (1, 1, 1, 1)),
    ):
        now[0] = seconds
        found = (
            unasked.is_due(),
            unasked.is_due_at_epoch(),
            given.is_due(),
            given.is_due_at_epoch(),
        )
        assert found == tuple(map(bool, due)), seconds
    nowhere = Keeper(None, every=1, force=False, resumed=None, asked={}, say=lambda event: None)
    assert not (nowhere.is_due() or nowhere.is_due_at_epoch())
