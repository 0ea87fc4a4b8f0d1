"""One thread's memory: allocated once, reused for every chunk. Computes nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from w2v_sgns.kernels.matrices import padded_dim
from w2v_sgns.kernels.score import PARAMETERS, lanes_of
from w2v_sgns.kernels.simd import Tile
from w2v_sgns.kernels.windows import CHUNK

__all__ = [
    "AHEAD",
    "Addresses",
    "Workspace",
    "addresses",
    "aligned_floats",
    "centres_at_once",
    "workspace",
]

AHEAD = 3  # centres whose rows are asked for before they are needed
LOSS = 48  # floats: see score.gradients


class Workspace(NamedTuple):
    """The arrays of one thread. Floats start at a multiple of 64 bytes."""

    words: npt.NDArray[np.int32]  # kept words of a chunk and its halo
    low_edge: npt.NDArray[np.int32]  # first word of each one's window ...
    high_edge: npt.NDArray[np.int32]  # ... and one past its last
    outputs: npt.NDArray[np.int64]  # a batch: addresses of output rows, and of one context row
    shifts: npt.NDArray[np.float32]  # beside each output row: see step.shift_outputs
    contexts: npt.NDArray[np.int64]  # addresses of the window's context rows
    parameters: npt.NDArray[np.float32]  # (tiles, 3, 16): sign·log2(e), shift, ±lr
    loss: npt.NDArray[np.float32]  # (3, 16)
    scores: npt.NDArray[np.float32]  # (tiles, C, P), then the gradients
    dh: npt.NDArray[np.float32]  # a block of ΔH
    zero: npt.NDArray[np.float32]  # a row of zeros: stands for outputs that pad the last tile


class Addresses(NamedTuple):
    """Where a workspace's arrays lie; valid as long as the workspace itself is held.

    Plain numbers: an array taken out of a tuple costs a reference count at every use.
    """

    contexts: int
    outputs: int
    parameters: int
    loss: int
    scores: int
    dh: int


@njit(inline="always")
def addresses(work):
    """Return the addresses of a workspace's arrays."""
    return Addresses(
        work.contexts.ctypes.data,
        work.outputs.ctypes.data,
        work.parameters.ctypes.data,
        work.loss.ctypes.data,
        work.scores.ctypes.data,
        work.dh.ctypes.data,
    )


def workspace(tile: Tile, *, window: int, outputs: int, dim: int) -> Workspace:
    """Allocate a thread's workspace for windows of up to 2·window contexts."""
    size, width = len(tile.outputs), len(tile.lanes)
    tiles = -(-outputs // size)
    rows = tiles * size + 1
    kept = CHUNK + 2 * window + 1
    contexts = 2 * window + 16
    return Workspace(
        words=np.zeros(kept, np.int32),
        low_edge=np.zeros(kept, np.int32),
        high_edge=np.zeros(kept, np.int32),
        outputs=np.zeros((batch_size(rows) + AHEAD) * rows, np.int64),
        shifts=np.zeros((batch_size(rows) + AHEAD) * rows, np.float32),
        contexts=np.zeros(contexts, np.int64),
        parameters=aligned_floats(tiles * PARAMETERS).reshape(tiles, 3, 16),
        loss=aligned_floats(LOSS).reshape(3, 16),
        scores=aligned_floats(tiles * lanes_of(size) * contexts + 16),
        dh=aligned_floats(4 * width * size * tiles),
        zero=aligned_floats(padded_dim(dim)),
    )


def batch_size(rows: int) -> int:
    """Return the centres whose noise is drawn at once, so that their addresses fit 64 KiB."""
    return max(16, min(1024, 8192 // rows))


centres_at_once = njit(inline="always")(batch_size)


def aligned_floats(floats: int, to: int = 64) -> npt.NDArray[np.float32]:
    """Return zeros that begin at a multiple of so many bytes."""
    memory = np.zeros(floats + to // 4, np.float32)
    start = -memory.ctypes.data % to // 4
    return memory[start : start + floats]
