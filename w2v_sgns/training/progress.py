"""What a person sees of a run: a bar on a terminal, a line every ten seconds elsewhere.

Turns the trainer's events into text on one stream; decides nothing about the training.
"""

from __future__ import annotations

import math
import shlex
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from tqdm import tqdm

from w2v_sgns.config import DEFAULT_MODEL, TrainConfig
from w2v_sgns.machine import human_bytes
from w2v_sgns.training.durations import duration, words_per_second
from w2v_sgns.training.header import header
from w2v_sgns.training.keeper import resume_command

if TYPE_CHECKING:
    from w2v_sgns.model import Model
    from w2v_sgns.training.events import Event

__all__ = ["TerminalProgress", "summary"]

EVERY = 10.0  # seconds between lines where there is no terminal


class TerminalProgress:
    """Call it with every event of a run; leave it as a context to take the bar away."""

    def __init__(
        self, stream: TextIO, config: TrainConfig, *, escape: Callable[[str], str] = str
    ) -> None:
        """Write to `stream`; `escape` makes names and words harmless for a terminal."""
        self.stream, self.config, self._escape = stream, config, escape
        self._lock = threading.RLock()  # compiling is announced from whichever thread does it
        self.terminal = stream.isatty()
        self.last: Event | None = None  # the newest training event, for the summary
        self.output: Path | None = None  # the finished model's file
        self._bar: Any = None
        self._merging = ""  # of several machines
        self._next_line = time.monotonic() + EVERY

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        with self._lock:
            if event.phase == "merge":  # several times a second: shown with the next moment
                self._merging = merging_text(event)
            else:
                self._take(event)

    def _take(self, event: Event) -> None:
        if event.phase == "count":
            total = f"of {human_bytes(event.total)}" if event.total else "so far"
            self._show(event, "counting", f"{human_bytes(event.done)} {total}")
        elif event.phase in ("train", "epoch"):
            self.last = event
            text = training_text(event) + self._merging
            self._show(event, f"epoch {event.epoch}/{self.config.epochs}", text)
        elif event.phase == "compile":
            self._say("compiling: once on this machine, some seconds")
        elif event.phase == "done":
            self.output = event.path
        elif event.phase == "note":
            self._say(f"note        {event.text}")
        elif event.phase in ("stopped", "interrupted"):
            for line in stopped_lines(event):
                self._say(line)
        elif event.phase == "corpus" and event.corpus is not None:
            for line in header(
                event.corpus.stats,
                self.config,
                event.threads,
                asked=event.asked,
                streams=event.streams,
                in_step=event.in_step,
                nodes=event.nodes,
            ):
                self._say(line)

    def _show(self, event: Event, what: str, text: str) -> None:
        """Move the bar, or print a line when one is due."""
        if self.terminal:
            self._move(event, what, text)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + EVERY
            share = 100 * event.done / max(1, event.total)
            self._say(f"{what}  {share:3.0f} %  {text}")

    def _move(self, event: Event, what: str, text: str) -> None:
        if self._bar is None or self._bar.total != event.total:
            self._close()
            self._bar = tqdm(
                total=event.total,
                file=self.stream,
                leave=False,
                dynamic_ncols=True,
            )
        self._bar.set_description_str(what, refresh=False)
        self._bar.bar_format = "{desc} {percentage:3.0f}%|{bar}| " + text
        self._bar.n = event.done
        self._bar.refresh()

    def _say(self, line: str) -> None:
        self._close()
        self.stream.write(self._escape(line) + "\n")
        self.stream.flush()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def training_text(event: Event) -> str:
    """Return the figures of a moment: words/s, learning rate, loss, time left."""
    rate = event.done / event.seconds if event.seconds else 0.0
    left = (event.total - event.done) / rate if rate else math.nan
    loss = "loss n/a" if math.isnan(event.loss) else f"loss {event.loss:.3f}"
    if not math.isnan(event.heldout):
        loss += f" (held out {event.heldout:.3f})"
    return f"{words_per_second(rate)}  lr {event.lr:.4f}  {loss}  {duration(left)} left"


def merging_text(event: Event) -> str:
    """Return what merging costs: machines, bytes sent by each, share of the time."""
    sent = human_bytes(event.sent)
    return f"  {event.nodes} nodes, {event.merging:.0%} merging, {sent} each"


def stopped_lines(event: Event) -> Iterator[str]:
    """Yield where a training ended before its end, and how to go on."""
    yield f"{event.phase:<11} {event.text}"
    if event.path is None:
        yield "            nothing was saved"
        return
    yield f"saved       {event.path} ({human_bytes(event.path.stat().st_size)})"
    yield f"next        {resume_command(event.path, piped=event.piped)}"


def summary(model: Model, last: Event | None, output: Path) -> Iterator[str]:
    """Yield the closing lines: pairs, time, loss, file, and what to type next.

    `last`: the newest event of the training; None where a checkpoint held all of it already.
    """
    pairs = sum(entry["pairs"] for entry in model.history)
    losses = [entry["loss"] for entry in model.history if entry["loss"] is not None]
    if last is None:
        yield f"trained     {pairs:,} pairs before; nothing was left to train"
    else:
        rate = words_per_second(last.done / last.seconds)
        yield f"trained     {pairs:,} pairs in {last.seconds:.1f} s ({rate})"
    if losses:
        first = f"{losses[0]:.4f} in the first epoch, " if len(losses) > 1 else ""
        yield f"loss        {first}{losses[-1]:.4f} in the last (mean per pair)"
    judged = [entry["heldout_loss"] for entry in model.history if entry.get("heldout_loss")]
    if judged:
        best = model.provenance.get("best_epoch")
        yield f"held out    loss {judged[0]:.4f} after the first epoch, {judged[-1]:.4f} at the end"
        if best:
            yield f"            the vectors are those of epoch {best}, the lowest"
    yield f"written     {output} ({human_bytes(output.stat().st_size)})"
    if output.suffix.lower() != ".safetensors":
        yield "            vectors only: training cannot be resumed from this file"
    yield f"next        {next_command(model, output)}"


def next_command(model: Model, output: Path) -> str:
    """Return a query worth typing.

    Among the frequent words, those that mean something have the longer vectors.
    """
    words = [model.vocabulary.word(row) for row in range(min(len(model.vocabulary), 1000))]
    plain = [row for row, word in enumerate(words) if word.isalpha() and len(word) > 3]
    shown = [row for row, word in enumerate(words) if word.isprintable() and word]
    rows = plain or shown[:1]
    if not rows:  # no word that a person could type
        return "w2v info" + (f" {shlex.quote(str(output))}" if output != DEFAULT_MODEL else "")
    word = words[max(rows, key=lambda row: float(np.linalg.norm(model.E[row])))]
    place = "" if output == DEFAULT_MODEL else f" -m {shlex.quote(str(output))}"
    return f"w2v similar{place} {'-- ' * word.startswith('-')}{shlex.quote(word)}"
