"""The provisional ids of a corpus, block by block, until the vocabulary's order is known.

:class:`Pieces` keeps them in memory, each in its own mapping that is really returned when it is
consumed, or moves them all to a spool once they exceed the budget. It compacts into the final
store in order, so that the peak is one copy of the ids and one block.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from w2v_sgns.corpus.store import LINE_END, Ids, Spool, TokenStore

__all__ = ["Pieces", "own_copy"]

_WIDTH = 4  # bytes a token


class Pieces:
    """Ids of successive blocks, each with the number of the table its ids belong to."""

    def __init__(self, memory_bytes: int) -> None:
        self.tokens = 0
        self.ends_before = False  # a line ended before the first token that compact kept
        self._memory_bytes = memory_bytes
        self._owners: list[int] = []  # table of each piece
        self._sizes: list[int] = []  # its tokens
        self._arrays: deque[Ids] = deque()  # in memory; empty when spooled
        self._spool: Spool | None = None

    @property
    def spooled(self) -> bool:
        """Whether the ids are in a temporary file."""
        return self._spool is not None

    def append(self, ids: Ids, owner: int, share: float) -> None:
        """Take over the next block's ids (see :func:`own_copy`); `share` of the text is read.

        Raises:
            ResourceError: the temporary disk is too small.
        """
        if ids.size == 0:
            return
        self._owners.append(owner)
        self._sizes.append(ids.size)
        self.tokens += ids.size
        if self._spool is not None:
            self._spool.write(self.tokens - ids.size, ids)
            return
        self._arrays.append(ids)
        if self.tokens * _WIDTH > self._memory_bytes:
            self._start_spool(share)

    def end_line(self) -> None:
        """Mark the last token so far as the last of its line; without tokens do nothing."""
        if self._arrays:
            self._arrays[-1][-1] |= LINE_END
        elif self._spool is not None:
            last = self._spool.read(self.tokens - 1, 1)
            self._spool.write(self.tokens - 1, last | LINE_END)

    def compact(self, shorten: Callable[[Ids, int], tuple[int, bool]]) -> TokenStore:
        """Turn the pieces, in order, into the final store, and let go of them.

        `shorten(ids, owner)` rewrites a piece in place and returns how many of its leading
        elements to keep, and whether a line ended before the first of these.
        """
        out = np.empty(0 if self.spooled else self.tokens, np.uint32)
        kept = 0
        for ids, owner in self._consumed():
            count, ends_line = shorten(ids, owner)
            if ends_line and kept:
                self._mark(out, kept - 1)
            self.ends_before |= ends_line and not kept
            if self._spool is None:
                out[kept : kept + count] = ids[:count]
            else:  # never past what was read: the kept are no more than the read
                self._spool.write(kept, ids[:count])
            kept += count
        return self._store(out, kept)

    def close(self) -> None:
        """Free everything that :meth:`compact` has not handed over."""
        self._arrays.clear()
        if self._spool is not None:
            self._spool.close()

    def _start_spool(self, share: float) -> None:
        # A tenth more than what the rest of the text will bring at this rate.
        expected = int(1.1 * self.tokens / min(max(share, 1e-9), 1.0))
        self._spool = Spool(expected)
        position = 0
        for size in self._sizes:
            self._spool.write(position, self._arrays.popleft())
            position += size

    def _consumed(self) -> Iterator[tuple[Ids, int]]:
        """Yield each piece and its owner; a piece is freed when the next is asked for."""
        position = 0
        for size, owner in zip(self._sizes, self._owners, strict=True):
            if self._spool is None:
                yield self._arrays.popleft(), owner
            else:
                yield self._spool.read(position, size), owner
            position += size

    def _mark(self, out: Ids, position: int) -> None:
        if self._spool is None:
            out[position] |= LINE_END
        else:
            self._spool.write(position, self._spool.read(position, 1) | LINE_END)

    def _store(self, out: Ids, kept: int) -> TokenStore:
        spool, self._spool = self._spool, None
        if spool is None:
            return TokenStore(out[:kept])
        try:
            tokens = spool.mapped(kept) if kept else np.empty(0, np.uint32)
        except BaseException:
            spool.close()
            raise
        return TokenStore(tokens, spool)


def own_copy(ids: Ids) -> Ids:
    """Return a copy in a mapping of its own: memory that goes back when it is let go."""
    if ids.size == 0:
        return np.empty(0, np.uint32)
    copy = np.frombuffer(mmap.mmap(-1, ids.nbytes, **_MAPPING), np.uint32)
    copy[:] = ids
    return copy


def _mapping() -> dict[str, int]:
    """Return mmap's flags for private memory with its pages made at once, where known."""
    names = ("MAP_PRIVATE", "MAP_ANONYMOUS", "MAP_POPULATE")
    values = [getattr(mmap, name, None) for name in names]
    if values[0] is None or values[1] is None:
        return {}
    return {"flags": values[0] | values[1] | (values[2] or 0)}


_MAPPING = _mapping()
