"""Training curves: loss, learning rate and words/s of one or several runs.

Reads what `w2v train --log-json` writes, draws with matplotlib (extra: plot). In an HTML file the
picture stands beside a table of the runs.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from w2v_sgns.errors import ConfigError, FormatError
from w2v_sgns.escape import shown
from w2v_sgns.formats.atomic import Inputs, replacing
from w2v_sgns.plots import figure
from w2v_sgns.plots.html import assemble

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SUFFIXES", "Point", "Run", "check_curve", "draw_curve", "read_log"]

SUFFIXES = (*figure.SUFFIXES, ".html")
WIDTH, HEIGHT = 7.5, 6.5  # inches
STRETCHES = 100  # of a run; the words/s of each is drawn


@dataclass(frozen=True)
class Point:
    """Where a run stood.

    Attributes:
        done: words passed, of all epochs.
        loss: mean per pair of the epoch so far.
        lr: learning rate.
        seconds: of training so far.
        heldout: mean loss of the held-out text; known at the end of an epoch only.
    """

    done: int
    loss: float
    lr: float
    seconds: float
    heldout: float = math.nan


@dataclass
class Run:
    """One training: its name and its points in order."""

    name: str
    points: list[Point] = field(default_factory=list)

    def add(self, event: Mapping[str, Any]) -> None:
        """Take an event, or a line of a log; all but "train" and "epoch" are passed over.

        A resumed run passes some words again: the later points count.
        """
        if event.get("phase") not in ("train", "epoch") or not event.get("done"):
            return
        numbers = {name: float(event.get(name, math.nan)) for name in ("loss", "lr", "heldout")}
        point = Point(int(event["done"]), seconds=float(event.get("seconds", 0.0)), **numbers)
        while self.points and self.points[-1].done >= point.done:
            self.points.pop()
        self.points.append(point)

    def speeds(self) -> list[tuple[int, float]]:
        """Return (words passed, words/s) of stretches of the run of about equal length."""
        speeds = []
        before = Point(0, math.nan, math.nan, 0.0)
        step = self.points[-1].done / STRETCHES
        for point in self.points:
            if point.seconds < before.seconds:  # a resumed run that began its clock anew
                before = point
            elif point.done - before.done >= step and point.seconds > before.seconds:
                rate = (point.done - before.done) / (point.seconds - before.seconds)
                speeds.append((point.done, rate))
                before = point
        return speeds


def read_log(path: Path | str) -> Run:
    """Read the points of a run from a log of JSON lines.

    A last line that is cut short, as in the log of a run that still goes on, is passed over.

    Raises:
        FormatError: the file cannot be read, a line is no JSON object, or no point is in it.
    """
    path = Path(path)
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from error
    run = Run(shown(path.stem))
    for number, line in enumerate(lines[:-1], 1):
        if line.strip():
            _take(run, line, f"{path}: line {number:,}")
    if not run.points:
        raise FormatError(
            f"{path}: holds no training to draw; needed: a log written by w2v train --log-json"
        )
    return run


def _take(run: Run, line: bytes, place: str) -> None:
    try:
        event = json.loads(line)
        run.add(event)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(
            f"{place}: is no event ({error}); needed: a JSON object with numbers, as w2v train "
            "--log-json writes"
        ) from error


def check_curve(path: Path | str, *, force: bool = False, inputs: Inputs = ()) -> None:
    """Refuse a picture that could not be drawn or written; meant to be asked before the work.

    Raises:
        OutputError, ConfigError: see :func:`~w2v_sgns.plots.figure.check_figure`.
    """
    figure.check_figure(path, force=force, suffixes=SUFFIXES, inputs=inputs)


def draw_curve(path: Path | str, runs: Sequence[Run], *, force: bool = False) -> None:
    """Draw the runs into a .png, .svg or .html file.

    Raises:
        OutputError: the place is refused, or writing fails.
        ConfigError: no runs, or matplotlib is not installed.
    """
    if not runs:
        raise ConfigError("no runs to draw")
    check_curve(path, force=force)
    kind = Path(path).suffix.lower().removeprefix(".")
    with figure.styled(WIDTH, HEIGHT) as drawn:
        _draw(drawn, runs)
        picture = figure.figure_bytes(drawn, "svg" if kind == "html" else kind)
    with replacing(path, force=force, suffixes=SUFFIXES) as stream:
        stream.write(_page(picture, runs) if kind == "html" else picture)


def _draw(drawn: Figure, runs: Sequence[Run]) -> None:
    loss, lr, speed = drawn.subplots(3, sharex=True, height_ratios=(3, 1.2, 1.2))
    unit, name = _unit(max(run.points[-1].done for run in runs))
    for run in runs:
        done = [point.done / unit for point in run.points]
        (line,) = loss.plot(done, [p.loss for p in run.points], label=figure.plain(run.name))
        lr.plot(done, [point.lr for point in run.points])
        rates = run.speeds()
        speed.plot([at / unit for at, _ in rates], [rate for _, rate in rates])
        _draw_heldout(loss, run, unit, line.get_color())
    loss.set_ylabel("loss a pair")
    lr.set_ylabel("learning rate")
    lr.set_ylim(bottom=0)
    speed.set_ylabel("words/s")
    speed.set_ylim(bottom=0)
    speed.yaxis.set_major_formatter(lambda value, _: _short(value))
    speed.set_xlabel(f"{name}words passed, all epochs")
    if len(loss.get_legend_handles_labels()[0]) > 1:
        loss.legend()


def _draw_heldout(axes: Axes, run: Run, unit: float, colour: str) -> None:
    held = [(p.done / unit, p.heldout) for p in run.points if not math.isnan(p.heldout)]
    if held:
        name = figure.plain(f"{run.name}, held out")
        axes.plot(*zip(*held, strict=True), "o--", color=colour, markersize=3.5, label=name)


def _unit(most: int) -> tuple[float, str]:
    return (1e6, "million ") if most >= 2e6 else (1e3, "thousand ") if most >= 2e3 else (1, "")


def _short(value: float) -> str:
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g} {letter}"
    return f"{value:.3g}"


def _page(picture: bytes, runs: Sequence[Run]) -> bytes:
    """Return a page with the picture and the runs' last figures as text."""
    rows = []
    for run in runs:
        last = run.points[-1]
        rate = last.done / last.seconds if last.seconds > 0 else math.nan
        cells = (f"{last.done:,}", f"{last.loss:.4f}", f"{last.seconds:,.1f} s", f"{rate:,.0f}")
        numbers = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row"><bdi>{escape(run.name)}</bdi></th>{numbers}</tr>')
    image = f"data:image/svg+xml;base64,{b64encode(picture).decode()}"
    return assemble("curve.html", style="curve.css", picture=image, rows="\n".join(rows))
