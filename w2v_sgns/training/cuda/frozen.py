"""Rows that do not change, on the device: put back after each chunk, as the CPU's threads do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from w2v_sgns.kernels.cuda.frozen import put_back
from w2v_sgns.training.backends import Matrix
from w2v_sgns.training.cuda.lists import THREADS
from w2v_sgns.training.cuda.memory import Memory
from w2v_sgns.training.state import Frozen

__all__ = ["FrozenRows"]


class FrozenRows:
    """The rows of E, and of Ep where these are frozen too, and their values."""

    def __init__(self, frozen: Frozen, matrices: tuple[Matrix, Matrix]) -> None:
        """Copy the values to the device; matrices: padded, the rows being what they stay."""
        self._rows = cuda.to_device(np.ascontiguousarray(frozen.rows, np.int64))
        self._values: list[Any] = [
            cuda.to_device(matrix[frozen.rows].reshape(-1))
            for matrix in matrices[: 1 + frozen.outputs]
        ]

    def put_back(self, memory: Memory) -> None:
        """Write the values to the rows, behind what the stream has to do before."""
        blocks = self._rows.size, THREADS, memory.stream
        for matrix, values in zip(memory.matrices, self._values, strict=False):
            put_back[blocks](matrix, self._rows, values)
