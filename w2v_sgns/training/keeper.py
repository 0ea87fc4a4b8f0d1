"""When a run is saved, under which name, and what happens where that fails.

A failing disk never ends a training: it is told, and tried again. Names are claimed by the first
file written, so that two runs never write over each other's work.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from w2v_sgns.errors import OutputError
from w2v_sgns.machine import human_bytes
from w2v_sgns.model import Model
from w2v_sgns.training.checkpoint import ENDING, checkpoint_path, write_checkpoint
from w2v_sgns.training.events import Event, Progress
from w2v_sgns.training.state import State

__all__ = ["Keeper", "resume_command"]

# Unless --checkpoint-every is given: minutes between checkpoints, and the fewest of them between
# one and the checkpoint of an epoch's end.
EVERY, APART = 10.0, 1.0
MOST_NAMES = 1000


class Keeper:
    """Saves one run."""

    def __init__(
        self,
        output: Path | str | None,
        *,
        every: float | None,
        force: bool,
        resumed: Path | None,
        asked: dict[str, Any],
        say: Progress,
    ) -> None:
        """`resumed`: the checkpoint that this run goes on from, and goes on writing."""
        self.output = None if output is None else Path(output)
        self.path = resumed or (None if self.output is None else checkpoint_path(self.output))
        self.written = resumed  # the newest checkpoint of this run
        self._every, self._given = 60 * (every or EVERY), every is not None
        self._force, self._asked, self._say = force, asked, say
        self._claimed = resumed is not None
        self._last = time.monotonic()

    @property
    def piped(self) -> bool:
        """Whether the text can be read only once."""
        return not self._asked.get("corpus")

    @property
    def active(self) -> bool:
        """Whether anything is saved at all."""
        return self.output is not None

    def is_due(self) -> bool:
        """Tell whether a checkpoint should be written between two chunks."""
        return self.active and time.monotonic() - self._last >= self._every

    def is_due_at_epoch(self) -> bool:
        """Tell whether one should be written at an epoch's end."""
        long_ago = time.monotonic() - self._last >= min(self._every, 60 * APART)
        return self.active and (self._given or long_ago)

    def save(self, model: Model, state: State, *, ended: bool = False) -> bool:
        """Write a checkpoint; where that fails, say why and go on.

        `ended`: the training has, and does not try again by itself.

        Raises:
            DivergenceError: a row is not finite; nothing is written.
        """
        assert self.path is not None
        self._last = time.monotonic()
        try:
            self._write(model, state)
        except OutputError as error:
            kept = f"; {self.written} still holds an earlier state" if self.written else ""
            later = "" if ended else "; the training goes on and tries again"
            self._note(f"no checkpoint: {error}{kept}{later}")
            return False
        self._say(Event(phase="checkpoint", path=self.path, epoch=state.epoch))
        return True

    def save_somewhere(self, model: Model, state: State) -> Path | None:
        """Write the last checkpoint to the first place that takes it; None if there is none."""
        for path in self._places():
            self.path = path
            if self.save(model, state, ended=True):
                return path
        return None

    def save_model(self, model: Model, state: State) -> Path:
        """Write the finished model, remove the checkpoint, return the model's file.

        A file that another program has put there meanwhile is not replaced without `force`.

        Raises:
            OutputError: it cannot be written; names the checkpoint that holds the training, or
                the room elsewhere.
            DivergenceError: a row is not finite.
        """
        from w2v_sgns.formats.temporary import remove_stale

        assert self.output is not None
        try:
            output = self._write_model(model)
        except OutputError as error:
            kept = self.save_somewhere(model, state)
            raise OutputError(f"{error}; {self._way_out(kept)}") from error
        for path in (self.written, self.path if self._force else None):
            if path is not None:
                path.unlink(missing_ok=True)
                remove_stale(path)
        return output

    def _write_model(self, model: Model) -> Path:
        assert self.output is not None
        for path in _siblings(self.output):
            try:
                model.save(path, force=self._force)
            except OutputError:
                if self._force or not os.path.exists(path):
                    raise
                self._note(f"{path}: has been written by another run meanwhile, and is left alone")
                continue
            return path
        raise OutputError(f"{self.output}: exists, and so do {MOST_NAMES} names like it")

    def _write(self, model: Model, state: State) -> None:
        """Write to our name; the first time, to the first name that nobody has."""
        assert self.path is not None
        if self._claimed or self._force:
            write_checkpoint(self.path, model, state, self._asked, force=True)
        else:
            self.path = self._claim(model, state)
        self._claimed = True
        self.written = self.path

    def _claim(self, model: Model, state: State) -> Path:
        assert self.path is not None
        for path in _siblings(self.path, ENDING):
            try:
                write_checkpoint(path, model, state, self._asked, force=False)
            except OutputError:
                if not os.path.exists(path):
                    raise
                continue
            return path
        raise OutputError(f"{self.path}: exists, and so do {MOST_NAMES} names like it")

    def _places(self) -> Iterator[Path]:
        """Yield where a checkpoint might go: our own name, then folders that may have room."""
        assert self.path is not None
        yield self.path
        for folder in dict.fromkeys((Path.cwd(), Path(tempfile.gettempdir()), Path.home())):
            if folder.resolve() != self.path.parent.resolve():
                self._claimed = self._force = False  # here, all that exists is a stranger's
                yield folder / self.path.name

    def _way_out(self, kept: Path | None) -> str:
        if kept is not None:
            command = resume_command(kept, piped=self.piped)
            return f"nothing is lost: free some room, then {command}"
        earlier = f"{self.written} holds an earlier state; " if self.written else ""
        folders = (Path.cwd(), Path(tempfile.gettempdir()), Path.home())
        rooms = (
            f"{folder} ({human_bytes(shutil.disk_usage(folder).free)} free)"
            for folder in dict.fromkeys(folders)
            if folder.is_dir()
        )
        return f"{earlier}it could not be kept in {', '.join(rooms)} either"

    def _note(self, text: str) -> None:
        self._say(Event(phase="note", text=text))


def resume_command(path: Path, *, piped: bool = False) -> str:
    """Return what to type to go on; piped: the text must be given again."""
    text = "CORPUS " if piped else ""
    return f"w2v train {text}--resume {shlex.quote(str(path))}"


def _siblings(path: Path, ending: str | None = None) -> Iterator[Path]:
    """Yield the path itself, then name-2.ending, name-3.ending and so on."""
    ending = ending or path.suffix
    stem = path.name.removesuffix(ending)
    yield path
    for number in range(2, MOST_NAMES):
        yield path.with_name(f"{stem}-{number}{ending}")
