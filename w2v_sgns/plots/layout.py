"""Where words lie on a map: directions of many dimensions put into two. Draws nothing.

- pca: the two directions of largest variance; NumPy alone, well under a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import ConfigError

__all__ = ["METHODS", "Layout", "lay_out"]

METHODS = ("pca",)


@dataclass(frozen=True)
class Layout:
    """Places on the map.

    Attributes:
        places: float32 (V, 2), within -1 and 1.
        method: how they were found.
        variance: the share of the variance that two dimensions keep; None where the method has
            no such measure.
    """

    places: NDArray[np.float32]
    method: str
    variance: float | None = None


def lay_out(directions: NDArray[np.float32], *, method: str = "pca") -> Layout:
    """Return a place for each of the unit rows (V, d).

    Raises:
        ConfigError: no such method.
    """
    check_method(method)
    places, variance = _pca(directions)
    return Layout(_fitted(places), method, variance)


def check_method(method: str) -> None:
    """Refuse a method that is not known, before the work.

    Raises:
        ConfigError: no such method.
    """
    if method not in METHODS:
        raise ConfigError(f"--method must be one of {', '.join(METHODS)}, not {method!r}")


def _pca(rows: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
    """Return the rows along the two main axes of their covariance, and the variance kept.

    An axis has no sign of its own: its largest entry is made positive.
    """
    centred = rows - rows.mean(axis=0, dtype=np.float64)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1][:, :2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    places = np.zeros((len(rows), 2))
    places[:, : axes.shape[1]] = centred @ axes
    total = float(values.sum())
    return places, float(values[-2:].sum()) / total if total > 0 else 1.0


def _fitted(places: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the places moved and scaled into -1..1, both axes alike."""
    low, high = places.min(axis=0), places.max(axis=0)
    half = float((high - low).max()) / 2
    fitted: NDArray[np.float32] = ((places - (low + high) / 2) / (half or 1.0)).astype(np.float32)
    return fitted
