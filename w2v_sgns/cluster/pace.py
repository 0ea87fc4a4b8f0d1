"""How often replicas are merged, and which of their rows: from what was measured, before it starts.

A merge costs time and bytes; too few of them cost quality: below about 50 in a run it falls off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FIRST_ROWS", "Pace", "class_ends", "paced", "rows_merged"]

LEAST_ROUNDS = 50  # a run; below, analogies fall by 2 points and more
SHARE = 0.05  # of the time that merging may take, where the rounds allow it
MOST_ROUNDS = 1000  # a run: more bring nothing
TOO_LONG = 0.5  # share of the time from which full merges do not fit
FULL_EVERY = 8  # merges, where not all rows fit into each
MORE = 4  # times as many merges then
FIRST_ROWS = 1024  # rows of the shortest merge


@dataclass(frozen=True, kw_only=True)
class Pace:
    """When to merge.

    Attributes:
        rounds: merges an epoch.
        full_every: each so many merges all rows are merged; 1: always.
        words: of a node between two merges.
        share: of the time that merging is expected to take.
    """

    rounds: int
    full_every: int
    words: int
    share: float


def paced(
    *,
    words: int,
    epochs: int,
    most_rounds: int,
    words_a_second: float,
    sync_seconds: float,
    short_seconds: float,
    asked: int | None = None,
) -> Pace:
    """Return the pace for nodes of `words` words an epoch that train at this speed.

    `sync_seconds`: of one merge of all rows, measured; `short_seconds`: of one of FIRST_ROWS.
    `most_rounds`: an epoch has no more. `asked`: words of a node between two merges, instead of
    the rule's.
    """
    seconds = words / words_a_second  # an epoch
    affordable = SHARE / (1 - SHARE) * seconds / max(sync_seconds, 1e-9)
    needed = LEAST_ROUNDS / epochs
    rounds = words / asked if asked else min(max(affordable, needed), MOST_ROUNDS / epochs)
    full_every, each = 1, sync_seconds  # a merge, on average
    if not asked and _share(seconds, sync_seconds * rounds) > TOO_LONG:
        mixed = (sync_seconds + (FULL_EVERY - 1) * short_seconds) / FULL_EVERY
        if mixed * MORE < sync_seconds:  # else every merge costs about the same, however short
            rounds, full_every, each = rounds * MORE, FULL_EVERY, mixed
    count = max(1, min(most_rounds, round(rounds)))
    return Pace(
        rounds=count,
        full_every=full_every,
        words=words // count,
        share=_share(seconds, each * count),
    )


def _share(training: float, merging: float) -> float:
    return merging / (training + merging)


def rows_merged(number: int, words: int, full_every: int) -> int:
    """Return how many of the most frequent rows merge `number` (1, 2, …) takes.

    Between two full ones it is 1024·2^(trailing zero bits of the number), as pWord2Vec does.
    """
    if number % full_every == 0:
        return words
    return min(words, FIRST_ROWS * (number & -number))


def class_ends(words: int) -> npt.NDArray[np.int64]:
    """Return where the classes of rows end that are merged together: 1024·2^j, and V."""
    ends = [FIRST_ROWS]
    while ends[-1] < words:
        ends.append(2 * ends[-1])
    return np.asarray(np.minimum(np.array(ends), words))
