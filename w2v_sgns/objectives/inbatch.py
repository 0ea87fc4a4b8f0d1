"""The in-batch softmax losses: DPR's, CLIP's, SimCSE's, as one core with options.

N queries X and M ≥ N candidates Y (the documents in order, then hard negatives) give logits
R = e^t · X Yᵀ; query i should pick candidate i. With P = softmax over a row::

    L_rows = mean_i (logsumexp_j R_ij − R_ii)                ∂L_rows/∂R = (P − I) / N
    L = L_rows, or with columns ½ (L_rows + L_columns)
    ∂L/∂X = e^t (∂L/∂R) Y      ∂L/∂Y = e^t (∂L/∂R)ᵀ X      ∂L/∂t = Σ (∂L/∂R) ∘ e^t X Yᵀ

With cosine, X and Y are first scaled to length 1: x̂ = x/|x|, dx = (dx̂ − (dx̂·x̂) x̂)/|x|.

DPR (Karpukhin et al. 2020) is rows with dot products; CLIP (Radford et al. 2021) rows and columns
with cosine and a learned t, e^t at most 100; SimCSE (Gao et al. 2021) rows with cosine and
e^t = 1/τ. A batch of other queries' documents is not *known* to be negative: `ids` masks copies of
the own document, `asked` and `known` all that is known to be right for an equal query: no query
picks against its own documents, no document against an equal query. A rotation of the batch's
documents brings nothing: each would stand in a row twice, which adds log 2 to the loss and leaves
the gradient as it is. No speed here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import MOST_SCALE

__all__ = ["InBatch", "clipped", "in_batch", "normalized", "nt_xent", "through_unit"]

Matrix = npt.NDArray[np.float64]


class InBatch(NamedTuple):
    """Loss and gradients of one batch, at the old values."""

    loss: float
    rows: Matrix  # (N,) each query's loss over its row
    columns: Matrix | None  # (N,) each document's loss over its column; None: not asked for
    dX: Matrix  # (N, d)
    dY: Matrix  # (M, d)
    dt: float  # ∂L/∂t of the log-scale t


def in_batch(
    X: npt.ArrayLike,
    Y: npt.ArrayLike,
    *,
    log_scale: float = 0.0,
    cosine: bool = False,
    columns: bool = False,
    ids: npt.ArrayLike | None = None,
    asked: npt.ArrayLike | None = None,
    known: Collection[tuple[int, int]] | None = None,
    log_q: npt.ArrayLike | None = None,
) -> InBatch:
    """Return loss and gradients of N queries (N, d) against M candidates (M, d).

    Args:
        X: queries; the right candidate of query i is row i of `Y`.
        Y: candidates: N documents, then hard negatives.
        log_scale: t; a temperature τ is t = −log τ.
        cosine: scale both to length 1 first; a zero row stays zero.
        columns: the documents choose among the queries as well.
        ids: (M,) equal numbers for equal texts; copies of a query's own document are then masked.
        asked: (N,) equal numbers for equal queries; None: all differ.
        known: (number of a query, number of a text) that belong together outside the batch.
        log_q: (M,) subtracted from the logits: log of how often each candidate is drawn.
    """
    X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
    A, B = (normalized(X), normalized(Y)) if cosine else (X, Y)
    N = len(X)
    S = np.exp(log_scale) * (A @ B.T)
    R = S - (0.0 if log_q is None else np.asarray(log_q, np.float64)[None, :])
    if ids is not None:
        masked = _known(np.arange(N) if asked is None else asked, ids, known or ())
        masked[np.arange(N), np.arange(N)] = False
        R[masked] = -np.inf
    rows, dR = _softmax(R, np.arange(N))
    loss, by_column = float(rows.mean()), None
    if columns:
        by_column, transposed = _softmax(R[:, :N].T, np.arange(N))
        dR /= 2
        dR[:, :N] += transposed.T / 2
        loss = (loss + float(by_column.mean())) / 2
    dA, dB = np.exp(log_scale) * (dR @ B), np.exp(log_scale) * (dR.T @ A)
    dt = float((dR * S).sum())
    if cosine:
        dA, dB = through_unit(X, dA), through_unit(Y, dB)
    return InBatch(loss, rows, by_column, dA, dB, dt)


def nt_xent(Z: npt.ArrayLike, *, log_scale: float) -> tuple[float, Matrix, Matrix]:
    """Return SimCSE's loss over all 2N views as its TensorFlow note has it, rows, and gradient.

    Rows 2i and 2i + 1 of Z (2N, d) are two views of one text; each view picks its partner among
    the 2N − 1 others by cosine (NT-Xent, Chen et al. 2020). SimCSE's own form, where the N first
    views pick among the N second ones, is ``in_batch(Z[0::2], Z[1::2], cosine=True, …)``.
    """
    Z = np.asarray(Z, np.float64)
    A = normalized(Z)
    R = np.exp(log_scale) * (A @ A.T)
    np.fill_diagonal(R, -np.inf)
    rows, dR = _softmax(R, np.arange(len(Z)) ^ 1)
    dA = np.exp(log_scale) * ((dR + dR.T) @ A)
    return float(rows.mean()), rows, through_unit(Z, dA)


def clipped(log_scale: float) -> float:
    """Return t with e^t at most 100 and at least 1/100."""
    return float(np.clip(log_scale, -np.log(MOST_SCALE), np.log(MOST_SCALE)))


def normalized(X: Matrix) -> Matrix:
    """Return the rows at length 1; zero rows stay zero."""
    lengths = np.sqrt((X * X).sum(axis=1, keepdims=True))
    return np.asarray(X / np.where(lengths > 0, lengths, 1.0))


def through_unit(X: Matrix, dU: Matrix) -> Matrix:
    """Return the gradient by X from that by its rows at length 1; zero rows get none."""
    lengths = np.sqrt((X * X).sum(axis=1, keepdims=True))
    U = normalized(X)
    along = (dU * U).sum(axis=1, keepdims=True) * U
    return np.asarray(np.where(lengths > 0, (dU - along) / np.where(lengths > 0, lengths, 1.0), 0))


def _known(
    asked: npt.ArrayLike, ids: npt.ArrayLike, known: Collection[tuple[int, int]]
) -> npt.NDArray[np.bool_]:
    """Return which candidate is known to be right for which query, (N, M)."""
    queries, texts = np.asarray(asked).tolist(), np.asarray(ids).tolist()
    all_known = {*known, *zip(queries, texts, strict=False)}  # hard negatives have no query
    return np.array([[(query, text) in all_known for text in texts] for query in queries])


def _softmax(R: Matrix, labels: npt.NDArray[np.int64]) -> tuple[Matrix, Matrix]:
    """Return each row's cross-entropy (N,) and the gradient of their mean (N, M)."""
    places = np.arange(len(R))
    most = R.max(axis=1, keepdims=True)
    E = np.exp(R - most)
    sums = E.sum(axis=1, keepdims=True)
    rows = np.log(sums[:, 0]) + most[:, 0] - R[places, labels]
    dR = E / sums
    dR[places, labels] -= 1
    return rows, np.asarray(dR / len(R))
