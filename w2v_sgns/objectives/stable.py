"""The logistic functions and the softmax in forms that neither overflow nor lose small values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["log_softmax", "sigmoid", "softplus"]

Array = npt.NDArray[np.float64]


def softplus(x: npt.ArrayLike) -> Array:
    """Return the logarithm of 1 + e^x in the form max(x, 0) + log1p(e^−|x|).

    softplus(−x) is −log σ(x).
    """
    x = np.asarray(x, np.float64)
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def sigmoid(x: npt.ArrayLike) -> Array:
    """Return σ(x) = 1 / (1 + e^−x), exact to rounding for x of either sign."""
    x = np.asarray(x, np.float64)
    z = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1, z) / (1 + z))


def log_softmax(x: npt.ArrayLike) -> Array:
    """Return x − log Σ e^x along the last axis, the largest x taken out first."""
    x = np.asarray(x, np.float64)
    x = x - x.max(axis=-1, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(axis=-1, keepdims=True)))
