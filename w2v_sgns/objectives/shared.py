"""One set of noise words for a whole batch (Jozefowicz et al. 2016; Zoph et al. 2016).

B pairs of an input row and a target share K noise words, so that the noise is two dense
products instead of B·k single rows. Each noise term has the weight α: with α = k/K the noise
weighs as much as k words for each pair, and the optimum is that of k. The expected gradient is
that of noise drawn pair by pair; the noise terms of different pairs are no longer independent.
What a score costs is the objective's business (:mod:`.sgns`, :mod:`.nce`). No speed here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.objectives.window import Cost, Matrix

__all__ = ["SharedBatch", "batch_step", "evaluate"]


class SharedBatch(NamedTuple):
    """What a batch computes, at the old values."""

    loss: float
    true_errors: Matrix  # (B,) ∂L/∂s of the targets
    noise_errors: Matrix  # (B, K) ∂L/∂s of the noise words, weights included
    dX: Matrix  # (B, d) ∂L/∂v, one row for each pair
    dT: Matrix  # (B, d) ∂L/∂u of the targets, one row for each pair
    dN: Matrix  # (K, d) ∂L/∂u of the noise words


def evaluate(
    E: Matrix,
    Ep: Matrix,
    centers: npt.ArrayLike,
    targets: npt.ArrayLike,
    noise: npt.ArrayLike,
    cost: Cost,
    noise_cost: Cost | None = None,
    *,
    weight: float = 1.0,
    collisions: str = "keep",
    bias: Matrix | None = None,
) -> SharedBatch:
    """Return the loss and the gradients.

    Shapes: E, Ep (V, d); bias (V,); centers, targets (B,) and noise (K,) ids. cost(scores,
    label) is asked for the targets, noise_cost (else the same) for the noise. collisions="drop"
    leaves out, for each pair, the noise words that equal its target.
    """
    c, t, n = (np.asarray(ids, int) for ids in (centers, targets, noise))
    X, T, N = E[c], Ep[t], Ep[n]
    b = np.zeros(len(Ep)) if bias is None else bias
    true_terms, true_errors = cost((X * T).sum(axis=1) + b[t], np.ones(len(t)))
    terms, errors = (noise_cost or cost)(X @ N.T + b[n], np.zeros(len(n)))
    counted = weight * (t[:, None] != n if collisions == "drop" else np.ones((len(t), len(n))))
    errors = errors * counted
    return SharedBatch(
        float(true_terms.sum() + (terms * counted).sum()),
        true_errors,
        errors,
        true_errors[:, None] * T + errors @ N,
        true_errors[:, None] * X,
        errors.T @ X,
    )


def batch_step(
    E: Matrix,
    Ep: Matrix,
    centers: npt.ArrayLike,
    targets: npt.ArrayLike,
    noise: npt.ArrayLike,
    lr: float,
    cost: Cost,
    noise_cost: Cost | None = None,
    *,
    weight: float = 1.0,
    collisions: str = "keep",
    bias: Matrix | None = None,
) -> float:
    """Do one step of gradient descent in place; return the loss before it."""
    batch = evaluate(
        E,
        Ep,
        centers,
        targets,
        noise,
        cost,
        noise_cost,
        weight=weight,
        collisions=collisions,
        bias=bias,
    )
    np.subtract.at(E, np.asarray(centers, int), lr * batch.dX)
    np.subtract.at(Ep, np.asarray(targets, int), lr * batch.dT)
    np.subtract.at(Ep, np.asarray(noise, int), lr * batch.dN)
    if bias is not None:
        np.subtract.at(bias, np.asarray(targets, int), lr * batch.true_errors)
        np.subtract.at(bias, np.asarray(noise, int), lr * batch.noise_errors.sum(axis=0))
    return batch.loss
