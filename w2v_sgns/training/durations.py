"""Times and rates as people read them."""

from __future__ import annotations

import math

__all__ = ["duration", "rough_duration", "words_per_second"]


def words_per_second(rate: float) -> str:
    """Return a rate for people, always as wide: 4.31 M words/s, 512 k words/s."""
    return f"{rate / 1e6:.2f} M words/s" if rate >= 1e6 else f"{rate / 1e3:.0f} k words/s"


def duration(seconds: float) -> str:
    """Return 0:07, 12:34 or 3:05:09; ? when unknown."""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def rough_duration(seconds: float) -> str:
    """Return an estimate for people: 3.2 s, or minutes and hours as `duration` does."""
    return f"{seconds:.1f} s" if seconds < 59.95 else duration(seconds)
