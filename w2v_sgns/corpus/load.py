"""From a text to token ids: counts, orders, prunes, remaps.

The whole path of a corpus in its order. The compiled parts are imported on the first call, so
that importing this module costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.source import FileSource, open_source
from w2v_sgns.corpus.store import LINE_END, Ids, TokenStore
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import CorpusError, VocabularyError

if TYPE_CHECKING:
    from w2v_sgns.corpus.counting import Counts, Progress, Stop
    from w2v_sgns.corpus.pieces import Pieces
    from w2v_sgns.corpus.ranking import Ranking

__all__ = ["Corpus", "CorpusStats", "load_corpus"]


@dataclass(frozen=True, kw_only=True)
class CorpusStats:
    """What was read and what was kept of it."""

    names: tuple[str, ...]  # files, as given
    sizes: tuple[int, ...]  # their bytes on disk
    bytes_read: int  # of text, all files together
    lines: int  # blank ones too
    tokens_read: int
    types_read: int
    tokens_kept: int
    types_kept: int
    max_count: int  # of the most frequent word
    fingerprint: str  # hex blake2b of the tokens and lines, before pruning, and of all words
    spooled: bool  # the ids are in a temporary file


@dataclass
class Corpus:
    """A vocabulary and the text as its rows; a context manager that frees the ids."""

    vocabulary: Vocabulary
    store: TokenStore
    stats: CorpusStats

    def close(self) -> None:
        """Free the ids; may be called again."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load_corpus(
    path: Path | str,
    *,
    min_count: int = 5,
    threads: int,
    memory_bytes: int,
    progress: Progress | None = None,
    stop: Stop | None = None,
    block_bytes: int | None = None,
) -> Corpus:
    """Read a text into a vocabulary and token ids.

    Args:
        path: a plain file of words separated by blanks, a sentence (or any context) a line.
        min_count: words seen less often are dropped.
        threads: scanning threads, at least 1; the result does not depend on it.
        memory_bytes: token ids beyond this go to a temporary file, 4 bytes a token.
        progress: called with (bytes done, bytes in all) after each block.
        stop: asked after each block; true ends the work with KeyboardInterrupt.
        block_bytes: text read at a time, a few MiB if not given; the result does not depend on it.

    Raises:
        CorpusError: the text cannot be read, or holds no token, or no pair.
        VocabularyError: fewer than two words are left by `min_count`.
        ResourceError: no room for the ids on the temporary disk.
        KeyboardInterrupt: `stop` said so.
    """
    from w2v_sgns.corpus.counting import BLOCK_BYTES, count_source
    from w2v_sgns.corpus.pieces import Pieces

    source = open_source(path)
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
        return _finished(source, counts, min_count, stop)
    finally:
        pieces.close()


def _finished(source: FileSource, counts: Counts, min_count: int, stop: Stop | None) -> Corpus:
    """Order, prune, remap: everything after the text has been read."""
    name = ", ".join(source.names)
    pieces = counts.pieces
    if not pieces.tokens:
        raise CorpusError(
            f"{name}: {_many(counts.lines, 'line')} with 0 tokens; there is no text to train on"
        )
    ranks, ranking = _ranked(counts, stop)
    kept = int(np.searchsorted(-ranking.counts, -min_count, side="right"))
    if kept < 2:
        raise _too_few_words(name, ranking, kept, min_count)
    spooled = pieces.spooled
    store, fingerprint = _compacted(pieces, ranks, ranking, kept, stop)
    try:
        stats = CorpusStats(
            names=source.names,
            sizes=source.sizes,
            bytes_read=counts.bytes_read,
            lines=counts.lines,
            tokens_read=int(ranking.counts.sum()),
            types_read=ranking.counts.size,
            tokens_kept=store.tokens.size,
            types_kept=kept,
            max_count=int(ranking.counts[0]),
            fingerprint=fingerprint,
            spooled=spooled,
        )
        if not _has_pairs(store.tokens):
            raise _no_pairs(name, stats, min_count)
    except BaseException:
        store.close()
        raise
    return Corpus(_vocabulary(ranking, kept), store, stats)


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
        maps.append(first.add(others.pop(0)))
    check_stop(stop)
    first.drop_index()
    ranking = rank_words(first.data, first.offsets, first.counts)
    return [ranking.ranks, *(ranking.ranks[rows] for rows in maps)], ranking


def _compacted(
    pieces: Pieces, ranks: list[Ids], ranking: Ranking, kept: int, stop: Stop | None
) -> tuple[TokenStore, str]:
    """Remap and prune all ids; return the store and the fingerprint."""
    from w2v_sgns.corpus.counting import check_stop
    from w2v_sgns.corpus.remap import keep_below, to_ranks

    digest = blake2b(digest_size=32)

    def shorten(ids: Ids, owner: int) -> tuple[int, bool]:
        check_stop(stop)
        to_ranks(ids, ranks[owner])
        digest.update(_little_endian(ids, "<u4"))
        return keep_below(ids, kept)

    store = pieces.compact(shorten)
    digest.update(_little_endian(ranking.offsets, "<i8"))
    digest.update(ranking.data.data)
    return store, digest.hexdigest()


def _little_endian(array: NDArray[Any], dtype: str) -> memoryview:
    return array.astype(dtype, copy=False).data.cast("B")


def _vocabulary(ranking: Ranking, kept: int) -> Vocabulary:
    """Return the first `kept` words, in arrays of their own."""
    end = ranking.offsets[kept]
    return Vocabulary(
        ranking.data[:end].copy(), ranking.offsets[: kept + 1].copy(), ranking.counts[:kept].copy()
    )


def _has_pairs(tokens: Ids) -> bool:
    """Tell whether any line has two tokens: whether any token is not the last of its line."""
    block = 1 << 20
    return any(
        bool(((tokens[start : start + block] & LINE_END) == 0).any())
        for start in range(0, tokens.size, block)
    )


def _too_few_words(name: str, ranking: Ranking, kept: int, min_count: int) -> VocabularyError:
    """Say what was read, what pruning left of it, and which threshold would leave more."""
    counts = ranking.counts
    read = f"{_many(int(counts.sum()), 'token')} of {_many(counts.size, 'type')} read"
    if counts.size == 1:
        return VocabularyError(f"{name}: {read}; a vocabulary needs at least 2 different words")
    most = int(counts[0])
    second = int(counts[1])  # the highest threshold that keeps two words
    remain = {limit: int((counts >= limit).sum()) for limit in (second, 1)}
    advice = ", ".join(f"--min-count {limit} keeps {n:,}" for limit, n in remain.items())
    return VocabularyError(
        f"{name}: {read}, {kept} kept at --min-count {min_count}, at least 2 are needed; "
        f"the most frequent count is {most:,}; {advice}"
    )


def _no_pairs(name: str, stats: CorpusStats, min_count: int) -> CorpusError:
    dropped = stats.tokens_read - stats.tokens_kept
    after = f" after --min-count {min_count} dropped {dropped:,}" if dropped else ""
    advice = "try a lower --min-count, or " if dropped else ""
    return CorpusError(
        f"{name}: no training pairs (every line has one token): {_many(stats.lines, 'line')}, "
        f"{_many(stats.tokens_kept, 'token')}{after}; {advice}put words that belong together "
        "on one line"
    )


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
