"""Phrases: pairs of neighbours that are seen together more often than their words explain.

Mikolov et al. 2013 ("Distributed Representations of Words and Phrases"), section 4, as
word2phrase.c computes it, and normalised pointwise mutual information (Bouma 2009). Works on
token ids; reads and writes no file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.corpus.bigrams import (
    count_ids,
    count_pairs,
    join_pairs,
    make_lookup,
    refill_pairs,
    write_text,
)
from w2v_sgns.corpus.source import SEPARATORS
from w2v_sgns.corpus.stats import Corpus
from w2v_sgns.corpus.store import LINE_END
from w2v_sgns.corpus.table import WordTable
from w2v_sgns.corpus.vocabulary import decode_word
from w2v_sgns.errors import ConfigError, CorpusError, ResourceError

__all__ = ["SCORERS", "Phrase", "PhraseText", "find_phrases"]

SCORERS = {"word2phrase": 100.0, "npmi": 0.5}  # and their thresholds
JOINER = b"_"
_FIRST_SLOTS = 1 << 16
_MOST_SLOTS = 1 << 23  # at first
_OUT_BYTES = 1 << 22

Ids = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Phrase:
    """Two words that were joined."""

    word: str  # with _ between them
    score: float
    count: int  # of the pair, before joining


class Words(NamedTuple):
    """Words data[offsets[i]:offsets[i+1]]."""

    data: npt.NDArray[np.uint8]
    offsets: Ints


@dataclass
class PhraseText:
    """A text with its phrases joined: ids, and the words they stand for."""

    tokens: Ids
    data: npt.NDArray[np.uint8]
    offsets: Ints
    phrases: list[Phrase]

    def blocks(self) -> Iterator[bytes]:
        """Yield the text: a blank between words, a line end behind every line."""
        longest = int(np.diff(self.offsets).max(initial=0)) + 1
        out = np.empty(max(_OUT_BYTES, longest), np.uint8)
        done = 0
        while done < self.tokens.size:
            done, used = write_text(self.tokens, done, self.data, self.offsets, out)
            yield out[:used].tobytes()


def find_phrases(
    corpus: Corpus,
    *,
    threshold: float | None = None,
    min_count: int = 5,
    passes: int = 1,
    scorer: str = "word2phrase",
) -> PhraseText:
    """Join what scores above the threshold; each further pass may join phrases again.

    Args:
        corpus: with all its words (loaded with min_count 1); its ids are joined where they lie,
            in memory or in a temporary file, so that it is used up.
        threshold: 100 for word2phrase and 0.5 for npmi if not given.
        min_count: words and pairs seen less often are never joined.
        passes: how often the text is gone over.
        scorer: word2phrase: (n(ab) − min_count) · N / (n(a) · n(b)); npmi:
            log(p(ab) / (p(a) · p(b))) / −log p(ab).

    Raises:
        ConfigError: a setting is out of range.
        CorpusError: a word holds a blank, so that it could not be written as one.
        ResourceError: words were left out for memory while counting.
    """
    if corpus.stats.least_count > 1:
        raise ResourceError(
            f"the {corpus.stats.types_read:,} different words do not fit into a quarter of "
            "--memory, and a text without the rare ones would be another text; raise --memory"
        )
    limit = _checked(threshold, min_count, passes, scorer)
    words = corpus.vocabulary
    raw = words.data.tobytes()
    if any(separator in raw for separator in SEPARATORS):
        raise CorpusError("a ready-made word holds a blank and cannot be written as text")
    text = PhraseText(corpus.store.writable(), words.data, words.offsets, [])
    for _ in range(passes):
        found = len(text.phrases)
        text = _one_pass(text, limit, min_count, scorer)
        if len(text.phrases) == found:
            break
    return text


def _checked(threshold: float | None, min_count: int, passes: int, scorer: str) -> float:
    if scorer not in SCORERS:
        raise ConfigError(f"--scorer must be one of {', '.join(SCORERS)}, not {scorer!r}")
    if min_count < 1:
        raise ConfigError(f"--min-count must be at least 1, not {min_count}")
    if not 1 <= passes <= 10:
        raise ConfigError(f"--passes must be from 1 to 10, not {passes}")
    limit = SCORERS[scorer] if threshold is None else threshold
    if not math.isfinite(limit):
        raise ConfigError(f"--threshold needs a finite number, not {threshold}")
    if scorer == "npmi" and not -1 <= limit <= 1:
        raise ConfigError(f"--threshold must be from -1 to 1 for npmi, not {limit:g}")
    return limit


def _one_pass(text: PhraseText, limit: float, min_count: int, scorer: str) -> PhraseText:
    counts = np.zeros(text.offsets.size - 1, np.int64)
    count_ids(text.tokens, counts)
    pairs, seen = counted_pairs(text.tokens, counts, min_count)
    scores = score(pairs, seen, counts, min_count, scorer)
    good = np.flatnonzero(scores > limit)
    order = good[np.lexsort((pairs[good], -scores[good]))]
    if not order.size:
        return text
    words, ids, phrases = _new_words(text, pairs[order], scores[order], seen[order])
    tokens = _joined(text.tokens, pairs[order], ids, counts.size)
    return PhraseText(tokens, words.data, words.offsets, text.phrases + phrases)


def counted_pairs(tokens: Ids, counts: Ints, least: int) -> tuple[Any, Ints]:
    """Return the pairs of neighbours seen `least` times, as (first + 1) << 32 | second, sorted."""
    keys, seen = _slots(max(_FIRST_SLOTS, 1 << min(tokens.size // 3, _MOST_SLOTS).bit_length()))
    used = done = 0
    while True:
        with np.errstate(over="ignore"):
            done, used = count_pairs(tokens, done, counts, least, keys, seen, used)
        if done >= tokens.size:
            break
        larger = _slots(4 * keys.size)
        with np.errstate(over="ignore"):
            refill_pairs(keys, seen, *larger)
        keys, seen = larger
    frequent = np.flatnonzero((keys != 0) & (seen >= least))
    frequent = frequent[np.argsort(keys[frequent])]
    return keys[frequent], seen[frequent].astype(np.int64)


def _slots(count: int) -> tuple[Any, Ids]:
    """Return free slots; np.empty gives huge pages where np.zeros does not."""
    keys, seen = np.empty(count, np.uint64), np.empty(count, np.uint32)
    keys[:] = 0
    return keys, seen


def score(pairs: Any, seen: Ints, counts: Ints, min_count: int, scorer: str) -> Real:
    """Return the score of each pair, float64."""
    first = counts[(pairs >> np.uint64(32)) - np.uint64(1)].astype(np.float64)
    second = counts[pairs & np.uint64(0xFFFFFFFF)].astype(np.float64)
    total = float(counts.sum())
    if scorer == "word2phrase":
        return np.asarray((seen - min_count) / first / second * total)
    together = seen / total
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(together / ((first / total) * (second / total))) / -np.log(together)
    return np.where(np.isfinite(npmi), npmi, 1.0)  # the text is nothing but this pair


def _new_words(
    text: PhraseText, pairs: Any, scores: Real, seen: Ints
) -> tuple[Words, Ids, list[Phrase]]:
    """Return the words with the phrases, each pair's id among them, and the phrases.

    Two pairs may make the same word, or one that was there.
    """
    halves = np.empty(2 * pairs.size, np.uint32)
    halves[0::2] = (pairs >> np.uint64(32)) - np.uint64(1)
    halves[1::2] = (pairs & np.uint64(0xFFFFFFFF)) | np.uint64(LINE_END)
    lines = PhraseText(halves, text.data, text.offsets, []).blocks()
    joined = b"".join(lines).replace(b" ", JOINER)  # no word holds a blank
    table = WordTable()
    table.add(text.data, text.offsets)
    ids = (table.scan(joined).ids & ~LINE_END).copy()
    columns = zip(joined.split(b"\n")[:-1], scores.tolist(), seen.tolist(), strict=True)
    phrases = [Phrase(decode_word(word), value, count) for word, value, count in columns]
    return Words(table.data, table.offsets), ids, phrases


def _joined(tokens: Ids, pairs: Any, ids: Ids, types: int) -> Ids:
    slots = 1 << (int(pairs.size * 4).bit_length())
    keys, values = np.zeros(slots, np.uint64), np.empty(slots, np.uint32)
    begins = np.zeros(types, np.uint8)
    with np.errstate(over="ignore"):
        make_lookup(pairs, ids, keys, values, begins)
        count = join_pairs(tokens, keys, values, begins, tokens)
    return tokens[:count]
