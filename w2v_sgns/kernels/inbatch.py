"""The in-batch softmax without its N × M scores: tiles through BLAS, two passes.

The first pass takes each row's (and column's) logsumexp from tiles that are forgotten, the second
makes the tiles again and turns them into gradients; so a batch of 32,768 needs the memory of its
vectors and of a few tiles. What it computes is objectives/inbatch.py's `in_batch` after any
scaling to length 1. Products are float32, sums over tiles float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from w2v_sgns.kernels.known import Known
from w2v_sgns.kernels.shared import add_rows

__all__ = ["Blocked", "in_batch_blocked", "in_batch_step"]

ROWS, COLUMNS = 512, 1024  # of a tile: 2 MB, about a cache
SAFE = 60.0  # exp of ± this, and a batch of such sums, lie well within float32


class Blocked(NamedTuple):
    """Loss and gradients of a batch."""

    loss: float
    dX: np.ndarray  # (N, d) float32
    dY: np.ndarray  # (M, d) float32
    dt: float


def in_batch_blocked(
    X,
    Y,
    *,
    log_scale=0.0,
    columns=False,
    ids=None,
    asked=None,
    known=None,
    log_q=None,
    right=None,
    without_self=False,
) -> Blocked:
    """Return loss and gradients of N queries (N, d) against M candidates (M, d), float32.

    Args:
        X: queries.
        Y: candidates.
        log_scale: t of the factor e^t.
        columns: the first N candidates choose among the queries too; half the loss each.
        ids: (M,) equal numbers for equal texts; copies of a query's own candidate are masked, in
            both directions.
        asked: (N,) equal numbers for equal queries.
        known: offsets and numbers of texts by query number (see known.py): with `ids` and
            `asked`, all that is right for an equal query is masked.
        log_q: (M,) subtracted from the logits.
        right: (N,) each query's candidate; its own number if not given.
        without_self: query i may not choose candidate i (NT-Xent: X is Y).
    """
    right = np.arange(len(X)) if right is None else right
    masked = None if ids is None else Known(ids, right, asked, known)
    batch = _Batch(X, Y, log_scale, columns, masked, log_q, right, without_self)
    batch.sum_up()
    return batch.gradients()


def in_batch_step(E, Ep, centers, targets, lr) -> float:
    """Update E and Ep in place by a batch of word pairs; return the loss before it, summed.

    E, Ep float32 (V, d); centers, targets (N,) ids, which may come several times. Each pair picks
    its target by dot products. N is small enough for the scores to be held, once.
    """
    X, Y, pairs = E[centers], Ep[targets], np.arange(len(centers))
    P = X @ Y.T
    own, most = P[pairs, pairs], P.max(axis=1)
    P -= most[:, None]
    np.exp(P, out=P)
    sums = P.sum(axis=1)
    P /= sums[:, None]
    P[pairs, pairs] -= 1
    rate = np.float32(-lr)
    add_rows(E, centers, rate * (P @ Y))
    add_rows(Ep, targets, rate * (P.T @ X))
    return float((np.log(sums) + most - own).sum(dtype=np.float64))


class _Batch:
    def __init__(self, X, Y, log_scale, columns, masked, log_q, right, without_self):
        self.X, self.Y, self.columns = X, Y, columns
        self.scale = float(np.exp(log_scale))
        self.scaled = X * np.float32(self.scale)
        self.log_q = None if log_q is None else log_q.astype(np.float32)
        self.right, self.masked, self.without_self = right, masked, without_self
        self.bounded = self._bound() <= SAFE
        self.row_sums, self.column_sums = _Sums(len(X)), _Sums(len(X))
        self.tile = np.empty((ROWS, COLUMNS), np.float32)
        self.spare = np.empty((ROWS, COLUMNS), np.float32)

    def _bound(self):
        """Return what no logit exceeds: by lengths, |x·y| ≤ |x| |y|."""
        longest = [np.sqrt(np.einsum("ij,ij->i", A, A).max(initial=0)) for A in (self.X, self.Y)]
        most = 0.0 if self.log_q is None else np.abs(self.log_q).max(initial=0)
        return self.scale * float(longest[0]) * float(longest[1]) + float(most)

    def tiles(self):
        """Yield (rows, columns, logits): slices and a view that is overwritten by the next."""
        N, M = len(self.X), len(self.Y)
        for r in range(0, N, ROWS):
            rows = slice(r, min(r + ROWS, N))
            for c in range(0, M, COLUMNS):
                # Candidates from N on are no documents: a tile holds one kind.
                for part in _cut(c, min(c + COLUMNS, M), N):
                    yield rows, part, self._logits(rows, part)

    def _logits(self, rows, part):
        out = _view(self.tile, rows, part)
        np.matmul(self.scaled[rows], self.Y[part].T, out=out)
        if self.log_q is not None:
            out -= self.log_q[part]
        if self.masked is not None:
            out[self.masked.cells(rows, part)] = -np.inf
        if self.without_self:
            both = np.arange(max(rows.start, part.start), min(rows.stop, part.stop))
            out[both - rows.start, both - part.start] = -np.inf
        return out

    def has_columns(self, part):
        return self.columns and part.stop <= len(self.X)

    def sum_up(self):
        """First pass: the logsumexp of every row and column."""
        for rows, part, logits in self.tiles():
            if self.bounded:  # one exp serves both directions, and nobody needs the largest
                np.exp(logits, out=logits)
                self.row_sums.add_plain(rows, logits)
                if self.has_columns(part):
                    self.column_sums.add_plain(part, logits.T)
                continue
            spare = _view(self.spare, rows, part)
            self.row_sums.add(rows, logits, 1, spare)
            if self.has_columns(part):
                self.column_sums.add(part, logits, 0, spare)

    def _softmaxes(self, rows, part, logits, by_row, by_column):
        """Return the tile's softmax by row, plus that by column where it counts."""
        spare, both = _view(self.spare, rows, part), self.has_columns(part)
        if self.bounded:
            np.exp(logits, out=logits)
            shares = np.exp(-by_row[rows]).astype(np.float32)[:, None]
            if both:
                np.add(shares, np.exp(-by_column[part]).astype(np.float32), out=spare)
                shares = spare
            logits *= shares
            return logits
        np.subtract(logits, by_row[rows, None].astype(np.float32), out=spare)
        np.exp(spare, out=spare)
        if both:
            logits -= by_column[part].astype(np.float32)
            spare += np.exp(logits, out=logits)
        return spare

    def gradients(self):
        """Second pass: softmax minus labels, through the products."""
        N, X, Y, right = len(self.X), self.X, self.Y, self.right
        by_row, by_column = self.row_sums.log(), self.column_sums.log()
        own = np.einsum("ij,ij->i", self.scaled, Y[right], dtype=np.float64)
        if self.log_q is not None:
            own -= self.log_q[right]
        weight = np.float32(0.5 if self.columns else 1.0) / np.float32(N)
        dX, dY = np.zeros(X.shape, np.float32), np.zeros(Y.shape, np.float32)
        for rows, part, logits in self.tiles():
            P = self._softmaxes(rows, part, logits, by_row, by_column)
            dX[rows] += P @ Y[part]
            dY[part] += P.T @ self.scaled[rows]
        sides = 2 if self.columns else 1
        dX -= np.float32(sides) * Y[right]
        np.subtract.at(dY, right, np.float32(sides) * self.scaled)
        dX *= weight * np.float32(self.scale)
        dY *= weight
        loss = (by_row - own).mean()
        if self.columns:
            loss = (loss + (by_column - own).mean()) / 2
        dt = float(np.einsum("ij,ij->", X, dX, dtype=np.float64))
        return Blocked(float(loss), dX, dY, dt)


class _Sums:
    """Running logsumexp of n rows: the largest so far, and the sum of exp(x − largest)."""

    def __init__(self, n):
        self.most = np.full(n, -np.inf)
        self.sums = np.zeros(n)

    def add(self, where, logits, axis, spare):
        old = self.most[where]
        most = np.maximum(old, logits.max(axis=axis))
        finite = np.where(np.isfinite(most), most, 0.0)
        shift = finite.astype(np.float32)
        np.subtract(logits, shift[:, None] if axis == 1 else shift, out=spare)
        np.exp(spare, out=spare)
        self.sums[where] *= np.exp(old - finite)
        self.sums[where] += spare.sum(axis=axis)
        self.most[where] = most

    def add_plain(self, where, powers):
        """Add exp of bounded logits, summed by BLAS; `most` is 0."""
        self.most[where] = 0.0
        self.sums[where] += powers @ np.ones(powers.shape[1], np.float32)

    def log(self):
        with np.errstate(divide="ignore"):
            return np.log(self.sums) + self.most


def _cut(start, stop, border):
    parts = ((start, min(stop, border)), (max(start, border), stop))
    return [slice(a, b) for a, b in parts if a < b]


def _view(buffer, rows, part):
    """Return a tile's memory, rows without gaps."""
    height, width = rows.stop - rows.start, part.stop - part.start
    return buffer.reshape(-1)[: height * width].reshape(height, width)
