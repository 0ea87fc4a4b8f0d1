"""The whole lines of a source, in blocks: what texts and pairs are read from.

Knows the member and the number of each block's first line, for messages. Does not split lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from w2v_sgns.corpus.counting import BLOCK_BYTES, refuse_nul
from w2v_sgns.corpus.source import LINE_BREAK, Source

__all__ = ["Lines", "whole_lines"]


class Lines(NamedTuple):
    """Some lines of one file, each with its line break (the last one gets one)."""

    data: bytes
    name: str  # of the file
    first: int  # number of the first line, from 1

    @property
    def number(self) -> int:
        """How many lines."""
        return self.data.count(LINE_BREAK)


def whole_lines(source: Source, block_bytes: int = BLOCK_BYTES) -> Iterator[Lines]:
    """Yield the source's text, cut behind line breaks.

    Raises:
        CorpusError: a member cannot be read, is no text, or holds NUL bytes.
        StreamError: a compressed member is damaged or cut short.
    """
    waiting: list[bytes] = []  # the start of a line
    file, first = 0, 1
    for block in source.blocks(block_bytes):
        refuse_nul(block, source)
        if block.file != file:
            if waiting:
                yield Lines(b"".join(waiting) + LINE_BREAK, source.names[file], first)
            waiting, file, first = [], block.file, 1
        cut = block.data.rfind(LINE_BREAK) + 1
        if cut:
            lines = Lines(b"".join((*waiting, block.data[:cut])), source.names[file], first)
            yield lines
            waiting, first = [], first + lines.number
        if cut < len(block.data):
            waiting.append(block.data[cut:])
    if waiting:
        yield Lines(b"".join(waiting) + LINE_BREAK, source.names[file], first)
