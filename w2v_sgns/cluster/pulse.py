"""Whether actors still answer: one that hangs is ended, and is lost like any other from then on.

Ray itself notices a process that ends and a machine that is gone, not a process that stands still.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

__all__ = ["Pulse"]

BEAT = 30.0  # seconds in which an actor must answer, whatever else it does


class Pulse:
    """Asks all actors now and then."""

    def __init__(self, ray: Any, actors: Mapping[int, Any]) -> None:
        """`actors`: of each rank, as they are now and will be."""
        self._ray, self._actors = ray, actors
        self._asked: dict[Any, Any] = {}  # reference to the answer → who is to give it
        self._next = time.monotonic() + BEAT

    def check(self) -> None:
        """End those that have not answered since the last beat; call it often."""
        if time.monotonic() < self._next:
            return
        for reference, actor in self._asked.items():
            if not self._ray.wait([reference], timeout=0)[0]:
                with suppress(self._ray.exceptions.RayError):
                    self._ray.kill(actor)
        self._asked = {actor.do.remote("where"): actor for actor in self._actors.values()}
        self._next = time.monotonic() + BEAT
