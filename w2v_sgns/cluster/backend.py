"""The backend that is many nodes: rounds of training and merging, watched from one place.

A round is a stretch of the epoch that every node trains on its own share of the text; then the
replicas are merged. This module decides when, and over which rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from w2v_sgns.cluster.deltas import sync_bytes
from w2v_sgns.cluster.engine import Engine, LostNodeError, Watch, first_answer
from w2v_sgns.cluster.merging import MOST_TRIES, Merging
from w2v_sgns.cluster.pace import FIRST_ROWS, Pace, paced, rows_merged
from w2v_sgns.cluster.revival import Revival
from w2v_sgns.cluster.settings import Settings
from w2v_sgns.cluster.shares import Shares
from w2v_sgns.cluster.slow import Slow
from w2v_sgns.cluster.stretch import Stretch, own_tokens
from w2v_sgns.errors import W2VError
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.training.backends import Tick, Totals
from w2v_sgns.training.events import Event, Progress
from w2v_sgns.training.schedule import Schedule

__all__ = ["ClusterBackend"]

JUMP = 1.2  # times the loss before: such a rise from one round to the next is the merge's doing
MOST_JUMPS = 1  # undone for a jump alone: what comes back is the text's doing
MOST_STARTS = 3  # before the first round, each after a node was lost

Matrix = npt.NDArray[np.float32]


class ClusterBackend:
    """A :class:`~w2v_sgns.training.backends.Backend` whose machine is an engine's nodes.

    Its chunks are those of the whole text, so that a checkpoint says the same share of an epoch
    on any number of nodes.
    """

    cut = "the round under way was given up; --resume trains it again"

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
        self._shares, self._say, self._sync_words = shares, say, sync_words
        self._revival = Revival(engine, shares, settings, say)
        self.merging = Merging(engine, settings, schedule, revival=self._revival, say=say)
        self._loss = math.nan  # a pair, of the round before

    # --- before the first round

    def warm_up(self) -> None:
        """Give the nodes their shares and the rows, compile, and measure what a merge costs."""
        for tries in range(1, MOST_STARTS + 1):
            try:
                self._revival.begin(list(range(self.engine.size)))
                self.engine.call("restore", *self.matrices, 0)
                self.pace = self._paced()
                break
            except LostNodeError as lost:
                if tries == MOST_STARTS:
                    raise
                self._revival.empty(lost)
        self._note(self._plan())

    def _paced(self) -> Pace:
        """Return the pace: of the largest share, since that is waited for."""
        whole = self._merge_seconds(len(self.matrices[0]))
        sizes, speeds = self._shares.sizes, self._revival.speeds
        epoch = max(size / speeds[rank] for rank, size in enumerate(sizes))  # seconds
        return paced(
            words=max(sizes),
            epochs=self.schedule.epochs,
            most_rounds=min(-(-max(sizes) // CHUNK), self.chunks),
            words_a_second=max(sizes) / epoch,
            sync_seconds=whole,
            short_seconds=whole if self._sync_words else self._merge_seconds(FIRST_ROWS),
            asked=self._sync_words,
        )

    def _merge_seconds(self, rows: int) -> float:
        return min(self.merging.seconds(rows) for _ in range(2))

    def _plan(self) -> str:
        pace, size = self.pace, self.engine.size
        sent = sync_bytes(
            len(self.matrices[0]), self.settings.config.dim, size, int8=self.settings.int8
        )
        sizes = self._shares.sizes
        whose = "each" if max(sizes) - min(sizes) < CHUNK else "the largest share"
        rows = "" if pace.full_every == 1 else f", all rows every {pace.full_every}th time"
        nodes = f"{size} node{'s' * (size > 1)}"
        return (
            f"{nodes}, merged every {pace.words:,} words of {whose} ({pace.rounds} times an "
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
        except Exception:  # tick's, which may mean a checkpoint of the rounds before
            if self.merging.waits:  # with these rows goes what is trained of this round
                self.merging.merge(Stretch(epoch, first, end))
            self._fetch()
            raise
        except BaseException:  # what is left are the rows of the last merge
            self._fetch()
            raise
        self._fetch()
        return sums

    def _fetch(self) -> None:
        rows = first_answer(self.engine, "rows")
        for matrix, new in zip(self.matrices, rows, strict=True):
            matrix[:] = new

    def _rounds(self, epoch: int, tick: Tick, first: int, end: int) -> Totals:
        sums, stopped = Totals(0, 0, 0, 0.0, first), False
        while sums.next_chunk < end and not stopped:
            stretch = Stretch(epoch, sums.next_chunk, self._round_end(sums.next_chunk))
            found = self._round(stretch, partial(tick, sums))
            self.merging.merge(stretch, self._rows_after(stretch))
            sums = _plus(sums, found, stretch.end)
            stopped = bool(tick(sums))
        if self.merging.waits:
            self.merging.merge(stretch)
        return sums

    def _round_end(self, chunk: int) -> int:
        rounds = self.pace.rounds
        number = chunk * rounds // self.chunks + 1
        return min(self.chunks, max(chunk + 1, -(-number * self.chunks // rounds)))

    def _rows_after(self, stretch: Stretch) -> int:
        """Return how many rows the merge after a round takes; all of them at an epoch's end."""
        words, pace = len(self.matrices[0]), self.pace
        if stretch.end == self.chunks:
            return words
        number = stretch.epoch * pace.rounds + stretch.end * pace.rounds // self.chunks
        return rows_merged(max(1, number), words, pace.full_every)

    def _round(self, stretch: Stretch, tick: Callable[[], Any]) -> list[Totals]:
        """Train one round on all nodes; where the merge before it was bad, do that anew first."""
        for tries in range(MOST_TRIES + 1):
            found = self._trained(stretch, tick)
            loss = _mean_loss(found)
            jumped = loss > JUMP * self._loss and tries < MOST_JUMPS
            good = math.isfinite(loss) and not jumped
            if good or not self.merging.can_redo or tries == MOST_TRIES:
                break
            self.merging.redo(f"the loss went from {self._loss:.3g} to {loss:.3g} after it")
        if not math.isfinite(loss):
            raise self.merging.diverged("the loss became infinite or NaN")
        self._loss = loss
        self.merging.add(found)
        return found

    def _trained(self, stretch: Stretch, tick: Callable[[], Any]) -> list[Totals]:
        """Train one round; a node that is lost in it is put back and trains it again."""
        begun, found = time.perf_counter(), dict[int, Totals]()
        while waiting := [rank for rank in range(self.engine.size) if rank not in found]:
            watch = self._watch(stretch, waiting, tick)
            try:
                done = self.engine.call("train", *stretch, ranks=waiting, watch=watch)
                found |= dict(zip(waiting, done, strict=True))
            except LostNodeError as lost:
                found |= lost.results  # asked again, these would train the round twice
                for rank in self.merging.put_back(lost).ranks:
                    found.pop(rank, None)
        self.merging.cost.trained += time.perf_counter() - begun
        return [found[rank] for rank in range(self.engine.size)]

    def _watch(self, stretch: Stretch, ranks: list[int], tick: Callable[[], Any]) -> Watch:
        """Return what is called while nodes train: ticks, and ends the round of slow ones."""
        sizes, begun = self._shares.sizes, time.perf_counter()
        tokens = {r: own_tokens(sizes[r], stretch.first, stretch.end, self.chunks) for r in ranks}
        slow = Slow(tokens, self._revival.speeds)

        def watch(done: frozenset[int]) -> None:
            tick()
            for rank in slow.found(done, time.perf_counter() - begun):
                self.engine.stop(rank)
                self._note(f"node {rank} is slow: its round ends here, the rest of it is left out")

        return watch

    def _note(self, text: str) -> None:
        self._say(Event(phase="note", text=text))


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
