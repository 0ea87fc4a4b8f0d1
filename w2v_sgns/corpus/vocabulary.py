"""The words of a corpus or a file of vectors, one row each, with their counts.

Words are bytes inside (UTF-8 as a rule, any bytes allowed) and `str` at the edge, by
`surrogateescape`. All of them lie in one array, so millions of words cost no Python objects.
Nothing here reads text or counts; rows keep the order they are given in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, AnyStr, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2v_sgns.corpus.spelling import close_rows
from w2v_sgns.errors import VocabularyError

__all__ = ["Vocabulary", "decode_word", "encode_word", "first_rows"]

BLOCK_ROWS = 1 << 16  # rows looked at in one vectorised step
SCANS_BEFORE_DICT = 64  # a scan of 3 million rows takes about 10 ms, their dict 2 s


def decode_word(raw: bytes) -> str:
    """Return the word as text; bytes that are no UTF-8 become lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def encode_word(word: str | bytes) -> bytes | None:
    """Return the word's bytes; None for text that no bytes can stand behind (other surrogates)."""
    if isinstance(word, bytes):
        return word
    try:
        return word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def first_rows(words: Sequence[AnyStr]) -> dict[AnyStr, int]:
    """Return the first row of every word, in the order of rows."""
    rows = dict(zip(words, range(len(words)), strict=True))
    if len(rows) < len(words):  # a word stands there twice: it has its last row now
        for row in range(len(words) - 1, -1, -1):
            rows[words[row]] = row
    return rows


class Vocabulary:
    """Words by row; immutable.

    Attributes:
        data: uint8[n], the bytes of all words, one after another.
        offsets: int64[V + 1]; word i is `data[offsets[i]:offsets[i + 1]]`.
        counts: int64[V], or None where they are not known.

    A vocabulary counted from a corpus is sorted by falling count, ties by the word's bytes.

    Raises:
        VocabularyError: the arrays do not fit each other.
    """

    def __init__(
        self, data: ArrayLike, offsets: ArrayLike, counts: ArrayLike | None = None
    ) -> None:
        self.data = _frozen(data, np.uint8)
        self.offsets = _frozen(offsets, np.int64)
        self.counts = None if counts is None else _frozen(counts, np.int64)
        self._scans = 0
        self._rows: dict[bytes, int] | None = None
        self._check()

    @classmethod
    def from_words(
        cls, words: Iterable[str | bytes], counts: Iterable[int] | ArrayLike | None = None
    ) -> Self:
        """Build a vocabulary of these words, in this order."""
        encoded = [_encoded(word) for word in words]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(raw) for raw in encoded], out=offsets[1:])
        if counts is not None and not isinstance(counts, np.ndarray):
            counts = np.array(list(counts), np.int64)  # type: ignore[arg-type]
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets, counts)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[str]:
        return map(decode_word, self.iter_bytes())

    def __contains__(self, word: object) -> bool:
        return isinstance(word, (str, bytes)) and self.index(word) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        same_counts = (self.counts is None) == (other.counts is None)
        return (
            same_counts
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.data, other.data)
            and (self.counts is None or np.array_equal(self.counts, other.counts))  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        known = "counts unknown" if self.counts is None else f"{int(self.counts.sum()):,} tokens"
        return f"<Vocabulary of {len(self):,} words, {known}>"

    def word(self, index: int) -> str:
        """Return the word of a row, as text."""
        return decode_word(self.word_bytes(index))

    def word_bytes(self, index: int) -> bytes:
        """Return the word of a row, as bytes.

        Raises:
            IndexError: no such row.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"row {index} of a vocabulary of {len(self)} words")
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def iter_bytes(self) -> Iterator[bytes]:
        """Yield every word's bytes, row by row."""
        for start in range(0, len(self), BLOCK_ROWS):
            bounds = self.offsets[start : start + BLOCK_ROWS + 1].tolist()
            block = self.data[bounds[0] : bounds[-1]].tobytes()
            base, left = bounds[0], 0
            for bound in bounds[1:]:
                right = bound - base
                yield block[left:right]
                left = right

    def index(self, word: str | bytes) -> int | None:
        """Return the first row that holds the word; None where there is none.

        A few questions scan the offsets; many build a dict of all words, once.
        """
        raw = encode_word(word)
        if raw is None:
            return None
        if self._rows is None and self._scans < SCANS_BEFORE_DICT:
            self._scans += 1
            return self._scan(raw)
        return self._dict().get(raw)

    def indices(self, words: Iterable[str | bytes]) -> list[int | None]:
        """Return the first row of each word, None for a word that is not there."""
        return [self.index(word) for word in words]

    def close_spellings(self, word: str | bytes, limit: int = 5) -> list[str]:
        """Return up to `limit` words a typing slip away, the closest and most frequent first."""
        raw = encode_word(word)
        if raw is None:
            return []
        return [self.word(row) for row in close_rows(self.data, self.offsets, raw, limit)]

    def _scan(self, raw: bytes) -> int | None:
        for start in range(0, len(self), BLOCK_ROWS):
            bounds = self.offsets[start : start + BLOCK_ROWS + 1]
            rows = np.flatnonzero(np.diff(bounds) == len(raw))
            for place, byte in enumerate(raw):
                if not len(rows):
                    break
                rows = rows[self.data[bounds[rows] + place] == byte]
            if len(rows):
                return start + int(rows[0])
        return None

    def _dict(self) -> dict[bytes, int]:
        if self._rows is None:
            self._rows = first_rows(list(self.iter_bytes()))
        return self._rows

    def _check(self) -> None:
        data, offsets, counts = self.data, self.offsets, self.counts
        if data.ndim != 1 or offsets.ndim != 1 or not len(offsets):
            raise VocabularyError("a vocabulary needs bytes in one row and V + 1 offsets")
        if offsets[0] != 0 or offsets[-1] != len(data):
            raise VocabularyError(
                f"word offsets run from {offsets[0]} to {offsets[-1]}, needed: 0 to {len(data)}"
            )
        falling = np.flatnonzero(offsets[1:] < offsets[:-1])
        if len(falling):
            raise VocabularyError(f"word offset {falling[0] + 1} lies before the one ahead of it")
        if counts is not None and counts.shape != (len(self),):
            raise VocabularyError(f"{counts.shape} counts for {len(self)} words")
        if counts is not None and len(counts) and counts.min() < 0:
            raise VocabularyError(f"the count of row {int(counts.argmin())} is negative")


def _frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return a read-only view; a copy only where the dtype differs."""
    view = np.asarray(values, dtype).view()
    view.flags.writeable = False
    return view


def _encoded(word: str | bytes) -> bytes:
    raw = encode_word(word)
    if raw is None:
        raise VocabularyError(f"the word {word!a} holds a surrogate that stands for no byte")
    return raw
