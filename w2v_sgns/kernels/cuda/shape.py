"""How one window step lies on a warp: what is decided when the kernel is compiled.

A row of D floats lies on the 32 lanes, `width` floats a lane at a time, `accesses` times. The
output rows of a step are handled in tiles of as many as registers hold. NumPy-free numbers only.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GROUPS", "LANES", "Shape", "shape_for"]

LANES = 32
GROUPS = 8  # output rows a tile has at most: each group of four lanes finishes one score
HELD = 64
# floats of gradients a warp may keep in shared memory: 32 KB for a block of four warps
MOST_SHARED = 2048


class Shape(NamedTuple):
    """Numbers the compiler knows."""

    floats: int  # D of a padded row, a multiple of 16
    outputs: int  # k + 1
    width: int  # floats of one access
    accesses: int  # of a lane, for a row
    tile: int  # output rows handled together
    tiles: int  # more than one: the sums of the output rows wait in device memory
    contexts: int  # most words of a window

    @property
    def held(self) -> int:
        """Floats of a row in a lane."""
        return self.width * self.accesses

    @property
    def gradients(self) -> int:
        """Floats that a warp keeps of a window's gradients: by score, padded to whole groups."""
        return self.contexts * self.tiles * GROUPS

    @property
    def shared(self) -> int:
        """Floats of shared memory a warp has; 0 where the gradients wait in device memory."""
        return self.gradients if self.gradients <= MOST_SHARED else 0

    @property
    def scratch(self) -> int:
        """Floats of device memory a warp has."""
        sums = self.tiles * self.tile * self.floats if self.tiles > 1 else 0
        return sums + (0 if self.shared else self.gradients)


def shape_for(floats: int, negatives: int, contexts: int) -> Shape:
    """Return the shape for rows of `floats` (padded), k negatives and so many contexts."""
    outputs = negatives + 1
    # the width that leaves the fewest lanes idle; of equal ones the wider
    width = min((4, 2), key=lambda w: (-(-floats // (LANES * w)) * w, -w))
    accesses = -(-floats // (LANES * width))
    most = max(1, min(GROUPS, HELD // (width * accesses)))
    tiles = -(-outputs // most)
    return Shape(floats, outputs, width, accesses, -(-outputs // tiles), tiles, contexts)
