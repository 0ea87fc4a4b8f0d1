"""Why there is nothing to train on: the messages, each with what to try. Decides nothing."""

from __future__ import annotations

from w2v_sgns.corpus.ranking import Ranking
from w2v_sgns.corpus.selection import Wanted
from w2v_sgns.corpus.stats import CorpusStats
from w2v_sgns.errors import CorpusError, VocabularyError

__all__ = ["no_pairs", "no_tokens", "too_few_words"]


def no_tokens(name: str, lines: int, long_tokens: int) -> CorpusError:
    """Return the error for a text of blanks."""
    dropped = f" ({long_tokens:,} longer than --max-token-bytes dropped)" if long_tokens else ""
    return CorpusError(
        f"{name}: {_many(lines, 'line')} with 0 tokens{dropped}; there is no text to train on"
    )


def too_few_words(name: str, ranking: Ranking, kept: int, wanted: Wanted) -> VocabularyError:
    """Say what was read, what selection left of it, and which threshold would leave more."""
    counts = ranking.counts
    read = f"{_many(int(counts.sum()), 'token')} of {_many(counts.size, 'type')} read"
    if wanted.given is not None:
        return VocabularyError(
            f"{name}: {read}, {kept} words of the --read-vocab file kept at --min-count "
            f"{wanted.min_count}, at least 2 are needed"
        )
    if counts.size == 1:
        return VocabularyError(f"{name}: {read}; a vocabulary needs at least 2 different words")
    most = int(counts[0])
    second = int(counts[1])  # the highest threshold that keeps two words
    remain = {limit: int((counts >= limit).sum()) for limit in (second, 1)}
    advice = ", ".join(f"--min-count {limit} keeps {n:,}" for limit, n in remain.items())
    return VocabularyError(
        f"{name}: {read}, {kept} kept at --min-count {wanted.min_count}, at least 2 are needed; "
        f"the most frequent count is {most:,}; {advice}"
    )


def no_pairs(name: str, stats: CorpusStats, wanted: Wanted) -> CorpusError:
    """Return the error for lines of one token each."""
    dropped = stats.tokens_read - stats.tokens_kept
    cause = "the --read-vocab file" if wanted.given else f"--min-count {wanted.min_count}"
    after = f" after {cause} dropped {dropped:,}" if dropped else ""
    advice = "try a lower --min-count, or " if dropped and not wanted.given else ""
    return CorpusError(
        f"{name}: no training pairs (every line has one token): {_many(stats.lines, 'line')}, "
        f"{_many(stats.tokens_kept, 'token')}{after}; {advice}put words that belong together "
        "on one line"
    )


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
