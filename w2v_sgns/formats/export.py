"""Vectors out: which matrix, in which format, with what is lost said.

The formats' modules write the bytes, atomic.py puts the files in place. A word that a format
cannot hold is refused before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, OutputError
from w2v_sgns.formats import arrow, binary, folder, native, npy, projector, text
from w2v_sgns.formats.atomic import Inputs, replacing, replacing_all
from w2v_sgns.formats.blanks import BLANKS
from w2v_sgns.formats.findings import listed, plural
from w2v_sgns.formats.narrow import largest_error

__all__ = ["FORMATS", "Written", "format_named", "with_neighbors", "write", "write_stream"]

MOST_WORD = text.MOST_WORD
A_BLANK = "a blank"
DTYPES = ("float32", "float16", "int8")

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        format: its title.
        files: all of them.
        error: the largest relative error of a row that a narrow dtype made; None: exact.
    """

    format: str
    files: tuple[Path, ...]
    error: float | None = None


@dataclass(frozen=True)
class Format:
    """A way to write.

    Attributes:
        name: for --format.
        title: for people.
        suffixes: that mean this format.
        write: takes a stream, rows and words where the format is one stream.
        forbidden: bytes that no word may hold.
        dtypes: that it can store.
    """

    name: str
    title: str
    suffixes: tuple[str, ...] = ()
    write: Callable[[BinaryIO, Matrix, Vocabulary], None] | None = None
    forbidden: bytes = b""
    dtypes: tuple[str, ...] = ("float32",)


def _glove(stream: BinaryIO, matrix: Matrix, words: Vocabulary) -> None:
    text.write(stream, matrix, words, header=False)


FORMATS = (
    Format("safetensors", native.TITLE, (".safetensors",), dtypes=DTYPES),
    Format("text", "word2vec text", (".txt", ".vec"), text.write, BLANKS),
    Format("binary", "word2vec binary", (".bin",), binary.write, BLANKS),
    Format("glove", "GloVe text", (), _glove, BLANKS),
    Format("npy", "NumPy .npy + words", (".npy",), forbidden=b"\n", dtypes=DTYPES[:2]),
    Format("tsv", "TensorBoard projector TSV", (".tsv",)),
    Format("parquet", arrow.TITLE, (".parquet",), arrow.write),
    Format("folder", folder.TITLE, forbidden=BLANKS),
)


def format_named(name: str | None, path: Path | str) -> Format:
    """Return the format of that name, or the one that the path's suffix means.

    Raises:
        ConfigError: no such format, or a suffix that means none.
    """
    names = ", ".join(known.name for known in FORMATS)
    if name is not None:
        found = next((known for known in FORMATS if known.name == name), None)
        if found is None:
            raise ConfigError(f"--format must be one of {names}, not {name!r}")
        return found
    suffix = Path(path).suffix.lower()
    found = next((known for known in FORMATS if suffix in known.suffixes), None)
    if found is None:
        raise ConfigError(
            f"{path}: the suffix {suffix!r} means no format; name one with --format: {names}"
        )
    return found


def with_neighbors(kind: Format, neighbors: int) -> Format:
    """Return the Parquet format with so many neighbours of each row, however many rows.

    Raises:
        ConfigError: another format, or less than 0.
    """
    if kind.name != "parquet":
        raise ConfigError(f"--neighbors is for parquet; {kind.title} has no place for them")
    if neighbors < 0:
        raise ConfigError(f"--neighbors must be at least 0, not {neighbors}")
    return replace(kind, write=partial(arrow.write, neighbors=neighbors))


def write(
    path: Path | str,
    matrix: Matrix,
    vocabulary: Vocabulary,
    *,
    kind: Format | None = None,
    dtype: str = "float32",
    weights: NDArray[np.float32] | None = None,
    log_scale: float | None = None,
    force: bool = False,
    inputs: Inputs = (),
) -> Written:
    """Write vectors to a file, two files or a folder, whole or not at all.

    Args:
        path: the file; its suffix names the format unless `kind` does.
        matrix: float32 (V, d).
        vocabulary: V words.
        kind: the format, from :func:`format_named`.
        dtype: float32, or float16 and int8 where the format has them.
        weights: (V,), what each word counts in a text; safetensors and a folder keep it.
        log_scale: of a tuning on pairs; safetensors and a folder keep it.
        force: replace what is there.
        inputs: files that are never replaced: what the vectors were read from.

    Raises:
        OutputError: the place or a word is refused, or writing fails.
        ConfigError: the format has no such dtype.
    """
    path = Path(path)
    kind = kind or format_named(None, path)
    error = check(kind, matrix, vocabulary, dtype)
    files: tuple[Path, ...] = (path,)
    if kind.name == "npy":
        files = (path, npy.words_path(path))
        with replacing_all(files, force=force, inputs=inputs) as (numbers, words):
            npy.write(numbers, words, matrix, vocabulary, dtype=dtype)
    elif kind.name == "tsv":
        files = (path, projector.metadata_path(path))
        with replacing_all(files, force=force, inputs=inputs) as (numbers, words):
            projector.write(numbers, words, matrix, vocabulary)
    elif kind.name == "folder":
        files = folder.write(
            path,
            matrix,
            vocabulary,
            weights=weights,
            log_scale=log_scale,
            force=force,
            inputs=inputs,
        )
    else:
        with replacing(path, force=force, suffixes=None, inputs=inputs) as stream:
            parts = {"weights": weights, "log_scale": log_scale}
            _write_one(stream, kind, matrix, vocabulary, dtype, error, **parts)
    return Written(kind.title, files, error)


def write_stream(
    stream: BinaryIO,
    matrix: Matrix,
    vocabulary: Vocabulary,
    *,
    kind: Format,
    dtype: str = "float32",
    weights: NDArray[np.float32] | None = None,
    log_scale: float | None = None,
) -> Written:
    """Write vectors to an open stream, such as stdout; see :func:`write`.

    Raises:
        ConfigError: the format needs files, or has no such dtype.
        OutputError: a word is refused.
        OSError: the stream cannot take the bytes.
    """
    if kind.write is None and kind.name != "safetensors":
        raise ConfigError(f"--format {kind.name} needs a place with a name, not a stream")
    error = check(kind, matrix, vocabulary, dtype)
    parts = {"weights": weights, "log_scale": log_scale}
    _write_one(stream, kind, matrix, vocabulary, dtype, error, **parts)
    return Written(kind.title, (), error)


def _write_one(
    stream: BinaryIO,
    kind: Format,
    matrix: Matrix,
    vocabulary: Vocabulary,
    dtype: str,
    error: float | None,
    **parts: Any,
) -> None:
    if kind.write is not None:
        kind.write(stream, matrix, vocabulary)
        return
    story = {} if error is None else {"dtype": dtype, "largest_error": error}
    native.write_vectors(stream, matrix, vocabulary, dtype=dtype, provenance=story, **parts)


def check(kind: Format, matrix: Matrix, vocabulary: Vocabulary, dtype: str) -> float | None:
    """Refuse what the format cannot hold; return what the dtype loses (see :class:`Written`).

    Raises:
        ConfigError: the format has no such dtype.
        OutputError: a word or a number cannot be written.
    """
    if dtype not in kind.dtypes:
        raise ConfigError(
            f"--dtype must be one of {', '.join(kind.dtypes)} for {kind.title}, not {dtype!r}"
        )
    _check_words(kind, vocabulary)
    return None if dtype == "float32" else largest_error(matrix, dtype)


def _check_words(kind: Format, vocabulary: Vocabulary) -> None:
    if kind.forbidden:
        table = np.zeros(256, bool)
        table[list(kind.forbidden)] = True
        hits = np.flatnonzero(table[vocabulary.data])
        rows = np.unique(np.searchsorted(vocabulary.offsets, hits, side="right") - 1)
        blanks = kind.forbidden == BLANKS
        _refuse_words(kind, vocabulary, rows, A_BLANK if blanks else "a line end")
    long = np.flatnonzero(np.diff(vocabulary.offsets) > MOST_WORD)
    _refuse_words(kind, vocabulary, long, f"more than {MOST_WORD:,} bytes")
    if kind.name == "glove" and len(vocabulary) and vocabulary.word(0).startswith("\ufeff"):
        _refuse_words(kind, vocabulary, np.zeros(1, np.int64), "a byte order mark ahead of all")


def _refuse_words(kind: Format, vocabulary: Vocabulary, rows: NDArray[np.int64], what: str) -> None:
    if not len(rows):
        return
    words = [vocabulary.word_bytes(row) for row in rows.tolist()]
    raise OutputError(
        f"{plural(len(rows), 'word')} with {what} cannot be written as {kind.title}, it would "
        f"be read wrongly: {listed(words)}; --format safetensors holds every word"
        + (", --space-replacement _ writes _ for a blank" if what == A_BLANK else "")
    )
