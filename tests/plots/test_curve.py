"""Curves from logs: what is read, what is drawn, what is refused."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from w2v_sgns.cli.app import app
from w2v_sgns.errors import ConfigError, FormatError
from w2v_sgns.plots import curve as module
from w2v_sgns.plots.curve import Run, draw_curve, read_log

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="needs matplotlib: pip install -e '.[plot]' (.ci/run does)",
)


def event(done: int, seconds: float, phase: str = "train", **more: Any) -> dict[str, Any]:
    numbers = {"total": 4000, "epoch": 1, "loss": 4.0 - done / 2000, "lr": 0.05 - done / 1e5}
    return {"phase": phase, "done": done, "seconds": seconds} | numbers | more


START = {"phase": "start", "config": {"dim": 100}, "program": "w2v-sgns 0.1.0"}
EVENTS = [
    START,
    {"phase": "count", "done": 10, "total": 20},
    event(1000, 1.0),
    event(2000, 2.0, "epoch", heldout=3.5),
    event(3000, 4.0),
    event(4000, 6.0, "epoch", heldout=3.25),
    {"phase": "done"},
]


def write(path: Path, events: list[dict[str, Any]], tail: str = "") -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in events) + tail)
    return path


def test_points_and_speeds(tmp_path: Path) -> None:
    run = read_log(write(tmp_path / "a_b.jsonl", EVENTS))
    assert run.name == "a_b"
    assert [point.done for point in run.points] == [1000, 2000, 3000, 4000]
    assert [point.loss for point in run.points] == [3.5, 3.0, 2.5, 2.0]
    assert [point.heldout for point in run.points if not math.isnan(point.heldout)] == [3.5, 3.25]
    assert run.speeds() == [(1000, 1000), (2000, 1000), (3000, 500), (4000, 500)]


def test_short_stretches_are_joined() -> None:
    run = Run("x")
    for done in range(1, 10_001):
        run.add(event(done, done / 100))
    speeds = run.speeds()
    assert len(speeds) == module.STRETCHES
    assert all(rate == pytest.approx(100) for _, rate in speeds)


def test_a_resumed_run_goes_on_where_its_checkpoint_was(tmp_path: Path) -> None:
    again = [START, event(2500, 2.8), event(4000, 5.0, "epoch")]
    run = read_log(write(tmp_path / "x.jsonl", [*EVENTS[:5], *again]))
    assert [point.done for point in run.points] == [1000, 2000, 2500, 4000]
    anew = read_log(write(tmp_path / "y.jsonl", [*EVENTS[:4], event(3000, 0.5), event(4000, 1.5)]))
    assert anew.speeds() == [(1000, 1000), (2000, 1000), (4000, 1000)]


def test_a_log_that_is_still_written(tmp_path: Path) -> None:
    run = read_log(write(tmp_path / "x.jsonl", EVENTS[:4], tail='{"phase": "tra'))
    assert len(run.points) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no training to draw; needed: a log written by w2v train --log-json"),
        (json.dumps(START) + "\n", "holds no training to draw"),
        ("{}\nnonsense\n", "line 2: is no event"),
        ("[1]\n", "line 1: is no event"),
        ('{"phase": "train", "done": "x"}\n', "line 1: is no event"),
        ('{"phase": "train", "done": 5, "loss": [1]}\n', "line 1: is no event"),
        ("[" * 100_000 + "\n", "line 1: is no event"),
    ],
)
def test_what_is_no_log(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read_log(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"missing\.jsonl: cannot be read: No such file"):
        read_log(tmp_path / "missing.jsonl")


@needs_matplotlib
@pytest.mark.parametrize("suffix", [".png", ".svg", ".html"])
def test_the_same_runs_are_the_same_file(suffix: str, tmp_path: Path) -> None:
    logs = [write(tmp_path / f"{name}.jsonl", EVENTS) for name in ("one", "$two$_")]
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    for out in (first, second):
        done = CliRunner().invoke(app, ["plot", "curve", *map(str, logs), "-o", str(out)])
        assert (done.exit_code, done.stdout) == (0, "")
        assert done.stderr == f"written     {out}: 2 runs\n"
    assert first.read_bytes() == second.read_bytes()


@needs_matplotlib
def test_the_curves_are_the_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    bytes_of = module.figure.figure_bytes

    def watched(figure: Any, kind: str) -> bytes:
        drawn.extend(figure.axes)
        return bytes_of(figure, kind)

    monkeypatch.setattr(module.figure, "figure_bytes", watched)
    run = read_log(write(tmp_path / "x.jsonl", EVENTS))
    draw_curve(tmp_path / "x.png", [run])
    loss, lr, speed = drawn
    curves = [line.get_xydata().tolist() for line in loss.lines]
    assert curves[0] == [[1, 3.5], [2, 3.0], [3, 2.5], [4, 2.0]]  # thousands of words
    assert curves[1] == [[2, 3.5], [4, 3.25]]  # held out
    assert lr.lines[0].get_ydata().tolist() == pytest.approx([0.04, 0.03, 0.02, 0.01])
    assert speed.lines[0].get_xydata().tolist() == [[1, 1000], [2, 1000], [3, 500], [4, 500]]
    assert speed.get_xlabel() == "thousand words passed, all epochs"
    assert [text.get_text() for text in loss.get_legend().get_texts()] == ["x", "x, held out"]


@needs_matplotlib
def test_refusals(tmp_path: Path) -> None:
    log, out = write(tmp_path / "x.jsonl", EVENTS), tmp_path / "x.png"
    for arguments, message in (
        ([str(log), "-o", str(tmp_path / "x.gif")], "must end in .png or .svg or .html"),
        ([str(log), "-o", str(tmp_path / "missing" / "x.png")], "make it first"),
        ([str(log), str(tmp_path / "y.jsonl"), "-o", str(out)], "y.jsonl: cannot be read"),
    ):
        done = CliRunner().invoke(app, ["plot", "curve", *arguments])
        assert (done.exit_code, done.stdout) == (1, "")
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert not out.exists()
    out.write_text("old")
    done = CliRunner().invoke(app, ["plot", "curve", str(log), "-o", str(out)])
    assert (done.exit_code, out.read_text()) == (1, "old")
    with pytest.raises(ConfigError, match="no runs"):
        draw_curve(tmp_path / "none.png", [])
    assert CliRunner().invoke(app, ["plot", "curve"]).exit_code == 2
    done = CliRunner().invoke(app, ["plot", "--help"])
    assert (done.exit_code, "curve" in done.stdout) == (0, True)


@needs_matplotlib
def test_the_page_of_a_curve(open_page: Callable[..., Any], tmp_path: Path) -> None:
    log = write(tmp_path / "<script>alert(1)<\u200b\u202e.jsonl", EVENTS)
    out = tmp_path / "x.html"
    draw_curve(out, [read_log(log)])
    for width, scheme in ((360, "dark"), (1200, "light")):
        page = open_page(out, width=width, color_scheme=scheme).page
        assert page.evaluate("document.images[0].naturalWidth") > 300
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        cells = page.locator("tbody tr").first.locator("th, td").all_text_contents()
        name = r"<script>alert(1)<\u200b\u202e"
        assert cells == [name, "4,000", "2.0000", "6.0 s", "667"]
        assert page.locator("script").count() == 0
