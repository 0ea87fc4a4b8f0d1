"""Together or alone: how a team trains its next chunk, by what has been faster lately.

Threads in step stand still whenever one of them does. Where other programs use the processors
too, one thread that does the work of all can be many times as fast. The result is the same.
"""

from __future__ import annotations

import math

__all__ = ["Pace"]

FIRST, MOST = 16, 4096  # chunks between two trials of the slower way: each doubles them


class Pace:
    """Chooses between two ways of doing the same, and learns from the time each took."""

    def __init__(self) -> None:
        self.together = True  # for the next chunk
        self._seconds = {True: math.inf, False: math.inf}  # the newest, for a token
        self._better, self._gap, self._until_trial = True, FIRST, 1

    def took(self, seconds: float) -> None:
        """Say how long the chunk took, for a token; choose for the next one."""
        self._seconds[self.together] = seconds
        if self.together is not self._better:  # it was a trial
            won = seconds < self._seconds[self._better]
            self._gap = FIRST if won else min(2 * self._gap, MOST)
            self._until_trial = self._gap
            if won:
                self._better = self.together
        else:
            self._until_trial -= 1
        self.together = self._better if self._until_trial else not self._better
