"""One step with noise words shared by a batch of pairs: dense products instead of single rows.

What is computed is defined in :mod:`w2v_sgns.objectives.shared`; here in float32, the products
on BLAS. Which pairs and which noise these are is decided elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from w2v_sgns.kernels.compile import compiled

__all__ = ["shared_step"]

Matrix = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


@np.errstate(over="ignore", invalid="ignore")  # of a training that diverges: the loss tells
def shared_step(
    E: Matrix,
    Ep: Matrix,
    centers: Ids,
    targets: Ids,
    noise: Ids,
    log_kq: Matrix | None,
    lr: float,
    *,
    sigmoid_form: bool,
    weight: float,
    drop: bool,
) -> float:
    """Update E and Ep in place; return the loss before it.

    E, Ep float32 (V, d); centers, targets (B,) and noise (K,) ids; log_kq float32 (V,), None for
    SGNS; weight: α of each noise term; drop: noise that equals a pair's target counts nothing.
    """
    X, T, N = E[centers], Ep[targets], Ep[noise]
    true, scores = np.einsum("bd,bd->b", X, T), X @ N.T
    shifts = (0, 0) if log_kq is None else (log_kq[targets], log_kq[noise])
    loss, true = _costs(true, shifts[0], True, sigmoid_form)
    terms, errors = _costs(scores, shifts[1], False, sigmoid_form)
    counted = np.float32(weight)
    if drop:
        counted = counted * (targets[:, None] != noise)
    errors *= counted
    rate = np.float32(-lr)
    add_rows(E, centers, rate * (true[:, None] * T + errors @ N))
    add_rows(Ep, targets, rate * true[:, None] * X)
    add_rows(Ep, noise, rate * (errors.T @ X))
    return float(loss.sum(dtype=np.float64) + (terms * counted).sum(dtype=np.float64))


def _costs(scores: Matrix, shift: Any, is_true: bool, sigmoid_form: bool) -> tuple[Matrix, Matrix]:
    """Return each score's loss and its derivative by the score, as objectives.nce does."""
    slope: Any = 1
    if sigmoid_form:
        slope = _sigmoid(-scores)
        scores = -_softplus(-scores)
    delta = scores - shift
    if is_true:
        return _softplus(-delta), -_sigmoid(-delta) * slope
    return _softplus(delta), _sigmoid(delta) * slope


def _softplus(x: Matrix) -> Matrix:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _sigmoid(x: Matrix) -> Matrix:
    z = np.exp(-np.abs(x))
    return np.where(x >= 0, np.float32(1), z) / (1 + z)


def _add_rows(matrix, ids, rows):
    """Add row after row to matrix[ids]; an id may stand several times."""
    for n in range(len(ids)):
        for j in range(rows.shape[1]):
            matrix[ids[n], j] += rows[n, j]


add_rows: Any = compiled(_add_rows)
