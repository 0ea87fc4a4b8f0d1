"""Rows that do not change: training moves them like others, and after each chunk they go back."""

from __future__ import annotations

from numba import cuda

__all__ = ["put_back"]


@cuda.jit
def put_back(matrix, rows, values):
    """Write rows of a matrix; a block a row.

    matrix float32[V·D]; rows int64[n]; values float32[n·D].
    """
    n = cuda.blockIdx.x
    floats = values.shape[0] // rows.shape[0]
    for j in range(cuda.threadIdx.x, floats, cuda.blockDim.x):
        matrix[rows[n] * floats + j] = values[n * floats + j]
