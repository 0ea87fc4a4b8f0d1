"""The parts of our model file, each checked when it is asked for: tensors, words, tables.

What the file is made of as a whole is native.py's business, its bytes are safetensors.py's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import DivergenceError, FormatError, VocabularyError
from w2v_sgns.formats.narrow import NARROW, from_int8
from w2v_sgns.formats.safetensors import Container

__all__ = ["Parts", "to_json"]


@dataclass(frozen=True)
class Parts:
    """A container and the file it comes from.

    Raises (all members):
        FormatError: the part is missing, of another type or shape, or damaged.
    """

    container: Container
    path: Path

    def tensor(self, name: str, dtype: Any, ndim: int) -> NDArray[Any]:
        """Return a tensor of this type."""
        array = self.container.tensors.get(name)
        if array is None:
            raise FormatError(f"{self.path}: the tensor {name!r} is missing")
        if array.dtype != dtype or array.ndim != ndim:
            raise FormatError(
                f"{self.path}: tensor {name!r} is {array.dtype} {array.shape}, needed: "
                f"{np.dtype(dtype)} with {ndim} dimension{'s' * (ndim > 1)}"
            )
        return array

    def matrix(self, name: str, dtype: Any = np.float32) -> NDArray[Any]:
        """Return a tensor of a row for each word."""
        matrix, words = self.tensor(name, dtype, 2), self._words()
        if len(matrix) != words or not matrix.shape[1]:
            raise FormatError(
                f"{self.path}: tensor {name!r} is {matrix.shape}, needed: ({words}, 1 or more)"
            )
        return matrix

    def widened(self, name: str) -> tuple[NDArray[np.float32], str]:
        """Return a matrix as float32 and what it is stored as: float32 mapped, others a copy."""
        stored = self.container.tensors.get(name)
        if stored is None or stored.dtype not in NARROW:
            return self.matrix(name), "float32"
        stored = self.matrix(name, stored.dtype)
        if stored.dtype != np.int8:
            return stored.astype(np.float32), str(stored.dtype)
        scale = self.tensor(f"{name}_scale", np.float32, 1)
        if len(scale) != len(stored):
            raise FormatError(f"{self.path}: {len(scale)} scales for {len(stored)} rows of int8")
        return from_int8(stored, scale), "int8"

    def vocabulary(self) -> Vocabulary:
        """Return the words; their counts are None where the file has none."""
        data, offsets = self.tensor("vocabulary", np.uint8, 1), self._offsets()
        known = "counts" in self.container.tensors
        counts = self.tensor("counts", np.int64, 1) if known else None
        try:
            return Vocabulary(data, offsets, counts)
        except VocabularyError as error:
            raise FormatError(f"{self.path}: the vocabulary is damaged: {error}") from error

    def table(self, name: str) -> dict[str, Any]:
        """Return a table of the metadata; empty where the file has none."""
        table: dict[str, Any] = self._from_json(name, dict)
        return table

    def history(self) -> list[dict[str, Any]]:
        """Return one table an epoch."""
        history: list[dict[str, Any]] = self._from_json("history", list)
        if not all(isinstance(entry, dict) for entry in history):
            raise FormatError(f"{self.path}: metadata 'history' must be a list of tables")
        return history

    def _offsets(self) -> NDArray[Any]:
        return self.tensor("vocabulary_offsets", np.int64, 1)

    def _words(self) -> int:
        return len(self._offsets()) - 1

    def _from_json(self, name: str, kind: type) -> Any:
        try:
            value = json.loads(self.container.metadata.get(name, "{}" if kind is dict else "[]"))
        except (ValueError, RecursionError) as error:
            raise FormatError(
                f"{self.path}: metadata {name!r} is no valid JSON: {error}"
            ) from error
        if not isinstance(value, kind):
            raise FormatError(f"{self.path}: metadata {name!r} must be a {kind.__name__} in JSON")
        return value


def to_json(name: str, value: Any) -> str:
    """Return a table of the metadata as JSON.

    Raises:
        DivergenceError: it holds numbers that are not finite; JSON has none.
    """
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
