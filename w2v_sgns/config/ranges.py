"""Checks of single settings: each refuses a value in one sentence that names the flag."""

from __future__ import annotations

import math
from typing import Any

from w2v_sgns.errors import ConfigError

__all__ = ["MAX_DIM", "MAX_SEED", "MOST_LR", "flag_of", "on_or_off", "one_of", "real", "whole"]

# One seed word of the random streams, and far beyond any seed a person types.
MAX_SEED = 2**63 - 1
MOST_LR = 1e6  # far beyond any use, far within float32
# The kernel addresses a window's scores from one scratch block a thread: its size is bounded.
MAX_DIM = 16_384


def flag_of(name: str) -> str:
    """Return the command-line flag of a field."""
    return "--" + name.replace("_", "-")


def one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Refuse what is not one of the known words."""
    if value not in known:
        raise ConfigError(f"{flag_of(name)} must be one of {', '.join(known)}, not {value!r}")


def whole(name: str, value: Any, least: int, most: int) -> None:
    """Refuse what is not a whole number in least..most."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ConfigError(f"{flag_of(name)} needs a whole number, not {value!r}")
    if not least <= value.__index__() <= most:
        raise ConfigError(f"{flag_of(name)} must be from {least:,} to {most:,}, not {value}")


def on_or_off(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{flag_of(name)} is on or off: True or False, not {value!r}")


def real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float = math.inf,
) -> None:
    """Refuse what is not a finite number above `above`, at least `least`, at most `most`."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    bound = f" above {above:g}" if above is not None else ""
    bound = f" of at least {least:g}" if least is not None else bound
    bound += f" and at most {most:g}" if most < math.inf else ""
    low = (above is not None and number <= above) or (least is not None and number < least)
    if not math.isfinite(number) or low or number > most:
        raise ConfigError(f"{flag_of(name)} needs a finite number{bound}, not {value!r}")
