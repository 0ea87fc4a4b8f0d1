"""Ctrl-C while the compiler works.

Python runs its own handler between two steps of the main thread, and compiling a kernel is one
step of several seconds. A thread that the operating system wakes at the signal ends the process
where the main thread has not begun to within a moment. Not for times when a file is written.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

__all__ = ["PromptInterrupt"]

GRACE = 0.5  # seconds in which the ordinary way may end the process
STOP = b"\0"


class PromptInterrupt:
    """A context; until it or :meth:`end` ends, SIGINT ends the process within a second."""

    def __init__(self) -> None:
        """Start the watch. Must be made in the main thread."""
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._ended = threading.Event()
        self._former = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._watch = threading.Thread(target=self._wait, daemon=True)
        self._watch.start()

    def __enter__(self) -> PromptInterrupt:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Leave SIGINT to Python again; may be called twice."""
        if self._ended.is_set():
            return
        self._ended.set()
        signal.set_wakeup_fd(self._former)
        self._writer.send(STOP)
        self._watch.join()
        self._reader.close()
        self._writer.close()

    def _wait(self) -> None:
        for number in iter(lambda: self._reader.recv(1), STOP):
            if number == bytes([signal.SIGINT]) and not self._ended.wait(GRACE):
                sys.stderr.write("\nw2v: interrupted\n")
                os._exit(128 + signal.SIGINT)
