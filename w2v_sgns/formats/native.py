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
from w2v_sgns.formats import safetensors
from w2v_sgns.formats.description import Description
from w2v_sgns.formats.safetensors import Container
from w2v_sgns.model import Model
from w2v_sgns.vectors import Vectors

__all__ = ["NAME", "describe", "load_model", "load_vectors", "matches", "write_model"]

NAME = "w2v-sgns"
TITLE = "w2v-sgns model (.safetensors)"
VERSION = 1

MATRICES = ("input", "output")
TENSORS = (*MATRICES, "counts", "vocabulary", "vocabulary_offsets")
STRINGS = ("format", "format_version", "config", "provenance", "history")

ModelT = TypeVar("ModelT", bound=Model)


def matches(head: bytes) -> bool:
    """Return whether a file that begins so claims to be a safetensors container."""
    length = int.from_bytes(head[:8], "little")
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
            vocabulary=_vocabulary(container, path),
            config=TrainConfig.from_dict(settings),
            history=_history(container, path),
            provenance=_from_json(container, path, "provenance", dict),
            extras=_extras(container),
        )
    except ConfigError as error:
        raise FormatError(f"{path}: the stored settings are damaged: {error}") from error


def load_vectors(path: Path) -> Vectors:
    """Open the input vectors alone.

    Raises:
        FormatError: damaged or of a newer version.
    """
    container = _open(path)
    return Vectors(_matrix(container, path, "input"), _vocabulary(container, path))


def describe(path: Path) -> Description:
    """Say what the file holds, its story included.

    Raises:
        FormatError: damaged or of a newer version.
    """
    container = _open(path)
    matrix = _matrix(container, path, "input")
    words = _vocabulary(container, path)
    return Description(
        path=path,
        format=f"{NAME} {VERSION} (safetensors)",
        words=len(words),
        dimensions=matrix.shape[1],
        dtype=str(matrix.dtype),
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
    kind, version = container.metadata.get("format"), container.metadata.get("format_version", "")
    if kind != NAME:
        names = ", ".join(list(container.tensors)[:5]) or "none"
        raise FormatError(
            f"{path}: a safetensors file of another tool (tensors: {names!a:.200}); needed: {TITLE}"
        )
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        raise FormatError(f"{path}: format_version must be a whole number, not {version!a:.40}")
    if int(version) > VERSION:
        raise FormatError(
            f"{path}: written by a newer w2v-sgns (format_version {version}, this one reads up to "
            f"{VERSION}); upgrade with: pip install --upgrade w2v-sgns"
        )
    return container


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
