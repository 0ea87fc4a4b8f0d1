"""How a batch of shared noise lies in memory: what is decided when its kernel is compiled.

Everything a batch reads is copied to dense matrices in device memory whose rows and columns are
whole tiles, zero behind what is used; products need no border cases then. Numbers only.
"""

from __future__ import annotations

from typing import NamedTuple

from w2v_sgns.kernels.cuda.warp import SIMULATED

__all__ = ["EACH", "BatchShape", "batch_shape"]

EACH = 4  # a thread's part of a tile is EACH × EACH
SIDE = 8 if SIMULATED else 64  # of a tile
DEPTH = 4 if SIMULATED else 16  # of a product's sums, at a time


class BatchShape(NamedTuple):
    """Numbers the compiler knows."""

    floats: int  # D of a padded row
    rows: int  # kept tokens of a batch, at most
    noise: int  # noise words of a batch
    pairs: int  # of a batch, at most; whole tiles
    side: int
    depth: int

    @property
    def columns(self) -> int:
        """D in whole tiles."""
        return whole(self.floats, self.side)

    @property
    def noise_rows(self) -> int:
        """Noise words in whole tiles."""
        return whole(self.noise, self.side)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.side // EACH) ** 2

    @property
    def pitch(self) -> int:
        """Floats between two rows of a tile: they begin in different banks of shared memory."""
        return self.side + 4

    @property
    def shared(self) -> int:
        """Floats of shared memory: two tiles of `depth` rows."""
        return 2 * self.depth * self.pitch

    @property
    def scratch(self) -> int:
        """Floats of device memory a block has: X, T and N, gradients of noise and true words."""
        dense = self.pairs + self.rows + self.noise_rows
        return dense * self.columns + self.pairs * self.noise_rows + self.pairs

    @property
    def ids(self) -> int:
        """Numbers a block has: contexts, windows of pairs, their beginnings, noise words."""
        return 2 * self.pairs + self.rows + 1 + self.noise_rows


def batch_shape(floats: int, rows: int, noise: int, contexts: int) -> BatchShape:
    """Return the shape for rows of D floats and windows of so many contexts."""
    return BatchShape(floats, rows, noise, whole(rows * contexts, SIDE), SIDE, DEPTH)


def whole(count: int, side: int) -> int:
    """Return the least multiple of `side` from `count` on."""
    return -(-count // side) * side
