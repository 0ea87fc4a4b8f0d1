"""Which nodes are too slow for a round: by seconds a token, since a larger share takes longer."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Slow"]

PATIENCE = 2.0  # times as long a token as half of the nodes took, and as the node itself once did
LEAST_PATIENCE = 1.0  # seconds


class Slow:
    """The nodes of one round as they end it."""

    def __init__(self, tokens: Mapping[int, int], speeds: Mapping[int, float]) -> None:
        """`tokens`: of each rank in this round; `speeds`: tokens a second, measured before."""
        self._tokens = {rank: number for rank, number in tokens.items() if number}
        self._speeds, self._told = speeds, set[int]()
        self._took: dict[int, float] = {}  # seconds a token of those that are done
        self._usual: float | None = None  # the longest of these when half were done

    def found(self, done: frozenset[int], seconds: float) -> list[int]:
        """Return the ranks that have just become too slow, so many seconds after the start."""
        for rank in done & self._tokens.keys() - self._took.keys():
            self._took[rank] = seconds / self._tokens[rank]
        if 2 * len(self._took) < len(self._tokens):
            return []
        if self._usual is None:
            self._usual = max(self._took.values(), default=0.0)
        waited = self._tokens.keys() - self._took.keys() - self._told
        late = sorted(rank for rank in waited if seconds >= self._patience(rank))
        self._told.update(late)
        return late

    def _patience(self, rank: int) -> float:
        assert self._usual is not None
        expected = self._tokens[rank] * max(self._usual, 1 / self._speeds[rank])
        return PATIENCE * max(expected, LEAST_PATIENCE)
