"""Counts a source on several threads: blocks in, a table of words a thread and all ids out.

The calling thread reads (and decompresses, which leaves the GIL to others); each worker scans
whole blocks into a table of its own, without the GIL; results are taken in the text's order.
A table that is full moves to the disk (see :mod:`overflow`). Nothing is ordered here.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.normalize import normalizer
from w2v_sgns.corpus.overflow import Overflow
from w2v_sgns.corpus.pieces import Pieces, own_copy
from w2v_sgns.corpus.refusals import nul_advice
from w2v_sgns.corpus.source import LINE_BREAK, Block, Source
from w2v_sgns.corpus.store import Ids
from w2v_sgns.corpus.table import WordTable
from w2v_sgns.errors import CorpusError

__all__ = ["BLOCK_BYTES", "Counts", "Progress", "Stop", "check_stop", "count_source", "refuse_nul"]

BLOCK_BYTES = 1 << 20  # about 5 ms of work: large against a block's overhead
LEAST_TABLE = 1 << 20  # bytes: tables smaller than this are not worth a place on the disk

Progress = Callable[[int, int], None]  # (bytes done, bytes in all; 0: not known)
Stop = Callable[[], bool]


@dataclass
class Counts:
    """What counting found: tables[owner] holds the words of every piece of that owner.

    Either all tables are in memory, or all have moved to `overflow`.
    """

    tables: list[WordTable]
    pieces: Pieces
    overflow: Overflow
    lines: int = 0
    bytes_read: int = 0  # of text as UTF-8: byte order marks are none
    long_tokens: int = 0  # dropped: more bytes than allowed
    invalid_place: str | None = None  # of the first word that is no UTF-8
    empty: list[str] = field(default_factory=list)  # members without a byte of text


@dataclass(frozen=True)
class _Scanned:
    """One block's result."""

    file: int
    size: int  # bytes of text
    last: bytes  # the last of them
    ids: Ids
    owner: int
    line_breaks: int
    leading_break: bool
    dropped: int
    invalid_line: int


EMPTY = WordTable()  # in the place of a table that is on the disk


class _Workers:
    """A pool of threads, each scan on a free table; a context manager that always ends them."""

    def __init__(
        self, threads: int, text: TextOptions, overflow: Overflow, table_bytes: int | None
    ) -> None:
        self.tables = [WordTable() for _ in range(threads)]
        self._overflow, self._lock = overflow, threading.Lock()
        self._most_bytes = None if table_bytes is None else max(table_bytes // threads, LEAST_TABLE)
        self._most = text.max_token_bytes
        self._normalize = normalizer(text)
        self._free = list(reversed(range(threads)))  # idle tables; the last used is taken first
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="w2v-count")

    def submit(self, block: Block) -> Future[_Scanned]:
        return self._pool.submit(self._scan, block)

    def _scan(self, block: Block) -> _Scanned:
        data = block.data
        if self._normalize is not None and not block.ready:
            data = self._normalize(data)
        owner = self._free.pop()  # there is one: as many tables as threads
        try:
            found = self.tables[owner].scan(data, ready=block.ready, most=self._most)
            return _Scanned(
                block.file,
                len(block.data),
                block.data[-1:],
                own_copy(found.ids),
                owner,
                found.line_breaks,
                found.leading_break,
                found.dropped,
                found.invalid_line,
            )
        finally:
            self._free.append(self._relieved(owner))

    def _relieved(self, owner: int) -> int:
        """Return the number of a table with room: the same, or a new one if it is full."""
        table = self.tables[owner]
        if self._most_bytes is None or table.size_bytes <= self._most_bytes:
            return owner
        self._overflow.put(owner, table)
        with self._lock:
            self.tables[owner] = EMPTY
            self.tables.append(WordTable())
            return len(self.tables) - 1

    def relieve_all(self) -> None:
        """Move what is left to the disk, where anything has gone there."""
        if self._overflow:
            for owner, table in enumerate(self.tables):
                if table is not EMPTY:
                    self._overflow.put(owner, table)
            self.tables.clear()

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


def check_stop(stop: Stop | None) -> None:
    """Raise KeyboardInterrupt where the caller wants an end."""
    if stop is not None and stop():
        raise KeyboardInterrupt


class _Tally:
    """Adds up the blocks' results in the text's order; knows the line and the file it is at."""

    def __init__(self, counts: Counts, source: Source) -> None:
        self.counts, self.source = counts, source
        self._file = -1
        self._file_lines = 0  # line breaks of the current file
        self._last = LINE_BREAK

    def take(self, scanned: _Scanned, share: float) -> None:
        """Take the next block's result."""
        name = self.source.names[scanned.file]
        if scanned.file != self._file:
            self._end_file()
            self._file = scanned.file
            if not scanned.size:
                self.counts.empty.append(name)
        if scanned.leading_break:
            self.counts.pieces.end_line()
        self.counts.pieces.append(scanned.ids, scanned.owner, share)
        self.counts.long_tokens += scanned.dropped
        if scanned.invalid_line >= 0 and self.counts.invalid_place is None:
            line = self._file_lines + scanned.invalid_line + 1
            where = f" of {name}" if len(self.source.members) > 1 else ""
            self.counts.invalid_place = f"line {line:,}{where}"
        self._file_lines += scanned.line_breaks
        self.counts.bytes_read += scanned.size
        if scanned.size:
            self._last = scanned.last

    def end(self) -> None:
        """Take the end of the text: it ends the last line."""
        self._end_file()

    def _end_file(self) -> None:
        ends = self._file < 0 or self.source.members[self._file].ends_line
        if ends:
            self.counts.pieces.end_line()
        self.counts.lines += self._file_lines + (ends and self._last != LINE_BREAK)
        self._file_lines, self._last = 0, LINE_BREAK


def count_source(
    source: Source,
    pieces: Pieces,
    *,
    threads: int,
    block_bytes: int = BLOCK_BYTES,
    overflow: Overflow | None = None,
    table_bytes: int | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> Counts:
    """Read the source once; count its words and lines; append the provisional ids to `pieces`.

    At most `threads` + 1 blocks are in memory at a time. Tables that exceed `table_bytes`
    together go to `overflow`, which the caller closes.

    Raises:
        CorpusError: the source cannot be read, or holds NUL bytes.
        StreamError: a compressed file is damaged.
        ResourceError: too many words, or no room for the spool.
        KeyboardInterrupt: `stop` said so; the workers have ended.
    """
    waiting: deque[tuple[Future[_Scanned], int]] = deque()  # with the position behind the block
    if overflow is None:
        overflow = Overflow()
    with _Workers(threads, source.text, overflow, table_bytes) as workers:
        counts = Counts(workers.tables, pieces, overflow)
        tally = _Tally(counts, source)

        def take() -> None:
            """Wait for the oldest block."""
            scan, position = waiting.popleft()
            size = source.size
            tally.take(scan.result(), position / size if size else 0.5)
            if progress is not None:
                progress(position, size)

        for block in source.blocks(block_bytes):
            check_stop(stop)
            refuse_nul(block, source)
            waiting.append((workers.submit(block), source.position))
            del block  # or its bytes would wait for the next one
            if len(waiting) > threads:
                take()
        while waiting:
            check_stop(stop)
            take()
        tally.end()
    workers.relieve_all()
    return counts


def refuse_nul(block: Block, source: Source) -> None:
    """Refuse text with NUL bytes: it is UTF-16 without its mark, or no text at all.

    Raises:
        CorpusError: names the file and the byte.
    """
    place = -1 if block.ready else block.data.find(0)
    if place < 0:
        return
    advice = nul_advice(block.data, place, whole=block.offset == 0)
    raise CorpusError(
        f"{source.names[block.file]}: byte {block.offset + place:,} of the text is a NUL; {advice}"
    )
