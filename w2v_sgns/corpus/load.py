"""From a text to token ids: counts, orders, selects, remaps.

The whole path of a corpus in its order. The compiled parts are imported on the first call, so
that importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.fingerprint import Fingerprint
from w2v_sgns.corpus.inputs import open_source
from w2v_sgns.corpus.source import Source
from w2v_sgns.corpus.stats import Corpus, CorpusStats
from w2v_sgns.corpus.store import MAX_TYPES, Ids, TokenStore
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.corpus.vocabulary_file import read_vocabulary, read_words

if TYPE_CHECKING:
    from w2v_sgns.corpus.counting import Counts, Progress, Stop
    from w2v_sgns.corpus.ranking import Ranking
    from w2v_sgns.corpus.selection import Selection, Wanted
    from w2v_sgns.corpus.totals import WordTotals
    from w2v_sgns.errors import CorpusError

__all__ = [
    "Compacted",
    "Ranked",
    "compacted",
    "finish",
    "load_corpus",
    "nothing_read",
    "rank",
    "wanted_words",
]

_NO_ROW = np.uint32(MAX_TYPES - 1)  # above every word's


def load_corpus(
    corpus: Any,
    *,
    text: TextOptions | None = None,
    min_count: int = 5,
    max_vocab: int | None = None,
    keep_words: Path | str | None = None,
    read_vocab: Path | str | Vocabulary | None = None,
    known: Vocabulary | None = None,
    threads: int,
    memory_bytes: int,
    progress: Progress | None = None,
    stop: Stop | None = None,
    block_bytes: int | None = None,
    for_training: bool = True,
) -> Corpus:
    """Read a text into a vocabulary and token ids.

    Args:
        corpus: a path, several, a Source, or lines of words (see `inputs.open_source`).
        text: how bytes become words.
        min_count: words seen less often are dropped.
        max_vocab: only so many of the most frequent words are kept.
        keep_words: a file of words that are kept, whatever their count.
        read_vocab: words and counts that replace the corpus's own: a file, or a vocabulary whose
            counts fall.
        known: words that stay, however rare, with counts that the corpus's are added to.
        threads: scanning threads, at least 1; the result does not depend on it.
        memory_bytes: token ids beyond half of it (4 bytes each) and tables of words beyond a
            quarter of it go to temporary files. Where even the words together do not fit into
            that quarter, those below the lowest count that fits are left out (stats.least_count).
        progress: called with (bytes done, bytes in all) after each block.
        stop: asked after each block; true ends the work with KeyboardInterrupt.
        block_bytes: text read at a time, a MiB if not given; the result does not depend on it.
        for_training: refuse a corpus of one word, or without a pair.

    Raises:
        CorpusError: the text cannot be read, or holds no token, or no pair.
        StreamError: a compressed file is damaged or cut short.
        VocabularyError: fewer than two words are left.
        ResourceError: no room on the temporary disk, or not even the frequent words fit.
        TypeError: no corpus at all: text instead of a path or of lists of words.
        KeyboardInterrupt: `stop` said so.
    """
    from w2v_sgns.corpus.counting import BLOCK_BYTES, count_source
    from w2v_sgns.corpus.overflow import Overflow
    from w2v_sgns.corpus.pieces import Pieces

    wanted = wanted_words(
        min_count=min_count,
        max_vocab=max_vocab,
        keep_words=keep_words,
        read_vocab=read_vocab,
        known=known,
        for_training=for_training,
    )
    source = open_source(corpus, text)
    pieces, overflow = Pieces(memory_bytes // 2), Overflow()
    try:
        counts = count_source(
            source,
            pieces,
            threads=threads,
            block_bytes=block_bytes or BLOCK_BYTES,
            overflow=overflow,
            table_bytes=memory_bytes // 4,
            progress=progress,
            stop=stop,
        )
        return _finished(source, counts, wanted, memory_bytes // 4, stop)
    finally:
        pieces.close()
        overflow.close()


def wanted_words(
    *,
    min_count: int = 5,
    max_vocab: int | None = None,
    keep_words: Path | str | None = None,
    read_vocab: Path | str | Vocabulary | None = None,
    known: Vocabulary | None = None,
    for_training: bool = True,
) -> Wanted:
    """Return what is asked of the vocabulary (see load_corpus), its files read."""
    from w2v_sgns.corpus.selection import Wanted

    return Wanted(
        min_count=min_count,
        max_vocab=max_vocab,
        keep_words=() if keep_words is None else read_words(keep_words),
        given=read_vocabulary(read_vocab) if isinstance(read_vocab, (str, Path)) else read_vocab,
        known=known,
        for_training=for_training,
    )


def _finished(
    source: Source, counts: Counts, wanted: Wanted, table_bytes: int, stop: Stop | None
) -> Corpus:
    """Order, select, remap: everything after the text has been read."""
    from w2v_sgns.corpus.remap import longest_line

    if not counts.pieces.tokens:
        raise nothing_read(source, counts)
    in_memory = not counts.overflow
    ranked = rank(counts, stop) if in_memory else _joined(counts, wanted, table_bytes, stop)
    spooled = counts.pieces.spooled

    def compact(selection: Selection) -> Compacted:
        digest = Fingerprint()
        kept = len(selection.vocabulary)
        store = compacted(counts, ranked.ranks, digest.feed, selection.rows, kept, stop)
        return Compacted(
            store=store,
            tokens=store.tokens.size,
            longest_line=longest_line(store.tokens),
            fingerprint=digest.text(ranked.ranking.offsets, ranked.ranking.data),
            spooled=spooled,
        )

    return finish(source, counts, ranked, wanted, compact)


def nothing_read(source: Source, counts: Counts) -> CorpusError:
    """Return the error for a text of blanks."""
    from w2v_sgns.corpus.refusals import no_tokens

    return no_tokens(_short(source.names), counts.lines, counts.long_tokens)


def finish(
    source: Source,
    counts: Counts,
    ranked: Ranked,
    wanted: Wanted,
    compact: Callable[[Selection], Compacted],
) -> Corpus:
    """Select the words, have their tokens remapped, say what was read.

    Raises:
        VocabularyError, CorpusError: what is left is nothing to train on.
    """
    from w2v_sgns.corpus.refusals import no_pairs, too_few_words
    from w2v_sgns.corpus.selection import select

    name = _short(source.names)
    selection = select(ranked.ranking, wanted)
    if wanted.for_training and len(selection.vocabulary) < 2:
        raise too_few_words(name, ranked.ranking, len(selection.vocabulary), wanted)
    found = compact(selection)
    try:
        stats = _stats(source, counts, ranked, selection, found)
        if wanted.for_training and stats.longest_line < 2:
            raise no_pairs(name, stats, wanted)
    except BaseException:
        found.store.close()
        raise
    return Corpus(selection.vocabulary, found.store, stats)


@dataclass(frozen=True, kw_only=True)
class Compacted:
    """What the last pass over the ids gave."""

    store: TokenStore
    tokens: int  # kept; those in other machines' stores too
    longest_line: int
    fingerprint: str
    spooled: bool


def _stats(
    source: Source, counts: Counts, ranked: Ranked, selection: Selection, found: Compacted
) -> CorpusStats:
    totals = ranked.totals
    return CorpusStats(
        names=source.names,
        labels=source.labels,
        sizes=source.sizes,
        empty=tuple(counts.empty),
        bytes_read=counts.bytes_read,
        lines=counts.lines,
        longest_line=found.longest_line,
        tokens_read=totals.tokens,
        types_read=totals.types,
        tokens_kept=found.tokens,
        types_kept=len(selection.vocabulary),
        types_unseen=selection.unseen,
        types_counted=ranked.ranking.counts.size,
        tokens_counted=int(ranked.ranking.counts.sum()),
        least_count=ranked.least,
        counted_on_disk=bool(counts.overflow),
        max_count=int(ranked.ranking.counts[0]),
        long_tokens=counts.long_tokens,
        invalid_tokens=totals.invalid_tokens,
        invalid_types=totals.invalid_types,
        invalid_place=counts.invalid_place,
        marked_tokens=totals.marked_tokens,
        marked_word=totals.marked_word,
        fingerprint=found.fingerprint,
        spooled=found.spooled,
        once=any(member.once for member in source.members),
    )


@dataclass(frozen=True)
class Ranked:
    """All words in their final order, and the way from provisional ids to it.

    ranks(owner)[row] is the rank of a table's row; len(ranking.counts): it was left out.
    """

    ranks: Callable[[int], Ids]
    ranking: Ranking
    totals: WordTotals
    least: int = 1  # words seen less often were left out


def rank(counts: Counts, stop: Stop | None) -> Ranked:
    """Merge the tables and order all words."""
    from w2v_sgns.corpus.counting import check_stop
    from w2v_sgns.corpus.ranking import rank_words
    from w2v_sgns.corpus.totals import WordTotals

    first, *others = counts.tables
    counts.tables.clear()  # each is freed once its words are taken over
    maps: list[Ids] = []
    for table in others:
        table.drop_index()
        del table  # or the name would keep the last one
    while others:
        check_stop(stop)
        other = others.pop(0)
        maps.append(first.add(other.data, other.offsets, other.counts))
        del other
    check_stop(stop)
    first.drop_index()
    ranking = rank_words(first.data, first.offsets, first.counts)
    totals = WordTotals()
    totals.add(ranking.data, ranking.offsets, ranking.counts, invalid=bool(counts.invalid_place))
    ranks = [ranking.ranks, *(ranking.ranks[rows] for rows in maps)]
    return Ranked(ranks.__getitem__, ranking, totals)


def _joined(counts: Counts, wanted: Wanted, table_bytes: int, stop: Stop | None) -> Ranked:
    """Add up the tables that are on the disk and order the words that fit."""
    from w2v_sgns.corpus.counting import LEAST_TABLE, check_stop
    from w2v_sgns.corpus.ranking import rank_words

    named = list(wanted.keep_words)
    for vocabulary in (wanted.given, wanted.known):
        named += vocabulary.iter_bytes() if vocabulary is not None else ()
    joined = counts.overflow.join(
        max(table_bytes, LEAST_TABLE),
        named=named,
        invalid=bool(counts.invalid_place),
        check=lambda: check_stop(stop),
    )
    ranking = rank_words(*joined.words)
    left_out = np.uint32(ranking.counts.size)
    rank_of = np.append(ranking.ranks, left_out)[joined.places]
    return Ranked(counts.overflow.ranks(rank_of), ranking, joined.totals, joined.least)


def compacted(
    counts: Counts,
    ranks: Callable[[int], Ids],
    feed: Callable[[Ids], None],
    rows: Ids | None,
    kept: int,
    stop: Stop | None,
) -> TokenStore:
    """Remap all ids and drop what is not selected.

    ranks(owner): see Ranked. feed: called with the ranks of all tokens, in order. rows, kept: the
    row of each rank, and how many there are (see Selection).
    """
    from w2v_sgns.corpus.counting import check_stop
    from w2v_sgns.corpus.remap import keep_below, to_ranks

    if rows is not None:  # and one for the words left out
        rows = np.append(rows, _NO_ROW)

    def shorten(ids: Ids, owner: int) -> tuple[int, bool]:
        check_stop(stop)
        to_ranks(ids, ranks(owner))
        feed(ids)
        if rows is not None:
            to_ranks(ids, rows)
        return keep_below(ids, kept)

    return counts.pieces.compact(shorten)


def _short(names: Sequence[str]) -> str:
    """Name a corpus in a message: its files, or the first of many."""
    if len(names) <= 3:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1:,} more files"
