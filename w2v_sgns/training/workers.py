"""The threads of an epoch, and the chunks that wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from w2v_sgns.kernels.workspace import Workspace, aligned_floats

__all__ = ["Chunks", "Worker"]


class Chunks:
    """The chunks that wait, handed out in order to whichever thread asks, until closed."""

    def __init__(self, first: int, end: int, step: int = 1) -> None:
        self.next, self._end, self._step = first, end, step
        self._lock = threading.Lock()

    def take(self) -> int | None:
        """Return the next one, None if there is none."""
        with self._lock:
            if self.next >= self._end:
                return None
            self.next += self._step
            return self.next - self._step

    def close(self) -> None:
        """Hand out no more."""
        with self._lock:
            self._end = self.next


class Worker:
    """One thread's memory and sums; the thread itself lives for one epoch."""

    def __init__(self, room: Workspace) -> None:
        self.workspace = room
        own = aligned_floats(32)  # a cache line that no other thread writes to
        self.sums = own[:6].view(np.float64)  # kept, pairs, loss: exact below 2^53
        self.stop = own[16:].view(np.uint8)[:1]
        self.reset()

    def reset(self) -> None:
        """Forget what was trained."""
        self.sums[:] = 0
        self.stop[0] = 0
        self.tokens = 0
        self.error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self, work: Callable[[Worker], None]) -> None:
        """Do the work in a thread."""
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[Worker], None]) -> None:
        try:
            work(self)
        except BaseException as error:
            self.error = error

    def is_busy(self, seconds: float) -> bool:
        """Wait up to `seconds`; tell whether the thread still runs."""
        if self._thread is None:
            return False
        self._thread.join(seconds)
        return self._thread.is_alive()

    def join(self) -> None:
        """Wait until the thread has ended."""
        if self._thread is not None:
            self._thread.join()
