"""What was read and what was kept of it, and the corpus itself. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from w2v_sgns.corpus.store import TokenStore
from w2v_sgns.corpus.vocabulary import Vocabulary

__all__ = ["Corpus", "CorpusStats"]


@dataclass(frozen=True, kw_only=True)
class CorpusStats:
    """What was read and what was kept of it."""

    names: tuple[str, ...]  # of the files, for messages
    labels: tuple[str, ...]  # ... and for the provenance: relative
    sizes: tuple[int, ...]  # their bytes on disk
    empty: tuple[str, ...]  # names of files without any text
    bytes_read: int  # of text as UTF-8, all files together
    lines: int  # blank ones too
    longest_line: int  # tokens kept of it
    tokens_read: int
    types_read: int
    tokens_kept: int
    types_kept: int
    types_unseen: int  # words asked for (keep_words, read_vocab) that the corpus lacks
    types_counted: int  # types_read less those left out below least_count
    tokens_counted: int
    least_count: int  # 1, or what --memory could hold: words seen less often are left out
    counted_on_disk: bool  # the tables of words outgrew their memory
    max_count: int  # of the most frequent word
    long_tokens: int  # dropped: longer than max_token_bytes
    invalid_tokens: int  # tokens that are no UTF-8, kept as they are
    invalid_types: int
    invalid_place: str | None  # "line 7 of name" of the first of them
    marked_tokens: int  # tokens that begin with U+FEFF, a byte order mark in mid-text
    marked_word: str | None  # the most frequent of them
    fingerprint: str  # hex blake2b of the tokens and lines, before selection, and of all words
    spooled: bool  # the ids are in a temporary file
    once: bool  # read from what can be read only once: a pipe or a generator


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
