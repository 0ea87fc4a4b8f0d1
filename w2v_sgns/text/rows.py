"""Vectors of texts to a file, block by block: a NumPy array, or a column of a Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.formats import arrow
from w2v_sgns.formats.atomic import Inputs, check_writable, replacing
from w2v_sgns.text.encoder import Encoded

__all__ = ["SUFFIXES", "Written", "check_output", "write_rows"]

SUFFIXES = (".npy", ".parquet")


class Written:
    """What was written: texts, and those of them whose row is zero."""

    def __init__(self) -> None:
        self.texts = self.empty = 0

    def counted(self, encoded: Iterable[Encoded]) -> Iterator[NDArray[np.float32]]:
        """Yield the rows and count."""
        for some in encoded:
            self.texts += len(some.rows)
            self.empty += some.empty
            yield some.rows


def check_output(path: Path, *, force: bool, inputs: Inputs = ()) -> None:
    """Refuse a place or a suffix before the work.

    Raises:
        OutputError: see `formats.atomic.check_writable`.
        FormatError: Parquet without the extra `arrow`.
    """
    check_writable(path, force=force, suffixes=SUFFIXES, inputs=inputs)
    if path.suffix.lower() == SUFFIXES[1]:
        arrow.check_installed("the output")


def write_rows(path: Path, encoded: Iterable[Encoded], dim: int, *, force: bool = False) -> Written:
    """Write float32 (n, d) to .npy, or to .parquet as the column `vector`, a row a text.

    Raises:
        OutputError: the place is refused, or writing fails.
        FormatError: Parquet without the extra `arrow`.
    """
    written = Written()
    rows = written.counted(encoded)
    write: Callable[[BinaryIO, Iterator[NDArray[np.float32]], int], None] = (
        arrow.write_rows if path.suffix.lower() == SUFFIXES[1] else _write_npy
    )
    with replacing(path, force=force, suffixes=SUFFIXES) as stream:
        write(stream, rows, dim)
    return written


def _write_npy(stream: BinaryIO, rows: Iterator[NDArray[np.float32]], dim: int) -> None:
    """Write the header twice: NumPy leaves room in it for any number of rows."""
    count = 0
    _write_header(stream, 0, dim)
    start = stream.tell()
    for some in rows:
        stream.write(np.ascontiguousarray(some, "<f4").data)
        count += len(some)
    stream.seek(0)
    _write_header(stream, count, dim)
    assert stream.tell() == start


def _write_header(stream: BinaryIO, count: int, dim: int) -> None:
    table = {"descr": "<f4", "fortran_order": False, "shape": (count, dim)}
    np.lib.format.write_array_header_1_0(stream, table)
