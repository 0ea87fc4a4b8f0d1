"""Skip-gram with negative sampling (Mikolov et al. 2013b, eq. 4): what a score costs.

For a score s = v·u of an input row v = E[center] with the target's output row, label y = 1, or
a noise word's, y = 0::

    L = softplus(−s) for the target, softplus(s) for a noise word
    ∂L/∂s = σ(s) − y                                       σ the logistic function

Optimum: s = log P(w|c) − log(k·q(w)). The rows' gradients and the window are those of
:mod:`w2v_sgns.objectives.window`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from w2v_sgns.objectives import window
from w2v_sgns.objectives.stable import sigmoid, softplus
from w2v_sgns.objectives.window import Matrix, Step

__all__ = ["Step", "cost", "evaluate", "window_step"]


def cost(scores: Matrix, label: Matrix) -> tuple[Matrix, Matrix]:
    """Return the loss of each score and its derivative by the score; label 1 or 0."""
    return softplus(np.where(label == 1, -scores, scores)), sigmoid(scores) - label


def evaluate(
    E: Matrix,
    Ep: Matrix,
    contexts: npt.ArrayLike,
    outputs: npt.ArrayLike,
    *,
    collisions: str = "keep",
    bias: Matrix | None = None,
) -> Step:
    """Return loss terms and gradients of a window step; outputs[0] is the true word.

    Shapes: E, Ep (V, d); contexts (C,), outputs (K,) ids. With collisions="drop" a negative
    equal to outputs[0] counts nothing, as in word2vec.c; the optimum then is
    logit P(w|c) − log k·q(w) instead of log P(w|c) − log k·q(w).
    """
    return window.evaluate(E, Ep, contexts, outputs, cost, collisions=collisions, bias=bias)


def window_step(
    E: Matrix,
    Ep: Matrix,
    contexts: npt.ArrayLike,
    outputs: npt.ArrayLike,
    lr: float,
    *,
    collisions: str = "keep",
    bias: Matrix | None = None,
) -> float:
    """Do one step of gradient descent in place; return the loss before it."""
    step = evaluate(E, Ep, contexts, outputs, collisions=collisions, bias=bias)
    return window.update(step, E, Ep, contexts, outputs, lr, bias=bias)
