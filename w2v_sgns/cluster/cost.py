"""What merging has cost a run so far: time, and bytes over the network."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cost"]


@dataclass
class Cost:
    """Sums since the start."""

    merges: int = 0
    seconds: float = 0.0
    bytes: int = 0  # sent by each node
    trained: float = 0.0  # seconds between merges

    @property
    def share(self) -> float:
        """Of the time, what merging took."""
        whole = self.seconds + self.trained
        return self.seconds / whole if whole else 0.0
