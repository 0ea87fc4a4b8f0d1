"""Files of models and vectors: which module reads what, told by content.

One module a format family; a new one is a new entry of FORMATS. A suffix is only a hint, and
nothing is ever unpickled.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from w2v_sgns.errors import FormatError
from w2v_sgns.formats import native
from w2v_sgns.formats.atomic import check_writable, replacing
from w2v_sgns.formats.description import Description
from w2v_sgns.formats.sniff import HEAD_BYTES, looks_like
from w2v_sgns.model import Model
from w2v_sgns.vectors import Vectors

__all__ = [
    "Description",
    "check_writable",
    "describe",
    "load_model",
    "load_vectors",
    "save_model",
]

# Asked in this order whether they know a file's first bytes. A module has TITLE, matches(head),
# load_vectors(path), describe(path) and load_model(path, model_class).
FORMATS: tuple[ModuleType, ...] = (native,)

ModelT = TypeVar("ModelT", bound=Model)


def load_model(path: Path | str, model_class: type[ModelT] = Model) -> ModelT:  # type: ignore[assignment]
    """Open a model that could be trained further; its matrices are mapped, not copied.

    Raises:
        FormatError: missing, unreadable, damaged or not a model.
    """
    path = Path(path)
    model: ModelT = _format_of(path).load_model(path, model_class)
    return model


def load_vectors(path: Path | str) -> Vectors:
    """Open the input vectors of any readable file.

    Raises:
        FormatError: missing, unreadable, damaged or of an unknown kind.
    """
    path = Path(path)
    vectors: Vectors = _format_of(path).load_vectors(path)
    return vectors


def describe(path: Path | str) -> Description:
    """Say what a file is: format, words, dimensions, settings, story.

    Raises:
        FormatError: missing, unreadable, damaged or of an unknown kind.
    """
    path = Path(path)
    description: Description = _format_of(path).describe(path)
    return description


def save_model(model: Model, path: Path | str, *, force: bool = False) -> None:
    """Write a model to one file, whole or not at all.

    Raises:
        OutputError: the place cannot be written, or a file is there and `force` is not set.
        DivergenceError: a row is not finite.
    """
    check_writable(path, force=force)  # before the matrices are looked through
    model.check_finite()
    with replacing(path, force=force) as stream:
        native.write_model(stream, model)


def _format_of(path: Path) -> ModuleType:
    head = _head(path)
    for module in FORMATS:
        if module.matches(head):
            return module
    titles = ", ".join(module.TITLE for module in FORMATS)
    raise FormatError(f"{path}: is {looks_like(head)}; what can be read: {titles}")


def _head(path: Path) -> bytes:
    """Return the first bytes of a regular file; a pipe is refused before it could block."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise FormatError(f"{path}: is a directory; name the file of vectors in it")
        if not stat.S_ISREG(mode):
            raise FormatError(f"{path}: is no regular file; vectors are mapped, save them first")
        with path.open("rb") as stream:
            return stream.read(HEAD_BYTES)
    except FileNotFoundError as error:
        raise FormatError(
            f"{path}: no such file; name a model with -m, or train one with: w2v train CORPUS"
        ) from error
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from error
