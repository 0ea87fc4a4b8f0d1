"""Together or alone: how a team trains its next chunk, by what has been faster lately.

Threads in step stand still whenever one of them does. Where other programs use the processors
too, one thread that does the work of all can be many times as fast. The result is the same.
"""

from __future__ import annotations

import math

__all__ = ["Pace"]

FIRST, MOST = 16, 4096  # chunks between two trials of the slower way: each doubles them
TRIAL = 4  # chunks of a trial: in the first ones the caches still belong to the other way


class Pace:
    """Chooses between two ways of doing the same, and learns from the time each took."""

    def __init__(self) -> None:
        self.together = True  # for the next chunk
        self._seconds = {True: math.inf, False: math.inf}  # the newest, for a token
        self._better, self._gap = True, FIRST
        self._left = TRIAL  # chunks until the way changes

    def took(self, seconds: float) -> None:
        """Say how long the chunk took, for a token; choose for the next one."""
        self._seconds[self.together] = seconds
        self._left -= 1
        if self._left:
            return
        if self.together is self._better:
            self.together, self._left = not self._better, TRIAL
            return
        won = seconds < self._seconds[self._better]
        if won:
            self._better = self.together
        self._gap = FIRST if won else min(2 * self._gap, MOST)
        self.together, self._left = self._better, self._gap
