"""Counter-based random numbers: the n-th draw of a stream is mix(seed + n·STEP), all 64 bits.

The mixing function is splitmix64's (Steele, Lea, Flood 2014). A draw needs no earlier draw, so
two neighbouring chunks see the same decisions at the tokens they share. Neighbouring seeds
would give overlapping streams: :func:`stream_seeds` hashes them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["STEP", "below", "high", "low", "mix", "stream_seeds"]

STEP = np.uint64(0x9E3779B97F4A7C15)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def stream_seeds(seed: int, epoch: int, chunk: int) -> tuple[np.uint64, np.uint64]:
    """Return the seeds of a chunk's two streams: one for keep and window, one for noise."""
    sequence = np.random.SeedSequence(seed, spawn_key=(epoch, chunk))
    windows, noise = sequence.generate_state(2, np.uint64)
    return windows, noise


@njit(inline="always")
def mix(state):
    """Return 64 random bits for a counter (uint64)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(inline="always")
def high(bits):
    """Return the upper 32 bits."""
    return bits >> HALF


@njit(inline="always")
def low(bits):
    """Return the lower 32 bits."""
    return bits & LOW


@njit(inline="always")
def below(bits, count):
    """Return a number in 0..count-1 (uint64, count ≤ 2^31) from 32 random bits, by scaling."""
    return (bits * count) >> HALF
