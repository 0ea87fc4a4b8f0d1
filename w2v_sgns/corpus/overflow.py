"""Words that outgrew the memory for counting: whole tables on disk, joined when the text is read.

A table that is full goes to a temporary file, its words divided into 256 parts by a hash, and
counting goes on with an empty one. At the end the same part of every table is added up, one
part at a time: no word is lost on the way and every count is exact. Where all words together
are too many for memory, those below the lowest count that fits are left out. (Databases call
this hash aggregation with partitioning.) Reads no text, orders nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.corpus.ranking import gather
from w2v_sgns.corpus.store import Ids, Spool
from w2v_sgns.corpus.table import WordTable
from w2v_sgns.corpus.totals import WordTotals
from w2v_sgns.errors import ResourceError

__all__ = ["Joined", "Overflow", "Words"]

PART_BITS = 8  # of a word's hash: which of the parts it belongs to
# What a word takes besides its bytes, in the fullest table: where one thread would not have
# needed the disk, all words are kept, so that the result does not depend on the threads.
TYPE_BYTES = 48
MOST_COUNT = 1 << 16  # counts from here on are not told apart when choosing the lowest

Array = npt.NDArray[Any]


class Words(NamedTuple):
    """Words data[offsets[i]:offsets[i+1]] and their counts."""

    data: Array
    offsets: Array
    counts: Array


@dataclass(frozen=True)
class _Run:
    """One table on disk: its words by parts, and where their arrays begin (bytes)."""

    bounds: Array  # int64[parts + 1], in words
    data_bounds: Array  # int64[parts + 1], in bytes
    rows_at: int  # uint32: each word's row in its table
    totals_at: int  # uint32: each word's number among all words; filled by join
    data_at: int
    offsets_at: int
    counts_at: int


@dataclass
class Joined:
    """All words that fit."""

    words: Words
    least: int  # the lowest count that was kept; words below are left out, unless kept by name
    totals: WordTotals
    places: Ids  # of every word among the kept; len(words.counts): left out


@dataclass
class _Histogram:
    """How many words, and bytes of them, there are of each count."""

    types: Array = field(default_factory=lambda: np.zeros(MOST_COUNT + 1, np.int64))
    data: Array = field(default_factory=lambda: np.zeros(MOST_COUNT + 1, np.int64))

    def add(self, words: Words) -> None:
        counts = np.minimum(words.counts, MOST_COUNT)
        self.types += np.bincount(counts, minlength=MOST_COUNT + 1)
        lengths = np.diff(words.offsets)
        self.data += np.bincount(counts, lengths, MOST_COUNT + 1).astype(np.int64)

    def least(self, memory_bytes: int) -> int:
        """Return the lowest count whose words, and all more frequent ones, fit."""
        needed = np.cumsum((TYPE_BYTES * self.types + self.data)[::-1])[::-1]
        return max(1, min(int(np.searchsorted(-needed, -memory_bytes)), MOST_COUNT))

    @property
    def all_bytes(self) -> int:
        """What all words need."""
        return int(TYPE_BYTES * self.types.sum() + self.data.sum())


class Overflow:
    """The tables on disk.

    Raises (put, join):
        ResourceError: the temporary disk is full or fails, or too many words are too frequent.
    """

    def __init__(self) -> None:
        self._spool: Spool | None = None
        self._runs: dict[int, _Run] = {}
        self._end = 0  # bytes of the file in use
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._runs)

    def put(self, owner: int, table: WordTable) -> None:
        """Move a table's words to the disk; any thread may call this."""
        part_of = table.parts() >> np.uint8(8 - PART_BITS)
        order = np.argsort(part_of, kind="stable").astype(np.uint32)
        bounds = np.concatenate(([0], np.cumsum(np.bincount(part_of, minlength=1 << PART_BITS))))
        words, unset = _in_order(Words(table.data, table.offsets, table.counts), order)
        with self._lock:
            self._runs[owner] = _Run(
                bounds,
                words.offsets[bounds],
                rows_at=self._append(order),
                totals_at=self._append(unset),
                data_at=self._append(words.data),
                offsets_at=self._append(words.offsets),
                counts_at=self._append(words.counts),
            )

    def join(
        self,
        memory_bytes: int,
        *,
        named: Sequence[bytes] = (),
        invalid: bool = False,
        check: Callable[[], None] = lambda: None,
    ) -> Joined:
        """Add up all tables and return the words that fit into `memory_bytes`.

        Words `named` are kept, whatever their count. `check` is called for each part and may
        raise.
        """
        totals, histogram = WordTotals(), _Histogram()
        parts = []
        for part in range(1 << PART_BITS):
            check()
            words = self._added(part, totals.types)
            totals.add(*words, invalid=invalid)
            histogram.add(words)
            parts.append(self._written(words))
        least = histogram.least(memory_bytes)
        kept, places = self._kept(parts, least, named, totals.types)
        if kept.counts.size < 2 <= totals.types:
            raise ResourceError(
                f"the corpus has {totals.types:,} different words, seen too seldom to choose "
                f"among them, and they need {histogram.all_bytes:,} bytes, more than a quarter of "
                "--memory; raise it"
            )
        return Joined(kept, least, totals, places)

    def ranks(self, rank_of: Ids) -> Callable[[int], Ids]:
        """Return what gives, for a table, the rank of each row; rank_of: that of every word."""

        @lru_cache(maxsize=8)  # the pieces of few tables take turns
        def of(owner: int) -> Ids:
            run = self._runs[owner]
            count = int(run.bounds[-1])
            ranks = np.empty(count, np.uint32)
            ranks[self._read(run.rows_at, count, np.uint32)] = rank_of[
                self._read(run.totals_at, count, np.uint32)
            ]
            return ranks

        return of

    def close(self) -> None:
        """Delete the file."""
        if self._spool is not None:
            self._spool.close()

    def _added(self, part: int, first: int) -> Words:
        """Add up a part of all tables; number its words from `first` on."""
        table = WordTable()
        for run in self._runs.values():
            begin, end = int(run.bounds[part]), int(run.bounds[part + 1])
            left, right = int(run.data_bounds[part]), int(run.data_bounds[part + 1])
            offsets = self._read(run.offsets_at + 8 * begin, end - begin + 1, np.int64)
            numbers = table.add(
                self._read(run.data_at + left, right - left, np.uint8),
                offsets - left,
                self._read(run.counts_at + 8 * begin, end - begin, np.int64),
            )
            assert self._spool is not None
            total = (numbers + np.uint32(first)).astype(np.uint32)
            self._spool.write(run.totals_at + 4 * begin, total)
        return Words(table.data, table.offsets, table.counts)

    def _written(self, words: Words) -> tuple[int, int, int, int]:
        """Write a part's words; return their number and where the three arrays begin."""
        data_at, offsets_at, counts_at = (self._append(array) for array in words)
        return words.counts.size, data_at, offsets_at, counts_at

    def _kept(
        self,
        parts: list[tuple[int, int, int, int]],
        least: int,
        named: Sequence[bytes],
        types: int,
    ) -> tuple[Words, Ids]:
        """Read back the words of at least this count, or named; and each word's place there."""
        chosen: list[Words] = []
        places = np.full(types, np.iinfo(np.uint32).max, np.uint32)
        first = kept = 0
        for count, data_at, offsets_at, counts_at in parts:
            offsets = self._read(offsets_at, count + 1, np.int64)
            data = self._read(data_at, int(offsets[-1]), np.uint8)
            words = Words(data, offsets, self._read(counts_at, count, np.int64))
            good = words.counts >= least
            if least > 1 and named:
                good |= _named(words, named)
            rows = np.flatnonzero(good).astype(np.uint32)
            chosen.append(_in_order(words, rows)[0])
            places[first + rows.astype(np.int64)] = kept + np.arange(rows.size, dtype=np.uint32)
            first, kept = first + count, kept + rows.size
        return _together(chosen), np.minimum(places, np.uint32(kept), out=places)

    def _append(self, array: Array) -> int:
        """Write an array behind all others; return where it begins."""
        raw = np.ascontiguousarray(array).view(np.uint8)
        if self._spool is None:
            self._spool = Spool(raw.size, np.uint8, "the counted words")
        begin = self._end
        self._spool.write(begin, raw)
        self._end += raw.size
        return begin

    def _read(self, position: int, count: int, dtype: Any) -> Array:
        assert self._spool is not None
        return self._spool.read(position, count * np.dtype(dtype).itemsize).view(dtype)


def _in_order(words: Words, rows: Ids) -> tuple[Words, Ids]:
    """Return the words of these rows, in this order, and room for a number each."""
    lengths = np.diff(words.offsets)[rows]
    chosen = Words(
        np.empty(int(lengths.sum()), np.uint8),
        np.zeros(rows.size + 1, np.int64),
        np.empty(rows.size, np.int64),
    )
    places = np.empty(words.counts.size, np.uint32)
    gather(
        words.data,
        words.offsets,
        words.counts,
        rows,
        places,
        chosen.counts,
        chosen.offsets,
        chosen.data,
    )
    return chosen, places[: rows.size]


def _together(parts: list[Words]) -> Words:
    """Put words of several arrays into one of each."""
    sizes = np.cumsum([0, *(part.data.size for part in parts)])
    offsets = [part.offsets[:-1] + size for part, size in zip(parts, sizes, strict=False)]
    return Words(
        np.concatenate([part.data for part in parts]),
        np.concatenate([*offsets, sizes[-1:]]),
        np.concatenate([part.counts for part in parts]),
    )


def _named(words: Words, named: Sequence[bytes]) -> npt.NDArray[np.bool_]:
    """Tell which words are among those named."""
    table = WordTable()
    table.scan(b"\0".join(named), ready=True)
    known = len(table)
    return np.asarray(table.add(words.data, words.offsets) < known)
