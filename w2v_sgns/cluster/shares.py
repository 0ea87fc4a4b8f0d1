"""What each node trains on: token ids sent to it, or its part of the text, counted there.

Counting on the nodes gives what counting on one machine gives: the same words in the same order,
the same token ids one node after another, the same fingerprint.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from w2v_sgns.cluster.engine import Each, Engine
from w2v_sgns.cluster.share import Kept, Order, Words
from w2v_sgns.corpus.counting import Counts
from w2v_sgns.corpus.fingerprint import Fingerprint
from w2v_sgns.corpus.load import Compacted, Ranked, finish, nothing_read
from w2v_sgns.corpus.openers import is_remote
from w2v_sgns.corpus.overflow import Overflow
from w2v_sgns.corpus.pieces import Pieces
from w2v_sgns.corpus.ranking import rank_words
from w2v_sgns.corpus.sections import Section, cut_source
from w2v_sgns.corpus.selection import Selection, Wanted
from w2v_sgns.corpus.source import Source
from w2v_sgns.corpus.stats import Corpus
from w2v_sgns.corpus.store import Ids, TokenStore
from w2v_sgns.corpus.table import WordTable
from w2v_sgns.corpus.totals import WordTotals

__all__ = ["CountedShares", "SentShares", "Shares", "count_on_nodes"]


class Shares(Protocol):
    """The text of all nodes."""

    sizes: list[int]  # tokens of each

    def give(self, engine: Engine, ranks: Sequence[int]) -> None:
        """Have these nodes hold their token ids."""


class SentShares:
    """Successive parts of an array of token ids, sent to the nodes."""

    def __init__(self, tokens: Ids, parts: int) -> None:
        self._parts = np.array_split(tokens, parts)
        self.sizes = [part.size for part in self._parts]

    def give(self, engine: Engine, ranks: Sequence[int]) -> None:
        """Send them."""
        engine.call("take", Each(self._parts), ranks=ranks)


@dataclass
class CountedShares:
    """Parts of a text that the nodes read for themselves, and read again if one is lost."""

    order: Order
    sections: list[list[Section]]
    keeping: list[tuple[Any, ...]]  # arguments of each node's keep
    ending: set[int]  # ranks whose last token is made to end its line
    sizes: list[int]

    def give(self, engine: Engine, ranks: Sequence[int]) -> None:
        """Have them read and remapped, on nodes that do not hold them yet."""
        fresh = [
            r for r, held in zip(ranks, engine.call("holds", ranks=ranks), strict=True) if not held
        ]
        engine.call("count", self.order, Each(self.sections), ranks=fresh)
        self.finish(engine, fresh)

    def finish(self, engine: Engine, ranks: Sequence[int]) -> list[Kept]:
        """Have what is counted remapped."""
        kept: list[Kept] = engine.call("keep", Each(self.keeping), ranks=ranks)
        engine.call("end_line", ranks=[rank for rank in ranks if rank in self.ending])
        return kept


def count_on_nodes(
    source: Source,
    engine: Engine,
    wanted: Wanted,
    *,
    threads: int,
    memory_bytes: int | None,
) -> tuple[Corpus, CountedShares]:
    """Have every node count its part; return the corpus, its token ids left where they are.

    Raises:
        CorpusError, StreamError, VocabularyError: see load_corpus.
    """
    assert source.arguments is not None
    order = Order(
        paths=tuple(p if is_remote(p) else os.path.abspath(p) for p in source.arguments),
        names=source.names,
        sizes=source.sizes,
        text=source.text,
        threads=threads,
        memory_bytes=memory_bytes,
    )
    sections = cut_source(source, engine.size)
    found: list[Words] = engine.call("count", order, Each(sections))
    counts = _added_up(found)
    if not sum(words.tokens for words in found):
        raise nothing_read(source, counts)
    ranked, maps = _ranked(found, invalid=counts.invalid_place is not None)
    starts = np.cumsum([0, *(words.tokens for words in found)])
    shares = CountedShares(order, sections, [], set(), [])

    def compact(selection: Selection) -> Compacted:
        kept = len(selection.vocabulary)
        shares.keeping = [
            (ranks, int(start), selection.rows, kept)
            for ranks, start in zip(maps, starts, strict=False)
        ]
        parts = shares.finish(engine, range(engine.size))
        shares.sizes = [part.tokens for part in parts]
        shares.ending = _ending(parts)
        engine.call("end_line", ranks=sorted(shares.ending))
        digest = Fingerprint()
        for part in parts:
            digest.take(part.part)
        return Compacted(
            store=TokenStore(np.empty(0, np.uint32)),
            tokens=sum(shares.sizes),
            longest_line=_longest_line(parts),
            fingerprint=digest.text(ranked.ranking.offsets, ranked.ranking.data),
            spooled=any(part.spooled for part in parts),
        )

    return finish(source, counts, ranked, wanted, compact), shares


def _added_up(found: Sequence[Words]) -> Counts:
    """Return what the nodes have counted beside words."""
    return Counts(
        tables=[],
        pieces=Pieces(0),
        overflow=Overflow(),
        lines=sum(words.lines for words in found),
        bytes_read=sum(words.bytes_read for words in found),
        long_tokens=sum(words.long_tokens for words in found),
        invalid_place=next((w.invalid_place for w in found if w.invalid_place), None),
        empty=[name for words in found for name in words.empty],
    )


def _ranked(found: list[Words], *, invalid: bool) -> tuple[Ranked, list[Ids]]:
    """Merge the words of all nodes; return their order, and the rank of each node's words in it."""
    table = WordTable()
    rows = [table.add(words.data, words.offsets, words.counts) for words in found]
    table.drop_index()
    ranking = rank_words(table.data, table.offsets, table.counts)
    totals = WordTotals()
    totals.add(ranking.data, ranking.offsets, ranking.counts, invalid=invalid)
    return Ranked(ranking.ranks.__getitem__, ranking, totals), [ranking.ranks[r] for r in rows]


def _ending(parts: Sequence[Kept]) -> set[int]:
    """Return the ranks whose last kept token ends a line that went on in a later part."""
    return {
        max(before)
        for rank, part in enumerate(parts)
        if part.ends_before and (before := [r for r in range(rank) if parts[r].tokens])
    }


def _longest_line(parts: Sequence[Kept]) -> int:
    """Return the tokens of the longest line, also one that goes through several parts."""
    longest = under_way = 0
    for part in parts:
        if part.ends_before:
            longest, under_way = max(longest, under_way), 0
        if part.ends:
            longest = max(longest, part.longest, under_way + part.leading)
            under_way = part.trailing
        else:
            under_way += part.tokens
    return max(longest, under_way)
