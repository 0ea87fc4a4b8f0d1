"""From a text to token ids: counts, orders, selects, remaps.

The whole path of a corpus in its order. The compiled parts are imported on the first call, so
that importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.inputs import open_source
from w2v_sgns.corpus.source import Source
from w2v_sgns.corpus.stats import Corpus, CorpusStats
from w2v_sgns.corpus.store import Ids, TokenStore
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.corpus.vocabulary_file import read_vocabulary, read_words

if TYPE_CHECKING:
    from w2v_sgns.corpus.counting import Counts, Progress, Stop
    from w2v_sgns.corpus.ranking import Ranking
    from w2v_sgns.corpus.selection import Selection, Wanted

__all__ = ["load_corpus"]


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
        memory_bytes: token ids beyond this go to a temporary file, 4 bytes a token.
        progress: called with (bytes done, bytes in all) after each block.
        stop: asked after each block; true ends the work with KeyboardInterrupt.
        block_bytes: text read at a time, a MiB if not given; the result does not depend on it.

    Raises:
        CorpusError: the text cannot be read, or holds no token, or no pair.
        StreamError: a compressed file is damaged or cut short.
        VocabularyError: fewer than two words are left.
        ResourceError: no room for the ids on the temporary disk.
        TypeError: no corpus at all: text instead of a path or of lists of words.
        KeyboardInterrupt: `stop` said so.
    """
    from w2v_sgns.corpus.counting import BLOCK_BYTES, count_source
    from w2v_sgns.corpus.pieces import Pieces
    from w2v_sgns.corpus.selection import Wanted

    wanted = Wanted(
        min_count=min_count,
        max_vocab=max_vocab,
        keep_words=() if keep_words is None else read_words(keep_words),
        given=read_vocabulary(read_vocab) if isinstance(read_vocab, (str, Path)) else read_vocab,
        known=known,
    )
    source = open_source(corpus, text)
    pieces = Pieces(memory_bytes)
    try:
        counts = count_source(
            source,
            pieces,
            threads=threads,
            block_bytes=block_bytes or BLOCK_BYTES,
            progress=progress,
            stop=stop,
        )
        return _finished(source, counts, wanted, stop)
    finally:
        pieces.close()


def _finished(source: Source, counts: Counts, wanted: Wanted, stop: Stop | None) -> Corpus:
    """Order, select, remap: everything after the text has been read."""
    from w2v_sgns.corpus.refusals import no_pairs, no_tokens, too_few_words
    from w2v_sgns.corpus.remap import longest_line
    from w2v_sgns.corpus.selection import select

    name = _short(source.names)
    if not counts.pieces.tokens:
        raise no_tokens(name, counts.lines, counts.long_tokens)
    ranks, ranking = _ranked(counts, stop)
    selection = select(ranking, wanted)
    if len(selection.vocabulary) < 2:
        raise too_few_words(name, ranking, len(selection.vocabulary), wanted)
    spooled = counts.pieces.spooled
    store, fingerprint = _compacted(counts, ranks, ranking, selection, stop)
    try:
        found = _Found(store, longest_line(store.tokens), fingerprint, spooled)
        stats = _stats(source, counts, ranking, selection, found)
        if stats.longest_line < 2:
            raise no_pairs(name, stats, wanted)
    except BaseException:
        store.close()
        raise
    return Corpus(selection.vocabulary, store, stats)


@dataclass(frozen=True)
class _Found:
    """What the last pass over the ids gave."""

    store: TokenStore
    longest_line: int
    fingerprint: str
    spooled: bool


def _stats(
    source: Source, counts: Counts, ranking: Ranking, selection: Selection, found: _Found
) -> CorpusStats:
    from w2v_sgns.corpus.invalid import count_marked

    marked, marked_row = count_marked(ranking.data, ranking.offsets, ranking.counts)
    words = Vocabulary(ranking.data, ranking.offsets)
    invalid_tokens, invalid_types = _invalid(ranking) if counts.invalid_place else (0, 0)
    return CorpusStats(
        names=source.names,
        labels=source.labels,
        sizes=source.sizes,
        empty=tuple(counts.empty),
        bytes_read=counts.bytes_read,
        lines=counts.lines,
        longest_line=found.longest_line,
        tokens_read=int(ranking.counts.sum()),
        types_read=ranking.counts.size,
        tokens_kept=found.store.tokens.size,
        types_kept=len(selection.vocabulary),
        types_unseen=selection.unseen,
        max_count=int(ranking.counts[0]),
        long_tokens=counts.long_tokens,
        invalid_tokens=invalid_tokens,
        invalid_types=invalid_types,
        invalid_place=counts.invalid_place,
        marked_tokens=int(marked),
        marked_word=words.word(marked_row) if marked_row >= 0 else None,
        fingerprint=found.fingerprint,
        spooled=found.spooled,
        once=any(member.once for member in source.members),
    )


def _invalid(ranking: Ranking) -> tuple[int, int]:
    """Return how many tokens and types are no UTF-8."""
    from w2v_sgns.corpus.invalid import next_invalid

    tokens = types = 0
    row = next_invalid(ranking.data, ranking.offsets, 0)
    while row >= 0:
        tokens += int(ranking.counts[row])
        types += 1
        row = next_invalid(ranking.data, ranking.offsets, row + 1)
    return tokens, types


def _ranked(counts: Counts, stop: Stop | None) -> tuple[list[Ids], Ranking]:
    """Merge the tables and order all words; return each table's ranks by row, and the order."""
    from w2v_sgns.corpus.counting import check_stop
    from w2v_sgns.corpus.ranking import rank_words

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
    return [ranking.ranks, *(ranking.ranks[rows] for rows in maps)], ranking


def _compacted(
    counts: Counts,
    ranks: list[Ids],
    ranking: Ranking,
    selection: Selection,
    stop: Stop | None,
) -> tuple[TokenStore, str]:
    """Remap all ids and drop what is not selected; return the store and the fingerprint."""
    from w2v_sgns.corpus.counting import check_stop
    from w2v_sgns.corpus.remap import keep_below, to_ranks

    digest = blake2b(digest_size=32)
    kept = len(selection.vocabulary)

    def shorten(ids: Ids, owner: int) -> tuple[int, bool]:
        check_stop(stop)
        to_ranks(ids, ranks[owner])
        digest.update(_little_endian(ids, "<u4"))
        if selection.rows is not None:
            to_ranks(ids, selection.rows)
        return keep_below(ids, kept)

    store = counts.pieces.compact(shorten)
    digest.update(_little_endian(ranking.offsets, "<i8"))
    digest.update(ranking.data.data)
    return store, digest.hexdigest()


def _little_endian(array: NDArray[Any], dtype: str) -> memoryview:
    return array.astype(dtype, copy=False).data.cast("B")


def _short(names: Sequence[str]) -> str:
    """Name a corpus in a message: its files, or the first of many."""
    if len(names) <= 3:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1:,} more files"
