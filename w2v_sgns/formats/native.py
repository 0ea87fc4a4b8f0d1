"""Our own model file: a safetensors container with both matrices, the words and the story.

Tensors: `input` and `output` float32 (V, d), `counts` int64 (V), the words as `vocabulary`
(uint8 bytes) and `vocabulary_offsets` int64 (V + 1); `output_bias` float32 (V) where one was
trained. Metadata: `format`, `format_version`, and
`config`, `provenance`, `history` as JSON. What this version does not know is kept on rewriting.
The bytes themselves are safetensors.py's business, checking the parts parts.py's, the renaming
into place atomic.py's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, FormatError
from w2v_sgns.formats import safetensors, static
from w2v_sgns.formats.description import Description, described
from w2v_sgns.formats.narrow import as_int8
from w2v_sgns.formats.partial import select
from w2v_sgns.formats.parts import Parts, to_json
from w2v_sgns.formats.rows import ALL, Loaded, Selection
from w2v_sgns.formats.safetensors import Container
from w2v_sgns.formats.sniff import WORD2VEC
from w2v_sgns.formats.source import Source
from w2v_sgns.model import Model

__all__ = [
    "NAME",
    "UNFINISHED",
    "describe",
    "load",
    "load_model",
    "matches",
    "text_parts",
    "write_model",
    "write_vectors",
]

NAME = "w2v-sgns"
TITLE = "w2v-sgns model (.safetensors)"
VERSION = 1
UNFINISHED = "checkpoint"  # of the metadata of a training that has not ended
MATRICES = ("input", "output")
BIAS = "output_bias"
TENSORS = (*MATRICES, BIAS, "counts", "vocabulary", "vocabulary_offsets")
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
    if model.output_bias is not None:
        tensors[BIAS] = np.ascontiguousarray(model.output_bias)
    tensors |= {"vocabulary": words.data, "vocabulary_offsets": words.offsets}
    if words.counts is not None:
        tensors["counts"] = words.counts
    strings |= {"format": NAME, "format_version": str(VERSION)}
    strings["config"] = to_json("config", model.config.to_dict())
    strings["provenance"] = to_json("provenance", model.provenance)
    strings["history"] = to_json("history", model.history)
    safetensors.write(stream, tensors, strings)


def write_vectors(
    stream: BinaryIO,
    matrix: NDArray[np.float32],
    vocabulary: Vocabulary,
    *,
    dtype: str = "float32",
    provenance: Mapping[str, Any] | None = None,
    weights: NDArray[np.float32] | None = None,
    log_scale: float | None = None,
) -> None:
    """Write vectors alone: they can be asked, not trained further.

    Args:
        stream: takes the bytes.
        matrix: (V, d), finite where `dtype` is not float32.
        vocabulary: V words.
        dtype: float32, float16, or int8 with a float32 scale for each row.
        provenance: where the vectors come from.
        weights: (V,), what each word counts in a text.
        log_scale: of a tuning on pairs.

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
    if weights is not None:
        tensors["word_weights"] = np.asarray(weights, np.float32)
    if log_scale is not None:
        tensors["log_scale"] = np.array(log_scale, np.float32)
    strings = {"format": NAME, "format_version": str(VERSION)}
    strings["provenance"] = to_json("provenance", provenance or {})
    safetensors.write(stream, tensors, strings)


def load_model(source: Source, model_class: type[ModelT]) -> ModelT:
    """Open a model; the matrices are read-only views of the mapped file.

    Raises:
        FormatError: damaged, of a newer version, or vectors without an output matrix.
        ResourceError: a packed file finds no room on the disk of temporary files.
    """
    container, path = safetensors.read(source), source.path
    if container.metadata.get("format") != NAME:
        names = ", ".join(list(container.tensors)[:5]) or "none"
        source.refuse(
            f"a safetensors file of another tool (tensors: {names!a:.200}); needed: {TITLE}"
        )
    _check_version(container, path)
    if "output" not in container.tensors:
        source.refuse("holds vectors only, no output matrix; it can be asked, not trained further")
    parts = Parts(container, path)
    settings = parts.table("config")
    try:
        return model_class(
            parts.matrix("input"),
            parts.matrix("output"),
            vocabulary=_falling(parts.vocabulary(), path),
            config=TrainConfig.from_dict(settings),
            history=parts.history(),
            provenance=parts.table("provenance"),
            extras=_extras(container),
            output_bias=parts.tensor(BIAS, np.float32, 1) if BIAS in container.tensors else None,
        )
    except ConfigError as error:
        raise FormatError(f"{path}: the stored settings are damaged: {error}") from error


def load(source: Source, selection: Selection, *, keep: bool = True) -> Loaded:
    """Open the input vectors alone; float32 rows are mapped, narrower ones widened.

    Raises:
        FormatError: damaged or of a newer version.
        ResourceError: a packed file finds no room on the disk of temporary files.
    """
    container = safetensors.read(source)
    if container.metadata.get("format") != NAME:
        return static.load(source, container, selection, keep=keep)
    return select(_vectors(container, source.path), selection)


def describe(source: Source) -> Description:
    """Say what a safetensors file holds, its story included where it is ours.

    Raises:
        FormatError: damaged or of a newer version.
        ResourceError: a packed file finds no room on the disk of temporary files.
    """
    container = safetensors.read(source)
    if container.metadata.get("format") != NAME:
        return described(source, static.load(source, container, ALL, keep=False))
    parts = Parts(container, source.path)
    description = described(source, _vectors(container, source.path))
    return replace(
        description,
        notes=(*_unfinished(parts), *description.notes),
        tensors=container.tensors,
        config=parts.table("config"),
        provenance=parts.table("provenance"),
        history=parts.history(),
    )


def _unfinished(parts: Parts) -> tuple[str, ...]:
    """Say of a checkpoint how far it is, and what it is for."""
    if UNFINISHED not in parts.container.metadata:
        return ()
    done, all_of_them = len(parts.history()), parts.table("config").get("epochs", "?")
    return (
        f"a checkpoint: {done} of {all_of_them} epochs are complete; w2v train --resume goes on",
    )


def _vectors(container: Container, path: Path) -> Loaded:
    _check_version(container, path)
    parts = Parts(container, path)
    matrix, dtype = parts.widened("input")
    words, title = parts.vocabulary(), f"{NAME} {VERSION} (safetensors)"
    return Loaded(
        matrix,
        words,
        title,
        dtype=dtype,
        story=parts.table("provenance"),
        **text_parts(container.tensors, len(words), path),
    )


def text_parts(tensors: Mapping[str, Any], words: int, path: Path | str) -> dict[str, Any]:
    """Return `weights` and `log_scale` of a model tuned on text pairs, None where it has none.

    Raises:
        FormatError: they are no finite float32 numbers of the right shape, or a weight is below 0.
    """
    found: dict[str, Any] = {}
    shapes = (("word_weights", "weights", (words,)), ("log_scale", "log_scale", ()))
    for name, key, shape in shapes:
        value = tensors.get(name)
        if value is None:
            continue
        good = isinstance(value, np.ndarray) and value.dtype == np.float32 and value.shape == shape
        if not good or not np.isfinite(value).all() or (key == "weights" and (value < 0).any()):
            raise FormatError(
                f"{path}: the tensor {name!r} must be finite float32 numbers of shape {shape}"
                + (", none below 0" if key == "weights" else "")
            )
        found[key] = value if shape else float(value)
    return found


def _check_version(container: Container, path: Path) -> None:
    version = container.metadata.get("format_version", "")
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        raise FormatError(f"{path}: format_version must be a whole number, not {version!a:.40}")
    if int(version) > VERSION:
        raise FormatError(
            f"{path}: written by a newer w2v-sgns (format_version {version}, this one reads up to "
            f"{VERSION}); upgrade with: pip install --upgrade w2v-sgns"
        )


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


def _extras(container: Container) -> dict[str, NDArray[Any] | str]:
    extras: dict[str, NDArray[Any] | str] = {}
    extras |= {name: text for name, text in container.metadata.items() if name not in STRINGS}
    extras |= {name: array for name, array in container.tensors.items() if name not in TENSORS}
    return extras
