"""A map of words as a picture for a paper: dots by class, labels where there is room for them.

Needs matplotlib (extra: plot). The page, which can be asked, is map.py's business.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from w2v_sgns.plots.figure import drawing, plain
from w2v_sgns.plots.fonts import fonts_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from w2v_sgns.plots.map import WordMap

__all__ = ["FontWarning", "draw_picture"]

WIDTH, HEIGHT = 9.0, 7.0  # inches
FONT_SIZE = 7.0  # points
GAP = 2.0  # pixels left free around a label
DOT = 3.0  # pixels from a word's place to its label
CELL = 32  # pixels: where to look for labels nearby
LONGEST_LABEL = 28  # letters

Box = tuple[float, float, float, float]  # left, bottom, right, top, in pixels


class FontWarning(UserWarning):
    """No installed font has some of the letters."""


def draw_picture(path: Path | str, drawn: WordMap, *, force: bool = False) -> list[str]:
    """Draw the map into a .png or .svg file; return the words that have a label.

    The most frequent words come first; a word whose label would touch another one stays a dot.
    Scripts that no installed font has are named by a FontWarning.

    Raises:
        OutputError: the place is refused, or writing fails.
        ConfigError: matplotlib is not installed.
    """
    with _told_once(), drawing(path, width=WIDTH, height=HEIGHT, force=force) as figure:
        axes = _draw_dots(figure, drawn)
        labels = [_short(word) for word in drawn.words]
        families = _families([*labels, *map(", ".join, drawn.class_words)])
        _draw_legend(figure, axes, drawn, families)
        return _draw_labels(figure, axes, drawn, labels, families)


def _draw_dots(figure: Figure, drawn: WordMap) -> Axes:
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="datalim")
    places = drawn.layout.places
    size = float(np.clip(3000 / len(places), 1, 12))
    for label, colour in zip(range(len(drawn.class_words)), class_colours(), strict=False):
        own = places[drawn.labels == label]
        axes.scatter(own[:, 0], own[:, 1], s=size, color=colour, linewidths=0, alpha=0.7)
    return axes


def class_colours() -> list[str]:
    """Return the colours of the classes: those of the page on a light ground."""
    sheet = (files("w2v_sgns.plots") / "page" / "map.css").read_text(encoding="utf-8")
    light = sheet[: sheet.index("@media")]
    return re.findall(r"--c\d+: (#[0-9a-f]{6})", light)


def _draw_legend(figure: Figure, axes: Axes, drawn: WordMap, families: Sequence[str]) -> None:
    names = [plain(", ".join(map(_short, words))) for words in drawn.class_words]
    figure.legend(
        axes.collections,
        names,
        loc="outside lower center",
        ncols=4,
        markerscale=3,
        handletextpad=0.2,
        prop={"family": list(families), "size": FONT_SIZE},
    )


def _families(texts: Sequence[str]) -> list[str]:
    families, missing = fonts_for(texts)
    if missing:
        warnings.warn(
            f"no installed font has the letters of: {', '.join(missing)}; boxes stand for them. "
            "A font such as Noto has them (Debian: fonts-noto-core, fonts-noto-cjk)",
            FontWarning,
            stacklevel=4,
        )
    return families


@contextmanager
def _told_once() -> Iterator[None]:
    """Leave out what matplotlib says of every single missing letter: it has been told."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _draw_labels(
    figure: Figure, axes: Axes, drawn: WordMap, labels: Sequence[str], families: Sequence[str]
) -> list[str]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.font_manager import FontProperties

    figure.draw_without_rendering()  # from here on it is known where things stand,
    figure.set_layout_engine("none")  # and labels must not move them
    renderer = FigureCanvasAgg(figure).get_renderer()
    font = FontProperties(family=list(families), size=FONT_SIZE)
    taken = Taken()
    to_place = axes.transData.inverted()
    frame = axes.get_window_extent()
    _, line, below = renderer.get_text_width_height_descent("lp", font, ismath=False)
    shown = []
    for word, label, (x, y) in zip(
        drawn.words, labels, axes.transData.transform(drawn.layout.places).tolist(), strict=True
    ):
        if not label.strip() or not taken.free((x, y - 1, x + 1, y + 1)):
            continue
        width, height, descent = renderer.get_text_width_height_descent(label, font, ismath=False)
        height, descent = max(height, line), max(descent, below)
        box = taken.claim(_choices(x, y, width, height), frame.x0, frame.x1)
        if box is None:
            continue
        left, bottom = to_place.transform((box[0] + GAP, box[1] + GAP + descent))
        axes.text(
            left,
            bottom,
            label,
            fontproperties=font,
            parse_math=False,
            va="baseline",
            bbox={"facecolor": "white", "alpha": 0.6, "pad": 0.5, "linewidth": 0},
        )
        shown.append(word)
    return shown


def _choices(x: float, y: float, width: float, height: float) -> list[Box]:
    """Return boxes for a label: right of its dot, left, above, below."""
    wide, high = width + 2 * GAP, height + 2 * GAP
    corners = (
        (x + DOT, y - high / 2),
        (x - DOT - wide, y - high / 2),
        (x - wide / 2, y + DOT),
        (x - wide / 2, y - DOT - high),
    )
    return [(left, low, left + wide, low + high) for left, low in corners]


class Taken:
    """Boxes that do not overlap, found again by the cells that they touch."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], list[Box]] = {}

    def claim(self, choices: Sequence[Box], left: float, right: float) -> Box | None:
        """Take the first of the boxes that is free and lies between left and right."""
        for box in choices:
            if left <= box[0] and box[2] <= right and self.free(box):
                for cell in self._touched(box):
                    self._cells.setdefault(cell, []).append(box)
                return box
        return None

    def free(self, box: Box) -> bool:
        """Tell whether the box touches none that was taken."""
        return not any(
            box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
            for cell in self._touched(box)
            for other in self._cells.get(cell, ())
        )

    @staticmethod
    def _touched(box: Box) -> list[tuple[int, int]]:
        left, low, right, high = (int(edge // CELL) for edge in box)
        return [(x, y) for x in range(left, right + 1) for y in range(low, high + 1)]


def _short(word: str) -> str:
    return word if len(word) <= LONGEST_LABEL else word[: LONGEST_LABEL - 1] + "…"
