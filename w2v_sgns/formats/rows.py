"""Rows on their way into memory: a matrix that grows with what was read, and words.

Nothing is allocated on a header's word alone, and reading stops before the memory is used up. Of
rows with the same word the first is kept. Where rows come from is the readers' business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ResourceError
from w2v_sgns.formats.findings import Findings
from w2v_sgns.machine import available_memory, human_bytes

__all__ = ["ALL", "Loaded", "Rows", "Selection"]

STEP_BYTES = 1 << 25  # most the matrix grows at once beyond what it holds
SPARE_BYTES = 1 << 27  # of memory that is left to others
ROW_BYTES = 24  # kept of a row beside its numbers and letters
BLOCK_ROWS = 1 << 12
# Sums of squares outside are looked at again: they may have vanished or overflowed.
SMALLEST, LARGEST = 1e-30, 1e37


@dataclass(frozen=True)
class Selection:
    """Which rows are wanted: the first `limit`, of these `words` (bytes); None: all."""

    limit: int | None = None
    words: frozenset[bytes] | None = None


ALL = Selection()


@dataclass(frozen=True)
class Loaded:
    """Vectors as they came from a file.

    Attributes:
        matrix: float32 (V, d); may be a mapped file, then read-only. Empty where only the
            findings were asked for.
        vocabulary: the words of the rows; counts where the format carries them.
        notes: sentences on what is odd about the file.
        format: its name, for people.
        dtype: how it stores numbers.
        story: how they came about, where the file tells.
        weights: float32 (V,), what each word counts in a text; None: all the same.
        log_scale: t of a tuning on pairs, whose logits are e^t times a cosine.
    """

    matrix: NDArray[np.float32]
    vocabulary: Vocabulary
    format: str
    notes: tuple[str, ...] = ()
    dtype: str = "float32"
    story: dict[str, Any] = field(default_factory=dict)
    weights: NDArray[np.float32] | None = None
    log_scale: float | None = None

    @property
    def two_towers(self) -> bool:
        """Whether queries and documents have rows of their own: E and Ep."""
        pairs = self.story.get("pairs")
        return isinstance(pairs, dict) and pairs.get("towers") == 2


class Rows:
    """Collects rows of `dim` numbers with their words.

    Args:
        source: where they come from, for messages.
        dim: numbers a row.
        expected: rows to make room for at once; the caller has made sure that the file could
            hold them.
        keep: False: numbers are looked at, not kept.

    Raises (all members):
        ResourceError: the rows would not leave enough memory free.
    """

    def __init__(self, source: Path, dim: int, *, expected: int = 0, keep: bool = True) -> None:
        self.dim = dim
        self.count = 0
        self.findings = Findings()
        self._source, self._keep = source, keep
        self._unchecked = 0  # bytes taken since the free memory was last looked at
        if expected and keep:
            self._check_memory(4 * dim * expected)
        self._matrix = np.empty((expected if keep else 0, dim), np.float32)
        self._letters = bytearray()
        self._lengths: list[NDArray[np.int64]] = []
        self._hashes: list[NDArray[np.int64]] = []
        self._numbers: list[NDArray[np.int64]] = []  # of the rows in the file, from 1

    def room(self, count: int) -> NDArray[np.float32]:
        """Return the place for the next rows, (count, dim); valid until the next call."""
        needed = (self.count if self._keep else 0) + count
        if needed > len(self._matrix):
            spare = min(needed // 8, STEP_BYTES // (4 * self.dim)) if self._keep else 0
            self._matrix.resize((needed + spare, self.dim), refcheck=False)
        return self._matrix[needed - count : needed]

    def add(self, words: list[bytes], numbers: NDArray[np.int64]) -> None:
        """Take in the rows just written to :meth:`room`; `numbers` count from 1 in the file."""
        rows = self.room(len(words))
        self._look_at(rows, numbers)
        self._look_at_words(words, numbers)
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        self._letters += b"".join(words)
        self._lengths.append(lengths)
        self._hashes.append(np.fromiter(map(hash, words), np.int64, len(words)))
        self._numbers.append(numbers)
        self.count += len(words)
        self._unchecked += int(lengths.sum()) + ROW_BYTES * len(words) + rows.nbytes * self._keep
        if self._unchecked > STEP_BYTES:
            self._check_memory(STEP_BYTES)

    def _check_memory(self, needed: int) -> None:
        """Stop before the memory that others need is taken."""
        self._unchecked = 0
        free = available_memory()
        if needed + SPARE_BYTES > free:
            raise ResourceError(
                f"{self._source}: needs {human_bytes(needed)} more of memory after {self.count:,} "
                f"rows, {human_bytes(free)} are free; read some of it: w2v export --limit N"
            )

    def _look_at(self, rows: NDArray[np.float32], numbers: NDArray[np.int64]) -> None:
        with np.errstate(all="ignore"):
            squares = np.einsum("ij,ij->i", rows, rows)
            odd = np.flatnonzero(~((squares > SMALLEST) & (squares < LARGEST)))
            finite = np.isfinite(rows[odd]).all(axis=1)
            zero = (rows[odd] == 0).all(axis=1)
        if len(odd):
            for kind, hit in (("finite", ~finite), ("zero", zero)):
                if hit.any():
                    self.findings.add(kind, numbers[odd[hit]].tolist())

    def _look_at_words(self, words: list[bytes], numbers: NDArray[np.int64]) -> None:
        try:
            b" ".join(words).decode()
        except UnicodeDecodeError:
            bad = [number for word, number in zip(words, numbers, strict=True) if not _valid(word)]
            self.findings.add("text", [int(number) for number in bad])

    def finish(
        self, counts: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float32], Vocabulary]:
        """Return the matrix (V, d) and the words, without the duplicates.

        Args:
            counts: of all rows taken in, where they are known.
        """
        total = self.count
        if self._keep:
            self._matrix.resize((total, self.dim), refcheck=False)
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        self._lengths.clear()
        offsets = np.cumsum(lengths, out=lengths)
        data = np.frombuffer(self._letters, np.uint8)
        twice = _duplicates(_joined(self._hashes), offsets, self._letters)
        if len(twice):
            numbers = _joined(self._numbers)
            self.findings.add("twice", numbers[twice].tolist())
            keep = np.delete(np.arange(total), twice)
            data, offsets = _some_words(data, offsets, keep)
            counts = None if counts is None else counts[keep]
            self._compact(keep)
        matrix = self._matrix if self._keep else np.empty((0, self.dim), np.float32)
        return matrix, Vocabulary(data, offsets, counts)

    def _compact(self, keep: NDArray[np.int64]) -> None:
        if not self._keep:
            return
        for start in range(0, len(keep), BLOCK_ROWS):
            some = keep[start : start + BLOCK_ROWS]
            self._matrix[start : start + len(some)] = self._matrix[some]
        self._matrix.resize((len(keep), self.dim), refcheck=False)


def _valid(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    joined = np.concatenate([np.empty(0, np.int64), *parts])
    parts.clear()
    return joined


def _duplicates(
    hashes: NDArray[np.int64], offsets: NDArray[np.int64], letters: bytearray
) -> NDArray[np.int64]:
    """Return the rows, rising, whose word stands in an earlier row."""
    ordered = np.sort(hashes)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.empty(0, np.int64)
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    suspects = np.unique(np.concatenate([order[1:][same], order[:-1][same]]))
    seen: set[bytes] = set()
    twice = []
    for row in suspects.tolist():
        word = bytes(letters[offsets[row] : offsets[row + 1]])
        if word in seen:
            twice.append(row)
        seen.add(word)
    return np.array(twice, np.int64)


def _some_words(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes and offsets of the words of some rows."""
    lengths = np.diff(offsets)
    chosen = np.zeros(len(lengths), bool)
    chosen[rows] = True
    kept = np.concatenate([np.zeros(1, np.int64), lengths[rows]])
    return data[np.repeat(chosen, lengths)], np.cumsum(kept)
