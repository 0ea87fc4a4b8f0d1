"""The fingerprint of a text: one hash of its words and tokens, also where many machines read it.

The stream of token ranks, line ends included, is hashed in stretches of 2^20 tokens; the
fingerprint is the blake2b of these hashes and of all words. So whoever has a stretch can hash it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.store import Ids

__all__ = ["STRETCH", "Fingerprint", "Part", "PartDigest"]

STRETCH = 1 << 20  # tokens: 4 MiB
SIZE = 32  # bytes of a hash


class Part(NamedTuple):
    """What a part of the stream adds."""

    head: bytes  # of a stretch that began before it
    hashes: bytes  # of its whole stretches, one after another
    tail: bytes  # of a stretch that ends after it


class Fingerprint:
    """Fed with the stream in order, by tokens or by parts."""

    def __init__(self) -> None:
        self._all, self._stretch, self._filled = _hash(), _hash(), 0

    def feed(self, ids: Ids) -> None:
        """Take the next tokens: their ranks, the high bit at line ends."""
        self._feed(_little_endian(ids, "<u4"))

    def _feed(self, data: memoryview | bytes) -> None:
        while len(data):
            room = 4 * STRETCH - self._filled
            self._stretch.update(data[:room])
            self._filled += len(data[:room])
            data = data[room:]
            if self._filled == 4 * STRETCH:
                self._end_stretch()

    def _end_stretch(self) -> None:
        self._all.update(self._stretch.digest())
        self._stretch, self._filled = _hash(), 0

    def take(self, part: Part) -> None:
        """Take the next part, hashed elsewhere."""
        self._feed(part.head)
        self._all.update(part.hashes)
        self._feed(part.tail)

    def text(self, offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> str:
        """End with all words, in the order of ranks; return the fingerprint in hex."""
        if self._filled:
            self._end_stretch()
        self._all.update(_little_endian(offsets, "<i8"))
        self._all.update(data.data)
        return str(self._all.hexdigest())


class PartDigest:
    """Fed with the tokens of a part that begins at some position of the stream."""

    def __init__(self, start: int) -> None:
        self._before = -start % STRETCH * 4  # bytes until the first stretch of its own
        self._head, self._hashes, self._tail = bytearray(), bytearray(), bytearray()

    def feed(self, ids: Ids) -> None:
        """Take the next tokens."""
        data = _little_endian(ids, "<u4")
        more = self._before - len(self._head)
        self._head += data[:more]
        self._tail += data[more:]
        whole = len(self._tail) // (4 * STRETCH)
        for number in range(whole):
            part = self._tail[number * 4 * STRETCH : (number + 1) * 4 * STRETCH]
            self._hashes += _hash(part).digest()
        del self._tail[: whole * 4 * STRETCH]

    def part(self) -> Part:
        """Return what it adds to the whole."""
        return Part(bytes(self._head), bytes(self._hashes), bytes(self._tail))


def _hash(data: bytes | bytearray = b"") -> Any:
    return blake2b(data, digest_size=SIZE)


def _little_endian(array: NDArray[Any], dtype: str) -> memoryview:
    return array.astype(dtype, copy=False).data.cast("B")
