"""What a batch of shared noise works on: its pairs, its noise words, and copies of their rows.

All threads of a block call these together; what they have written is there for all after
sync_block, which is the caller's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from w2v_sgns.kernels.cuda.tiles import BatchShape
from w2v_sgns.kernels.cuda.warp import device, draw, row_access, sync_block
from w2v_sgns.kernels.windows import noise_choice, noise_slot

__all__ = ["Listing", "listing_for"]

ZERO = np.float32(0)
QUAD = 4  # floats of an access


class Listing(NamedTuple):
    """Device functions; their arguments are those of the functions below."""

    list_pairs: Any
    list_noise: Any
    copy_rows: Any


def listing_for(shape: BatchShape) -> Listing:
    """Return the functions for one shape."""
    threads, floats, columns = shape.threads, shape.floats, shape.columns
    count, quads = shape.noise, shape.columns // QUAD
    load, _, _ = row_access(QUAD, vectors=False)

    @device
    def list_pairs(words, low_edge, high_edge, begin, rows, contexts, windows, starts, thread):
        """List the pairs of the words begin..begin + rows − 1: contexts, and whose window it is.

        starts[r]: the first pair of the r-th window; starts[rows]: how many there are.
        """
        for r in range(thread, rows + 1, threads):
            before = 0
            for t in range(begin, begin + r):
                before += high_edge[t] - low_edge[t] - 1
            starts[r] = before
        sync_block()
        for r in range(thread, rows, threads):
            t, at = begin + r, starts[r]
            for place in range(low_edge[t], high_edge[t]):
                if place != t:
                    contexts[at] = words[place]
                    windows[at] = r
                    at += 1

    @device
    def list_noise(drawn, noise, seed, batch, thread):
        """Draw the noise words of the chunk's batch of this number."""
        for n in range(thread, count, threads):
            bits = draw(seed, batch * count + n)
            slot = noise_slot(bits, noise.shape[0])
            drawn[n] = noise_choice(bits, slot, noise[slot])

    @device
    def copy_rows(into, rows, matrix, words, used, quad, thread):
        """Copy the rows of `used` words from L2; all behind them are zeros. quad: room."""
        for at in range(thread, rows * quads, threads):
            row, column = at // quads, at % quads * QUAD
            for u in range(QUAD):
                quad[u] = ZERO
            if row < used and column < floats:
                load(quad, 0, matrix, np.int64(words[row]) * floats + column)
            for u in range(QUAD):
                into[row * columns + column + u] = quad[u]

    return Listing(list_pairs, list_noise, copy_rows)
