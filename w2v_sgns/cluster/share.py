"""A node's share of the text: counted where the node is, then turned into token ids.

Between the two the words of all nodes are put in order elsewhere (see :mod:`shares`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.counting import BLOCK_BYTES, Counts, count_source
from w2v_sgns.corpus.fingerprint import Part, PartDigest
from w2v_sgns.corpus.inputs import open_paths
from w2v_sgns.corpus.load import compacted, rank
from w2v_sgns.corpus.pieces import Pieces
from w2v_sgns.corpus.remap import longest_line
from w2v_sgns.corpus.sections import Section, sections_of
from w2v_sgns.corpus.source import Source
from w2v_sgns.corpus.store import LINE_END, Ids, TokenStore
from w2v_sgns.errors import CorpusError
from w2v_sgns.machine import allowed_threads, total_memory

__all__ = ["Kept", "Order", "Share", "Words"]


@dataclass(frozen=True, kw_only=True)
class Order:
    """What all nodes are told to read."""

    paths: tuple[str, ...]  # whole ones, or addresses
    names: tuple[str, ...]  # of the same, for messages: as they were given
    sizes: tuple[int, ...]  # bytes of each member, where the sections were cut
    text: TextOptions
    threads: int  # 0: all
    memory_bytes: int | None  # None: a quarter of the machine's


class Words(NamedTuple):
    """All words of a share, in the order of their ranks in it, and what else was counted."""

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    tokens: int
    lines: int
    bytes_read: int
    long_tokens: int
    invalid_place: str | None
    empty: tuple[str, ...]


class Kept(NamedTuple):
    """What is left of a share once its words are selected."""

    tokens: int
    longest: int  # tokens of its longest line
    leading: int  # tokens up to its first line end, all if there is none
    trailing: int  # tokens behind its last line end
    ends: bool  # there is one
    ends_before: bool  # a line ended before its first token that was kept
    part: Part  # of the fingerprint
    spooled: bool


class Share:
    """The text of one node."""

    def __init__(self, order: Order, sections: Sequence[Section]) -> None:
        self.order, self.sections = order, sections
        memory = order.memory_bytes or total_memory() // 4
        self._pieces = Pieces(memory // 2)
        self.store: TokenStore | None = None

    def count(self) -> Words:
        """Read it.

        Raises:
            CorpusError, StreamError: it cannot be read here, or differs from what was cut.
        """
        order = self.order
        whole = _opened(order)
        for name, here, there in zip(whole.names, whole.sizes, order.sizes, strict=True):
            if here != there:
                raise CorpusError(
                    f"{name}: has {here:,} bytes on one machine and {there:,} on another; all "
                    "machines of a cluster must see the same files under the same paths"
                )
        threads = order.threads or allowed_threads()
        source = sections_of(whole, self.sections)
        # the words of a share stay in memory: they are sent as one
        self.counts: Counts = count_source(source, self._pieces, threads=threads)
        found = rank(self.counts, None)
        self._ranks = found.ranks
        counts = self.counts
        return Words(
            *(found.ranking.data, found.ranking.offsets, found.ranking.counts),
            tokens=self._pieces.tokens,
            lines=counts.lines,
            bytes_read=counts.bytes_read,
            long_tokens=counts.long_tokens,
            invalid_place=counts.invalid_place and self._placed(counts.invalid_place, whole.names),
            empty=tuple(counts.empty),
        )

    def _placed(self, line: str, names: tuple[str, ...]) -> str:
        """Return where a line of this share is in the text; it is counted from the first byte."""
        first = self.sections[0]
        name = f" of {names[first.member]}"
        if len(names) > 1 and len(self.sections) == 1:  # nothing but this share's one file is known
            line += name
        is_first = len(names) == 1 or line.endswith(name)
        return f"{line}, counted from byte {first.begin:,}" if first.begin and is_first else line

    def keep(self, ranks: Ids, start: int, rows: Ids | None, kept: int) -> Kept:
        """Turn it into token ids.

        ranks: of each of its words among those of all nodes; start: tokens of the nodes before;
        rows, kept: see Selection.
        """
        digest = PartDigest(start)
        spooled = self._pieces.spooled
        self.store = compacted(
            self.counts, lambda owner: ranks[self._ranks(owner)], digest.feed, rows, kept, None
        )
        self._pieces.close()
        tokens = self.store.tokens
        ends = _line_ends(tokens)
        return Kept(
            tokens=tokens.size,
            longest=longest_line(tokens),
            leading=ends[0] + 1 if ends else tokens.size,
            trailing=tokens.size - ends[1] - 1 if ends else tokens.size,
            ends=ends is not None,
            ends_before=self._pieces.ends_before,
            part=digest.part(),
            spooled=spooled,
        )

    def end_line(self) -> None:
        """Have the last token end its line: the rest of that was dropped on the next node."""
        assert self.store is not None
        self.store.writable()[-1] |= LINE_END


def _opened(order: Order) -> Source:
    """Open the text; files are called in messages what they were called where the run began."""
    whole = open_paths(order.paths, order.text)
    members: tuple[Any, ...] = whole.members
    for member, name in zip(members, order.names, strict=True):
        member.name = member.opener.name = name
    return whole


def _line_ends(tokens: Ids) -> tuple[int, int] | None:
    """Return the places of the first and the last line end."""
    found = None
    for start in range(0, tokens.size, BLOCK_BYTES):
        places = np.flatnonzero(tokens[start : start + BLOCK_BYTES] & LINE_END)
        if places.size:
            first = found[0] if found else start + int(places[0])
            found = first, start + int(places[-1])
    return found
