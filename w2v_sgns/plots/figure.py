"""Figures: one look for all of them, and one way into a file. Needs matplotlib (extra: plot).

The file appears whole or not at all, and the same drawing gives the same bytes. What is drawn is
the caller's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from w2v_sgns.errors import ConfigError
from w2v_sgns.formats.atomic import Inputs, check_writable, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PALETTE", "SUFFIXES", "check_figure", "drawing", "figure_bytes", "plain", "styled"]

SUFFIXES = (".png", ".svg")
DOTS_PER_INCH = 200  # of a PNG

# Okabe and Ito's colours ("Color universal design", 2008), told apart by colour-blind eyes; the
# yellow is left out, it vanishes on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")

STYLE = {
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "font.size": 9.0,
    "grid.color": "#e4e4e4",
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "svg.fonttype": "path",  # letters look the same where the font is missing
    "svg.hashsalt": "w2v-sgns",  # names inside the file do not change from run to run
}
# Neither the day nor the program's version belongs into a picture that is compared by its bytes.
METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


def check_figure(
    path: Path | str,
    *,
    force: bool = False,
    suffixes: tuple[str, ...] = SUFFIXES,
    inputs: Inputs = (),
) -> None:
    """Refuse a picture that could not be drawn or written; meant to be asked before the work.

    Raises:
        OutputError: the suffix or the place is refused, the file is one of the `inputs`, or is
            there without `force`.
        ConfigError: matplotlib is not installed.
    """
    check_writable(path, force=force, suffixes=suffixes, inputs=inputs)
    if find_spec("matplotlib") is None:
        raise ConfigError(
            f"{path}: pictures are drawn by matplotlib; install it: pip install 'w2v-sgns[plot]'"
        )


@contextmanager
def drawing(
    path: Path | str, *, width: float = 6.4, height: float = 4.0, force: bool = False
) -> Iterator[Figure]:
    """Give a figure (inches) that becomes the file when the block ends without an exception.

    Raises:
        OutputError: as :func:`check_figure`, or writing fails.
        ConfigError: matplotlib is not installed.
    """
    check_figure(path, force=force)
    with styled(width, height) as figure:
        yield figure
        picture = figure_bytes(figure, Path(path).suffix.lower().removeprefix("."))
    with replacing(path, force=force, suffixes=SUFFIXES) as stream:
        stream.write(picture)


@contextmanager
def styled(width: float, height: float) -> Iterator[Figure]:
    """Give a figure (inches) with our look; draw and turn it into bytes inside the block."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE | {"axes.prop_cycle": matplotlib.cycler(color=PALETTE)}):
        yield Figure(figsize=(width, height))


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """Return the picture as the bytes of a "png" or "svg" file."""
    stream = BytesIO()
    figure.savefig(stream, format=kind, dpi=DOTS_PER_INCH, metadata=METADATA[kind])
    return stream.getvalue()


def plain(text: str) -> str:
    """Return text that is drawn as it is: matplotlib reads what stands between $ as mathematics."""
    return text.replace("$", r"\$")
