"""One window step of any objective that compares a word with noise: loss, gradients, update.

C input rows (the context words) share one set of outputs: the word in the middle, label 1, and
k negatives, label 0. What a score costs is the objective's business; here is what all of them
have in common::

    s = v·u_w + b_w          ∂L/∂v = Σ_w e_w u_w       ∂L/∂u_w = e_w v       ∂L/∂b_w = e_w

with e = ∂L/∂s. All gradients are taken at the old values; a row that occurs several times
receives the sum. A pair is a window step with C = 1. No sampling and no speed here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Cost", "Matrix", "Step", "evaluate", "update"]

Matrix = npt.NDArray[np.float64]
Cost = Callable[[Matrix, Matrix], tuple[Matrix, Matrix]]


class Step(NamedTuple):
    """What one window step computes, at the old values."""

    scores: Matrix  # (C, K) logits v·u + b
    terms: Matrix  # (C, K) loss of each pair of rows; 0 where a collision is dropped
    errors: Matrix  # (C, K) ∂L/∂s; 0 where a collision is dropped
    dX: Matrix  # (C, d) ∂L/∂v, one row for each context in the window
    dH: Matrix  # (K, d) ∂L/∂u, one row for each output

    @property
    def loss(self) -> float:
        """The sum over all C·K terms."""
        return float(self.terms.sum())

    @property
    def db(self) -> Matrix:
        """∂L/∂b, one number for each output."""
        return np.asarray(self.errors.sum(axis=0))


def evaluate(
    E: Matrix,
    Ep: Matrix,
    contexts: npt.ArrayLike,
    outputs: npt.ArrayLike,
    cost: Cost,
    *,
    collisions: str = "keep",
    bias: Matrix | None = None,
) -> Step:
    """Return loss terms and gradients; outputs[0] is the true word.

    Shapes: E, Ep (V, d); bias (V,); contexts (C,), outputs (K,) ids. cost(scores, label) gives
    each score's loss and its derivative. With collisions="drop" a negative equal to outputs[0]
    counts nothing.
    """
    X, H = E[np.asarray(contexts, int)], Ep[np.asarray(outputs, int)]
    outputs = np.asarray(outputs)
    label = np.zeros(len(outputs))
    label[0] = 1
    counted = np.ones(len(outputs))
    if collisions == "drop":
        counted[1:] = outputs[1:] != outputs[0]
    scores = X @ H.T + (0 if bias is None else bias[outputs])
    terms, errors = cost(scores, label)
    terms, errors = terms * counted, errors * counted
    return Step(scores, terms, errors, errors @ H, errors.T @ X)


def update(
    step: Step,
    E: Matrix,
    Ep: Matrix,
    contexts: npt.ArrayLike,
    outputs: npt.ArrayLike,
    lr: float,
    *,
    bias: Matrix | None = None,
) -> float:
    """Go down the gradients of a step in place; return the loss before it."""
    np.subtract.at(E, np.asarray(contexts, int), lr * step.dX)
    np.subtract.at(Ep, np.asarray(outputs, int), lr * step.dH)
    if bias is not None:
        np.subtract.at(bias, np.asarray(outputs, int), lr * step.db)
    return step.loss
