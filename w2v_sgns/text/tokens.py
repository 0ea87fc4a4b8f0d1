"""Texts to token ids: the corpus's own splitting, against a vocabulary that does not grow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.normalize import normalizer
from w2v_sgns.corpus.table import WordTable
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.kernels.known import places
from w2v_sgns.kernels.pooling import UNKNOWN

__all__ = ["Tokenizer", "Tokens", "joined"]

SPACE = b" \t\r\v\f\n\0"
SPACES_TO_BLANKS = bytes.maketrans(SPACE, b" " * len(SPACE))


class Tokens(NamedTuple):
    """The tokens of n texts.

    ids: uint32, rows of the vocabulary, UNKNOWN for other words.
    offsets: int64[n + 1]; text i has ids[offsets[i]:offsets[i + 1]].
    """

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def select(self, texts: NDArray[np.int64]) -> Tokens:
        """Return the tokens of these texts, in this order, one after another."""
        starts, lengths = self.offsets[texts], self.offsets[texts + 1] - self.offsets[texts]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Tokens(self.ids[places(starts, lengths)], offsets)

    def keep(self, kept: NDArray[np.bool_]) -> Tokens:
        """Return the texts without the tokens that are not `kept` (one flag a token)."""
        before = np.concatenate([[0], np.cumsum(kept)])
        return Tokens(self.ids[kept], before[self.offsets])

    def known(self) -> NDArray[np.int64]:
        """Return how many known words each text has, (n,)."""
        before = np.concatenate([[0], np.cumsum(self.ids != UNKNOWN)])
        return np.asarray(before[self.offsets[1:]] - before[self.offsets[:-1]])


class Tokenizer:
    """Splits texts as `TextOptions` say and looks the words up. For one thread at a time."""

    def __init__(self, vocabulary: Vocabulary, text: TextOptions) -> None:
        self._table = WordTable()
        rows = self._table.add(vocabulary.data, vocabulary.offsets)
        self._first = None  # a word that stands twice means its first row
        if len(self._table) != len(vocabulary):
            self._first = np.full(len(self._table), UNKNOWN, np.uint32)
            self._first[rows[::-1]] = np.arange(len(vocabulary), dtype=np.uint32)[::-1]
        self._normalize = normalizer(text)
        self._most = text.max_token_bytes

    def lines(self, data: bytes) -> Tokens:
        """Return the tokens of a text a line; every line ends in a line break."""
        if not data:
            return Tokens(np.empty(0, np.uint32), np.zeros(1, np.int64))
        if self._normalize is not None:
            data = self._normalize(data)
        found, begins = self._table.find(data, int(UNKNOWN), most=self._most)
        ids = found.copy()
        if self._first is not None:
            known = ids != UNKNOWN
            ids[known] = self._first[ids[known]]
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        offsets = np.zeros(len(ends) + 1, np.int64)
        offsets[1:] = np.searchsorted(begins, ends)
        return Tokens(ids, offsets)


def joined(texts: Iterable[str | bytes]) -> bytes:
    """Return texts as lines; line ends and NULs inside a text become blanks."""
    raw = (
        text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        for text in texts
    )
    return b"".join(text.translate(SPACES_TO_BLANKS) + b"\n" for text in raw)
