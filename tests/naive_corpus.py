"""Slow, obvious twins of the corpus layer: plain Python objects, one step after another."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from w2v_sgns.corpus import Corpus

BOM = b"\xef\xbb\xbf"


@dataclass
class NaiveCorpus:
    """What load_corpus should find; words are bytes, a line is the list of its kept words."""

    line_count: int
    tokens_read: int
    ranking: list[tuple[bytes, int]]  # all words with counts, in their final order
    words: list[tuple[bytes, int]]  # those seen often enough
    lines: list[list[bytes]]  # kept words; only lines that keep any

    @property
    def has_pairs(self) -> bool:
        return any(len(line) > 1 for line in self.lines)


def plain_text(data: bytes) -> bytes | None:
    """Return a file's text as UTF-8, without its mark; None for what must be refused."""
    wide = (b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"\xff\xfe", b"\xfe\xff")
    for mark, encoding in zip(wide, ("utf-32", "utf-32", "utf-16", "utf-16"), strict=True):
        if data.startswith(mark):
            try:
                data = data.decode(encoding, "surrogateescape").encode("utf-8", "surrogateescape")
            except UnicodeError:
                return None
            break
    else:
        data = data.removeprefix(BOM)
    return None if b"\0" in data else data


def naive_corpus(data: bytes, min_count: int) -> NaiveCorpus:
    """Split, count, sort, prune; `data` has lost its byte order mark (see plain_text)."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    tokens = [line.split() for line in lines]  # bytes.split: blank, \t, \n, \r, \v, \f
    counts = Counter(token for line in tokens for token in line)
    ranking = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    words = [(word, count) for word, count in ranking if count >= min_count]
    kept = [[token for token in line if counts[token] >= min_count] for line in tokens]
    return NaiveCorpus(len(lines), counts.total(), ranking, words, [line for line in kept if line])


def words_of(corpus: Corpus) -> list[tuple[bytes, int]]:
    """Return the vocabulary as words with counts."""
    counts = corpus.vocabulary.counts
    assert counts is not None
    return list(zip(corpus.vocabulary.iter_bytes(), counts.tolist(), strict=True))


def lines_of(corpus: Corpus) -> list[list[bytes]]:
    """Return the store's ids as lines of words; an unended last line is a line of its own."""
    words = list(corpus.vocabulary.iter_bytes())
    lines: list[list[bytes]] = [[]]
    for token in np.asarray(corpus.store.tokens).tolist():
        lines[-1].append(words[token & 0x7FFFFFFF])
        if token >> 31:
            lines.append([])
    assert lines.pop() == [], "the last token does not end its line"
    return lines
