"""The safetensors container: named arrays and a table of strings in one file.

Layout: 8 bytes little-endian header length, a JSON header padded with blanks, then the arrays
one after another without holes. Rows are written in blocks straight from strided (padded)
matrices; reading maps the file and copies nothing. What the arrays mean is native.py's business.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import FormatError
from w2v_sgns.formats.source import Source

__all__ = ["Container", "read", "write"]

ALIGNMENT = 64  # the data begins at a multiple of this many bytes
MAX_HEADER = 100_000_000  # bytes; other readers stop there too
MAX_DIMENSIONS = 32  # what every supported NumPy can hold
BLOCK_BYTES = 1 << 20

# Types NumPy lacks travel as records of raw integers, so that they can be kept on rewriting.
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
    "C64": np.dtype("<c8"),
    "BF16": np.dtype([("BF16", "<u2")]),
    "F8_E4M3": np.dtype([("F8_E4M3", "u1")]),
    "F8_E5M2": np.dtype([("F8_E5M2", "u1")]),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True)
class Container:
    """What a file holds; the tensors are read-only views of the mapped file."""

    tensors: dict[str, NDArray[Any]]
    metadata: dict[str, str]


@dataclass(frozen=True)
class _Entry:
    """Where one tensor lies: bytes `start` to `stop` of the data."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


# --- writing ---------------------------------------------------------------------------------


def write(
    stream: BinaryIO, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> None:
    """Write arrays of any strides and a table of strings.

    Wide items come first, so that every array is aligned to its item size.

    Raises:
        FormatError: an array's type has no name in this format.
        OSError: the stream cannot take the bytes.
    """
    order = sorted(tensors, key=lambda name: -tensors[name].dtype.itemsize)
    stream.write(_header({name: tensors[name] for name in order}, metadata))
    for name in order:
        _write_rows(stream, tensors[name])


def _header(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    start = 0
    for name, array in tensors.items():
        stop = start + array.nbytes
        shape, dtype = list(array.shape), _type_name(name, array.dtype)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(header, separators=(",", ":")).encode()
    length = -(-(8 + len(text)) // ALIGNMENT) * ALIGNMENT - 8
    if length > MAX_HEADER:
        raise FormatError(f"the header would take {length:,} bytes; {MAX_HEADER:,} are allowed")
    return length.to_bytes(8, "little") + text.ljust(length)


def _type_name(name: str, dtype: np.dtype[Any]) -> str:
    little = dtype.newbyteorder("<")
    if little not in NAMES:
        raise FormatError(f"tensor {name!r}: safetensors has no type for {dtype}")
    return NAMES[little]


def _write_rows(stream: BinaryIO, array: NDArray[Any]) -> None:
    if not array.size:
        return
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(1, BLOCK_BYTES * len(rows) // array.nbytes)
    dtype = array.dtype.newbyteorder("<")
    for start in range(0, len(rows), step):
        stream.write(np.ascontiguousarray(rows[start : start + step], dtype).data)


# --- reading ---------------------------------------------------------------------------------


def read(source: Source) -> Container:
    """Map a file; nothing is allocated, unpacked or mapped before the header is checked.

    Raises:
        FormatError: the header lies, overlaps, leaves holes or does not fit the file.
        ResourceError: a packed file finds no room on the disk of temporary files.
    """
    path = source.path
    header = _read_header(source)
    metadata = _checked_metadata(header.pop("__metadata__", {}), path)
    entries = [_entry(name, fields, path) for name, fields in header.items()]
    needed = _covered(entries, path)
    if source.remaining is not None:
        _check_size(needed, source.remaining, path)
    data = source.mapped(needed)
    tensors = {
        entry.name: data[entry.start : entry.stop].view(entry.dtype).reshape(entry.shape)
        for entry in entries
    }
    return Container(tensors, metadata)


def _read_header(source: Source) -> dict[str, Any]:
    """Return the parsed header; the data come next."""
    path, size = source.path, source.size
    raw = source.read(8)
    length = int.from_bytes(raw, "little")
    most = MAX_HEADER if size is None else min(size - 8, MAX_HEADER)
    text = source.read(length) if len(raw) == 8 and length <= most else b""
    if len(raw) < 8 or len(text) < length:
        found = f"{source.position if size is None else size:,}"
        raise FormatError(
            f"{path}: byte 0: the header is said to take {length:,} bytes, but the file has "
            f"{found} (and {MAX_HEADER:,} is the most); it is cut short or no safetensors file"
        )
    try:
        header = json.loads(text.decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: byte 8: the header is no valid JSON: {error}") from error
    if not isinstance(header, dict):
        raise FormatError(f"{path}: byte 8: the header is a {type(header).__name__}, not a table")
    return header


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, value in pairs:
        if name in table:
            raise ValueError(f"{name!a:.80} stands there twice")
        table[name] = value
    return table


def _checked_metadata(metadata: Any, path: Path) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise FormatError(f"{path}: the header's __metadata__ must hold strings only")
    return metadata


def _entry(name: str, fields: Any, path: Path) -> _Entry:
    where = f"{path}: tensor {name!a:.80}"
    if not isinstance(fields, dict) or set(fields) != {"dtype", "shape", "data_offsets"}:
        raise FormatError(f"{where}: needs exactly dtype, shape and data_offsets in the header")
    dtype = DTYPES.get(fields["dtype"]) if isinstance(fields["dtype"], str) else None
    if dtype is None:
        raise FormatError(
            f"{where}: unknown type {fields['dtype']!a:.40}; known: {', '.join(DTYPES)}"
        )
    shape, offsets = fields["shape"], fields["data_offsets"]
    if not _whole_numbers(shape) or not _whole_numbers(offsets) or len(offsets) != 2:
        raise FormatError(f"{where}: shape and data_offsets must be lists of whole numbers from 0")
    if len(shape) > MAX_DIMENSIONS or math.prod(max(1, n) for n in shape) >= 2**56:
        raise FormatError(f"{where}: no array can have the shape {shape!s:.80}")
    start, stop = offsets
    needed = math.prod(shape) * dtype.itemsize
    if stop - start != needed:
        raise FormatError(
            f"{where}: {tuple(shape)} of {fields['dtype']} needs {needed:,} bytes, "
            f"the header gives it {stop - start:,}"
        )
    return _Entry(name, dtype, tuple(shape), start, stop)


def _whole_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(n) is int and 0 <= n < 2**63 for n in values)


def _covered(entries: list[_Entry], path: Path) -> int:
    """Return how many bytes the tensors take; refuse those that overlap or leave holes."""
    place = 0
    for entry in sorted(entries, key=lambda entry: (entry.start, entry.stop)):
        if entry.start != place:
            fault = "overlaps the one before it" if entry.start < place else "leaves a hole"
            raise FormatError(
                f"{path}: tensor {entry.name!a:.80}: begins at byte {entry.start:,} of the data "
                f"and {fault}, needed: {place:,}"
            )
        place = entry.stop
    return place


def _check_size(needed: int, size: int, path: Path) -> None:
    if needed != size:
        raise FormatError(
            f"{path}: the header describes {needed:,} bytes of data, the file has {size:,}; "
            + ("it is cut short" if size < needed else "something was appended to it")
        )
