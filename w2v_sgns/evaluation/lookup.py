"""From the words of a question to rows, with or without regard to case.

`exact` takes a word as it is written. `fold` takes the first row (the most frequent spelling) that
is equal after str.casefold. `match` takes the word as written, else folded. The vocabulary itself
is never touched.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice

from w2v_sgns.corpus.vocabulary import Vocabulary, decode_word, encode_word
from w2v_sgns.errors import ConfigError

__all__ = ["CASES", "Lookup", "Missing"]

CASES = ("exact", "fold", "match")


@dataclass(frozen=True)
class Missing:
    """A word that could not be looked up."""

    word: str
    questions: int  # how many it made unanswerable
    row: int | None  # where it stands, when only --restrict keeps it out


class Lookup:
    """The first `restrict` rows by word.

    Attributes:
        rows: how many rows there are to answer with.
        case: exact, fold or match.
        missing: how often each word was asked in vain.

    Raises:
        ConfigError: an unknown case, or a negative `restrict`.
    """

    def __init__(self, vocabulary: Vocabulary, *, restrict: int = 0, case: str = "match") -> None:
        if case not in CASES:
            raise ConfigError(f"--case must be {', '.join(CASES)}, not {case!r}")
        if restrict < 0:
            raise ConfigError(f"--restrict must be at least 0 (0: all words), not {restrict}")
        self.vocabulary = vocabulary
        self.rows = min(restrict or len(vocabulary), len(vocabulary))
        self.case = case
        self.missing: Counter[str] = Counter()
        self._exact: dict[bytes, int] = {}
        self._folded: dict[str, list[int]] = {}  # only where a question may need it
        for row, raw in enumerate(islice(vocabulary.iter_bytes(), self.rows)):
            self._exact.setdefault(raw, row)
            if case != "exact":
                self._folded.setdefault(decode_word(raw).casefold(), []).append(row)

    def find(self, word: str) -> tuple[int | None, bool]:
        """Return the row of a word, and whether only folding found it."""
        if self.case != "fold":
            row = self._exact.get(encode_word(word) or b"")
            if row is not None or self.case == "exact":
                return row, False
        spellings = self._folded.get(word.casefold())
        if spellings is None:
            return None, False
        return spellings[0], self.vocabulary.word(spellings[0]) != word

    def spellings(self, row: int) -> list[int]:
        """Return all rows that fold to the same word as a row."""
        return self._folded[self.vocabulary.word(row).casefold()]

    def report_missing(self) -> list[Missing]:
        """Return the words asked in vain, the most asked first; where they stand, if they do."""
        words = sorted(self.missing, key=lambda word: (-self.missing[word], word))
        everywhere = self._everywhere() if words and self.rows < len(self.vocabulary) else {}
        return [
            Missing(word, self.missing[word], everywhere.get(self._key(word))) for word in words
        ]

    def _key(self, word: str) -> str:
        return word if self.case == "exact" else word.casefold()

    def _everywhere(self) -> dict[str, int]:
        """Return the first row of the missing words behind the rows that may be asked."""
        exact = self.case == "exact"
        wanted = {self._key(word) for word in self.missing}
        found: dict[str, int] = {}
        rest = islice(self.vocabulary, self.rows, None)
        for row, word in enumerate(rest, start=self.rows):
            key = word if exact else word.casefold()
            if key in wanted:
                found.setdefault(key, row)
        return found
