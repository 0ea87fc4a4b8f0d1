"""Adagrad and Adam on the rows that a batch touched: the others are neither read nor changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Adagrad", "Adam", "Optimizer", "learning_rate", "optimizer"]

Rows = NDArray[np.int64]
BLOCK_ROWS = 2048
EPSILON = np.float32(1e-8)
BETAS = (0.9, 0.999)  # of Adam


class Optimizer(Protocol):
    """Changes rows of one array by their gradient."""

    def step(self, rows: Rows, gradient: NDArray[np.float32], lr: float) -> None:
        """Change `rows` (U,), all different, by the gradient (U, …)."""


class Adagrad:
    """Duchi et al. 2011: h += g², x −= lr · g / √h. Rows that never come keep h = 0."""

    def __init__(self, table: NDArray[np.float32]) -> None:
        self.table, self.squares = table, np.zeros_like(table)

    def step(self, rows: Rows, gradient: NDArray[np.float32], lr: float) -> None:
        """Change the rows."""
        for some, part in _blocks(rows, gradient):
            squares = self.squares[some]
            squares += part * part
            self.squares[some] = squares
            self.table[some] -= np.float32(lr) * part / (np.sqrt(squares) + EPSILON)


class Adam:
    """Kingma and Ba 2015 on touched rows: both means stand still while a row is not touched.

    The correction for the start counts each row's own steps.
    """

    def __init__(self, table: NDArray[np.float32]) -> None:
        self.table = table
        self.mean, self.squares = np.zeros_like(table), np.zeros_like(table)
        self.steps = np.zeros(len(table), np.int64)

    def step(self, rows: Rows, gradient: NDArray[np.float32], lr: float) -> None:
        """Change the rows."""
        for some, part in _blocks(rows, gradient):
            self._step(some, part, lr)

    def _step(self, rows: Rows, gradient: NDArray[np.float32], lr: float) -> None:
        self.steps[rows] += 1
        shape = (-1, *[1] * (self.table.ndim - 1))
        first, second = (
            (1 - beta ** self.steps[rows]).astype(np.float32).reshape(shape) for beta in BETAS
        )
        mean = self.mean[rows]
        mean += np.float32(1 - BETAS[0]) * (gradient - mean)
        squares = self.squares[rows]
        squares += np.float32(1 - BETAS[1]) * (gradient * gradient - squares)
        self.mean[rows], self.squares[rows] = mean, squares
        self.table[rows] -= np.float32(lr) * (mean / first) / (np.sqrt(squares / second) + EPSILON)


def _blocks(
    rows: Rows, gradient: NDArray[np.float32]
) -> Iterator[tuple[Rows, NDArray[np.float32]]]:
    """Yield some rows at a time: what a step needs beside them stays small."""
    for start in range(0, len(rows), BLOCK_ROWS):
        yield rows[start : start + BLOCK_ROWS], gradient[start : start + BLOCK_ROWS]


KINDS: dict[str, Any] = {"adagrad": (Adagrad, 1), "adam": (Adam, 2)}  # with arrays of state


def optimizer(name: str, table: NDArray[np.float32]) -> Optimizer:
    """Return the optimiser of that name for one array."""
    made: Optimizer = KINDS[name][0](table)
    return made


def learning_rate(step: int, steps: int, lr: float, warmup: float) -> float:
    """Return the rate of a step (from 0): up to `lr` over a share of the steps, then down to 0."""
    rising = warmup * steps
    return lr * min((step + 1) / max(rising, 1.0), (steps - step) / max(steps - rising, 1.0), 1.0)
