"""`--plot`: the curve of a run, drawn at its end. How is plots/curve.py's business."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from w2v_sgns.plots.curve import Run, check_curve, draw_curve
from w2v_sgns.training.events import Event, Progress

__all__ = ["CurvePlot"]


class CurvePlot:
    """A context, and a progress callback: keeps the points of a run and hands each event on.

    The picture is drawn unless the run ends by an exception.

    Raises:
        OutputError: the place or its suffix is refused.
        ConfigError: matplotlib is not installed.
    """

    def __init__(self, path: Path | str | None, then: Progress, *, force: bool) -> None:
        """`path` None: only hands on."""
        self._path, self._then, self._force = path, then, force
        self._run = Run("training")
        if path is not None:
            check_curve(path, force=force)

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if self._path is not None:
            self._run.add(vars(event))
        self._then(event)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._path is not None and self._run.points:
            draw_curve(self._path, [self._run], force=self._force)
