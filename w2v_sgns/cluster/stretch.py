"""A stretch of the text that is trained between two merges, and each node's part of it."""

from __future__ import annotations

from typing import NamedTuple

from w2v_sgns.kernels.windows import CHUNK

__all__ = ["Stretch", "own_chunks", "own_tokens"]


class Stretch(NamedTuple):
    """Chunks of the whole text that a round trains."""

    epoch: int
    first: int
    end: int


def own_chunks(first: int, end: int, mine: int, chunks: int) -> tuple[int, int]:
    """Return which of a node's chunks belong to chunks first..end of the whole text."""
    return first * mine // chunks, end * mine // chunks


def own_tokens(size: int, first: int, end: int, chunks: int) -> int:
    """Return the tokens of these, of a share of `size` tokens."""
    begin, behind = own_chunks(first, end, -(-size // CHUNK), chunks)
    return min(size, behind * CHUNK) - min(size, begin * CHUNK)
