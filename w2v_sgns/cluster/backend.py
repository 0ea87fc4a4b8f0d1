"""The backend that is many nodes: rounds of training and merging, watched from one place.

A round is a stretch of the epoch that every node trains on its own share of the text; then the
replicas are merged. This module decides when, over which rows and how carefully, undoes a merge
that went wrong, and puts lost nodes back. The arithmetic is the nodes'.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.cluster.deltas import sync_bytes
from w2v_sgns.cluster.engine import Engine, LostNodeError, Watch
from w2v_sgns.cluster.merge import KAPPA, effective_nodes
from w2v_sgns.cluster.node import Merge, Settings, class_ends
from w2v_sgns.cluster.pace import Pace, paced, rows_merged
from w2v_sgns.cluster.shares import Shares
from w2v_sgns.errors import DivergenceError, W2VError
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.training.backends import Tick, Totals
from w2v_sgns.training.events import Event, Progress
from w2v_sgns.training.schedule import Schedule

__all__ = ["ClusterBackend"]

JUMP = 1.2  # times the loss before: such a rise from one round to the next is the merge's doing
MOST_TRIES = 5  # of one merge; κ is 2^5 times as large then
MOST_JUMPS = 1  # undone for a jump alone: what comes back is the text's doing
PATIENCE = 2.0  # times the time of half the nodes: then the others end their round
LEAST_PATIENCE = 1.0  # seconds

Matrix = npt.NDArray[np.float32]


@dataclass
class Cost:
    """What merging has cost so far."""

    merges: int = 0
    seconds: float = 0.0
    bytes: int = 0  # sent by each node
    trained: float = 0.0  # seconds between merges

    @property
    def share(self) -> float:
        """Of the time, what merging took."""
        whole = self.seconds + self.trained
        return self.seconds / whole if whole else 0.0


class ClusterBackend:
    """A :class:`~w2v_sgns.training.backends.Backend` whose machine is an engine's nodes.

    Its chunks are those of the whole text, so that a checkpoint says the same share of an epoch
    on any number of nodes.
    """

    def __init__(
        self,
        E: Matrix,
        Ep: Matrix,
        *,
        engine: Engine,
        settings: Settings,
        shares: Shares,
        schedule: Schedule,
        say: Progress,
        sync_words: int | None = None,
    ) -> None:
        """Take what is trained; `shares`: the nodes' parts of the text."""
        self.matrices, self.engine = (E, Ep), engine
        self.settings, self.schedule = settings, schedule
        self.chunks = settings.chunks
        self.kappa, self.cost = KAPPA, Cost()
        self._shares, self._say, self._sync_words = shares, say, sync_words
        self._ends = class_ends(len(E))
        # kept tokens of each node since a class of rows was merged, (P, J)
        self._kept = np.zeros((engine.size, len(self._ends)))
        self._loss = math.nan  # a pair, of the round before
        self._last: Merge | None = None
        self._version = 0

    # --- before the first round

    def warm_up(self) -> None:
        """Give the nodes their shares and the rows, compile, and measure what a merge costs."""
        self._shares.give(self.engine, range(self.engine.size))
        speeds = self.engine.call("begin", self.settings)
        self.engine.call("restore", *self.matrices, 0)
        self.pace = self._paced(min(speeds), min(self._merge_seconds() for _ in range(2)))
        self._note(self._plan())

    def _merge_seconds(self) -> float:
        """Merge rows that have not moved; return how long that took."""
        begun = time.perf_counter()
        spectra = self._first_answer("curve", (0,))
        nothing = self._described(len(self.matrices[0]), 0.0, spectra)
        self.engine.exchange("moves", "merge", "apply", argument=nothing)
        return time.perf_counter() - begun

    def _paced(self, speed: float, seconds: float) -> Pace:
        most = min(-(-min(self._shares.sizes) // CHUNK), self.chunks)
        return paced(
            words=self.settings.tokens // self.engine.size,
            epochs=self.schedule.epochs,
            most_rounds=max(1, most),
            words_a_second=speed,
            sync_seconds=seconds,
            asked=self._sync_words,
        )

    def _plan(self) -> str:
        pace, size = self.pace, self.engine.size
        sent = sync_bytes(
            len(self.matrices[0]), self.settings.config.dim, size, int8=self.settings.int8
        )
        rows = "" if pace.full_every == 1 else f", all rows every {pace.full_every}th time"
        return (
            f"{size} nodes, merged every {pace.words:,} words of each ({pace.rounds} times an "
            f"epoch{rows}); {sent / 1e6:.1f} MB sent by each, about {pace.share:.0%} of the time"
        )

    # --- the rounds

    def run_epoch(
        self, epoch: int, tick: Tick, *, first: int = 0, end: int | None = None
    ) -> Totals:
        """Train the rounds from chunk `first` on (see Backend); a round ends in a merge."""
        end = self.chunks if end is None else end
        try:
            sums = self._rounds(epoch, tick, first, end)
        except W2VError:
            raise  # there may be nothing to fetch
        except BaseException:  # tick's: what is left are the rows of the last merge
            self._fetch()
            raise
        self._fetch()
        return sums

    def _fetch(self) -> None:
        rows = self._first_answer("rows")
        for matrix, new in zip(self.matrices, rows, strict=True):
            matrix[:] = new

    def _rounds(self, epoch: int, tick: Tick, first: int, end: int) -> Totals:
        sums, stopped = Totals(0, 0, 0, 0.0, first), False
        while sums.next_chunk < end and not stopped:
            stretch = _Stretch(epoch, sums.next_chunk, self._round_end(sums.next_chunk))
            found = self._round(stretch, partial(tick, sums))
            self._merge(stretch, self._rows_after(stretch))
            sums = _plus(sums, found, stretch.end)
            stopped = bool(tick(sums))
        if self._kept.any():  # rows that still wait for their merge
            self._merge(stretch, len(self.matrices[0]))
        return sums

    def _round_end(self, chunk: int) -> int:
        rounds = self.pace.rounds
        number = chunk * rounds // self.chunks + 1
        return min(self.chunks, max(chunk + 1, -(-number * self.chunks // rounds)))

    def _round(self, stretch: _Stretch, tick: Callable[[], Any]) -> list[Totals]:
        """Train one round on all nodes; where the merge before it was bad, do that anew first."""
        for tries in range(MOST_TRIES + 1):
            found = self._trained(stretch, tick)
            loss = _mean_loss(found)
            jumped = loss > JUMP * self._loss and tries < MOST_JUMPS
            good = math.isfinite(loss) and not jumped
            if good or self._last is None or tries == MOST_TRIES:
                break  # what is not finite yet, the run's own watch refuses
            self._redo(f"the loss went from {self._loss:.3g} to {loss:.3g} after it")
        self._loss = loss
        self._kept += np.array([[totals.kept] for totals in found])
        return found

    def _trained(self, stretch: _Stretch, tick: Callable[[], Any]) -> list[Totals]:
        """Train one round; a node that is lost in it is put back and trains it again."""
        begun, found = time.perf_counter(), dict[int, Totals]()
        while waiting := [rank for rank in range(self.engine.size) if rank not in found]:
            watch = self._watch(waiting, tick)
            try:
                done = self.engine.call("train", *stretch, ranks=waiting, watch=watch)
                found |= dict(zip(waiting, done, strict=True))
            except LostNodeError as lost:
                found |= lost.results  # asked again, these would train the round twice
                self._put_back(lost)
        self.cost.trained += time.perf_counter() - begun
        return [found[rank] for rank in range(self.engine.size)]

    def _watch(self, ranks: list[int], tick: Callable[[], Any]) -> Watch:
        """Return what is called while nodes train: ticks, and ends the round of slow ones."""
        begun, half = time.perf_counter(), 0.0
        told: set[int] = set()

        def watch(done: frozenset[int]) -> None:
            nonlocal half
            tick()
            spent = time.perf_counter() - begun
            if 2 * len(done) < len(ranks):
                return
            half = half or spent
            if spent < PATIENCE * max(half, LEAST_PATIENCE):
                return
            for rank in set(ranks) - done - told:
                told.add(rank)
                self.engine.stop(rank)
                self._note(f"node {rank} is slow: its round ends here, the rest of it is left out")

        return watch

    # --- merging

    def _rows_after(self, stretch: _Stretch) -> int:
        """Return how many rows the merge after a round takes; all of them at an epoch's end."""
        words, pace = len(self.matrices[0]), self.pace
        if stretch.end == self.chunks:
            return words
        number = stretch.epoch * pace.rounds + stretch.end * pace.rounds // self.chunks
        return rows_merged(max(1, number), words, pace.full_every)

    def _merge(self, stretch: _Stretch, rows: int) -> None:
        """Merge the first rows of both matrices after a round."""
        begun = time.perf_counter()
        spectra = self._first_answer("curve", (self.settings.config.seed, *stretch))
        position = stretch.end * self.schedule.tokens // self.chunks
        self._last = self._described(rows, self.schedule.at(stretch.epoch, position), spectra)
        self._exchange(stretch)
        self._kept[:, : np.searchsorted(self._ends, rows, side="right")] = 0
        self._count(rows, time.perf_counter() - begun)

    def _described(self, rows: int, lr: float, spectra: Any) -> Merge:
        self._version += 1
        config = self.settings.config
        contexts = 2 * int(config.window) if config.fixed_window else int(config.window) + 1
        return Merge(
            rows=rows,
            spectra=spectra,
            rate=self.kappa * lr * contexts,
            kept=self._kept.sum(axis=0),
            nodes=np.asarray(effective_nodes(self._kept)),
            version=self._version,
        )

    def _exchange(self, stretch: _Stretch) -> None:
        """Merge, until all nodes have; a node that is lost in it trains the round again."""
        while True:
            try:
                done = self.engine.exchange("moves", "merge", "apply", argument=self._last)
                break
            except LostNodeError as lost:
                if self._put_back(lost):
                    return  # with the merged rows
                self.engine.call("train", *stretch, ranks=lost.ranks)  # moves as it had before
        if not all(done):
            self._redo("rows were not finite after it")

    def _redo(self, why: str) -> None:
        """Do the last merge anew, more cautiously; what was trained since is gone.

        Raises:
            DivergenceError: no caution helps: what the nodes have trained is not finite itself.
        """
        for _ in range(MOST_TRIES):
            assert self._last is not None
            self.kappa *= 2
            self._version += 1
            self._last = self._last._replace(rate=2 * self._last.rate, version=self._version)
            self._note(f"a merge was undone and done anew with κ = {self.kappa:g}: {why}")
            if all(self.engine.exchange("remerge", "replace", argument=self._last)):
                self._kept[:] = 0
                return
        raise DivergenceError(
            f"the merged vectors are not finite, however carefully merged, at --lr "
            f"{self.schedule.start:g}: the training diverged; try --lr {self.schedule.start / 10:g}"
        )

    # --- lost nodes

    def _put_back(self, lost: LostNodeError) -> bool:
        """Put new nodes in the places of lost ones; tell whether all have the last merge's rows.

        They get their share of the text again, and all nodes the newest rows that any has.
        """
        others = [rank for rank in range(self.engine.size) if rank not in lost.ranks]
        if not others:
            raise lost
        names = ", ".join(map(str, lost.ranks))
        self._note(f"node {names} is lost ({lost.reason}); its share goes on from the last merge")
        for rank in lost.ranks:
            self.engine.revive(rank)
        self._shares.give(self.engine, lost.ranks)
        self.engine.call("begin", self.settings, ranks=lost.ranks)
        versions = dict(zip(others, self.engine.call("where", ranks=others), strict=True))
        best = max(others, key=lambda rank: versions[rank])
        newest = versions[best]
        behind = [rank for rank in range(self.engine.size) if versions.get(rank) != newest]
        rows = self.engine.call("rows", ranks=[best])[0]
        self.engine.call("restore", *rows, newest, ranks=behind)
        return bool(newest == self._version)

    def _first_answer(self, task: str, *arguments: Any) -> Any:
        """Return what the first node says that is there."""
        for rank in range(self.engine.size):
            try:
                return self.engine.call(task, *arguments, ranks=[rank])[0]
            except LostNodeError as lost:
                reason = lost
        raise reason

    # --- what is told

    def _count(self, rows: int, seconds: float) -> None:
        cost, settings = self.cost, self.settings
        cost.merges, cost.seconds = cost.merges + 1, cost.seconds + seconds
        dim, size = settings.config.dim, self.engine.size
        cost.bytes += sync_bytes(rows, dim, size, int8=settings.int8)
        self._say(Event(phase="merge", nodes=size, sent=cost.bytes, merging=cost.share))

    def _note(self, text: str) -> None:
        self._say(Event(phase="note", text=text))


class _Stretch(NamedTuple):
    """Chunks of the whole text that a round trains."""

    epoch: int
    first: int
    end: int


def _plus(sums: Totals, found: list[Totals], end: int) -> Totals:
    """Return the sums with a round's on top."""
    return Totals(
        sums.tokens + sum(totals.tokens for totals in found),
        sums.kept + sum(totals.kept for totals in found),
        sums.pairs + sum(totals.pairs for totals in found),
        sums.loss + sum(totals.loss for totals in found),
        end,
    )


def _mean_loss(found: list[Totals]) -> float:
    pairs = sum(totals.pairs for totals in found)
    return sum(totals.loss for totals in found) / pairs if pairs else 0.0
