"""The backend that is many nodes: rounds of training and merging, watched from one place.

A round is a stretch of the epoch that every node trains on its own share of the text; then the
replicas are merged. This module decides when, over which rows and how carefully, and undoes a merge
that went wrong. The arithmetic is the nodes'.
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
from w2v_sgns.cluster.node import Merge, Settings, class_ends, own_tokens
from w2v_sgns.cluster.pace import Pace, paced, rows_merged
from w2v_sgns.cluster.revival import Back, Revival
from w2v_sgns.cluster.shares import Shares
from w2v_sgns.cluster.slow import Slow
from w2v_sgns.errors import DivergenceError, W2VError
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.training.backends import Tick, Totals
from w2v_sgns.training.events import Event, Progress
from w2v_sgns.training.schedule import Schedule

__all__ = ["ClusterBackend"]

JUMP = 1.2  # times the loss before: such a rise from one round to the next is the merge's doing
MOST_TRIES = 5  # of one merge; κ is 2^5 times as large then
MOST_JUMPS = 1  # undone for a jump alone: what comes back is the text's doing
MOST_STARTS = 3  # before the first round, each after a node was lost

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
        self.kappa, self.cost = KAPPA, Cost()
        self._shares, self._say, self._sync_words = shares, say, sync_words
        self._revival = Revival(engine, shares, settings, say)
        self._ends = class_ends(len(E))
        # kept tokens of each node since a class of rows was merged, (P, J)
        self._kept = np.zeros((engine.size, len(self._ends)))
        self._loss = math.nan  # a pair, of the round before
        self._last: Merge | None = None
        self._version = 0

    # --- before the first round

    def warm_up(self) -> None:
        """Give the nodes their shares and the rows, compile, and measure what a merge costs."""
        for tries in range(1, MOST_STARTS + 1):
            try:
                self._revival.begin(list(range(self.engine.size)))
                self.engine.call("restore", *self.matrices, 0)
                self.pace = self._paced(min(self._merge_seconds() for _ in range(2)))
                break
            except LostNodeError as lost:
                if tries == MOST_STARTS:
                    raise
                self._revival.empty(lost)
        self._note(self._plan())

    def _merge_seconds(self) -> float:
        """Merge rows that have not moved; return how long that took."""
        begun = time.perf_counter()
        spectra = self._first_answer("curve", (0,))
        nothing = self._described(len(self.matrices[0]), 0.0, spectra)
        self.engine.exchange("moves", "merge", "apply", argument=nothing)
        return time.perf_counter() - begun

    def _paced(self, seconds: float) -> Pace:
        """Return the pace: of the largest share, since that is waited for."""
        sizes, speeds = self._shares.sizes, self._revival.speeds
        epoch = max(size / speeds[rank] for rank, size in enumerate(sizes))  # seconds
        return paced(
            words=max(sizes),
            epochs=self.schedule.epochs,
            most_rounds=min(-(-max(sizes) // CHUNK), self.chunks),
            words_a_second=max(sizes) / epoch,
            sync_seconds=seconds,
            asked=self._sync_words,
        )

    def _plan(self) -> str:
        pace, size = self.pace, self.engine.size
        sent = sync_bytes(
            len(self.matrices[0]), self.settings.config.dim, size, int8=self.settings.int8
        )
        sizes = self._shares.sizes
        whose = "each" if max(sizes) - min(sizes) < CHUNK else "the largest share"
        rows = "" if pace.full_every == 1 else f", all rows every {pace.full_every}th time"
        return (
            f"{size} nodes, merged every {pace.words:,} words of {whose} ({pace.rounds} times an "
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
            if self._kept.any():  # rows that wait: with them goes what is trained of this round
                self._merge(_Stretch(epoch, first, end), len(self.matrices[0]))
            self._fetch()
            raise
        except BaseException:  # what is left are the rows of the last merge
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
                break
            self._redo(f"the loss went from {self._loss:.3g} to {loss:.3g} after it")
        if not math.isfinite(loss):
            raise self._diverged("the loss became infinite or NaN")
        self._loss = loss
        self._kept += np.array([[totals.kept] for totals in found])
        return found

    def _trained(self, stretch: _Stretch, tick: Callable[[], Any]) -> list[Totals]:
        """Train one round; a node that is lost in it is put back and trains it again."""
        begun, found = time.perf_counter(), dict[int, Totals]()
        while waiting := [rank for rank in range(self.engine.size) if rank not in found]:
            watch = self._watch(stretch, waiting, tick)
            try:
                done = self.engine.call("train", *stretch, ranks=waiting, watch=watch)
                found |= dict(zip(waiting, done, strict=True))
            except LostNodeError as lost:
                found |= lost.results  # asked again, these would train the round twice
                for rank in self._put_back(lost, len(self.matrices[0])).ranks:
                    found.pop(rank, None)
        self.cost.trained += time.perf_counter() - begun
        return [found[rank] for rank in range(self.engine.size)]

    def _watch(self, stretch: _Stretch, ranks: list[int], tick: Callable[[], Any]) -> Watch:
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
        """Merge, until all nodes have, and the rows are finite.

        Raises:
            DivergenceError: no caution helps.
        """
        for _ in range(MOST_TRIES + 1):
            if self._merged(stretch):
                return
            self._take_care("rows were not finite after it")  # nothing has moved on any node
        raise self._diverged("the merged vectors are not finite, however carefully merged,")

    def _merged(self, stretch: _Stretch) -> bool:
        """Merge; a node that is lost in it trains the round again. Tell whether it was finite."""
        again: list[int] = []  # ranks that lack the round
        while True:
            try:
                if again:
                    done = self.engine.call("train", *stretch, ranks=again)
                    self._kept[again] = [[totals.kept] for totals in done]
                    again = []
                return all(self.engine.exchange("moves", "merge", "apply", argument=self._last))
            except LostNodeError as lost:
                assert self._last is not None
                back = self._put_back(lost, self._last.rows)
                if back.version == self._version:
                    return True  # with the merged rows
                again = sorted({*again, *back.ranks})

    def _redo(self, why: str) -> None:
        """Do the last merge anew, more cautiously; what was trained since is gone.

        So is, of rows that still wait for their merge, what was trained since the last of all rows.

        Raises:
            DivergenceError: no caution helps: what the nodes have trained is not finite itself.
        """
        for _ in range(MOST_TRIES):
            self._take_care(why)
            if self._replaced():
                self._kept[:] = 0
                return
        raise self._diverged("the merged vectors are not finite, however carefully merged,")

    def _take_care(self, why: str) -> None:
        assert self._last is not None
        self.kappa *= 2
        self._version += 1
        self._last = self._last._replace(rate=2 * self._last.rate, version=self._version)
        self._note(f"a merge was undone and done anew with κ = {self.kappa:g}: {why}")

    def _replaced(self) -> bool:
        try:
            return all(self.engine.exchange("remerge", "replace", argument=self._last))
        except LostNodeError as lost:
            return self._put_back(lost, len(self.matrices[0])).version == self._version

    def _diverged(self, what: str) -> DivergenceError:
        start = self.schedule.start
        return DivergenceError(
            f"{what} at --lr {start:g}: the training diverged; try --lr {start / 10:g}"
        )

    def _put_back(self, lost: LostNodeError, merged: int) -> Back:
        """See Revival; what lost nodes had not merged yet is gone."""
        back = self._revival.put_back(lost, merged)
        self._kept[back.ranks] = 0
        return back

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
