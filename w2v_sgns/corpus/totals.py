"""What all words of a corpus add up to, those too that are dropped while counting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from w2v_sgns.corpus.invalid import count_marked, next_invalid
from w2v_sgns.corpus.vocabulary import decode_word

__all__ = ["WordTotals"]


@dataclass
class WordTotals:
    """Sums over words; :meth:`add` takes each word once."""

    types: int = 0
    tokens: int = 0
    invalid_types: int = 0  # that are no UTF-8
    invalid_tokens: int = 0
    marked_tokens: int = 0  # that begin with U+FEFF
    marked_word: str | None = None  # the most frequent of these
    _marked_count: int = 0

    def add(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        counts: npt.NDArray[np.int64],
        *,
        invalid: bool,
    ) -> None:
        """Add words data[offsets[i]:offsets[i+1]]; `invalid`: some word of the corpus is."""
        self.types += counts.size
        self.tokens += int(counts.sum())
        marked, row = count_marked(data, offsets, counts)
        self.marked_tokens += int(marked)
        if row >= 0 and counts[row] > self._marked_count:
            self._marked_count = int(counts[row])
            self.marked_word = decode_word(data[offsets[row] : offsets[row + 1]].tobytes())
        row = next_invalid(data, offsets, 0) if invalid else -1
        while row >= 0:
            self.invalid_types += 1
            self.invalid_tokens += int(counts[row])
            row = next_invalid(data, offsets, row + 1)
