"""Skip-gram with negative sampling (Mikolov et al. 2013b, eq. 4): loss, gradients, one step.

For an input row v = E[center], the true output row u_t = Ep[target] and k noise rows u_n::

    L = softplus(−v·u_t) + Σ_n softplus(v·u_n)            σ the logistic function
    ∂L/∂(v·u_w) = σ(v·u_w) − y_w                          y = 1 for the target, else 0
    ∂L/∂v = Σ_w (σ_w − y_w) u_w        ∂L/∂u_w = (σ_w − y_w) v

A window step has C input rows (the context words) and shares one set of outputs: the word in
the middle and k negatives. It is C such pairs with all gradients taken at the old values; a
row that occurs several times receives the sum. A pair is a window step with C = 1. No sampling
and no speed here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.objectives.stable import sigmoid, softplus

__all__ = ["Step", "evaluate", "window_step"]

Matrix = npt.NDArray[np.float64]


class Step(NamedTuple):
    """What one window step computes, at the old values."""

    scores: Matrix  # (C, K) logits v·u
    terms: Matrix  # (C, K) loss of each pair of rows; 0 where a collision is dropped
    errors: Matrix  # (C, K) σ − y; 0 where a collision is dropped
    dX: Matrix  # (C, d) ∂L/∂v, one row for each context in the window
    dH: Matrix  # (K, d) ∂L/∂u, one row for each output

    @property
    def loss(self) -> float:
        """The sum over all C·K terms."""
        return float(self.terms.sum())


def evaluate(
    E: Matrix,
    Ep: Matrix,
    contexts: npt.ArrayLike,
    outputs: npt.ArrayLike,
    *,
    collisions: str = "keep",
) -> Step:
    """Return loss terms and gradients of a window step; outputs[0] is the true word.

    Shapes: E, Ep (V, d); contexts (C,), outputs (K,) ids. With collisions="drop" a negative
    equal to outputs[0] counts nothing, as in word2vec.c; the optimum then is
    logit P(w|c) − log k·q(w) instead of log P(w|c) − log k·q(w).
    """
    X, H = E[np.asarray(contexts, int)], Ep[np.asarray(outputs, int)]
    outputs = np.asarray(outputs)
    label = np.zeros(len(outputs))
    label[0] = 1
    counted = np.ones(len(outputs))
    if collisions == "drop":
        counted[1:] = outputs[1:] != outputs[0]
    scores = X @ H.T
    terms = softplus(np.where(label == 1, -scores, scores)) * counted
    errors = (sigmoid(scores) - label) * counted
    return Step(scores, terms, errors, errors @ H, errors.T @ X)


def window_step(
    E: Matrix,
    Ep: Matrix,
    contexts: npt.ArrayLike,
    outputs: npt.ArrayLike,
    lr: float,
    *,
    collisions: str = "keep",
) -> float:
    """Do one step of gradient descent in place; return the loss before it."""
    step = evaluate(E, Ep, contexts, outputs, collisions=collisions)
    np.subtract.at(E, np.asarray(contexts, int), lr * step.dX)
    np.subtract.at(Ep, np.asarray(outputs, int), lr * step.dH)
    return step.loss
