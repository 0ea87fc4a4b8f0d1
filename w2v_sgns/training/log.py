"""`--log-json`: every event of a run as a line of JSON, to a file, a pipe or a terminal.

The first line says the settings. A log that cannot be written on does not end the training.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from w2v_sgns import __version__
from w2v_sgns.config import TrainConfig
from w2v_sgns.errors import OutputError
from w2v_sgns.training.events import Event, Progress

__all__ = ["JsonLog", "is_stream"]

# Of a corpus: its figures; names are in the model's provenance.
FIGURES = ("bytes_read", "lines", "tokens_read", "types_read", "tokens_kept", "types_kept")


def is_stream(path: Path | str | None) -> bool:
    """Tell whether a log goes to a program, not to a file: nothing there can be replaced."""
    there = path is not None and Path(path)
    return bool(there and (there.is_fifo() or there.is_char_device()))


class JsonLog:
    """A context, and a progress callback: writes each event and hands it on.

    Raises:
        OutputError: the file cannot be opened.
    """

    def __init__(
        self, path: Path | str | None, config: TrainConfig, then: Progress, *, append: bool
    ) -> None:
        """`path` None: only hands on. `append`: a resumed run goes on with its log."""
        self._then = then
        self._stream: IO[str] | None = None
        if path is None:
            return
        try:
            mode = "a" if append else "w"
            self._stream = Path(path).open(mode, encoding="utf-8", buffering=1)  # noqa: SIM115
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
        program = f"w2v-sgns {__version__}"
        self._write({"phase": "start", "config": config.to_dict(), "program": program})

    def __call__(self, event: Event) -> None:
        """Take one event."""
        self._write(_line(event))
        self._then(event)

    def _write(self, line: dict[str, Any]) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(json.dumps(line, default=str) + "\n")
        except OSError as error:
            self._give_up(self._stream, error)

    def _give_up(self, stream: IO[str], error: OSError) -> None:
        self._stream = None
        with suppress(OSError):  # told already
            stream.close()
        text = f"{stream.name}: the log ends here: {error.strerror or error}"
        self._then(Event(phase="note", text=text))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            try:
                self._stream.close()
            except OSError as failure:
                self._give_up(self._stream, failure)


def _line(event: Event) -> dict[str, Any]:
    """Return the fields that are set."""
    line: dict[str, Any] = {"phase": event.phase}
    for field in fields(Event)[1:]:
        value = getattr(event, field.name)
        if field.name == "corpus" and value is not None:
            line["corpus"] = {name: getattr(value.stats, name) for name in FIGURES}
        elif value != field.default and not (isinstance(value, float) and math.isnan(value)):
            line[field.name] = value
    return line
