"""Where a run stands: the matrices and everything else that changes while it goes on.

What a checkpoint holds. Trains nothing and knows no files.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from w2v_sgns.training.backends import Totals

__all__ = ["Best", "Clock", "Frozen", "State", "Sums"]

Matrix = npt.NDArray[np.float32]


@dataclass
class Sums:
    """What an epoch has added up so far."""

    tokens: int = 0  # read, before subsampling
    kept: int = 0
    pairs: int = 0
    loss: float = 0.0  # Σ over pairs, float64

    def plus(self, totals: Totals) -> Sums:
        """Return these sums with a backend's on top."""
        return Sums(
            self.tokens + totals.tokens,
            self.kept + totals.kept,
            self.pairs + totals.pairs,
            self.loss + totals.loss,
        )

    @property
    def mean_loss(self) -> float:
        """The mean per positive pair; NaN without pairs.

        Rounded to eight decimals: where an epoch was cut in two, the sums differ in their last
        bit, and a resumed run is to write the file of a straight one.
        """
        return round(self.loss / self.pairs, 8) if self.pairs else math.nan


class Clock:
    """Wall and processor seconds of training, those of earlier runs included."""

    def __init__(self, wall: float = 0.0, cpu: float = 0.0) -> None:
        self._before = wall, cpu
        self.start()

    def start(self) -> None:
        """Begin to count: before, there was compiling."""
        wall, cpu = self._before
        self._wall, self._cpu = time.perf_counter() - wall, time.process_time() - cpu

    def wall(self) -> float:
        """Return the seconds that have passed."""
        return time.perf_counter() - self._wall

    def cpu(self) -> float:
        """Return the processors' seconds of the same span."""
        return time.process_time() - self._cpu


@dataclass(kw_only=True)
class State:
    """A run between two chunks.

    Attributes:
        E: (V, d) and Ep: (V, d), padded (kernels/matrices.py); changed in place.
        epoch: epochs that are complete.
        chunk: the next chunk of the epoch that is not.
        sums: of that epoch's chunks so far.
        history: one table a complete epoch.
        clock: time spent.
        bias: (V,), a view of the output biases where these are trained.
        frozen: rows that do not change.
        best: the vectors with the lowest held-out loss, where one waits for a better one.
    """

    E: Matrix
    Ep: Matrix
    bias: Matrix | None = None
    frozen: Frozen | None = None
    best: Best | None = None
    epoch: int = 0
    chunk: int = 0
    sums: Sums = field(default_factory=Sums)
    history: list[dict[str, Any]] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)


class Frozen:
    """Rows that training puts back, after each chunk, to what they were."""

    def __init__(self, state: State, rows: npt.NDArray[np.int64], *, outputs: bool) -> None:
        """Remember the rows of E, and those of Ep where `outputs`."""
        self.rows, self.outputs = rows, outputs
        parts = (state.E, *((state.Ep, state.bias) if outputs else ()))
        self._kept = [(part, part[rows].copy()) for part in parts if part is not None]

    def restore(self) -> None:
        """Put the rows back."""
        for part, values in self._kept:
            part[self.rows] = values


@dataclass
class Best:
    """The vectors of the epoch (1-based) with the lowest held-out loss."""

    epoch: int
    loss: float
    E: Matrix
    Ep: Matrix
    bias: Matrix | None

    @classmethod
    def of(cls, state: State, epoch: int, loss: float) -> Best:
        """Return a copy of what a state holds."""
        bias = None if state.bias is None else state.bias.copy()
        return cls(epoch, loss, state.E.copy(), state.Ep.copy(), bias)

    def put_into(self, state: State) -> None:
        """Make these the state's vectors."""
        state.E[:], state.Ep[:] = self.E, self.Ep
        if state.bias is not None and self.bias is not None:
            state.bias[:] = self.bias
