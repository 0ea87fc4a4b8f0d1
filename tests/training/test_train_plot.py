"""`train --plot`: drawn at the end, refused before the work, gone on with by a resumed run."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from w2v_sgns import train
from w2v_sgns.errors import ConfigError, OutputError
from w2v_sgns.plots import figure
from w2v_sgns.training import curve as module
from w2v_sgns.training.checkpoint import checkpoint_path
from w2v_sgns.training.events import Event

SMALL: dict[str, Any] = {"dim": 8, "epochs": 2, "threads": 1}
LINES = [["a", "b", "c", "d"]] * 200

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="needs matplotlib: pip install -e '.[plot]' (.ci/run does)",
)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The runs that were drawn."""
    runs: list[Any] = []
    draw = module.draw_curve

    def watched(path: Path, one: list[Any], *, force: bool) -> None:
        runs.extend(one)
        draw(path, one, force=force)

    monkeypatch.setattr(module, "draw_curve", watched)
    return runs


@needs_matplotlib
def test_the_curve_is_the_history(tmp_path: Path, drawn: list[Any]) -> None:
    path = tmp_path / "curve.svg"
    events: list[Event] = []
    model = train(LINES, plot=path, progress=events.append, **SMALL)
    assert path.read_bytes().startswith(b"<?xml")
    (run,) = drawn
    ends = [event for event in events if event.phase == "epoch"]
    assert len(ends) == 2
    losses = {point.done: point.loss for point in run.points}
    assert [losses[event.done] for event in ends] == [entry["loss"] for entry in model.history]


@needs_matplotlib
def test_an_existing_picture_is_refused_before_the_work(tmp_path: Path) -> None:
    path = tmp_path / "curve.png"
    path.write_text("old")
    events: list[Event] = []
    with pytest.raises(OutputError, match="exists; use --force"):
        train(LINES, plot=path, progress=events.append, **SMALL)
    assert events == []
    train(LINES, plot=path, force=True, **SMALL)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_what_could_not_be_drawn_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OutputError, match=r"must end in \.png or \.svg or \.html"):
        train(LINES, plot=tmp_path / "curve.pdf", **SMALL)
    monkeypatch.setattr(figure, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'w2v-sgns\[plot\]'"):
        train(LINES, plot=tmp_path / "curve.png", **SMALL)
    assert list(tmp_path.iterdir()) == []


@needs_matplotlib
def test_a_resumed_run_draws_its_own_part(
    demo_corpus: Path, tmp_path: Path, drawn: list[Any]
) -> None:
    path, output = tmp_path / "curve.png", tmp_path / "m.safetensors"
    train(demo_corpus, plot=path, output=output, stop_after=1, **SMALL)
    first = path.read_bytes()
    train(resume=checkpoint_path(output))
    assert path.read_bytes() != first
    before, after = drawn
    assert before.points[-1].done < after.points[-1].done


@needs_matplotlib
def test_a_run_that_fails_draws_nothing(tmp_path: Path) -> None:
    def stop(event: Event) -> None:
        if event.phase == "epoch":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        train(LINES, plot=tmp_path / "curve.png", progress=stop, **SMALL)
    assert list(tmp_path.iterdir()) == []
