"""A part of the text on its way through the device, in chunks."""

from __future__ import annotations

from typing import NamedTuple

from w2v_sgns.kernels.windows import CHUNK

__all__ = ["View"]


class View(NamedTuple):
    """The chunks that are seen, begin..end − 1, and those of them trained, first..last − 1."""

    begin: int
    first: int
    last: int
    end: int

    @classmethod
    def around(cls, first: int, last: int, *, halo: int, chunks: int) -> View:
        """Return the view for training first..last − 1: windows look `halo` chunks further."""
        return cls(max(0, first - halo), first, last, min(chunks, last + halo))

    @property
    def seen(self) -> int:
        """How many chunks are seen."""
        return self.end - self.begin

    @property
    def tokens(self) -> slice:
        """The positions of what is seen in the text; the last chunk may be shorter."""
        return slice(self.begin * CHUNK, self.end * CHUNK)
