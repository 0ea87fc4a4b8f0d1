"""Which words become rows: by count, by rank, by name, or by a vocabulary given beforehand.

Works on the final order of all words (:mod:`ranking`) and says how ranks become rows. It reads
no file and touches no token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from w2v_sgns.corpus.ranking import Ranking
from w2v_sgns.corpus.store import Ids
from w2v_sgns.corpus.table import WordTable
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import VocabularyError

__all__ = ["Selection", "Wanted", "select"]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the user asks of the vocabulary."""

    min_count: int = 5
    max_vocab: int | None = None
    keep_words: Sequence[bytes] = ()  # stay whatever their count
    for_training: bool = True  # one word is too few
    given: Vocabulary | None = None  # words and counts instead of the corpus's own
    known: Vocabulary | None = None  # words that stay, with counts that the corpus's add to


@dataclass(frozen=True)
class Selection:
    """The rows and the way to them.

    rows: uint32[types], the row of each rank, from `len(vocabulary)` on for what goes; None: a
    rank is its row.
    """

    vocabulary: Vocabulary
    rows: Ids | None
    unseen: int = 0  # words of keep_words or of the given vocabulary that the corpus lacks


def select(ranking: Ranking, wanted: Wanted) -> Selection:
    """Choose the words.

    Raises:
        VocabularyError: more words must be kept than there may be.
    """
    if wanted.known is not None:
        return _grown(ranking, wanted.known, wanted)
    if wanted.given is not None:
        return _given(ranking, wanted.given, wanted)
    kept = _frequent(ranking.counts, wanted)
    if not wanted.keep_words:
        return Selection(_vocabulary(ranking, np.arange(kept)), None)
    places = _places(ranking, wanted.keep_words)
    chosen = places < len(wanted.keep_words)
    _check_room(int(chosen.sum()), wanted)
    others = np.flatnonzero(~chosen[:kept])
    room = kept if wanted.max_vocab is None else wanted.max_vocab - int(chosen.sum())
    chosen[others[:room]] = True
    ranks = np.flatnonzero(chosen)
    rows = np.full(chosen.size, ranks.size, np.uint32)
    rows[ranks] = np.arange(ranks.size, dtype=np.uint32)
    unseen = len(wanted.keep_words) - int((places < len(wanted.keep_words)).sum())
    return Selection(_vocabulary(ranking, ranks), rows, unseen)


def _given(ranking: Ranking, given: Vocabulary, wanted: Wanted) -> Selection:
    """Take the given words that are frequent enough, with their own counts."""
    assert given.counts is not None
    frequent = np.arange(len(given)) < _frequent(given.counts, wanted)
    if wanted.keep_words:
        kept = [row for row in given.indices(wanted.keep_words) if row is not None]
        _check_room(len(kept), wanted)
        frequent[kept] = True
        if wanted.max_vocab is not None:
            spare = np.setdiff1d(np.flatnonzero(frequent), kept)
            frequent[spare[wanted.max_vocab - len(kept) :]] = False
    chosen = np.flatnonzero(frequent)
    everything = Ranking(np.empty(0, np.uint32), given.counts, given.offsets, given.data)
    vocabulary = _vocabulary(everything, chosen)
    rows = _places(ranking, list(vocabulary.iter_bytes()))
    return Selection(vocabulary, rows, len(vocabulary) - int((rows < len(vocabulary)).sum()))


def _grown(ranking: Ranking, known: Vocabulary, wanted: Wanted) -> Selection:
    """Take all known words and the corpus's frequent new ones; counts are added.

    Of equal counts the known words come first, as they stood, then the new ones.
    """
    old = list(known.iter_bytes())
    places = _places(ranking, old).astype(np.int64)
    is_known = places < len(old)
    new = np.flatnonzero(~is_known[: _frequent(ranking.counts, wanted)])
    places[new] = len(old) + np.arange(new.size)
    found = np.union1d(np.flatnonzero(is_known), new)
    counts = np.zeros(len(old) + new.size, np.int64)
    if known.counts is not None:
        counts[: len(old)] = known.counts
    counts[places[found]] += ranking.counts[found]
    counts = np.maximum(counts, 1)  # of a file without counts, and not in this text
    words = [*old, *_vocabulary(ranking, new).iter_bytes()]
    order = np.argsort(-counts, kind="stable")
    rows = np.full(ranking.counts.size, counts.size, np.uint32)
    rows[found] = np.argsort(order)[places[found]]
    grown = Vocabulary.from_words([words[n] for n in order.tolist()], counts[order])
    return Selection(grown, rows, len(old) - int(is_known.sum()))


def _frequent(counts: np.ndarray[tuple[int], np.dtype[np.int64]], wanted: Wanted) -> int:
    """Return how many words are frequent enough; counts fall."""
    kept = int(np.searchsorted(-counts, -wanted.min_count, side="right"))
    return kept if wanted.max_vocab is None else min(kept, wanted.max_vocab)


def _check_room(words: int, wanted: Wanted) -> None:
    if wanted.max_vocab is not None and words > wanted.max_vocab:
        raise VocabularyError(
            f"--keep-words has {words:,} words that the corpus holds, more than "
            f"--max-vocab {wanted.max_vocab:,}; raise it"
        )


def _places(ranking: Ranking, words: Sequence[bytes]) -> Ids:
    """Return for each rank the word's place in `words`, at least len(words) if it is not there."""
    table = WordTable()
    table.scan(b"\0".join(words), ready=True)
    return np.asarray(np.minimum(table.add(ranking.data, ranking.offsets), len(words)), np.uint32)


def _vocabulary(ranking: Ranking, ranks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Vocabulary:
    """Return the words of these ranks, in arrays of their own."""
    if ranks.size and ranks[-1] == ranks.size - 1:  # the first so many
        end = ranking.offsets[ranks.size]
        return Vocabulary(
            ranking.data[:end].copy(),
            ranking.offsets[: ranks.size + 1].copy(),
            ranking.counts[: ranks.size].copy(),
        )
    lengths = np.diff(ranking.offsets)[ranks]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    words = np.repeat(ranking.offsets[:-1][ranks] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return Vocabulary(ranking.data[words], offsets, ranking.counts[ranks])
