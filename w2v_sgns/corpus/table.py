"""A growing table of words: owns the arrays that the compiled scanner fills.

One table belongs to one thread at a time. It does not read files and does not order words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.corpus import scan
from w2v_sgns.corpus.invalid import next_invalid
from w2v_sgns.corpus.source import LINE_BREAK, READY_SEPARATORS, SEPARATORS
from w2v_sgns.corpus.store import LINE_END, MAX_TYPES, Ids
from w2v_sgns.errors import ResourceError

__all__ = ["Scan", "WordTable"]

Places = npt.NDArray[np.int64]

_FIRST_SLOTS = 1 << 12
_FIRST_DATA = 1 << 16  # bytes
_WORDS_AT_ONCE = 1 << 18  # of another table

_NO_LIMIT = np.iinfo(np.int64).max


def _kinds(separators: bytes) -> npt.NDArray[np.uint8]:
    """Return what each byte is to the scanner."""
    kinds = np.zeros(256, np.uint8)
    kinds[list(separators)] = scan.SEPARATOR
    kinds[list(LINE_BREAK)] = scan.LINE
    return kinds


_KINDS = _kinds(SEPARATORS)
_READY_KINDS = _kinds(READY_SEPARATORS)


class Scan(NamedTuple):
    """What a block held.

    ids: the tokens' rows with `LINE_END` bits (a view, valid until the next scan).
    """

    ids: Ids
    line_breaks: int
    leading_break: bool  # one came before the first token
    dropped: int  # tokens too long
    invalid_line: int  # line breaks before the table's first word that is no UTF-8; -1: none new


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
        self._has_invalid = False
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

    @property
    def size_bytes(self) -> int:
        """Bytes of memory in use, without the scratch of a block."""
        return 12 * self._table.keys.size + 24 * len(self) + self.data.size

    def scan(self, block: bytes, *, ready: bool = False, most: int | None = None) -> Scan:
        """Count the tokens of `block` of at most `most` bytes; `ready`: NUL is between them.

        Raises:
            ResourceError: more than `MAX_TYPES` words.
        """
        if not block:
            return Scan(self._ids[:0], 0, False, 0, -1)
        if block[-1] not in (READY_SEPARATORS if ready else SEPARATORS):
            block += b"\0" if ready else b" "  # the end of the text ends the last token
        text, before = np.frombuffer(block, np.uint8), len(self)
        with np.errstate(over="ignore"):  # hashes wrap; only the interpreted pass would warn
            count, breaks, leading, dropped = self._split(text, ready, most)
            self._look_up(text, count, self._ids)
        line = self._first_invalid(before, block, self._ids[:count])
        return Scan(self._ids[:count], breaks, leading, dropped, line)

    def find(self, block: bytes, unknown: int, *, most: int | None = None) -> tuple[Ids, Places]:
        """Return the rows of the tokens of `block` and where each begins; the table stays.

        A word that is not there gets `unknown`. Views, valid until the next scan. The block must
        end in a separator.
        """
        text = np.frombuffer(block, np.uint8)
        with np.errstate(over="ignore"):
            count, *_ = self._split(text, False, most)
            scan.find(text, self._tokens, count, self._table, self._ids, np.uint32(unknown))
        return self._ids[:count], self._tokens.begins[:count]

    def _split(
        self, text: npt.NDArray[np.uint8], ready: bool, most: int | None
    ) -> tuple[int, int, bool, int]:
        """Find the tokens of `text`, into the scratch; return what `scan.split` does."""
        kinds = _READY_KINDS if ready else _KINDS
        limit = _NO_LIMIT if most is None else min(most, _NO_LIMIT)
        self._make_scratch((text.size + 1) // 2)
        return scan.split(text, kinds, limit, self._tokens, self._ids, LINE_END)

    def _first_invalid(self, before: int, block: bytes, ids: Ids) -> int:
        """Return the line breaks ahead of the table's first word that is no UTF-8, or -1."""
        if self._has_invalid or len(self) == before or block.isascii():
            return -1
        row = next_invalid(self.data, self.offsets, before)
        if row < 0:
            return -1
        self._has_invalid = True
        token = int(np.flatnonzero((ids & ~LINE_END) == row)[0])
        return block.count(b"\n", 0, int(self._tokens.begins[token]))

    def add(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        counts: npt.NDArray[np.int64] | None = None,
    ) -> Ids:
        """Add words data[offsets[i]:offsets[i+1]], all different; return uint32[n]: their rows.

        Each counts once where no counts are given.
        """
        mapping = np.zeros(offsets.size - 1, np.uint32)
        for start in range(0, mapping.size, _WORDS_AT_ONCE):
            rows = mapping[start : start + _WORDS_AT_ONCE]
            self._make_scratch(rows.size)
            with np.errstate(over="ignore"):
                scan.key_words(data, offsets[start : start + rows.size + 1], self._tokens)
                self._look_up(data, rows.size, rows)
            if counts is not None:  # looking up counted every word once
                self.counts[rows] += counts[start : start + rows.size] - 1
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

    def parts(self) -> npt.NDArray[np.uint8]:
        """Return uint8[n]: a number for each word that depends on its bytes alone."""
        parts = np.empty(len(self), np.uint8)
        for start in range(0, parts.size, _WORDS_AT_ONCE):
            some = parts[start : start + _WORDS_AT_ONCE]
            self._make_scratch(some.size)
            with np.errstate(over="ignore"):
                words = self.offsets[start : start + some.size + 1]
                scan.key_words(self.data, words, self._tokens)
                scan.divide(self._tokens.keys, some)
        return parts

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
        # Not np.zeros: fresh pages of the system come small, those of np.empty huge.
        keys, rows = np.empty(slots, np.uint64), np.empty(slots, np.uint32)
        keys[:] = 0
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
