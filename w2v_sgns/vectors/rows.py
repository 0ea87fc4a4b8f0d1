"""A matrix and the words of its rows: how to look them up.

What is asked of them is vectors.py's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary, decode_word, first_rows
from w2v_sgns.errors import FormatError, UnknownWordError

__all__ = ["WordRows"]

Words = str | Sequence[str]


class WordRows:
    """A matrix and the words of its rows.

    Attributes:
        matrix: float32 (V, d), read-only.
        vocabulary: the words of the V rows.

    Raises:
        FormatError: rows and words differ in number.
    """

    def __init__(self, matrix: NDArray[np.float32], vocabulary: Vocabulary) -> None:
        if matrix.ndim != 2 or len(matrix) != len(vocabulary):
            raise FormatError(f"a matrix of {matrix.shape} for {len(vocabulary):,} words")
        self.matrix = matrix.view()
        self.matrix.flags.writeable = False
        self.vocabulary = vocabulary

    @property
    def vector_size(self) -> int:
        """The dimensions d."""
        return int(self.matrix.shape[1])

    @cached_property
    def index_to_key(self) -> list[str]:
        """All words by row; built when first asked for."""
        return list(self.vocabulary)

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """The first row of every word; built when first asked for."""
        return first_rows(self.index_to_key)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __getitem__(self, words: Words) -> NDArray[np.float32]:
        """Return one word's vector (d,), or those of several words (n, d).

        Raises:
            UnknownWordError: a word is not there; the message has close spellings.
        """
        if isinstance(words, str):
            return np.asarray(self.matrix[self.rows([words])[0]])
        return np.asarray(self.matrix[self.rows(words)])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} words × {self.vector_size}>"

    def rows(self, words: Sequence[str | bytes]) -> list[int]:
        """Return the row of every word.

        Raises:
            UnknownWordError: names all words that are missing, with close spellings.
        """
        found = self.vocabulary.indices(words)
        missing = [word for word, row in zip(words, found, strict=True) if row is None]
        if missing:
            raise UnknownWordError(self._about_missing(missing))
        return [row for row in found if row is not None]

    def _about_missing(self, missing: Sequence[Any]) -> str:
        named = []
        for word in list(dict.fromkeys(missing))[:5]:
            close = self.vocabulary.close_spellings(word)
            text = repr(decode_word(word) if isinstance(word, bytes) else word)
            named.append(text + (f" (close: {', '.join(close)})" if close else ""))
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        return f"not among the {len(self):,} words: {', '.join(named)}{more}"
