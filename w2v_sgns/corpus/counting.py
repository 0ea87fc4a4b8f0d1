"""Counts a source on several threads: blocks in, a table of words a thread and all ids out.

The calling thread reads; each worker scans whole blocks into a table of its own, without the
GIL; results are taken in the text's order. Nothing is ordered or pruned here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from w2v_sgns.corpus.pieces import Pieces, own_copy
from w2v_sgns.corpus.source import LINE_BREAK, FileSource
from w2v_sgns.corpus.store import Ids
from w2v_sgns.corpus.table import WordTable

__all__ = ["BLOCK_BYTES", "Counts", "Progress", "Stop", "check_stop", "count_source"]

BLOCK_BYTES = 1 << 20  # about 5 ms of work: large against a block's overhead

Progress = Callable[[int, int], None]  # (bytes done, bytes in all)
Stop = Callable[[], bool]


@dataclass(frozen=True)
class Counts:
    """What counting found: tables[owner] holds the words of every piece of that owner."""

    tables: list[WordTable]
    pieces: Pieces
    lines: int
    bytes_read: int  # of text: byte order marks are none


@dataclass(frozen=True)
class _Scanned:
    """One block's result."""

    ids: Ids
    owner: int
    line_breaks: int
    leading_break: bool


class _Workers:
    """A pool of threads, each scan on a free table; a context manager that always ends them."""

    def __init__(self, threads: int) -> None:
        self.tables = [WordTable() for _ in range(threads)]
        self._free = list(reversed(range(threads)))  # idle tables; the last used is taken first
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="w2v-count")

    def submit(self, block: bytes) -> Future[_Scanned]:
        return self._pool.submit(self._scan, block)

    def _scan(self, block: bytes) -> _Scanned:
        owner = self._free.pop()  # there is one: as many tables as threads
        try:
            ids, line_breaks, leading_break = self.tables[owner].scan(block)
            return _Scanned(own_copy(ids), owner, line_breaks, leading_break)
        finally:
            self._free.append(owner)

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


def check_stop(stop: Stop | None) -> None:
    """Raise KeyboardInterrupt where the caller wants an end."""
    if stop is not None and stop():
        raise KeyboardInterrupt


def count_source(
    source: FileSource,
    pieces: Pieces,
    *,
    threads: int,
    block_bytes: int = BLOCK_BYTES,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> Counts:
    """Read the source once; count its words and lines; append the provisional ids to `pieces`.

    At most `threads` + 1 blocks are in memory at a time.

    Raises:
        CorpusError: the source cannot be read.
        ResourceError: too many words, or no room for the spool.
        KeyboardInterrupt: `stop` said so; the workers have ended.
    """
    lines = bytes_read = 0
    last = LINE_BREAK
    waiting: deque[tuple[Future[_Scanned], int]] = deque()  # with the position behind the block

    def take() -> int:
        """Wait for the oldest block; return its number of line breaks."""
        scan, position = waiting.popleft()
        result = scan.result()
        if result.leading_break:
            pieces.end_line()
        pieces.append(result.ids, result.owner, position / source.size)
        if progress is not None:
            progress(position, source.size)
        return result.line_breaks

    with _Workers(threads) as workers:
        for block in source.blocks(block_bytes):
            check_stop(stop)
            bytes_read += len(block)
            last = block[-1:]
            waiting.append((workers.submit(block), source.position))
            if len(waiting) > threads:
                lines += take()
        while waiting:
            check_stop(stop)
            lines += take()
    pieces.end_line()  # the end of the text ends the last line
    return Counts(workers.tables, pieces, lines + (last != LINE_BREAK), bytes_read)
