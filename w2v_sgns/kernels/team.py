"""What threads in step share: stripes of columns, and room for the scores they exchange.

See :mod:`w2v_sgns.kernels.stripes`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.kernels.lockstep import COUNTS
from w2v_sgns.kernels.matrices import PAD, Matrix, aligned_matrix, padded_dim
from w2v_sgns.kernels.score import lanes_of
from w2v_sgns.kernels.simd import Tile
from w2v_sgns.kernels.workspace import Workspace, aligned_floats, workspace

__all__ = [
    "RING",
    "Team",
    "block_windows",
    "force_on_a_row",
    "put_back",
    "striped",
    "striped_workspace",
    "team",
]

BLOCK = 8  # windows, at most, whose scores are exchanged at once
RING = 4  # blocks whose lists and scores are kept: one thread may be a block ahead of another
STABLE = 1.5  # of `force`: with 1.9 and more, so many windows at old values swing, and diverge
BLOCK_BYTES = 1 << 20  # of scores of one block in one stripe, at most, where that is a window
PAGE = 4096  # bytes that no processor looks beyond when it guesses what is read next
APART = 80  # floats: blocks of scores at one place of their pages would push each other out


class Team(NamedTuple):
    """What threads share beside the matrices."""

    columns: npt.NDArray[np.int64]  # (stripes + 1,) where each stripe begins and the last ends
    scores: npt.NDArray[np.float32]  # (stripes, RING, floats of a block): what each stripe adds
    posted: npt.NDArray[np.int64]  # (threads, COUNTS): blocks that a thread has scored


def window_floats(tile: Tile, *, window: int, outputs: int) -> int:
    """Return the floats that the scores of one window take."""
    size = len(tile.outputs)
    return -(-outputs // size) * lanes_of(size) * 2 * window


def block_windows(tile: Tile, *, window: int, outputs: int, words: int, force: float) -> int:
    """Return the windows of a block: fewer with wide windows, a small vocabulary, a large force.

    With few words each stands in a block many times, and all its gradients are old ones.
    `force`: see :func:`force_on_a_row`. On four texts, with k from 1 to 100, windows of 1 to 40
    words and rates up to 0.4, what a block could hold fell with its power of 1.5 to 2.
    """
    most = BLOCK_BYTES // (4 * window_floats(tile, window=window, outputs=outputs))
    stable = int(BLOCK * min(1.0, STABLE / force) ** 1.5)
    return max(1, min(BLOCK, most, words // 64, stable))


def force_on_a_row(*, window: int, fixed: bool, outputs: int, lr: float, form: str) -> float:
    """Return how hard the windows that are not added yet may pull at one row.

    A word is a context of so many windows in a row, and each moves its input row by lr times its
    outputs. Noise words recur the more the more there are; that it is by the root of it is
    measured. NCE's errors are larger than those of `sgns`: at first all noise is wrong by nearly 1.
    """
    windows = min(2 * window if fixed else window + 1, 2 * BLOCK - 1)
    recurring = max(1.0, math.sqrt(outputs / 6))
    return lr * outputs * recurring * windows * (1 if form == "sgns" else 3)


def cut_columns(dim: int, stripes: int) -> npt.NDArray[np.int64]:
    """Return where each of at most so many stripes begins in a row of D floats, and D.

    All are equally wide, in whole cache lines; the last may be narrower.
    """
    lines = padded_dim(dim) // PAD
    wide = PAD * -(-lines // stripes)
    return np.array([*range(0, PAD * lines, wide), PAD * lines], np.int64)


def team(
    tile: Tile, *, dim: int, window: int, outputs: int, stripes: int, threads: int, block: int
) -> Team:
    """Cut the columns into stripes and make room; no more threads than stripes are needed."""
    columns = cut_columns(dim, stripes)
    stripes = len(columns) - 1
    threads = min(threads, stripes)
    floats = block * window_floats(tile, window=window, outputs=outputs) + PAD
    floats = -(-4 * floats // PAGE) * (PAGE // 4) + APART
    return Team(
        columns=columns,
        scores=aligned_floats(stripes * RING * floats, PAGE).reshape(stripes, RING, floats),
        posted=aligned_floats(2 * threads * COUNTS).view(np.int64).reshape(threads, COUNTS),
    )


def striped(matrix: Matrix, columns: npt.NDArray[np.int64]) -> Matrix:
    """Return a copy of a matrix (V, D), stripe after stripe, with a row of zeros behind each.

    float32 (stripes, V + 1, columns of a stripe). Beside each other in one row, stripes would
    travel between processors all the same: these guess what is read next, and fetch it.
    """
    words, stripes = len(matrix), len(columns) - 1
    parts = aligned_matrix(stripes * (words + 1), int(columns[1]))
    parts = parts.reshape(stripes, words + 1, -1)
    for part, low, high in zip(parts, columns[:-1], columns[1:], strict=True):
        part[:words, : high - low] = matrix[:, low:high]
    return parts


def put_back(parts: Matrix, matrix: Matrix, columns: npt.NDArray[np.int64]) -> None:
    """Copy what :func:`striped` has made into a matrix (V, D)."""
    for part, low, high in zip(parts, columns[:-1], columns[1:], strict=True):
        matrix[:, low:high] = part[: len(matrix), : high - low]


def striped_workspace(tile: Tile, *, window: int, outputs: int, dim: int, block: int) -> Workspace:
    """Allocate a thread's workspace: lists of a ring of blocks instead of those of a batch."""
    rows = -(-outputs // len(tile.outputs)) * len(tile.outputs) + 1
    return workspace(tile, window=window, outputs=outputs, dim=dim)._replace(
        outputs=np.zeros((RING * block + 1) * rows, np.int64),
        shifts=np.zeros((RING * block + 1) * rows, np.float32),
        contexts=np.zeros(RING * block * 2 * window, np.int64),
    )
