"""The merge of replicas in float64, one row and one direction at a time, and the plain formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def phi(z: float) -> float:
    """Return (1 − e^(−z))/z, and its limit 1 at 0."""
    return 1.0 if z == 0 else -math.expm1(-z) / z


def merged(
    replicas: Any, base: Any, work: Any, A: Any, *, rate: float
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the rows after a merge, (R, d).

    replicas: (P, R, d); base: (R, d); work: (P, R), updates of each row on each node; A: (d, d).
    """
    replicas, base, work = (np.asarray(a, np.float64) for a in (replicas, base, work))
    values, vectors = np.linalg.eigh(np.asarray(A, np.float64))
    rows = base.copy()
    for row in range(len(base)):
        total = sum(replica[row] - base[row] for replica in replicas)
        mass, squares = work[:, row].sum(), (work[:, row] ** 2).sum()
        nodes = max(1.0, mass**2 / squares) if squares else 1.0
        for value, direction in zip(values, vectors.T, strict=True):
            m = rate * mass * max(value, 0.0)
            rows[row] += (total @ direction) * phi(m) / phi(m / nodes) * direction
    return rows


def curvature(x: Any, noise: Any, true: Any, negatives: int) -> tuple[Any, Any]:
    """Return A of E and A of Ep from drawn rows, (n, d) each: sums over all pairs of them."""
    of_E, of_Ep = (np.zeros((x.shape[1], x.shape[1])) for _ in range(2))
    for row in x:
        for other in noise:
            s = 1 / (1 + math.exp(-float(row @ other)))
            of_E += negatives * s * (1 - s) * np.outer(other, other) / (len(x) * len(noise))
            of_Ep += s * (1 - s) * np.outer(row, row) / (len(x) * len(noise))
    for row in true:
        of_E += 0.2 * np.outer(row, row) / len(true)
    return of_E, of_Ep
