"""Going on from a checkpoint: the bytes of a straight run, and refusals that name the reason."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from w2v_sgns import Model, train
from w2v_sgns.cli.app import app
from w2v_sgns.errors import ConfigError, CorpusError, FormatError, OutputError, ResourceError
from w2v_sgns.training import hogwild
from w2v_sgns.training.checkpoint import checkpoint_path, read_checkpoint
from w2v_sgns.training.events import Event
from w2v_sgns.training.keeper import Keeper

CASES = Path(__file__).resolve().parents[1] / "cases"
SETTINGS: dict[str, Any] = {"dim": 10, "epochs": 3, "min_count": 1, "threads": 1, "negative": 3}


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.fixture(scope="module")
def corpus(demo_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four chunks."""
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    lines = demo_corpus.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 3]))
    return path


@pytest.fixture(scope="module")
def straight(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a run that nothing stopped."""
    output = tmp_path_factory.mktemp("straight") / "m.safetensors"
    train(corpus, output=output, **SETTINGS)
    assert [path.name for path in output.parent.iterdir()] == ["m.safetensors"]
    return output.read_bytes()


@pytest.fixture(params=[1])
def often(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every chunk, or every so many."""

    class Few(hogwild.Chunks):
        def __init__(self, first: int, end: int) -> None:
            super().__init__(first, min(end, first + request.param))

    monkeypatch.setattr(hogwild, "Chunks", Few)
    monkeypatch.setattr(Keeper, "is_due", lambda keeper: keeper.active)
    monkeypatch.setattr(Keeper, "is_due_at_epoch", lambda keeper: keeper.active)


def killed_at(number: int, phase: str = "checkpoint") -> Callable[[Event], None]:
    """Return a progress callback that ends everything at the n-th event of a phase."""
    left = [number]

    def end(event: Event) -> None:
        left[0] -= event.phase == phase
        if not left[0]:
            raise Killed

    return end


def interrupted(corpus: Any, output: Path, number: int, **settings: Any) -> Path:
    with pytest.raises(Killed):
        train(corpus, output=output, progress=killed_at(number), **SETTINGS | settings)
    assert not output.exists()
    return checkpoint_path(output)


def test_where_checkpoints_lie() -> None:
    assert checkpoint_path("a/m.safetensors") == Path("a/m.checkpoint.safetensors")
    assert checkpoint_path("m.txt") == Path("m.txt.checkpoint.safetensors")


@pytest.mark.parametrize("number", [1, 2, 3, 4, 6, 8, 11])
def test_resumed_is_straight(
    corpus: Path, straight: bytes, tmp_path: Path, often: None, number: int
) -> None:
    """Case 48: stopped in the middle of an epoch or at its end, once or after each chunk."""
    output = tmp_path / "m.safetensors"
    checkpoint = interrupted(corpus, output, number)
    rates: list[float] = []

    def watch(event: Event) -> None:
        if event.phase in ("train", "epoch"):
            rates.append(event.lr)

    train(resume=checkpoint, progress=watch)
    assert output.read_bytes() == straight
    assert [path.name for path in tmp_path.iterdir()] == ["m.safetensors"]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == pytest.approx(5e-6, rel=1e-3)


@pytest.mark.parametrize("objective", ["nce", "softmax"])
def test_other_objectives_resume_alike(tmp_path: Path, often: None, objective: str) -> None:
    """Biases, held-out text and patience go through the checkpoint too."""
    corpus = CASES / "48-resume-equals-straight" / "corpus.txt"
    settings = {"objective": objective, "bias": objective == "nce", "holdout": 0.1, "patience": 3}
    straight = tmp_path / "straight.safetensors"
    train(corpus, output=straight, **SETTINGS | settings)
    output = tmp_path / "m.safetensors"
    train(resume=interrupted(corpus, output, 2, **settings))
    assert output.read_bytes() == straight.read_bytes()


def test_killed_again_and_again(corpus: Path, straight: bytes, tmp_path: Path, often: None) -> None:
    output = tmp_path / "m.safetensors"
    checkpoint = interrupted(corpus, output, 1)
    for _ in range(30):
        try:
            train(resume=checkpoint, progress=killed_at(1))
        except Killed:
            continue
        break
    assert output.read_bytes() == straight


def test_48_stop_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = CASES / "48-resume-equals-straight" / "corpus.txt"
    settings = {"epochs": 6, "threads": 1, "seed": 1, "min_count": 1}
    train(corpus, output="a.safetensors", **settings)
    events: list[Event] = []
    half = train(
        corpus,
        output="b.safetensors",
        stop_after=3,
        checkpoint_every=1,
        progress=events.append,
        **settings,
    )
    assert events[-1].phase == "stopped"
    assert events[-1].path == Path("b.checkpoint.safetensors")
    assert [entry["epoch"] for entry in half.history] == [1, 2, 3]
    assert not Path("b.safetensors").exists()
    whole = train(resume="b.checkpoint.safetensors")
    assert Path("a.safetensors").read_bytes() == Path("b.safetensors").read_bytes()
    assert [entry["epoch"] for entry in whole.history] == [1, 2, 3, 4, 5, 6]
    rates = [entry["lr"] for entry in whole.history]
    assert np.allclose(np.diff(rates), (5e-6 - 0.05) / 6)
    assert whole.history[:3] == half.history


@pytest.mark.parametrize("often", [2], indirect=True)
def test_two_threads_lose_nothing(
    corpus: Path, tmp_path: Path, often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("w2v_sgns.training.needs.allowed_threads", lambda: 2)
    output = tmp_path / "m.safetensors"
    train(resume=interrupted(corpus, output, 2, threads=2))
    model = Model.load(output)
    tokens = len(corpus.read_bytes().split())
    assert [entry["tokens"] for entry in model.history] == [tokens] * 3
    assert model.provenance["threads"] == 2


def test_a_checkpoint_can_be_asked(corpus: Path, tmp_path: Path, often: None) -> None:
    checkpoint = interrupted(corpus, tmp_path / "m.safetensors", 2)
    assert Model.load(checkpoint).vectors.most_similar("king", topn=1)
    read = read_checkpoint(checkpoint)
    assert (read.place["epoch"], read.progress) == (0, f"0 of 3 epochs and {2 * 16384:,} tokens")


def test_epochs_can_be_added(corpus: Path, tmp_path: Path) -> None:
    output, notes = tmp_path / "m.safetensors", []
    train(corpus, output=output, stop_after=2, **SETTINGS)

    def watch(event: Event) -> None:
        notes.append(event.text)

    model = train(resume=checkpoint_path(output), epochs=4, progress=watch)
    assert len(model.history) == 4
    assert model.config.epochs == 4
    assert model.history[3]["lr"] == pytest.approx(0.05 - 3 / 4 * (0.05 - 5e-6))
    assert any(note.startswith("--epochs 3 → 4: the learning rate goes on") for note in notes)


def test_a_stop_after_the_end_is_the_end(corpus: Path, tmp_path: Path) -> None:
    train(corpus, output=tmp_path / "m.safetensors", stop_after=9, **SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["m.safetensors"]


# ---- refusals


@pytest.fixture
def stopped(corpus: Path, tmp_path: Path) -> Path:
    output = tmp_path / "run" / "m.safetensors"
    output.parent.mkdir()
    train(corpus, output=output, stop_after=1, **SETTINGS)
    return checkpoint_path(output)


CHANGED = [
    ({"dim": 11}, "--dim is 11 here and 10 there"),
    ({"min_count": 2}, "--min-count is 2 here and 1 there"),
    ({"window": 3}, "--window is 3 here and 5 there; leave it out, or --force"),
    ({"lr": 0.1}, "--lr is 0.1 here and 0.05 there; leave it out, or --force"),
    ({"epochs": 2}, "--epochs is 2 here and 3 there; on resuming, epochs can only be added"),
    ({"read_vocab": "words.txt"}, "--read-vocab"),
]


@pytest.mark.parametrize(("settings", "message"), CHANGED, ids=[str(c[0]) for c in CHANGED])
def test_changed_settings_are_named(stopped: Path, settings: Any, message: str) -> None:
    before = stopped.read_bytes()
    with pytest.raises(ConfigError) as caught:
        train(resume=stopped, **settings)
    assert message in str(caught.value)
    assert stopped.read_bytes() == before


@pytest.mark.parametrize(
    ("there", "here", "message"),
    [
        ({}, {"objective": "softmax"}, "--objective is softmax here and sgns there"),
        (
            {"collisions": "drop"},
            {"objective": "nce-sigmoid"},
            "--objective is nce-sigmoid here and sgns there",
        ),
        (
            {"shared_noise": "batch"},
            {"objective": "softmax"},
            "--objective is softmax here and sgns there",
        ),
        (
            {"objective": "softmax"},
            {"objective": "nce", "collisions": "drop"},
            "--objective is nce here and softmax there",
        ),
        ({}, {"bias": True, "objective": "softmax"}, "--objective is softmax here and sgns there"),
        ({}, {"bias": True}, "--bias is True here and False there"),
        ({}, {"grow_vocab": True}, "--grow-vocab is True here and False there"),
        (
            {"objective": "softmax"},
            {"collisions": "drop"},
            "with the settings of m.checkpoint.safetensors: --collisions drop is about noise",
        ),
        (
            {"objective": "softmax"},
            {"shared_noise": "batch"},
            "with the settings of m.checkpoint.safetensors: --shared-noise batch is about noise",
        ),
        ({"holdout": 0.2}, {"patience": 2}, "--patience is 2 here and None there; leave it out"),
    ],
    ids=str,
)
def test_settings_that_do_not_mix_are_named(
    there: Any, here: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same from Python and from the command line, where `here` alone may be no config."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("a b c d e f\n" * 50)
    train("text.txt", output="m.safetensors", stop_after=1, **SETTINGS | there)
    with pytest.raises(ConfigError) as caught:
        train(resume="m.checkpoint.safetensors", **here)
    assert message in str(caught.value)
    flags = [("--" + name.replace("_", "-"), value) for name, value in here.items()]
    words = [word for flag, value in flags for word in ([flag] if value is True else [flag, value])]
    command = ["train", "--resume", "m.checkpoint.safetensors", *map(str, words)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_same_settings_again_are_no_change(stopped: Path, straight: bytes) -> None:
    train(resume=stopped, **{k: v for k, v in SETTINGS.items() if k != "threads"})
    assert (stopped.parent / "m.safetensors").read_bytes() == straight


def test_the_checkpoint_is_no_output(stopped: Path) -> None:
    """It would be removed at the end, and the model with it."""
    with pytest.raises(ConfigError, match="is the checkpoint itself"):
        train(resume=stopped, output=stopped, force=True)
    assert read_checkpoint(stopped).place["epoch"] == 1


def test_a_stop_that_lies_behind(stopped: Path) -> None:
    with pytest.raises(ConfigError, match=r"--stop-after 1: .* holds 1 complete epochs already"):
        train(resume=stopped, stop_after=1)


def test_a_new_log_is_no_corpus(stopped: Path, corpus: Path, tmp_path: Path) -> None:
    before = corpus.read_bytes()
    with pytest.raises(OutputError, match="would replace an input"):
        train(resume=stopped, log_json=corpus, force=True)
    for name in ("log_json", "plot"):
        stranger = (tmp_path / "other.svg").absolute()
        stranger.write_bytes(b"mine")
        with pytest.raises(OutputError, match="exists"):
            train(resume=stopped, **{name: stranger})
        assert stranger.read_bytes() == b"mine"
    assert corpus.read_bytes() == before


@pytest.mark.parametrize("name", ["dim", "min_count"])
def test_force_does_not_change_what_the_rows_are(stopped: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot change on the way"):
        train(resume=stopped, force=True, **{name: 7})


def test_force_lets_other_settings_differ(stopped: Path) -> None:
    model = train(resume=stopped, force=True, lr=0.1, window=2)
    assert (model.config.lr, model.config.window) == (0.1, 2)
    assert model.history[1]["pairs"] < model.history[0]["pairs"]


def test_another_text_is_refused(stopped: Path, corpus: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_bytes(corpus.read_bytes() + b"one more line\n")
    with pytest.raises(CorpusError, match=r"the corpus has changed since \(tokens .* → "):
        train(other, resume=stopped)
    swapped = tmp_path / "swapped.txt"
    lines = corpus.read_bytes().splitlines(keepends=True)
    swapped.write_bytes(b"".join(reversed(lines)))
    with pytest.raises(CorpusError, match="as many tokens, but others"):
        train(swapped, resume=stopped)
    assert train(other, resume=stopped, force=True).history[2]["epoch"] == 3


def test_force_of_the_first_run_counts_for_its_output_alone(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, other = tmp_path / "m.safetensors", tmp_path / "other.txt"
    output.write_bytes(b"old")
    other.write_bytes(corpus.read_bytes() + b"one more line\n")
    settings = SETTINGS | {"objective": "softmax"}
    train(corpus, output=output, force=True, stop_after=1, **settings)
    checkpoint = checkpoint_path(output)
    with pytest.raises(CorpusError, match="the corpus has changed"):
        train(other, resume=checkpoint)
    with pytest.raises(ConfigError, match="--lr"):
        train(resume=checkpoint, lr=0.5)
    with monkeypatch.context() as patch:
        patch.setattr("w2v_sgns.training.cost.HOUR", 0.0)
        with pytest.raises(ResourceError, match="more than an hour"):
            train(resume=checkpoint)
    assert output.read_bytes() == b"old"
    train(resume=checkpoint, stop_after=2)
    train(resume=checkpoint)  # the output that the first run was let replace
    assert len(Model.load(output).history) == 3


def test_the_text_may_have_moved(
    stopped: Path, corpus: Path, straight: bytes, tmp_path: Path
) -> None:
    moved = tmp_path / "moved.txt"
    moved.write_bytes(corpus.read_bytes())
    train(moved, resume=stopped)
    assert (stopped.parent / "m.safetensors").read_bytes() == straight


def test_relative_paths_start_here(
    corpus: Path, straight: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_bytes(corpus.read_bytes())
    train("corpus.txt", output="m.safetensors", stop_after=1, **SETTINGS)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(CorpusError) as caught:
        train(resume="../m.checkpoint.safetensors")
    assert "relative paths start from the current folder" in str(caught.value)
    assert str(tmp_path / "elsewhere") in str(caught.value)
    monkeypatch.chdir(tmp_path)
    train(resume="m.checkpoint.safetensors")
    assert Path("m.safetensors").read_bytes() == straight


def test_a_python_list_must_be_given_again(corpus: Path, tmp_path: Path) -> None:
    lines = [line.split() for line in corpus.read_text().splitlines()]
    train(lines, output=tmp_path / "m.safetensors", stop_after=1, **SETTINGS)
    checkpoint = tmp_path / "m.checkpoint.safetensors"
    with pytest.raises(CorpusError, match="cannot be read again; give the same text"):
        train(resume=checkpoint)
    train(lines, resume=checkpoint)
    assert len(Model.load(tmp_path / "m.safetensors").history) == 3


def test_40_what_cannot_be_resumed(stopped: Path, tmp_path: Path) -> None:
    vectors = CASES / "40-no-counts" / "vectors.txt"
    with pytest.raises(FormatError) as caught:
        train(resume=vectors)
    assert str(caught.value) == (
        f"{vectors}: this file has no output matrix and no counts; resume needs a checkpoint; use "
        f"--init {vectors}"
    )
    train(resume=stopped)
    finished = stopped.parent / "m.safetensors"
    with pytest.raises(FormatError, match=r"is a finished model.* --init "):
        train(resume=finished)
    with pytest.raises(FormatError, match=r"no such file; needed: the OUT\.checkpoint"):
        train(resume=tmp_path / "nowhere.safetensors")


def test_a_damaged_place_is_refused(stopped: Path) -> None:
    data = stopped.read_bytes()
    for old, new in ((b'\\"epoch\\":', b'\\"epocH\\":'), (b'\\"chunk\\": 0', b'\\"chunk\\": x')):
        assert old in data
        stopped.write_bytes(data.replace(old, new))
        with pytest.raises(FormatError, match="place is damaged"):
            train(resume=stopped)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'\\"best\\": {\\"epoch\\"', b'\\"best\\": {\\"epocH\\"'),
        (b'\\"frozen_outputs\\": true', b'\\"frozen_outputs\\": null'),
        (b'\\"log_json\\": null', b'\\"log_json\\": 1234'),
        (b'\\"best\\":', b'\\"bust\\":'),
        (b'"best_output"', b'"best_outpuT"'),
        (b'"counts"', b'"countS"'),
        (b'"frozen"', b'"frozeN"'),
    ],
)
def test_what_else_is_damaged_is_refused(
    corpus: Path, tmp_path: Path, stopped: Path, old: bytes, new: bytes
) -> None:
    """In the checkpoint of a run that holds everything there can be."""
    output = tmp_path / "all.safetensors"
    (tmp_path / "words.txt").write_text(Model.load(stopped).vocabulary.word(0))
    given = {"init": stopped, "freeze": tmp_path / "words.txt", "holdout": 0.2, "patience": 2}
    train(corpus, output=output, stop_after=1, **SETTINGS | given)
    path = checkpoint_path(output)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    with pytest.raises(FormatError, match="place is damaged"):
        train(resume=path)


def test_an_unfinished_run_is_not_written_over(stopped: Path, corpus: Path) -> None:
    output = stopped.parent / "m.safetensors"
    with pytest.raises(OutputError) as caught:
        train(corpus, output=output, **SETTINGS)
    assert f"w2v train --resume {stopped}, or --force to begin anew" in str(caught.value).replace(
        "(", ""
    ).replace(")", "")
    train(corpus, output=output, force=True, **SETTINGS)
    assert not stopped.exists()


# ---- signals, to the library


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_saves_and_is_raised(
    corpus: Path, straight: bytes, tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("w2v_sgns.training.needs.allowed_threads", lambda: 2)
    output, phases = tmp_path / "m.safetensors", []

    def press(event: Event) -> None:
        phases.append(event.phase)
        if phases.count("epoch") == 1 and event.phase == "epoch":
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(corpus, output=output, progress=press, **SETTINGS | {"threads": threads})
    assert signal.getsignal(signal.SIGINT) is before
    assert phases[-1] == "interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["m.checkpoint.safetensors"]
    train(resume=tmp_path / "m.checkpoint.safetensors")
    if threads == 1:
        assert output.read_bytes() == straight


def test_the_second_ctrl_c_ends_at_once(corpus: Path, tmp_path: Path) -> None:
    old = tmp_path / "m.safetensors"
    old.write_bytes(b"old")
    phases: list[str] = []

    def press(event: Event) -> None:
        phases.append(event.phase)
        if event.phase == "epoch":
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(corpus, output=old, force=True, progress=press, **SETTINGS)
    assert "interrupted" not in phases
    assert old.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["m.safetensors"]


def test_without_an_output_ctrl_c_is_python_s_own(corpus: Path) -> None:
    def press(event: Event) -> None:
        if event.phase == "epoch":
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(corpus, progress=press, **SETTINGS)


def test_outside_the_main_thread_signals_are_left_alone(corpus: Path, tmp_path: Path) -> None:
    found: list[Any] = []

    def job() -> None:
        train(
            corpus,
            output=tmp_path / "m.safetensors",
            progress=lambda event: found.append(signal.getsignal(signal.SIGINT)),
            **SETTINGS,
        )

    thread = threading.Thread(target=job)
    thread.start()
    thread.join()
    assert set(found) == {signal.default_int_handler}
    assert (tmp_path / "m.safetensors").exists()


def test_a_chunk_that_takes_too_long_is_cut(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wide windows: after a second the rest of the chunk is left out, nothing else."""
    monkeypatch.setattr("w2v_sgns.training.run.GRACE", 0.0)
    wide = SETTINGS | {"window": 1000, "dim": 300, "sample": 0, "epochs": 1, "lr": 1e-4}
    events: list[Event] = []

    def press(event: Event) -> None:
        events.append(event)
        if event.phase == "train" and sum(e.phase == "train" for e in events) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    text = tmp_path / "line.txt"
    text.write_bytes(corpus.read_bytes().replace(b"\n", b" "))
    with pytest.raises(KeyboardInterrupt):
        train(text, output=tmp_path / "m.safetensors", progress=press, **wide)
    assert any("was left out" in event.text for event in events)
    read = read_checkpoint(tmp_path / "m.checkpoint.safetensors")
    assert 1 <= read.place["chunk"] <= 4
    assert train(resume=read.path).history[0]["pairs"] > 0
