"""Why there is nothing to train on: the messages, each with what to try. Decides nothing."""

from __future__ import annotations

from w2v_sgns.corpus.ranking import Ranking
from w2v_sgns.corpus.selection import Wanted
from w2v_sgns.corpus.stats import CorpusStats
from w2v_sgns.errors import CorpusError, VocabularyError

__all__ = ["no_pairs", "no_tokens", "nul_advice", "too_few_words"]

# What a file with NULs may be, by its first bytes, and what to do about it.
_FOREIGN = (
    (0, b"PAR1", "it is a Parquet file: name its column with --column"),
    (0, b"ARROW1", "it is an Arrow file: name its column with --column"),
    (257, b"ustar", "it is a tar archive: unpack it and name the files in it"),
    (0, b"7z\xbc\xaf", "it is a 7z archive: unpack it and name the files in it"),
    (0, b"Rar!", "it is a rar archive: unpack it and name the files in it"),
    (0, b"%PDF", "it is a PDF: make a text of it first"),
    (0, b"\x1f\x8b", "it is compressed twice: unpack it once"),
    (0, b"\x5d\0\0", "it looks like old lzma data: unpack it (unlzma)"),
    (0, b"\x1f\x9d", "it is compressed by compress: unpack it (uncompress)"),
    (0, b"LZIP", "it is compressed by lzip: unpack it"),
    (0, b"\x04\x22\x4d\x18", "it is lz4 data: unpack it"),
)
_LOOK = 64  # bytes around a NUL


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


def nul_advice(data: bytes, place: int, *, whole: bool) -> str:
    """Say what to do about the NUL at data[place]; `whole`: data begins with the file."""
    if whole:
        for at, magic, advice in _FOREIGN:
            if data.startswith(magic, at):
                return advice
    start = (place - 1 if place else 0) // 4 * 4
    zeros = [data[start : start + _LOOK][i::4].count(0) for i in range(4)]
    most = _LOOK // 4
    if sorted(zeros)[1:] >= [most // 2, most // 2, most // 2] and min(zeros) <= most // 4:
        return "it looks like UTF-32: try --encoding utf-32-le or utf-32-be"
    if abs(zeros[0] + zeros[2] - zeros[1] - zeros[3]) > most // 2:
        return "it looks like UTF-16 without a mark: try --encoding utf-16-le or utf-16-be"
    return "that is no text: remove the NULs (tr -d '\\0'), or name the text's --encoding"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
