"""Noise-contrastive estimation (Gutmann and Hyvärinen 2010), in two forms.

A logistic regression tells true words from noise words by Δ = g(s) − log(k·q(w))::

    L = softplus(−Δ) for the target, softplus(Δ) for a noise word
    ∂L/∂s = (σ(Δ) − y) g'(s)

                 g(s)        g'(s)     optimum
    standard     s           1         s = log P(w|c)                       (Mnih and Teh 2012)
    sigmoid      log σ(s)    σ(−s)     σ(s) = P(w|c)

The sigmoid form is the one with o = σ(s), b = k·q(w) and the costs −log(o/(o + b)) and
−log(b/(o + b)); computed from logarithms it stays finite for every s. The rows' gradients and
the window are those of :mod:`w2v_sgns.objectives.window`.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from w2v_sgns.objectives import window
from w2v_sgns.objectives.stable import sigmoid, softplus
from w2v_sgns.objectives.window import Matrix, Step

__all__ = ["cost", "evaluate", "sigmoid_cost", "window_step"]


def cost(scores: Matrix, label: Matrix, *, log_kq: npt.ArrayLike) -> tuple[Matrix, Matrix]:
    """Return the loss of each score and its derivative by the score; log_kq as the scores."""
    delta = scores - np.asarray(log_kq)
    return softplus(np.where(label == 1, -delta, delta)), sigmoid(delta) - label


def sigmoid_cost(scores: Matrix, label: Matrix, *, log_kq: npt.ArrayLike) -> tuple[Matrix, Matrix]:
    """Return the same for the form in which σ(s) is the model of P(w|c)."""
    terms, errors = cost(-softplus(-scores), label, log_kq=log_kq)  # −softplus(−s) = log σ(s)
    return terms, errors * sigmoid(-scores)


COSTS = {"nce": cost, "nce-sigmoid": sigmoid_cost}


def evaluate(
    E: Matrix,
    Ep: Matrix,
    contexts: npt.ArrayLike,
    outputs: npt.ArrayLike,
    *,
    log_kq: Matrix,
    form: str = "nce",
    collisions: str = "keep",
    bias: Matrix | None = None,
) -> Step:
    """Return loss terms and gradients of a window step; outputs[0] is the true word.

    Shapes: E, Ep (V, d); log_kq (V,) the logarithms of k·q(w); bias (V,); contexts (C,), outputs
    (K,) ids. form: "nce" or "nce-sigmoid". With collisions="drop" the optimum of the standard
    form is logit P(w|c).
    """
    form_cost = partial(COSTS[form], log_kq=log_kq[np.asarray(outputs, int)])
    return window.evaluate(E, Ep, contexts, outputs, form_cost, collisions=collisions, bias=bias)


def window_step(
    E: Matrix,
    Ep: Matrix,
    contexts: npt.ArrayLike,
    outputs: npt.ArrayLike,
    lr: float,
    *,
    log_kq: Matrix,
    form: str = "nce",
    collisions: str = "keep",
    bias: Matrix | None = None,
) -> float:
    """Do one step of gradient descent in place; return the loss before it."""
    step = evaluate(
        E, Ep, contexts, outputs, log_kq=log_kq, form=form, collisions=collisions, bias=bias
    )
    return window.update(step, E, Ep, contexts, outputs, lr, bias=bias)
