"""A growing table of words: owns the arrays that the compiled scanner fills.

One table belongs to one thread at a time. It does not read files and does not order words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from w2v_sgns.corpus import scan
from w2v_sgns.corpus.source import LINE_BREAK, SEPARATORS
from w2v_sgns.corpus.store import LINE_END, Ids
from w2v_sgns.errors import ResourceError

__all__ = ["MAX_TYPES", "WordTable"]

MAX_TYPES = 1 << 31  # an id has 31 bits
_FIRST_SLOTS = 1 << 12
_FIRST_DATA = 1 << 16  # bytes
_WORDS_AT_ONCE = 1 << 18  # of another table

# What each byte is to the scanner.
_KINDS = np.zeros(256, np.uint8)
_KINDS[list(SEPARATORS)] = scan.SEPARATOR
_KINDS[list(LINE_BREAK)] = scan.LINE


class WordTable:
    """Words in order of first sight, with their counts."""

    def __init__(self) -> None:
        self._table = scan.Table(
            keys=np.zeros(_FIRST_SLOTS, np.uint64),
            rows=np.empty(_FIRST_SLOTS, np.uint32),
            lasts=np.empty(_FIRST_SLOTS // 2, np.uint64),
            offsets=np.zeros(_FIRST_SLOTS // 2 + 1, np.int64),
            counts=np.empty(_FIRST_SLOTS // 2, np.int64),
            data=np.empty(_FIRST_DATA, np.uint8),
        )
        self._types = 0
        self._ids: Ids = np.empty(0, np.uint32)
        self._make_scratch(0)

    def __len__(self) -> int:
        return self._types

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """All words' bytes, one after another."""
        return self._table.data[: self._table.offsets[len(self)]]

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Word r's bytes are data[offsets[r]:offsets[r+1]]."""
        return self._table.offsets[: len(self) + 1]

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How often each word was seen."""
        return self._table.counts[: len(self)]

    def scan(self, block: bytes) -> tuple[Ids, int, bool]:
        """Count the tokens of `block` (not empty).

        Returns:
            The tokens' rows with `LINE_END` bits (a view, valid until the next call), the number
            of line breaks, and whether one came before the block's first token.

        Raises:
            ResourceError: more than `MAX_TYPES` words.
        """
        if block[-1] not in SEPARATORS:  # the end of the text ends the last token
            block += b" "
        text = np.frombuffer(block, np.uint8)
        self._make_scratch((text.size + 1) // 2)
        with np.errstate(over="ignore"):  # hashes wrap; only the interpreted pass would warn
            count, breaks, leading = scan.split(text, _KINDS, self._tokens, self._ids, LINE_END)
            self._look_up(text, count, self._ids)
        return self._ids[:count], breaks, leading

    def add(self, other: WordTable) -> Ids:
        """Add another table's words and counts; return uint32[len(other)]: their rows here."""
        mapping = np.zeros(len(other), np.uint32)
        for start in range(0, len(other), _WORDS_AT_ONCE):
            rows = mapping[start : start + _WORDS_AT_ONCE]
            offsets = other.offsets[start : start + rows.size + 1]
            self._make_scratch(rows.size)
            with np.errstate(over="ignore"):
                scan.key_words(other.data, offsets, self._tokens)
                self._look_up(other.data, rows.size, rows)
            # Looking up counted every word once; a table's words differ, so do their rows here.
            self.counts[rows] += other.counts[start : start + rows.size] - 1
        return mapping

    def _look_up(self, text: npt.NDArray[np.uint8], count: int, ids: Ids) -> None:
        """Count the scratch's tokens and write their rows to `ids`, making room as needed."""
        tokens, done = self._tokens, 0
        while done < count:
            done, self._types = scan.look_up(
                text, tokens, done, count, self._table, self._types, ids
            )
            if done < count:
                self._grow(int(tokens.ends[count - 1] - tokens.begins[done]))

    def drop_index(self) -> None:
        """Free all but words and counts, which can be read; scanning and adding to it end."""
        empty = np.empty(0, np.uint64)
        self._table = self._table._replace(keys=empty, rows=empty.astype(np.uint32), lasts=empty)
        self._make_scratch(0)

    def _make_scratch(self, tokens: int) -> None:
        """Have room for the tokens of a block; pages that stay unused cost nothing."""
        if tokens == 0 or tokens > self._ids.size:
            self._ids = np.empty(tokens, np.uint32)
            self._tokens = scan.Tokens(
                keys=np.empty(tokens, np.uint64),
                lasts=np.empty(tokens, np.uint64),
                begins=np.empty(tokens, np.int64),
                ends=np.empty(tokens, np.int64),
            )

    def _grow(self, waiting_bytes: int) -> None:
        """Double what is full: the slots, or the words' bytes (with room for all that waits)."""
        types = len(self)
        data, used = self._table.data, int(self._table.offsets[types])
        if used + waiting_bytes > data.size:
            room = max(2 * data.size, used + waiting_bytes)
            self._table = self._table._replace(data=_enlarged(data, used, room))
        del data
        if types == self._table.counts.size:
            self._grow_slots(2 * self._table.keys.size)

    def _grow_slots(self, slots: int) -> None:
        old, types = self._table, len(self)
        if types >= MAX_TYPES:
            raise ResourceError(
                f"the corpus has more than {MAX_TYPES:,} different words, the most that token "
                "ids can tell apart; split it or join rare words first"
            )
        keys, rows = np.zeros(slots, np.uint64), np.empty(slots, np.uint32)
        scan.refill(old.keys, old.rows, keys, rows)
        # One array after another, so that only one is in memory twice.
        self._table = old = old._replace(keys=keys, rows=rows)
        self._table = old = old._replace(lasts=_enlarged(old.lasts, types, slots // 2))
        self._table = old = old._replace(counts=_enlarged(old.counts, types, slots // 2))
        self._table = old._replace(offsets=_enlarged(old.offsets, types + 1, slots // 2 + 1))


def _enlarged(array: npt.NDArray[Any], used: int, size: int) -> npt.NDArray[Any]:
    """Return an array of `size` that starts with the `used` elements of `array`."""
    larger = np.empty(size, array.dtype)  # pages beyond `used` cost nothing until written
    larger[:used] = array[:used]
    return larger
