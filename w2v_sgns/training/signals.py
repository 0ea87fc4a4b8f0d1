"""Ctrl-C and SIGTERM during training: the first asks for a stop, the second stops at once.

Knows nothing of what is saved in between.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any

__all__ = ["StopRequest"]


class StopRequest:
    """A context; in it the first signal is only noted, the second works as before the context.

    Does nothing outside of the main thread, and leaves signals alone that are ignored (nohup).
    """

    def __init__(self, *, active: bool) -> None:
        self.number: int | None = None  # of the signal that came
        self._came = 0.0
        self._former: dict[int, Any] = {}
        self._active = active and threading.current_thread() is threading.main_thread()

    def __bool__(self) -> bool:
        return self.number is not None

    def age(self) -> float:
        """Return the seconds since the signal came; 0 if none did."""
        return 0.0 if self.number is None else time.monotonic() - self._came

    def __enter__(self) -> StopRequest:
        if self._active:
            for number in (signal.SIGINT, signal.SIGTERM):
                former = signal.getsignal(number)
                if former not in (signal.SIG_IGN, None):
                    self._former[number] = former
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def deliver(self) -> None:
        """Let the signal do what it would have done; nothing if none came."""
        self._restore()
        if self.number is not None:
            signal.raise_signal(self.number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        again = self.number is not None
        self.number, self._came = number, time.monotonic()
        if again:
            self.deliver()

    def _restore(self) -> None:
        while self._former:
            signal.signal(*self._former.popitem())
