"""A NumPy array (.npy) with its words in a text file beside it, one a line.

The array's header is read with `ast.literal_eval`, never unpickled; the rows are mapped.
"""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.formats.findings import Findings, plural
from w2v_sgns.formats.partial import select
from w2v_sgns.formats.rows import Loaded, Selection
from w2v_sgns.formats.source import Source

__all__ = ["TITLE", "load", "matches", "words_path", "write"]

TITLE = "NumPy array (.npy) with a file of words beside it"
MAGIC = b"\x93NUMPY"
SUFFIXES = (".words.txt", ".words", ".vocab")  # of the words' file
MOST_HEADER = 1 << 16
TYPES = ("<f4", ">f4", "<f8", ">f8", "<f2", ">f2")


def matches(head: bytes) -> bool:
    """Return whether a file that begins so is a NumPy array."""
    return head.startswith(MAGIC)


def words_path(path: Path) -> Path:
    """Return where the words of an array are written."""
    return path.with_suffix(SUFFIXES[0])


def load(source: Source, selection: Selection, *, keep: bool = True) -> Loaded:
    """Map the array, read the words.

    Raises:
        FormatError: not a matrix of floats, cut short, or no words for its rows.
        ResourceError: a packed file finds no room on the disk of temporary files.
    """
    dtype, shape, order, start = _header(source)
    size = math.prod(shape) * dtype.itemsize
    if source.size not in (None, start + size):
        source.refuse(
            f"the header promises {shape[0]:,} × {shape[1]:,} numbers, {start + size:,} bytes in "
            f"all; the file has {source.size:,}",
            byte=start,
        )
    words, notes = _words(source, shape[0])
    source.read(start)
    stored = source.mapped(size).view(dtype).reshape(shape, order=order)
    # Rows stored column by column are copied: everything else reads along rows.
    matrix: NDArray[np.float32] = stored[: None if keep else 0].astype(
        np.float32, order="C", copy=order == "F"
    )
    loaded = Loaded(matrix, words, "NumPy .npy + words", tuple(notes), dtype.name)
    return select(loaded, selection)


def _header(source: Source) -> tuple[np.dtype[Any], tuple[int, int], Literal["C", "F"], int]:
    """Return type, shape, order in memory and the byte where the numbers begin."""
    head = source.head
    wide = 4 if head[6:7] in (b"\2", b"\3") else 2
    length = int.from_bytes(head[8 : 8 + wide], "little")
    start = 8 + wide + length
    if head[6:7] not in (b"\1", b"\2", b"\3") or start > min(len(head), MOST_HEADER):
        source.refuse("the header of the array is damaged, or of an unknown version", byte=6)
    try:
        table = ast.literal_eval(head[8 + wide : start].decode("latin-1").strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        source.refuse("the header of the array is damaged", byte=8 + wide)
    if not isinstance(table, dict) or set(table) != {"descr", "fortran_order", "shape"}:
        source.refuse("the header of the array is damaged", byte=8 + wide)
    descr, shape = table["descr"], table["shape"]
    if descr == "|O" or (isinstance(descr, str) and "O" in descr):
        source.refuse(
            "an array of Python objects, which is never opened because it can run code; needed: "
            "numbers, as of array.astype('float32')"
        )
    if descr not in TYPES:
        source.refuse(f"an array of {descr!a:.40}; needed: float32, float64 or float16")
    whole = isinstance(shape, tuple) and all(type(n) is int and 0 <= n < 2**48 for n in shape)
    if not whole or len(shape) != 2 or not shape[1] or type(table["fortran_order"]) is not bool:
        source.refuse(f"an array of shape {shape!a:.60}; needed: (words, numbers)")
    return np.dtype(descr), shape, "F" if table["fortran_order"] else "C", start


def _words(source: Source, rows: int) -> tuple[Vocabulary, list[str]]:
    stems = [source.path, source.path.with_suffix("")]  # the second of v.npy.gz
    places = [stem.with_suffix(suffix) for stem in stems for suffix in SUFFIXES]
    places = list(dict.fromkeys(places[: None if source.packed else len(SUFFIXES)]))
    place = next((place for place in places if place.is_file()), None)
    if place is None:
        source.refuse(
            f"no words: an array needs {' or '.join(place.name for place in places)} beside it, "
            "a word a line"
        )
    lines: list[bytes] = []
    with Source(place) as listed:
        data = b""
        if listed.size is not None and listed.size > (1 << 20) * (rows + 1):
            listed.refuse(f"{listed.size:,} bytes are too many for {plural(rows, 'word')}")
        while piece := listed.read(1 << 20):
            *whole, data = (data + piece).split(b"\n")
            lines += whole
            if len(lines) > rows or len(data) > 1 << 20:
                listed.refuse(f"more than {plural(rows, 'word')}, or one of more than 1 MiB")
    if data:
        lines.append(data)
    if len(lines) != rows:
        listed.refuse(f"{plural(len(lines), 'word')}, but the array has {plural(rows, 'row')}")
    words = [line.removesuffix(b"\r") for line in lines]
    findings = Findings()
    seen: set[bytes] = set()
    twice = [row for row, word in enumerate(words, 1) if word in seen or seen.add(word)]  # type: ignore[func-returns-value]
    if twice:
        findings.add("twice", twice)
    return Vocabulary.from_words(words), findings.sentences(rows)


def write(
    numbers: BinaryIO,
    words: BinaryIO,
    matrix: NDArray[np.float32],
    vocabulary: Vocabulary,
    *,
    dtype: str = "float32",
) -> None:
    """Write the array and the words.

    Args:
        numbers: takes the array.
        words: takes the words.
        matrix: (V, d).
        vocabulary: V words, none with a line end.
        dtype: float32 or float16.
    """
    kind = np.dtype("<f2" if dtype == "float16" else "<f4")
    table = {"descr": kind.str, "fortran_order": False, "shape": matrix.shape}
    np.lib.format.write_array_header_1_0(numbers, table)
    for start in range(0, len(matrix), 4096):
        numbers.write(np.ascontiguousarray(matrix[start : start + 4096], kind).data)
    for word in vocabulary.iter_bytes():
        words.write(word + b"\n")
