"""The epochs of one run: in pieces between checkpoints, watched, ended on request.

How an epoch is computed is the backend's business, where a run is saved the keeper's.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from w2v_sgns.errors import DivergenceError
from w2v_sgns.model import Model
from w2v_sgns.training.divergence import LossWatch, untrained_loss
from w2v_sgns.training.events import Event, Progress
from w2v_sgns.training.holdout import HeldOut
from w2v_sgns.training.keeper import Keeper
from w2v_sgns.training.schedule import Schedule
from w2v_sgns.training.signals import StopRequest
from w2v_sgns.training.state import Best, State, Sums

if TYPE_CHECKING:
    from w2v_sgns.training.backends import Backend, Tick, Totals

__all__ = ["Run"]


GRACE = 0.5  # seconds that running chunks have after a signal


class _OutOfTimeError(Exception):
    """Chunks that take longer than one waits for at a signal: wide windows, many dimensions."""

    def __init__(self, totals: Totals) -> None:
        self.totals = totals


class Run:
    """Trains from where `state` stands to the end, or to where it is asked to stop."""

    def __init__(
        self,
        state: State,
        *,
        model: Model,
        backend: Backend,
        schedule: Schedule,
        keeper: Keeper,
        stop: StopRequest,
        held: HeldOut | None,
        say: Progress,
    ) -> None:
        """`model` shares the state's matrices."""
        self.state, self.model, self.backend, self.schedule = state, model, backend, schedule
        self.keeper, self.stop, self.held, self._say = keeper, stop, held, say
        counts = model.vocabulary.counts
        assert counts is not None  # a counted corpus
        self._watch = LossWatch(untrained_loss(model.config, counts))

    def train(self, last_epoch: int) -> bool:
        """Train up to and with an epoch (1-based); tell whether the training is complete.

        Raises:
            DivergenceError: the loss or the vectors left the road.
            KeyboardInterrupt, SystemExit: what a signal means, after a checkpoint.
        """
        self.backend.warm_up()
        self.state.clock.start()
        try:
            while not self._is_complete() and self.state.epoch < last_epoch:
                self._epoch()
                self._between(epoch_end=True)
        except DivergenceError as error:
            raise self._with_rescue(error) from error
        return self._is_complete()

    def _is_complete(self) -> bool:
        patience_lost = self.held is not None and self.held.is_over(self.state)
        return patience_lost or self.state.epoch >= self.schedule.epochs

    def _epoch(self) -> None:
        """Train what is left of the epoch."""
        state, chunks = self.state, self.backend.chunks
        while state.chunk < chunks:
            totals = self._piece(partial(self._tick, state.sums))
            state.sums, state.chunk = state.sums.plus(totals), totals.next_chunk
            self._report("train", state.sums)
            if state.chunk < chunks:
                self._between()
        entry = self._entry()
        if self.held is not None:
            entry["heldout_loss"] = self._judge(self.held)
        self._report("epoch", state.sums, heldout=entry.get("heldout_loss"))
        state.history.append(entry)
        state.epoch, state.chunk, state.sums = state.epoch + 1, 0, Sums()

    def _judge(self, held: HeldOut) -> float | None:
        """Return the held-out loss; keep the vectors if it is the lowest so far."""
        state, loss = self.state, held.loss()
        if state.frozen is not None:  # at rate zero a row becomes row + 0, and −0 becomes 0
            state.frozen.restore()
        if held.patience is not None and not (state.best and state.best.loss <= loss):
            state.best = None  # its memory is free before the new one's is taken
            state.best = Best.of(state, state.epoch + 1, loss)
        return None if math.isnan(loss) else loss

    def _piece(self, tick: Tick) -> Totals:
        """Train on to the next stop; what a signal cuts off there is the backend's to say."""
        try:
            return self.backend.run_epoch(self.state.epoch, tick, first=self.state.chunk)
        except _OutOfTimeError as cut:
            self._say(Event(phase="note", text=self.backend.cut))
            return cut.totals

    def _tick(self, before: Sums, totals: Totals) -> bool:
        """Report; ask the backend to pause where a checkpoint is due or a signal has come."""
        self._report("train", before.plus(totals))
        if self.stop.age() > GRACE:
            raise _OutOfTimeError(totals)
        return self.keeper.is_due() or bool(self.stop)

    def _between(self, *, epoch_end: bool = False) -> None:
        """Between two chunks: save what is due, end where that was asked for."""
        if self.stop:
            path = self.keeper.save_somewhere(self.model, self.state)
            piped, place = self.keeper.piped, self._place()
            self._say(Event(phase="interrupted", path=path, piped=piped, text=place))
            self.stop.deliver()
        elif not self._is_complete() and (
            self.keeper.is_due_at_epoch() if epoch_end else self.keeper.is_due()
        ):
            self.keeper.save(self.model, self.state)

    def _place(self) -> str:
        done, schedule = self.state, self.schedule
        tokens = done.epoch * schedule.tokens + done.sums.tokens
        share = 100 * tokens / (schedule.epochs * schedule.tokens)
        return f"{done.epoch} of {schedule.epochs} epochs complete, {share:.0f} % of the training"

    def _report(self, phase: str, sums: Sums, *, heldout: float | None = None) -> None:
        state, schedule = self.state, self.schedule
        lr = schedule.at(state.epoch, sums.tokens)
        self._watch.check(state.epoch + 1, sums, lr, schedule.start)
        self._say(
            Event(
                phase=phase,
                done=state.epoch * schedule.tokens + sums.tokens,
                total=schedule.epochs * schedule.tokens,
                epoch=state.epoch + 1,
                lr=lr,
                loss=sums.mean_loss,
                heldout=math.nan if heldout is None else heldout,
                kept=sums.kept,
                pairs=sums.pairs,
                seconds=state.clock.wall(),
                cpu_seconds=state.clock.cpu(),
            )
        )

    def _entry(self) -> dict[str, Any]:
        """Return the epoch's line of the history."""
        state, loss = self.state, self.state.sums.mean_loss
        return {
            "epoch": state.epoch + 1,
            "tokens": state.sums.tokens,
            "kept": state.sums.kept,
            "pairs": state.sums.pairs,
            "loss": None if math.isnan(loss) else loss,
            "lr": self.schedule.at(state.epoch, 0),
        }

    def _with_rescue(self, error: DivergenceError) -> DivergenceError:
        """Say what is left of a run that diverged."""
        kept = self.keeper.written
        if kept is None:
            return DivergenceError(f"{error}; nothing was written")
        return DivergenceError(
            f"{error}; the state before is in {kept}: go on from it with "
            f"--resume {kept} --force --lr and a smaller number"
        )
