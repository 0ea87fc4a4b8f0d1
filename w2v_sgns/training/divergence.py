"""Whether the loss has left the road: NaN, infinity, or far above where it started.

Looks at what was added since it last looked, so that a good beginning hides nothing.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import TrainConfig
from w2v_sgns.errors import DivergenceError
from w2v_sgns.objectives import nce, sgns
from w2v_sgns.objectives.window import Cost
from w2v_sgns.training.cost import batch_pairs
from w2v_sgns.training.state import Sums

__all__ = ["LossWatch", "untrained_loss"]

FAR = 10.0  # times the loss of untrained vectors
ENOUGH = 10_000  # pairs that make a mean worth judging


class LossWatch:
    """Shown the sums of every epoch as they grow; measured by the loss of untrained vectors."""

    def __init__(self, untrained: float) -> None:
        self._start = untrained
        self._seen = Sums()
        self._epoch = 0

    def check(self, epoch: int, sums: Sums, lr: float, start_lr: float) -> None:
        """Look at the epoch's sums so far; epoch is 1-based, lr the rate of the moment.

        Raises:
            DivergenceError: the loss is not finite, or far above its start.
        """
        if epoch != self._epoch:
            self._epoch, self._seen = epoch, Sums()
        pairs, loss = sums.pairs - self._seen.pairs, sums.loss - self._seen.loss
        finite = math.isfinite(sums.loss)
        if finite and pairs < ENOUGH:
            return
        self._seen = sums
        if finite and loss / pairs <= FAR * self._start:
            return
        what = (
            f"the loss is {loss / pairs:.3g}, far above the {self._start:.3g} of untrained vectors,"
            if finite
            else "the loss became infinite or NaN"
        )
        raise DivergenceError(
            f"{what} in epoch {epoch} at --lr {start_lr:g} (then {lr:.3g}): the training diverged; "
            f"try --lr {start_lr / 10:g}"
        )


def untrained_loss(config: TrainConfig, counts: npt.NDArray[np.int64]) -> float:
    """Return what a pair costs on average while all scores are zero; (1 + k)·ln 2 for SGNS."""
    from w2v_sgns.sampling import noise_distribution

    if config.objective == "softmax":
        return math.log(len(counts))
    if config.objective == "inbatch":
        return math.log(batch_pairs(len(counts)))
    q = noise_distribution(counts, config.noise_exponent or 0.0)
    cost: Cost = sgns.cost
    if config.objective != "sgns":
        cost = partial(nce.COSTS[config.objective], log_kq=np.log(config.negative * q))
    zero = np.zeros(len(q))
    true, noise = cost(zero, zero + 1)[0], cost(zero, zero)[0]
    return float(true @ (counts / counts.sum()) + config.negative * (noise @ q))
