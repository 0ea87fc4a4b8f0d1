"""The exact softmax over all V words: loss, gradients, one step of a batch.

For an input row v = E[center] with the scores s_w = v·Ep[w] + b_w and n_w true words w::

    L = Σ_w n_w (log Σ_u e^{s_u} − s_w)            ∂L/∂s = (Σ_u n_u) softmax(s) − n

so all true words of one row share the sum over V. Optimum: s = log P(w|c) + f(c), f free. A
batch has B rows; their gradients are taken at the old values and summed. No speed here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.objectives.stable import log_softmax
from w2v_sgns.objectives.window import Matrix

__all__ = ["Batch", "batch_step", "evaluate"]


class Batch(NamedTuple):
    """What a batch computes, at the old values."""

    scores: Matrix  # (B, V)
    losses: Matrix  # (B,) the sum over a row's true words
    errors: Matrix  # (B, V) ∂L/∂s
    dX: Matrix  # (B, d) ∂L/∂v
    dEp: Matrix  # (V, d) ∂L/∂Ep, summed over the batch

    @property
    def loss(self) -> float:
        """The sum over all rows and true words."""
        return float(self.losses.sum())


def evaluate(
    E: Matrix,
    Ep: Matrix,
    centers: npt.ArrayLike,
    true: npt.ArrayLike,
    *,
    bias: Matrix | None = None,
) -> Batch:
    """Return losses and gradients.

    Shapes: E, Ep (V, d); bias (V,); centers (B,) ids; true (B, V): how often each word is a true
    word of the row.
    """
    X, true = E[np.asarray(centers, int)], np.asarray(true, np.float64)
    scores = X @ Ep.T + (0 if bias is None else bias)
    logs = log_softmax(scores)
    errors = true.sum(axis=1, keepdims=True) * np.exp(logs) - true
    # 0·(−inf) would be NaN where a word's probability underflows
    losses = np.where(true > 0, -true * logs, 0).sum(axis=1)
    return Batch(scores, losses, errors, errors @ Ep, errors.T @ X)


def batch_step(
    E: Matrix,
    Ep: Matrix,
    centers: npt.ArrayLike,
    true: npt.ArrayLike,
    lr: float,
    *,
    bias: Matrix | None = None,
) -> float:
    """Do one step of gradient descent in place; return the loss before it."""
    batch = evaluate(E, Ep, centers, true, bias=bias)
    np.subtract.at(E, np.asarray(centers, int), lr * batch.dX)
    Ep -= lr * batch.dEp
    if bias is not None:
        bias -= lr * batch.errors.sum(axis=0)
    return batch.loss
