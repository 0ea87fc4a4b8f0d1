"""The seam between the trainer and the machine: what a backend reads, does and adds up.

A backend runs one epoch over the token ids and changes E and Ep; it prints nothing and knows no
files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Backend", "Matrix", "Tick", "Totals", "TrainingData"]

TICK = 0.1  # seconds between two looks at what is being trained

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """What every epoch reads."""

    tokens: npt.NDArray[np.uint32]  # (n,) ids; the high bit ends a line
    keep: npt.NDArray[np.uint32]  # (n,) of the n most frequent words: sampling.keep_thresholds
    noise: npt.NDArray[np.uint64]  # (V,) alias table
    log_kq: npt.NDArray[np.float64] | None = None  # (V,) log(k·q(w)); SGNS needs none
    kept_share: float = 1.0  # expected share of tokens that subsampling keeps


@dataclass(frozen=True)
class Totals:
    """Sums over what has been trained."""

    tokens: int  # read, before subsampling
    kept: int  # centres: tokens that subsampling kept
    pairs: int  # positive pairs
    loss: float  # Σ over pairs, float64; of 1 + k terms each, where there is noise
    next_chunk: int  # first chunk not begun; the number of chunks once the epoch is complete


Tick = Callable[[Totals], bool | None]  # True: begin no more chunks


class Backend(Protocol):
    """The seam between the trainer and the machine."""

    chunks: int  # of an epoch: pieces of CHUNK tokens
    cut: str  # for the user: what became of the work that an exception from tick ended

    def warm_up(self) -> None:
        """Compile whatever the first epoch needs."""

    def run_epoch(
        self, epoch: int, tick: Tick, *, first: int = 0, end: int | None = None
    ) -> Totals:
        """Train on every token of the chunks from `first` on; call tick about ten times a second.

        `end`: the first chunk that is left alone; None: the epoch's end.

        Where tick returns True, no further chunk is begun and those that run are finished: what
        is returned says which chunk is next, and E and Ep hold exactly the chunks before it.
        KeyboardInterrupt, or any exception from tick, ends the work within a second, anywhere.
        """
