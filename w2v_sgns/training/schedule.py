"""The learning rate: one straight line over all epochs. Knows nothing of threads or time."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Schedule"]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """From `start` at the first token to `end` after the last of all epochs."""

    start: float
    end: float
    tokens: int  # tokens of one epoch
    epochs: int

    def at(self, epoch: int, position: int) -> float:
        """Return the rate at a token position (0-based) of an epoch (0-based)."""
        share = (epoch * self.tokens + position) / (self.epochs * self.tokens)
        return self.start + (self.end - self.start) * min(1.0, share)
