"""How many streams of windows a GPU trains at once: as many as the text and its words bear.

S streams read the matrices together and add to them together, so a row can be old by S steps.
Three bounds, of which the least holds:

* 4 for each multiprocessor: one for each of its schedulers; more would wait for memory together.
* 100 copies of the hottest output row at work: S·(p + k·q) ≤ 100, where a step's true word has
  the share p of the kept tokens and each of its k noise words the probability q.
* 12,000 tokens of the whole training for each stream, all epochs counted: with fewer, vectors
  become measurably worse; with 4,000 clearly so.

Where noise is shared by a batch, a stream is at work on all windows of its batch, so the last two
bounds hold for streams · windows; and it is a block, one for each multiprocessor.

The figures come from a simulation on the CPU in which S streams step in turn with their reads
and their additions (one seed each, texts of 1.3 and 17 million words). No GPU has confirmed them
so far; --streams overrides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["streams_for"]

A_MULTIPROCESSOR = 4
MOST_COPIES = 100.0
TOKENS_A_STREAM = 12_000

Real = npt.NDArray[np.float64]


def streams_for(
    *,
    multiprocessors: int,
    tokens: int,
    epochs: int,
    kept: Real,
    q: Real,
    negatives: int,
    batch: int | None = None,
) -> int:
    """Return how many streams to train with, at least one.

    tokens: of one epoch, before subsampling; kept (V,): how often each word is kept, in any
    unit; q (V,): the noise distribution; batch: windows of one, where noise is shared.
    """
    hottest = float(np.max(kept / kept.sum() + negatives * q))
    windows = min(MOST_COPIES / hottest, tokens * epochs / TOKENS_A_STREAM)
    places = A_MULTIPROCESSOR if batch is None else 1
    return max(1, int(min(places * multiprocessors, windows / (batch or 1))))
