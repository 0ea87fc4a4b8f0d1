"""Our own model file: a safetensors container with both matrices, the words and the story.

Tensors: `input` and `output` float32 (V, d), `counts` int64 (V), the words as `vocabulary`
(uint8 bytes) and `vocabulary_offsets` int64 (V + 1). Metadata: `format`, `format_version`, and
`config`, `provenance`, `history` as JSON. What this version does not know is kept on rewriting.
The bytes themselves are safetensors.py's business, the renaming into place atomic.py's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, DivergenceError, FormatError, VocabularyError
from w2v_sgns.formats import safetensors, static
from w2v_sgns.formats.description import Description
from w2v_sgns.formats.partial import select
from w2v_sgns.formats.rows import Loaded, Selection
from w2v_sgns.formats.safetensors import Container
from w2v_sgns.formats.sniff import WORD2VEC
from w2v_sgns.formats.source import Source
from w2v_sgns.model import Model

__all__ = [
    "NAME",
    "as_int8",
    "describe",
    "load",
    "load_model",
    "matches",
    "write_model",
    "write_vectors",
]

NAME = "w2v-sgns"
TITLE = "w2v-sgns model (.safetensors)"
VERSION = 1

BLOCK_ROWS = 1 << 14
TINY = np.float32(2.0**-126)  # the smallest normal float32
NARROW = (np.dtype(np.float16), np.dtype(np.int8))  # vectors only; int8 has a scale for each row
MATRICES = ("input", "output")
TENSORS = (*MATRICES, "counts", "vocabulary", "vocabulary_offsets")
STRINGS = ("format", "format_version", "config", "provenance", "history")

ModelT = TypeVar("ModelT", bound=Model)


def matches(head: bytes) -> bool:
    """Return whether a file that begins so claims to be a safetensors container."""
    length = int.from_bytes(head[:8], "little")
    if WORD2VEC.match(head):  # as a length it would be beyond any header
        return False
    return head[8:9] == b"{" and (length < 1 << 48 or not head[:8].isascii())


def write_model(stream: BinaryIO, model: Model) -> None:
    """Write all of a model.

    Raises:
        DivergenceError: the history holds numbers that are not finite; JSON has none.
        OSError: the stream cannot take the bytes.
    """
    extras = model.extras
    tensors = {name: value for name, value in extras.items() if isinstance(value, np.ndarray)}
    strings = {name: value for name, value in extras.items() if isinstance(value, str)}
    words = model.vocabulary
    tensors |= {"input": model.E, "output": model.Ep}
    tensors |= {"vocabulary": words.data, "vocabulary_offsets": words.offsets}
    if words.counts is not None:
        tensors["counts"] = words.counts
    strings |= {"format": NAME, "format_version": str(VERSION)}
    strings["config"] = _to_json("config", model.config.to_dict())
    strings["provenance"] = _to_json("provenance", model.provenance)
    strings["history"] = _to_json("history", model.history)
    safetensors.write(stream, tensors, strings)


def write_vectors(
    stream: BinaryIO,
    matrix: NDArray[np.float32],
    vocabulary: Vocabulary,
    *,
    dtype: str = "float32",
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Write vectors alone: they can be asked, not trained further.

    Args:
        stream: takes the bytes.
        matrix: (V, d), finite where `dtype` is not float32.
        vocabulary: V words.
        dtype: float32, float16, or int8 with a float32 scale for each row.
        provenance: where the vectors come from.

    Raises:
        OSError: the stream cannot take the bytes.
    """
    tensors: dict[str, NDArray[Any]] = {"input": matrix}
    if dtype == "float16":
        tensors["input"] = matrix.astype(np.float16)
    elif dtype == "int8":
        tensors["input"], tensors["input_scale"] = as_int8(matrix)
    tensors |= {"vocabulary": vocabulary.data, "vocabulary_offsets": vocabulary.offsets}
    if vocabulary.counts is not None:
        tensors["counts"] = vocabulary.counts
    strings = {"format": NAME, "format_version": str(VERSION)}
    strings["provenance"] = _to_json("provenance", provenance or {})
    safetensors.write(stream, tensors, strings)


def as_int8(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return whole numbers from -127 to 127 and each row's scale: row ≈ numbers · scale."""
    numbers, scale = np.empty(matrix.shape, np.int8), np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), BLOCK_ROWS):
        rows = matrix[start : start + BLOCK_ROWS]
        largest = np.abs(rows).max(axis=1, initial=0)
        scales = np.where(largest > 127 * TINY, largest / np.float32(127), np.float32(1))
        scale[start : start + BLOCK_ROWS] = scales
        numbers[start : start + BLOCK_ROWS] = np.rint(rows / scales[:, None]).clip(-127, 127)
    return numbers, scale


def load_model(path: Path, model_class: type[ModelT]) -> ModelT:
    """Open a model; the matrices are read-only views of the mapped file.

    Raises:
        FormatError: damaged, of a newer version, or vectors without an output matrix.
    """
    container = _open(path)
    if "output" not in container.tensors:
        raise FormatError(
            f"{path}: holds vectors only, no output matrix; it can be asked, not trained further"
        )
    settings = _from_json(container, path, "config", dict)
    try:
        return model_class(
            _matrix(container, path, "input"),
            _matrix(container, path, "output"),
            vocabulary=_falling(_vocabulary(container, path), path),
            config=TrainConfig.from_dict(settings),
            history=_history(container, path),
            provenance=_from_json(container, path, "provenance", dict),
            extras=_extras(container),
        )
    except ConfigError as error:
        raise FormatError(f"{path}: the stored settings are damaged: {error}") from error


def load(source: Source, selection: Selection, *, keep: bool = True) -> Loaded:
    """Open the input vectors alone; float32 rows are mapped, narrower ones widened.

    Raises:
        FormatError: damaged or of a newer version.
    """
    path = source.mapped_path()
    container = safetensors.read(path)
    if container.metadata.get("format") != NAME:
        return static.load(source, container, selection, keep=keep)
    _check_version(container, path)
    matrix, dtype = widened(container, path, "input")
    words = _vocabulary(container, path)
    loaded = Loaded(matrix, words, f"{NAME} {VERSION} (safetensors)", dtype=dtype)
    return select(loaded, selection)


def describe(source: Source) -> Description | None:
    """Say what the file holds, its story included; None for another tool's file.

    Raises:
        FormatError: damaged or of a newer version.
    """
    path = source.mapped_path()
    container = safetensors.read(path)
    if container.metadata.get("format") != NAME:
        return None
    _check_version(container, path)
    matrix, dtype = widened(container, path, "input")
    words = _vocabulary(container, path)
    return Description(
        path=path,
        format=f"{NAME} {VERSION} (safetensors)",
        words=len(words),
        dimensions=matrix.shape[1],
        dtype=dtype,
        bytes=path.stat().st_size,
        tokens=None if words.counts is None else int(words.counts.sum()),
        tensors=container.tensors,
        config=_from_json(container, path, "config", dict),
        provenance=_from_json(container, path, "provenance", dict),
        history=_history(container, path),
    )


def _open(path: Path) -> Container:
    """Read the container and refuse what is not a model of a version known here."""
    container = safetensors.read(path)
    if container.metadata.get("format") != NAME:
        names = ", ".join(list(container.tensors)[:5]) or "none"
        raise FormatError(
            f"{path}: a safetensors file of another tool (tensors: {names!a:.200}); needed: {TITLE}"
        )
    _check_version(container, path)
    return container


def _check_version(container: Container, path: Path) -> None:
    version = container.metadata.get("format_version", "")
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        raise FormatError(f"{path}: format_version must be a whole number, not {version!a:.40}")
    if int(version) > VERSION:
        raise FormatError(
            f"{path}: written by a newer w2v-sgns (format_version {version}, this one reads up to "
            f"{VERSION}); upgrade with: pip install --upgrade w2v-sgns"
        )


def _tensor(container: Container, path: Path, name: str, dtype: Any, ndim: int) -> NDArray[Any]:
    array = container.tensors.get(name)
    if array is None:
        raise FormatError(f"{path}: the tensor {name!r} is missing")
    if array.dtype != dtype or array.ndim != ndim:
        raise FormatError(
            f"{path}: tensor {name!r} is {array.dtype} {array.shape}, needed: "
            f"{np.dtype(dtype)} with {ndim} dimension{'s' * (ndim > 1)}"
        )
    return array


def widened(container: Container, path: Path, name: str) -> tuple[NDArray[np.float32], str]:
    """Return a matrix as float32 and what it is stored as: float32 mapped, others a copy."""
    stored = container.tensors.get(name)
    if stored is None or stored.dtype not in NARROW or stored.ndim != 2:
        return _matrix(container, path, name), "float32"
    words = len(_tensor(container, path, "vocabulary_offsets", np.int64, 1)) - 1
    if len(stored) != words or not stored.shape[1]:
        raise FormatError(
            f"{path}: tensor {name!r} is {stored.shape}, needed: ({words}, 1 or more)"
        )
    matrix = stored.astype(np.float32)
    if stored.dtype == np.int8:
        scale = _tensor(container, path, f"{name}_scale", np.float32, 1)
        if len(scale) != words:
            raise FormatError(f"{path}: {len(scale)} scales for {words} rows of int8")
        matrix *= scale[:, None]
    return matrix, str(stored.dtype)


def _matrix(container: Container, path: Path, name: str) -> NDArray[np.float32]:
    matrix = _tensor(container, path, name, np.float32, 2)
    words = len(_tensor(container, path, "vocabulary_offsets", np.int64, 1)) - 1
    if len(matrix) != words or not matrix.shape[1]:
        raise FormatError(
            f"{path}: tensor {name!r} is {matrix.shape}, needed: ({words}, 1 or more)"
        )
    return matrix


def _vocabulary(container: Container, path: Path) -> Vocabulary:
    data = _tensor(container, path, "vocabulary", np.uint8, 1)
    offsets = _tensor(container, path, "vocabulary_offsets", np.int64, 1)
    known = "counts" in container.tensors
    counts = _tensor(container, path, "counts", np.int64, 1) if known else None
    try:
        vocabulary = Vocabulary(data, offsets, counts)
    except VocabularyError as error:
        raise FormatError(f"{path}: the vocabulary is damaged: {error}") from error
    return vocabulary


def _falling(vocabulary: Vocabulary, path: Path) -> Vocabulary:
    """Return the vocabulary of a model: training needs its counts to fall."""
    counts = vocabulary.counts
    if counts is not None:
        rising = np.flatnonzero(counts[1:] > counts[:-1])
        if len(rising):
            raise FormatError(
                f"{path}: counts must fall, but row {rising[0] + 1} exceeds the row above"
            )
    return vocabulary


def _history(container: Container, path: Path) -> list[dict[str, Any]]:
    history: list[dict[str, Any]] = _from_json(container, path, "history", list)
    if not all(isinstance(entry, dict) for entry in history):
        raise FormatError(f"{path}: metadata 'history' must be a list of tables")
    return history


def _extras(container: Container) -> dict[str, NDArray[Any] | str]:
    extras: dict[str, NDArray[Any] | str] = {}
    extras |= {name: text for name, text in container.metadata.items() if name not in STRINGS}
    extras |= {name: array for name, array in container.tensors.items() if name not in TENSORS}
    return extras


def _to_json(name: str, value: Any) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, default=_plain)
    except ValueError as error:
        raise DivergenceError(f"the model's {name} cannot be stored: {error}") from error


def _plain(value: Any) -> Any:
    """Turn NumPy numbers, tuples of them and paths into what JSON knows."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in a model file")


def _from_json(container: Container, path: Path, name: str, kind: type) -> Any:
    """Return a piece of the metadata; empty where a file has none."""
    try:
        value = json.loads(container.metadata.get(name, "{}" if kind is dict else "[]"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: metadata {name!r} is no valid JSON: {error}") from error
    if not isinstance(value, kind):
        raise FormatError(f"{path}: metadata {name!r} must be a {kind.__name__} in JSON")
    return value
