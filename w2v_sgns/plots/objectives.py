"""A comparison of objectives as a picture: held-out likelihood against seconds of training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from w2v_sgns.plots.figure import drawing

if TYPE_CHECKING:
    from w2v_sgns.evaluation.objectives import Comparison

__all__ = ["draw_comparison"]


def draw_comparison(comparison: Comparison, path: Path | str, *, force: bool = False) -> None:
    """Draw a line for each objective, a point for each epoch.

    Raises:
        OutputError, ConfigError: see :func:`~w2v_sgns.plots.figure.drawing`.
    """
    with drawing(path, force=force) as figure:
        axes = figure.add_subplot()
        for leg in comparison.legs:
            seconds = [moment.seconds for moment in leg.moments]
            likelihoods = [moment.likelihood for moment in leg.moments]
            axes.plot(seconds, likelihoods, marker="o", label=f"{leg.objective}, lr {leg.lr:g}")
        axes.axhline(comparison.unigram, color="#888888", linestyle=":", label="word frequencies")
        axes.set_xscale("log")
        axes.set_xlabel("seconds of training")
        axes.set_ylabel("mean log P(target | center), held out")
        axes.set_title(f"{comparison.words:,} words, {comparison.tokens:,} tokens")
        axes.legend()
