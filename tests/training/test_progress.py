"""What a run shows: a bar on a terminal, lines elsewhere, a summary at the end."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from small_models import small_model

from w2v_sgns.config import TrainConfig
from w2v_sgns.training import progress
from w2v_sgns.training.durations import duration, words_per_second
from w2v_sgns.training.events import Event
from w2v_sgns.training.progress import TerminalProgress, next_command


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def training(**figures: Any) -> Event:
    standard = {"done": 300_000, "total": 1_000_000, "epoch": 2, "lr": 0.0312, "loss": 2.3456}
    return Event(phase="train", **(standard | {"seconds": 0.5} | figures))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (7.4, "0:07"), (754, "12:34"), (11_109, "3:05:09"), (float("nan"), "?")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("rate", "text"), [(4_312_000, "4.31 M words/s"), (512_300, "512 k words/s")]
)
def test_words_per_second(rate: float, text: str) -> None:
    assert words_per_second(rate) == text


def test_the_figures_of_a_moment() -> None:
    # 300,000 words in half a second; 700,000 are left: 1.17 seconds
    assert progress.training_text(training()) == ("600 k words/s  lr 0.0312  loss 2.346  0:01 left")
    unknown = progress.training_text(training(done=0, seconds=0.0, loss=float("nan")))
    assert unknown == "0 k words/s  lr 0.0312  loss n/a  ? left"


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    stream = io.StringIO()
    with TerminalProgress(stream, TrainConfig(epochs=3)) as watch:
        now = 109.9
        watch(training())
        assert stream.getvalue() == "", "nothing before ten seconds"
        now = 110.0
        watch(training())
        now = 119.0
        watch(training())
        now = 121.0
        watch(training(done=600_000, seconds=1.0))
    first, second = stream.getvalue().splitlines()
    assert first == "epoch 2/3   30 %  600 k words/s  lr 0.0312  loss 2.346  0:01 left"
    assert second.startswith("epoch 2/3   60 %")
    assert watch.last is not None
    assert watch.last.done == 600_000


def test_a_bar_on_a_terminal() -> None:
    stream = Terminal()
    with TerminalProgress(stream, TrainConfig(epochs=3)) as watch:
        watch(training())
        watch(training(done=600_000))
        watch(Event(phase="compile"))
    shown = stream.getvalue()
    for part in ("epoch 2/3", " 30%", " 60%", "600 k words/s", "lr 0.0312", "loss 2.346"):
        assert part in shown, part
    assert shown.endswith("compiling: once on this machine, some seconds\n")


def test_counting_is_shown_too() -> None:
    stream = Terminal()
    with TerminalProgress(stream, TrainConfig()) as watch:
        watch(Event(phase="count", done=25, total=100_000_000))
    assert "counting" in stream.getvalue()
    assert "100 MB" in stream.getvalue()


def test_the_next_command_fits_a_shell() -> None:
    model = small_model(["the", "of", "and", "king", "mice", "o'clock"])
    model.E[:] = 1
    model.E[0], model.E[3], model.E[5] = 9, 5, 9  # king's is the longest of the plain words
    assert next_command(model, Path("model.safetensors")) == "w2v similar king"
    assert next_command(model, Path("my model.safetensors")) == (
        "w2v similar -m 'my model.safetensors' king"
    )
    odd = small_model(["-x", "$(rm)"])
    assert next_command(odd, Path("model.safetensors")) == "w2v similar -- -x"
