"""Tunes word rows on text pairs by an in-batch loss; queries and documents are means of rows.

A step: pool the batch's texts, scale them to length 1, take loss and gradients of the blocked
in-batch softmax, send them back to the words, change the rows that were touched. What the loss
means is objectives/inbatch.py's business; reading and writing files is other modules'.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.config import MOST_SCALE, PairConfig
from w2v_sgns.errors import DivergenceError, ResourceError
from w2v_sgns.kernels.inbatch import Blocked, in_batch_blocked
from w2v_sgns.kernels.pooling import UNKNOWN, pool, unpool
from w2v_sgns.machine import available_memory, human_bytes
from w2v_sgns.text.batches import Examples, orders, without_some
from w2v_sgns.text.encoder import scale_to_unit
from w2v_sgns.text.mining import mine
from w2v_sgns.text.optimizers import KINDS, learning_rate, optimizer
from w2v_sgns.text.tokens import Tokens

__all__ = ["Tables", "Tuned", "check_memory", "tune"]

Matrix = NDArray[np.float32]
Tell = Callable[["Tuned"], None]
# A loss this small is float32's own error. Its gradient is noise, which Adagrad and Adam would blow
# up to full steps: such a batch has nothing to teach.
NOISE = 1e-6
LOG_MOST = math.log(MOST_SCALE)


class Tuned(NamedTuple):
    """Where a run stands: after some batches of an epoch (from 1)."""

    epoch: int
    done: int  # pairs of this epoch so far
    pairs: int  # of an epoch
    loss: float  # mean of this epoch so far
    lr: float
    scale: float  # e^t


@dataclass
class Tables:
    """What is tuned, in place.

    Attributes:
        rows: one table float32 (V, d), or two: queries' and documents'.
        weights: float32 (V,), a weight a word.
        log_scale: float32 (1,), t.
    """

    rows: list[Matrix]
    weights: NDArray[np.float32]
    log_scale: NDArray[np.float32]


def check_memory(words: int, dim: int, config: PairConfig) -> None:
    """Refuse tables and an optimiser that do not fit.

    Raises:
        ResourceError: with the bytes needed and there.
    """
    copies = config.towers * (1 + KINDS[config.optimizer][1]) + 1
    needed, there = 4 * words * dim * copies, available_memory()
    if needed > there:
        raise ResourceError(
            f"tuning {words:,} words of dim {dim} with --towers {config.towers} and --optimizer "
            f"{config.optimizer} needs {human_bytes(needed)}, {human_bytes(there)} of memory are "
            "free; try --optimizer adagrad or --towers 1"
        )


def tune(
    tables: Tables, examples: Examples, config: PairConfig, tell: Tell | None = None
) -> list[float]:
    """Tune the tables; return the mean loss of every epoch.

    Raises:
        DivergenceError: the loss left the finite numbers.
    """
    tuner = _Tuner(tables, config, len(examples))
    return [tuner.run_epoch(epoch, examples, tell) for epoch in range(1, config.epochs + 1)]


class _Tuner:
    def __init__(self, tables: Tables, config: PairConfig, count: int) -> None:
        self.tables, self.config = tables, config
        self.optimizers = [optimizer(config.optimizer, rows) for rows in tables.rows]
        self.log_weights = np.log(np.maximum(tables.weights, np.float32(1e-30)))
        self.of_weights = optimizer(config.optimizer, self.log_weights)
        self.of_scale = optimizer(config.optimizer, tables.log_scale)
        self.steps = -(-count // config.batch) * config.epochs
        self.step = 0

    def run_epoch(self, epoch: int, examples: Examples, tell: Tell | None) -> float:
        """Do one pass over the pairs."""
        config = self.config
        rng = np.random.default_rng((config.seed, epoch))
        if config.mine:
            examples = examples.with_wrong(self._mined(examples))
        log_q = examples.log_q() if config.logq else None
        loss, done = 0.0, 0
        for some in orders(len(examples), config.batch, rng):
            lr = learning_rate(self.step, self.steps, config.lr, config.warmup)
            with np.errstate(over="ignore", invalid="ignore"):  # told in one line below
                loss += len(some) * self._step(examples, some, log_q, lr, rng)
            self.step += 1
            done += len(some)
            if not math.isfinite(loss):
                raise DivergenceError(
                    f"epoch {epoch}: the loss is not finite: the tuning diverged; try a smaller "
                    f"--lr than {config.lr:g}"
                )
            if tell is not None:
                scale = math.exp(self.tables.log_scale[0])
                tell(Tuned(epoch, done, len(examples), loss / done, lr, scale))
        return loss / len(examples)

    def _mined(self, examples: Examples) -> NDArray[np.int64]:
        queries = self._pooled(examples.queries, 0)
        documents = self._pooled(examples.documents, -1)
        for rows in (queries, documents):
            scale_to_unit(rows)
        return mine(queries, documents, examples.asked, examples.right, count=self.config.mine)

    def _pooled(self, tokens: Tokens, table: int) -> Matrix:
        rows = self.tables.rows[table]
        out = np.empty((len(tokens), rows.shape[1]), np.float32)
        totals, known = np.empty(len(out), np.float32), np.empty(len(out), np.int64)
        pool(rows, self.tables.weights, tokens.ids, tokens.offsets, out, totals, known)
        return out

    def _step(
        self,
        examples: Examples,
        some: NDArray[np.int64],
        log_q: NDArray[np.float32] | None,
        lr: float,
        rng: np.random.Generator,
    ) -> float:
        """Do one batch; return its loss."""
        share = self.config.word_dropout
        queries = examples.queries.select(some)
        if self.config.unsupervised:
            sides = [without_some(queries, share, rng) for _ in range(2)]
            ids = examples.asked[some]
        else:
            ids = examples.candidates(some)
            sides = [queries, examples.documents.select(ids)]
            sides = [without_some(side, share, rng) for side in sides]
        texts = (
            [_Texts(self.tables, sides, (0, -1))]
            if len(self.tables.rows) == 1
            else [_Texts(self.tables, [side], (number,)) for number, side in enumerate(sides)]
        )
        units = [one.unit if self.config.similarity == "cosine" else one.means for one in texts]
        X, Y = _split(units, len(some))
        masked = self._masked(examples, some, ids)
        found = self._loss(X, Y, masked, None if log_q is None else log_q[ids])
        if not abs(found.loss) < NOISE:
            self._send_back(texts, found, lr)
        return found.loss

    def _masked(
        self, examples: Examples, some: NDArray[np.int64], ids: NDArray[np.int64]
    ) -> dict[str, Any]:
        """Return what tells the loss which candidates are no wrong answers."""
        if self.config.duplicates == "keep":
            return {}
        if self.config.unsupervised:
            return {"ids": ids}
        return {"ids": ids, "asked": examples.asked[some], "known": examples.known}

    def _loss(
        self, X: Matrix, Y: Matrix, masked: dict[str, Any], log_q: NDArray[np.float32] | None
    ) -> Blocked:
        t = float(self.tables.log_scale[0])
        if self.config.unsupervised and self.config.form == "ntxent":
            return _views(X, Y, t, masked.get("ids"))
        columns = self.config.loss == "clip"
        return in_batch_blocked(X, Y, log_scale=t, columns=columns, log_q=log_q, **masked)

    def _send_back(self, texts: Sequence[_Texts], found: Blocked, lr: float) -> None:
        """Change rows, weights and scale; all gradients are at the old values."""
        cosine, gradients = self.config.similarity == "cosine", _joined(found, len(texts))
        touched, pulls = [], []
        for one, dU, of_rows in zip(texts, gradients, self.optimizers, strict=True):
            rows, G, dw = one.back(dU, cosine=cosine)
            if self.config.weights:
                touched.append(rows)
                pulls.append(dw + np.einsum("ij,ij->i", G, one.table[rows]))
            of_rows.step(rows, G, lr)
        if self.config.weights:
            rows, places = np.unique(np.concatenate(touched), return_inverse=True)
            pull = np.bincount(places, np.concatenate(pulls)).astype(np.float32)
            self.of_weights.step(rows, pull, lr)
            np.clip(self.log_weights, -30, 30, out=self.log_weights)
            self.tables.weights[rows] = np.exp(self.log_weights[rows])
        if self.config.loss == "clip":
            self.of_scale.step(np.zeros(1, np.int64), np.array([found.dt], np.float32), lr)
            np.clip(self.tables.log_scale, -LOG_MOST, LOG_MOST, out=self.tables.log_scale)


class _Texts:
    """Texts that share one table, pooled: their means, lengths and directions."""

    def __init__(self, tables: Tables, sides: Sequence[Tokens], number: tuple[int, ...]) -> None:
        self.table, self.weights = tables.rows[number[0]], tables.weights
        lengths = np.concatenate([np.diff(side.offsets) for side in sides])
        self.ids = np.concatenate([side.ids for side in sides])
        self.offsets = np.concatenate([[0], np.cumsum(lengths)])
        self.means = np.empty((len(lengths), self.table.shape[1]), np.float32)
        self.totals = np.empty(len(lengths), np.float32)
        known = np.empty(len(lengths), np.int64)
        pool(self.table, self.weights, self.ids, self.offsets, self.means, self.totals, known)
        self.unit = self.means.copy()
        scale_to_unit(self.unit)

    def back(
        self, dU: Matrix, *, cosine: bool
    ) -> tuple[NDArray[np.int64], Matrix, NDArray[np.float32]]:
        """Return the touched rows, their gradient (U, d) and a part of the log-weights' (U,)."""
        dX = _through_unit(self.means, self.unit, dU) if cosine else dU
        known = self.ids != UNKNOWN
        rows, at = np.unique(self.ids[known], return_inverse=True)
        places = np.zeros(len(self.ids), np.int64)
        places[known] = at
        G = np.zeros((len(rows), dX.shape[1]), np.float32)
        dw = np.zeros(len(rows), np.float32)
        along = np.einsum("ij,ij->i", dX, self.means)
        unpool(dX, self.weights, self.ids, places, self.offsets, self.totals, along, G, dw)
        return rows.astype(np.int64), G, dw


def _through_unit(means: Matrix, unit: Matrix, dU: Matrix) -> Matrix:
    """Return (dû − (dû·û) û) / |x|; nothing for a text without a direction."""
    lengths = np.sqrt(np.einsum("ij,ij->i", means, means, dtype=np.float64)).astype(np.float32)
    inverse = np.where(unit.any(axis=1) & (lengths > 0), 1 / np.maximum(lengths, 1e-30), 0)
    dX = dU - np.einsum("ij,ij->i", dU, unit)[:, None] * unit
    dX *= inverse.astype(np.float32)[:, None]
    return np.asarray(dX)


def _split(units: Sequence[Matrix], count: int) -> tuple[Matrix, Matrix]:
    """Return the queries' and the candidates' rows of one array or of two."""
    return (units[0][:count], units[0][count:]) if len(units) == 1 else (units[0], units[1])


def _joined(found: Blocked, arrays: int) -> Sequence[Matrix]:
    return [np.concatenate([found.dX, found.dY])] if arrays == 1 else [found.dX, found.dY]


def _views(X: Matrix, Y: Matrix, t: float, ids: NDArray[np.int64] | None) -> Blocked:
    """Return NT-Xent's loss over all 2N views: each picks its partner among the others."""
    N, Z = len(X), np.concatenate([X, Y])
    partner = (np.arange(2 * N) + N) % (2 * N)
    twice = None if ids is None else np.concatenate([ids, ids])
    found = in_batch_blocked(Z, Z, log_scale=t, ids=twice, right=partner, without_self=True)
    dZ = found.dX + found.dY
    return Blocked(found.loss, dZ[:N], dZ[N:], found.dt)
