"""Parquet: columns word, count, vector, and the nearest rows, as embedding viewers take them.

Needs the package pyarrow (extra `arrow`), which is imported only here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import FormatError, OutputError
from w2v_sgns.formats.rows import Loaded, Rows, Selection
from w2v_sgns.formats.source import Source
from w2v_sgns.vectors.neighbours import nearest

__all__ = ["TITLE", "check_installed", "load", "matches", "write", "write_rows"]

TITLE = "Parquet (.parquet)"
MAGIC = b"PAR1"
WORDS = ("word", "token", "text", "key")  # what others call the columns
VECTORS = ("vector", "embedding", "embeddings", "values")
BATCH_ROWS = 1024
NEIGHBORS = 10
MOST_SEARCHED = 20_000  # rows, unless neighbours are asked for: the time grows with their square


def matches(head: bytes) -> bool:
    """Return whether a file that begins so is Parquet."""
    return head.startswith(MAGIC)


def _pyarrow(what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise FormatError(
            f"{what}: Parquet needs the package pyarrow: pip install 'w2v-sgns[arrow]'"
        ) from None
    return pyarrow


def load(source: Source, selection: Selection, *, keep: bool = True) -> Loaded:
    """Read the wanted rows batch by batch.

    Raises:
        FormatError: damaged, without a column of words or of vectors, or rows of several widths.
        ResourceError: a packed file finds no room on the disk of temporary files.
    """
    path = source.path
    pa = _pyarrow(str(path))
    try:
        with source.whole() as stream, pa.parquet.ParquetFile(stream) as file:
            return _load(file, pa, source, selection, keep)
    except (pa.ArrowException, OSError, OverflowError) as error:
        line = " ".join(str(error).split())
        raise FormatError(f"{path}: the Parquet file is damaged: {line:.300}") from error


def _load(file: Any, pa: Any, source: Source, selection: Selection, keep: bool) -> Loaded:
    schema = file.schema_arrow
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    word = _column(schema, WORDS, lambda kind: any(is_one(kind) for is_one in text))
    vector = _column(schema, VECTORS, lambda kind: _is_vector(pa, kind))
    if word is None or vector is None:
        source.refuse(
            f"columns {', '.join(schema.names[:8])!a:.200}; needed: one of strings (word) and one "
            "of lists of floats (vector)"
        )
    with_counts = "count" in schema.names and pa.types.is_integer(schema.field("count").type)
    names = [word, vector, *(["count"] if with_counts else [])]
    rows: Rows | None = None
    counts: list[int] = []
    seen = 0
    for batch in file.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
        left = len(batch) if selection.limit is None else selection.limit - seen
        batch = batch.slice(0, max(0, min(left, len(batch))))
        if not len(batch):
            break
        block = _vectors(pa, batch.column(vector), source, seen)
        words = [_bytes(value) for value in batch.column(word).to_pylist()]
        rows = rows or Rows(source.path, block.shape[1], keep=keep)
        if block.shape[1] != rows.dim:
            source.refuse(
                f"row {seen + 1:,} has {block.shape[1]:,} numbers, those ahead {rows.dim:,}"
            )
        chosen = [
            row for row, w in enumerate(words) if selection.words is None or w in selection.words
        ]
        if chosen:
            rows.room(len(chosen))[:] = block[chosen]
            rows.add([words[row] for row in chosen], np.array(chosen, np.int64) + seen + 1)
            if with_counts:
                known = batch.column("count").to_pylist()
                counts += [known[row] or 0 for row in chosen]
        seen += len(batch)
    rows = rows or Rows(source.path, 1, keep=keep)
    matrix, vocabulary = rows.finish(np.array(counts, np.int64) if with_counts else None)
    return Loaded(matrix, vocabulary, TITLE, tuple(rows.findings.sentences(rows.count)))


def _column(schema: Any, names: tuple[str, ...], fits: Any) -> str | None:
    """Return the first column of a fitting type, one of these names before others."""
    fitting = [field.name for field in schema if fits(field.type)]
    return next((name for name in (*names, *fitting) if name in fitting), None)


def _is_vector(pa: Any, kind: Any) -> bool:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_one(kind) for is_one in lists) and pa.types.is_floating(kind.value_type)


def _bytes(value: str | bytes | None) -> bytes:
    return value.encode() if isinstance(value, str) else value or b""


def _vectors(pa: Any, column: Any, source: Source, seen: int) -> NDArray[np.float32]:
    """Return the lists of a batch as rows of one width."""
    values = column.flatten()
    if column.null_count or values.null_count:
        source.refuse(f"rows {seen + 1:,} to {seen + len(column):,}: a vector or number is missing")
    width, left = divmod(len(values), len(column))
    widths = {width} if pa.types.is_fixed_size_list(column.type) else set()
    widths = widths or set(column.value_lengths().to_pylist())
    if left or widths != {width} or not width:
        source.refuse(
            f"rows {seen + 1:,} to {seen + len(column):,} have {sorted(widths)!s:.60} numbers; "
            "needed: the same number in all, 1 or more"
        )
    numbers: NDArray[np.float32] = values.to_numpy(zero_copy_only=False).astype(np.float32)
    return numbers.reshape(len(column), width)


def write(
    stream: BinaryIO,
    matrix: NDArray[np.float32],
    vocabulary: Vocabulary,
    *,
    neighbors: int | None = None,
) -> None:
    """Write word, count (where known), vector, and the nearest rows.

    Neighbours are a record of `ids` (rows from 0) and `distances` (1 - cosine), nearest first.

    Args:
        stream: takes the bytes.
        matrix: (V, d).
        vocabulary: V words; valid UTF-8 as strings, else all as bytes.
        neighbors: of each row, 0 for no such column; None: 10 where V is at most 20,000, for the
            search takes V² d steps.

    Raises:
        FormatError: pyarrow is not installed.
        OutputError: pyarrow cannot write.
    """
    pa = _pyarrow("the output")
    if neighbors is None:
        neighbors = NEIGHBORS if len(matrix) <= MOST_SEARCHED else 0
    columns = {"word": pa.string() if _all_text(vocabulary) else pa.binary()}
    if vocabulary.counts is not None:
        columns["count"] = pa.int64()
    columns["vector"] = pa.list_(pa.float32(), matrix.shape[1])
    if neighbors:
        lists = [("ids", pa.list_(pa.int64())), ("distances", pa.list_(pa.float32()))]
        columns["neighbors"] = pa.struct(lists)
    schema = pa.schema(list(columns.items()))
    try:
        with pa.parquet.ParquetWriter(stream, schema) as writer:
            for batch in _batches(pa, schema, matrix, vocabulary, neighbors):
                writer.write_batch(batch)
    except pa.ArrowException as error:
        raise OutputError(f"Parquet cannot be written: {error!s:.300}") from error


def check_installed(what: str) -> None:
    """Refuse Parquet where pyarrow is missing.

    Raises:
        FormatError: pyarrow is not installed.
    """
    _pyarrow(what)


def write_rows(stream: BinaryIO, rows: Iterable[NDArray[np.float32]], dim: int) -> None:
    """Write vectors without words: one column `vector`.

    Args:
        stream: takes the bytes.
        rows: blocks (n, dim).
        dim: numbers in a vector.

    Raises:
        FormatError: pyarrow is not installed.
        OutputError: pyarrow cannot write.
    """
    pa = _pyarrow("the output")
    kind = pa.list_(pa.float32(), dim)
    schema = pa.schema([("vector", kind)])
    try:
        with pa.parquet.ParquetWriter(stream, schema) as writer:
            for some in rows:
                flat = pa.array(np.ascontiguousarray(some).reshape(-1))
                column = pa.FixedSizeListArray.from_arrays(flat, dim)
                writer.write_batch(pa.record_batch([column], schema=schema))
    except pa.ArrowException as error:
        raise OutputError(f"Parquet cannot be written: {error!s:.300}") from error


def _all_text(vocabulary: Vocabulary) -> bool:
    try:
        for word in vocabulary.iter_bytes():
            word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _batches(
    pa: Any, schema: Any, matrix: NDArray[np.float32], vocabulary: Vocabulary, neighbors: int
) -> Iterator[Any]:
    words = vocabulary.iter_bytes()
    for start in range(0, len(matrix), BATCH_ROWS):
        rows = np.ascontiguousarray(matrix[start : start + BATCH_ROWS])
        some = [next(words) for _ in rows]
        text = schema.field("word").type == pa.string()
        columns = [
            pa.array([w.decode() for w in some] if text else some, schema.field("word").type)
        ]
        if vocabulary.counts is not None:
            columns.append(pa.array(vocabulary.counts[start : start + len(rows)]))
        flat = pa.array(rows.reshape(-1))
        columns.append(pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1]))
        if neighbors:
            kind = schema.field("neighbors").type
            columns.append(pa.array(_neighbours(matrix, rows, start, neighbors), kind))
        yield pa.record_batch(columns, schema=schema)


def _neighbours(
    matrix: NDArray[np.float32], rows: NDArray[np.float32], start: int, topn: int
) -> list[dict[str, list[Any]]]:
    own = [[start + place] for place in range(len(rows))]
    found = nearest(matrix, rows, topn=topn, exclude=own)
    return [
        {"ids": [row for row, _ in hits], "distances": [1 - cosine for _, cosine in hits]}
        for hits in found
    ]
