"""The merge of replicas: their moves summed, and shrunk where nodes did the same work twice.

Arrays in, arrays out: no node, no network, no matrices that know their owners.

Near its equilibrium x* a row obeys dx = −lr·A·(x − x*). After curvature mass m along an
eigenvector of A one node has gone 1 − e^(−m/ke) of the way, and ke nodes that worked one after
another would have gone 1 − e^(−m). So the sum of their moves is scaled along that eigenvector by

    (1 − e^(−m)) / (ke·(1 − e^(−m/ke)))

which is 1 for rare rows and flat directions (the sum) and 1/ke for saturated ones (the mean).
All rows of a matrix see nearly the same noise words, so one A a matrix will do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["KAPPA", "Spectrum", "curvature", "effective_nodes", "merged", "shrinkage"]

KAPPA = 2.0  # caution: curvature masses are taken so many times as large
SAMPLE = 1500  # rows drawn for each mean over a matrix
POSITIVE_SLOPE = 0.2  # σ' at the score of a true pair: a guess, beside k noise words
BLOCK = 1024  # rows at a time: stays in the cache
SMALL = 1e-6  # curvature mass that changes nothing: the factor is 1 to within rounding

Matrix = npt.NDArray[np.float32]
Weights = npt.NDArray[np.float64]


class Spectrum(NamedTuple):
    """A = U·diag(λ)·Uᵀ of one matrix.

    values: λ >= 0, float32 (d,). vectors: U, float32 (d, d), an eigenvector a column.
    """

    values: Matrix
    vectors: Matrix


def curvature(
    E: Matrix,
    Ep: Matrix,
    *,
    p: Weights,
    q: Weights,
    negatives: int,
    generator: np.random.Generator,
) -> tuple[Spectrum, Spectrum]:
    """Return the mean curvature of E's rows, a (context, centre) step, and of Ep's, a pair.

    E, Ep: a replica after the interval, (V, d). p: share of each word in the kept tokens, (V,);
    q: the noise distribution, (V,).
    """
    x = _drawn(E, p, generator)
    noise = _drawn(Ep, q, generator)
    true = _drawn(Ep, p, generator)
    with np.errstate(over="ignore"):  # exp(large) = inf gives the right limit, a slope of 0
        sigmoid = 1 / (1 + np.exp(-(x @ noise.T)))
    slope = sigmoid * (1 - sigmoid)
    of_E = negatives * _second_moment(noise, slope.mean(axis=0))
    of_E += POSITIVE_SLOPE * _second_moment(true, np.ones(len(true)))
    return _spectrum(of_E), _spectrum(_second_moment(x, slope.mean(axis=1)))


def _drawn(rows: Matrix, weights: Weights, generator: np.random.Generator) -> Weights:
    ends = np.cumsum(weights)
    draws = generator.random(SAMPLE) * ends[-1]
    places = np.searchsorted(ends, draws, side="right").clip(max=len(rows) - 1)
    return np.asarray(rows[places], np.float64)


def _second_moment(rows: Weights, weights: Weights) -> Weights:
    """Return the mean of weight·row·rowᵀ, (d, d)."""
    return np.asarray((rows.T * weights) @ rows / len(rows))


def _spectrum(matrix: Weights) -> Spectrum:
    values, vectors = np.linalg.eigh(matrix)
    return Spectrum(values.clip(min=0).astype(np.float32), vectors.astype(np.float32))


def effective_nodes(each: npt.ArrayLike) -> Any:
    """Return ke = M²/Σ M_p² along the first axis: how many nodes shared the work; 1 where none."""
    each = np.asarray(each, np.float64)
    squares = (each**2).sum(axis=0)
    return np.where(squares > 0, each.sum(axis=0) ** 2 / np.where(squares > 0, squares, 1), 1.0)


def shrinkage(mass: npt.NDArray[Any], nodes: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the factor of the sum for curvature masses >= 0 of `nodes` effective nodes.

    By tanh: 1 − e^(−z) = 2t/(1 + t) with t = tanh(z/2) is as exact as expm1, and vectorised.
    """
    nodes = np.maximum(np.asarray(nodes, mass.dtype), 1)
    alone = _gone(mass / nodes)
    alone *= nodes
    factor = _gone(mass)
    # where nothing was gone, both ends of the formula meet: the sum
    return np.asarray(np.divide(factor, alone, out=np.ones_like(factor), where=mass > SMALL))


def _gone(mass: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return (1 − e^(−mass))/2."""
    t = np.tanh(mass * mass.dtype.type(0.5))
    return np.asarray(np.divide(t, 1 + t, out=t))


def merged(
    moves: Matrix,
    work: npt.ArrayLike,
    nodes: npt.ArrayLike,
    spectrum: Spectrum,
    *,
    rate: float,
) -> Matrix:
    """Return by how much the rows move, float32 (R, d).

    Args:
        moves: Σ over nodes of (their row − the row at its last merge), (R, d).
        work: (R,) updates of each row since then, all nodes together: kept tokens of the word,
            and for Ep k·q(w)·(kept tokens) more; counted or expected.
        nodes: ke of each row, (R,) or one number for all.
        spectrum: of the matrix.
        rate: κ · learning rate · expected contexts of a window.
    """
    work = np.asarray(work, np.float32)
    nodes = np.broadcast_to(np.asarray(nodes, np.float32), work.shape)
    out = np.empty_like(moves)
    for start in range(0, len(moves), BLOCK):
        part = slice(start, start + BLOCK)
        turned = moves[part] @ spectrum.vectors
        mass = np.float32(rate) * work[part, None] * spectrum.values
        turned *= shrinkage(mass, nodes[part, None])
        np.matmul(turned, spectrum.vectors.T, out=out[part])
    return out
