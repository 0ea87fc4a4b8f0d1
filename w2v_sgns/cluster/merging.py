"""Merging with care: a merge that went wrong is undone and done anew, more cautiously.

Knows which rows wait for their merge, and how much was trained on each node since. The arithmetic
is the nodes'; when to merge, and which rows, is the backend's business.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from w2v_sgns.cluster.cost import Cost
from w2v_sgns.cluster.deltas import sync_bytes
from w2v_sgns.cluster.engine import Engine, LostNodeError, first_answer
from w2v_sgns.cluster.merge import KAPPA, effective_nodes
from w2v_sgns.cluster.pace import class_ends
from w2v_sgns.cluster.revival import Back, Revival
from w2v_sgns.cluster.rows import Merge
from w2v_sgns.cluster.settings import Settings
from w2v_sgns.cluster.stretch import Stretch
from w2v_sgns.errors import DivergenceError
from w2v_sgns.training.backends import Totals
from w2v_sgns.training.events import Event, Progress
from w2v_sgns.training.schedule import Schedule

__all__ = ["MOST_TRIES", "Merging"]

MOST_TRIES = 5  # of one merge; κ is 2^5 times as large then


class Merging:
    """The merges of a run, one after another."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        schedule: Schedule,
        *,
        revival: Revival,
        say: Progress,
    ) -> None:
        self.kappa, self.cost = KAPPA, Cost()
        self._engine, self._settings, self._schedule = engine, settings, schedule
        self._revival, self._say = revival, say
        self._words = len(settings.counts)
        self._ends = class_ends(self._words)
        # kept tokens of each node since a class of rows was merged, (P, J)
        self._kept = np.zeros((engine.size, len(self._ends)))
        self._last: Merge | None = None
        self._version = 0

    def seconds(self, rows: int) -> float:
        """Merge the first rows, which have not moved; return how long that took."""
        begun = time.perf_counter()
        spectra = first_answer(self._engine, "curve", (0,))
        nothing = self._described(min(rows, self._words), 0.0, spectra)
        self._engine.exchange("moves", "merge", "apply", argument=nothing)
        return time.perf_counter() - begun

    def add(self, found: Sequence[Totals]) -> None:
        """Take note of a round that every node has trained."""
        self._kept += np.array([[totals.kept] for totals in found])

    @property
    def waits(self) -> bool:
        """Whether there is anything that is not merged yet."""
        return bool(self._kept.any())

    @property
    def can_redo(self) -> bool:
        """Whether there is a merge that may be done anew."""
        return self._last is not None

    def put_back(self, lost: LostNodeError, merged: int | None = None) -> Back:
        """See Revival; what lost nodes had not merged yet is gone. merged: None: all rows."""
        back = self._revival.put_back(lost, self._words if merged is None else merged)
        self._kept[back.ranks] = 0
        return back

    # --- a merge

    def merge(self, stretch: Stretch, rows: int | None = None) -> None:
        """Merge the first rows of both matrices after a round; None: all.

        Raises:
            DivergenceError: no caution helps.
        """
        rows = self._words if rows is None else rows
        begun = time.perf_counter()
        spectra = first_answer(self._engine, "curve", (self._settings.config.seed, *stretch))
        schedule = self._schedule
        position = stretch.end * schedule.tokens // self._settings.chunks
        self._last = self._described(rows, schedule.at(stretch.epoch, position), spectra)
        self._exchange(stretch)
        self._revival.round_done()
        self._kept[:, : np.searchsorted(self._ends, rows, side="right")] = 0
        self._count(rows, time.perf_counter() - begun)

    def _described(self, rows: int, lr: float, spectra: Any) -> Merge:
        self._version += 1
        config = self._settings.config
        contexts = 2 * int(config.window) if config.fixed_window else int(config.window) + 1
        return Merge(
            rows=rows,
            spectra=spectra,
            rate=self.kappa * lr * contexts,
            kept=self._kept.sum(axis=0),
            nodes=np.asarray(effective_nodes(self._kept)),
            version=self._version,
        )

    def _exchange(self, stretch: Stretch) -> None:
        """Merge, until all nodes have, and the rows are finite."""
        for _ in range(MOST_TRIES + 1):
            if self._merged(stretch):
                return
            self._take_care("rows were not finite after it")  # nothing has moved on any node
        raise self._hopeless()

    def _merged(self, stretch: Stretch) -> bool:
        """Merge; a node that is lost in it trains the round again. Tell whether it was finite."""
        again: list[int] = []  # ranks that lack the round
        while True:
            try:
                if again:
                    done = self._engine.call("train", *stretch, ranks=again)
                    self._kept[again] = [[totals.kept] for totals in done]
                    again = []
                return all(self._engine.exchange("moves", "merge", "apply", argument=self._last))
            except LostNodeError as lost:
                assert self._last is not None
                back = self.put_back(lost, self._last.rows)
                if back.version == self._version:
                    return True  # with the merged rows
                again = sorted({*again, *back.ranks})

    # --- a merge that went wrong

    def redo(self, why: str) -> None:
        """Do the last merge anew, more cautiously; what was trained since is gone.

        Raises:
            DivergenceError: no caution helps: what the nodes have trained is not finite itself.
        """
        for _ in range(MOST_TRIES):
            self._take_care(why)
            if self._replaced():
                return
        raise self._hopeless()

    def _take_care(self, why: str) -> None:
        assert self._last is not None
        self.kappa *= 2
        self._version += 1
        self._last = self._last._replace(rate=2 * self._last.rate, version=self._version)
        text = f"a merge was undone and done anew with κ = {self.kappa:g}: {why}"
        self._say(Event(phase="note", text=text))

    def _replaced(self) -> bool:
        try:
            return all(self._engine.exchange("remerge", "replace", argument=self._last))
        except LostNodeError as lost:
            assert self._last is not None
            return self.put_back(lost, self._last.rows).version == self._version

    def _hopeless(self) -> DivergenceError:
        return self.diverged("the merged vectors are not finite, however carefully merged,")

    def diverged(self, what: str) -> DivergenceError:
        """Return the error that ends the run."""
        start = self._schedule.start
        return DivergenceError(
            f"{what} at --lr {start:g}: the training diverged; try --lr {start / 10:g}"
        )

    # --- what is told

    def _count(self, rows: int, seconds: float) -> None:
        cost, settings = self.cost, self._settings
        cost.merges, cost.seconds = cost.merges + 1, cost.seconds + seconds
        dim, size = settings.config.dim, self._engine.size
        cost.bytes += sync_bytes(rows, dim, size, int8=settings.int8)
        self._say(Event(phase="merge", nodes=size, sent=cost.bytes, merging=cost.share))
