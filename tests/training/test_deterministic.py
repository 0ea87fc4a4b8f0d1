"""--deterministic: several threads, the same file in every run, whatever happens to the run."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns import ConfigError, Model, RunOptions, train
from w2v_sgns.training import hogwild, needs, stripes
from w2v_sgns.training.checkpoint import checkpoint_path
from w2v_sgns.training.events import Event
from w2v_sgns.training.header import _threads
from w2v_sgns.training.keeper import Keeper
from w2v_sgns.training.pace import MOST, Pace

SETTINGS: dict[str, Any] = {"dim": 24, "epochs": 2, "deterministic": True, "threads": 2}


class Killed(BaseException):
    """Stands for kill -9: nothing catches it."""


@pytest.fixture
def processors(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the process use so many."""
    return lambda count: monkeypatch.setattr(needs, "allowed_threads", lambda: count)


@pytest.fixture(scope="module")
def straight(demo_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    output = tmp_path_factory.mktemp("straight") / "m.safetensors"
    train(demo_corpus, output=output, **SETTINGS)
    return output.read_bytes()


@pytest.mark.parametrize("count", [1, 2, 7])
def test_runs_and_processors_do_not_matter(
    demo_corpus: Path, straight: bytes, tmp_path: Path, processors: Any, count: int
) -> None:
    processors(count)
    model = train(demo_corpus, output=tmp_path / "m.safetensors", **SETTINGS)
    assert (tmp_path / "m.safetensors").read_bytes() == straight
    assert model.provenance["deterministic"] is True
    assert model.provenance["threads"] == 2, "as asked for: what the vectors depend on"


def test_processes_and_hash_seeds_do_not_matter(
    demo_corpus: Path, straight: bytes, tmp_path: Path
) -> None:
    (tmp_path / demo_corpus.name).write_bytes(demo_corpus.read_bytes())
    command = [sys.executable, "-m", "w2v_sgns", "train", demo_corpus.name, "--threads", "2"]
    command += ["--dim", "24", "--epochs", "2", "--deterministic"]
    environment = os.environ | {"PYTHONHASHSEED": "99"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, timeout=300, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "in step, the vectors of --threads 2" in done.stderr
    assert (tmp_path / "model.safetensors").read_bytes() == straight


def test_it_learns_what_racing_threads_learn(demo_corpus: Path, processors: Any) -> None:
    processors(2)
    settings = {"dim": 24, "epochs": 4, "threads": 2}
    in_step = train(demo_corpus, deterministic=True, **settings)
    racing = train(demo_corpus, **settings)
    for ours, theirs in zip(in_step.history, racing.history, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=0.03)
        assert (ours["kept"], ours["pairs"]) == (theirs["kept"], theirs["pairs"])
    assert racing.provenance["deterministic"] is False


@pytest.mark.parametrize("settings", [{"lr": 0.2}, {"window": 15, "fixed_window": True}])
def test_what_one_thread_bears_they_bear_too(
    demo_corpus: Path, processors: Any, settings: dict[str, Any]
) -> None:
    """Old scores must not make a training diverge that goes well on one thread."""
    processors(2)
    given = {"dim": 24, "epochs": 2, "sample": 0, "lr": 0.1} | settings
    one = train(demo_corpus, threads=1, **given)
    two = train(demo_corpus, threads=2, deterministic=True, **given)
    assert two.history[-1]["loss"] == pytest.approx(one.history[-1]["loss"], rel=0.02)


def test_other_numbers_of_threads_give_other_files(demo_corpus: Path, processors: Any) -> None:
    processors(2)
    two = train(demo_corpus, **SETTINGS)
    three = train(demo_corpus, **SETTINGS | {"threads": 3, "dim": 40})
    again = train(demo_corpus, **SETTINGS | {"threads": 2, "dim": 40})
    assert not np.array_equal(three.E, again.E)
    assert np.abs(three.E - again.E).max() < 0.1
    assert two.provenance["threads"] == 2


def test_one_thread_is_exact_without_blocks(demo_corpus: Path) -> None:
    alone = {"dim": 24, "epochs": 1, "threads": 1}
    assert np.array_equal(
        train(demo_corpus, deterministic=True, **alone).E, train(demo_corpus, **alone).E
    )


@pytest.mark.parametrize("number", [1, 3])
def test_a_resumed_run_writes_the_same_file(
    demo_corpus: Path,
    straight: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    processors: Any,
    number: int,
) -> None:
    """Stopped with two processors, gone on with one."""
    processors(2)
    monkeypatch.setattr(Keeper, "is_due", lambda keeper: keeper.active)
    monkeypatch.setattr(hogwild, "TICK", 0.001)
    left = [number]

    def end(event: Event) -> None:
        left[0] -= event.phase == "checkpoint"
        if not left[0]:
            raise Killed

    output = tmp_path / "m.safetensors"
    with pytest.raises(Killed):
        train(demo_corpus, output=output, progress=end, **SETTINGS)
    processors(1)
    train(resume=checkpoint_path(output))
    assert output.read_bytes() == straight


def test_how_it_was_begun_cannot_change_on_the_way(
    demo_corpus: Path, tmp_path: Path, processors: Any
) -> None:
    processors(2)
    for name, given in (("a", SETTINGS), ("b", SETTINGS | {"deterministic": False})):
        train(demo_corpus, output=tmp_path / f"{name}.safetensors", stop_after=1, **given)
    ours, racing = (tmp_path / f"{name}.checkpoint.safetensors" for name in "ab")
    with pytest.raises(ConfigError, match=r"--threads 3: .* --deterministic --threads 2, and its"):
        train(resume=ours, threads=3)
    with pytest.raises(ConfigError, match="begun with it, and it cannot change on the way"):
        train(resume=ours, deterministic=False)
    with pytest.raises(ConfigError, match="begun without it, and it cannot change on the way"):
        train(resume=racing, deterministic=True)
    with pytest.raises(ConfigError, match=r"--device cuda: .* was begun with --deterministic, "):
        train(resume=ours, device="cuda")
    assert train(resume=ours, threads=2).provenance["threads"] == 2


def test_held_out_lines_and_frozen_rows(demo_corpus: Path, tmp_path: Path, processors: Any) -> None:
    processors(2)
    (tmp_path / "frozen.txt").write_text("king\nqueen\n")
    first = train(demo_corpus, output=tmp_path / "first.safetensors", **SETTINGS)
    given = {"init": tmp_path / "first.safetensors", "freeze": tmp_path / "frozen.txt"}
    files = []
    for name in ("a", "b"):
        output = tmp_path / f"{name}.safetensors"
        train(demo_corpus, output=output, holdout=0.05, patience=2, **SETTINGS | given)
        files.append(output.read_bytes())
    assert files[0] == files[1]
    second = Model.load(tmp_path / "a.safetensors")
    assert "heldout_loss" in second.history[0]
    for word in ("king", "queen", "man"):
        row = first.vocabulary.index(word)
        same = [
            np.array_equal(a[row], b[row]) for a, b in ((first.E, second.E), (first.Ep, second.Ep))
        ]
        assert same == [word != "man"] * 2


@pytest.mark.parametrize("objective", ["softmax"])
def test_batches_need_no_steps(objective: str, processors: Any, tmp_path: Path) -> None:
    processors(2)
    (tmp_path / "c.txt").write_text("a b c d e f g h\n" * 40)
    given = {"objective": objective, "min_count": 1, "dim": 8, "epochs": 1, "threads": 2}
    plain, asked = (
        train(tmp_path / "c.txt", deterministic=flag, **given) for flag in (False, True)
    )
    assert np.array_equal(plain.E, asked.E)
    assert plain.provenance["deterministic"] and asked.provenance["deterministic"]


def test_an_error_in_one_thread_ends_all(
    demo_corpus: Path, monkeypatch: pytest.MonkeyPatch, processors: Any
) -> None:
    processors(2)
    right, calls = stripes.train_striped, 0

    def broken(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 5 and arguments[-3] == 1:  # the second of two, while the first is at work
            raise RuntimeError("a broken share")
        right(*arguments)

    monkeypatch.setattr(stripes, "train_striped", broken)
    monkeypatch.setattr(Pace, "took", lambda pace, seconds: None)
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="a broken share"):
        train(demo_corpus, **SETTINGS)
    assert threading.active_count() <= before


def test_an_exception_from_progress_ends_all_at_once(demo_corpus: Path, processors: Any) -> None:
    processors(2)
    raised = 0.0

    def impatient(event: Event) -> None:
        nonlocal raised
        if event.phase == "train" and event.seconds > 0.3:
            raised = time.monotonic()
            raise KeyboardInterrupt

    wide = {"window": 300, "dim": 300, "sample": 0, "epochs": 20, "lr": 1e-4, "fixed_window": True}
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        train(demo_corpus, progress=impatient, **SETTINGS | wide)
    assert time.monotonic() - raised < 6
    assert threading.active_count() <= before


def test_what_is_refused_and_said() -> None:
    with pytest.raises(ConfigError, match="--deterministic is on or off"):
        RunOptions(deterministic=2)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="--deterministic is about the threads of one machine"):
        RunOptions(deterministic=True, cluster="auto")
    assert (
        _threads(2, 0, in_step=True, same=False) == "2 threads in step, the vectors of --threads 2"
    )
    assert _threads(1, 4, in_step=True, same=False) == (
        "1 thread in step, the vectors of --threads 4: all that this process may use, 4 asked for"
    )
    assert _threads(1, 0, in_step=True, same=False) == "1 thread"
    assert _threads(2, 0, in_step=False, same=False).endswith("results vary a little between runs")


def ways(pace: Pace, chunks: int, *, together: float, alone: float) -> list[bool]:
    taken = []
    for _ in range(chunks):
        taken.append(pace.together)
        pace.took(together if pace.together else alone)
    return taken


def test_the_pace_follows_what_is_faster() -> None:
    pace = Pace()
    assert ways(pace, 400, together=1, alone=5).count(False) < 30, "trials become rare"
    taken = ways(pace, 1200, together=100, alone=5)
    assert taken[-200:].count(True) < 20
    assert ways(pace, 40_000, together=100, alone=5).count(True) < 60
    assert True in ways(pace, 3 * MOST, together=1, alone=5), "and never end"
    assert ways(pace, 3 * MOST, together=1, alone=5).count(True) > 2 * MOST


def test_a_trial_is_judged_when_it_is_warm() -> None:
    """The first chunks after a change are slow, whichever way is the faster one."""
    pace, before = Pace(), True
    taken = []
    for _ in range(200):
        cold, before = pace.together is not before, pace.together
        taken.append(pace.together)
        pace.took(9 if cold else 2 if pace.together else 1)
    assert taken[-100:].count(False) > 80
