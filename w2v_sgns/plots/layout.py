"""Where words lie on a map: directions of many dimensions put into two. Draws nothing.

- pca: the two directions of largest variance; NumPy alone, well under a second.
- tsne: words near each other stay near each other (van der Maaten and Hinton, "Visualizing data
  using t-SNE", 2008), by openTSNE (extra: plot); minutes for 10,000 words.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import ConfigError

__all__ = ["METHODS", "Layout", "lay_out"]

METHODS = ("pca", "tsne")
PERPLEXITY = 30  # neighbours that t-SNE keeps together, about; a third of the words at most
FEWEST = 4  # words for t-SNE
START_SPREAD, START_NOISE = 1e-4, 1e-6  # t-SNE begins with a tiny copy of the PCA map


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


def lay_out(directions: NDArray[np.float32], *, method: str = "pca", seed: int = 1) -> Layout:
    """Return a place for each of the unit rows (V, d).

    Raises:
        ConfigError: no such method, its library is not installed, or too few words for it.
    """
    check_method(method)
    places, variance = _pca(directions)
    if method == "pca":
        return Layout(_fitted(places), method, variance)
    return Layout(_fitted(_tsne(directions, places, seed)), method)


def check_method(method: str) -> None:
    """Refuse a method that cannot be used, before the work.

    Raises:
        ConfigError: no such method, or its library is not installed.
    """
    if method not in METHODS:
        raise ConfigError(f"--method must be one of {', '.join(METHODS)}, not {method!r}")
    if method == "tsne" and find_spec("openTSNE") is None:
        raise ConfigError(
            "--method tsne needs openTSNE; install it: pip install 'w2v-sgns[plot]', or use pca"
        )


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


def _tsne(rows: NDArray[np.float32], start: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return t-SNE's places of unit rows, from the PCA places; one thread, so the seed decides."""
    if len(rows) < FEWEST:
        raise ConfigError(
            f"--method tsne needs at least {FEWEST} words, not {len(rows)}; use --method pca"
        )
    from openTSNE import TSNE

    start = start * (START_SPREAD / (start[:, 0].std() or 1.0))
    start += np.random.default_rng(seed).normal(scale=START_NOISE, size=start.shape)
    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    method = TSNE(perplexity=perplexity, initialization=start, random_state=seed, n_jobs=1)
    return np.asarray(method.fit(rows.astype(np.float64)), np.float64)


def _fitted(places: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the places moved and scaled into -1..1, both axes alike."""
    low, high = places.min(axis=0), places.max(axis=0)
    half = float((high - low).max()) / 2
    fitted: NDArray[np.float32] = ((places - (low + high) / 2) / (half or 1.0)).astype(np.float32)
    return fitted
