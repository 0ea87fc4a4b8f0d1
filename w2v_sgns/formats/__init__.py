"""Files of models and vectors: which module reads what, told by content.

One module a format family; a new one is a new entry of FORMATS. A suffix is only a hint, and
nothing is ever unpickled. How vectors are written is export.py's business.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from w2v_sgns.corpus.vocabulary import encode_word
from w2v_sgns.errors import ConfigError
from w2v_sgns.formats import arrow, binary, fasttext, native, npy, static, text
from w2v_sgns.formats.atomic import SUFFIXES, check_writable, replacing
from w2v_sgns.formats.counts import with_counts
from w2v_sgns.formats.description import Description, described
from w2v_sgns.formats.rows import ALL, Loaded, Selection
from w2v_sgns.formats.sniff import looks_like
from w2v_sgns.formats.source import Source
from w2v_sgns.model import Model
from w2v_sgns.vectors import Vectors

__all__ = [
    "Description",
    "FormatWarning",
    "check_writable",
    "describe",
    "holds_model",
    "load",
    "load_model",
    "load_vectors",
    "save_model",
    "save_vectors",
    "selection",
]

# Asked in this order whether they know a file's first bytes. A module has TITLE, matches(head)
# and load(source, selection, keep=…).
FORMATS: tuple[ModuleType, ...] = (native, npy, arrow, fasttext, binary, text)

ModelT = TypeVar("ModelT", bound=Model)


class FormatWarning(UserWarning):
    """A file was read, and something about it is odd: duplicates, zero rows, a wrong header."""


def load_model(path: Path | str, model_class: type[ModelT] = Model) -> ModelT:  # type: ignore[assignment]
    """Open a model that could be trained further; its matrices are mapped, not copied.

    Raises:
        FormatError: missing, unreadable, damaged or not a model.
    """
    path = Path(path)
    with _open(path) as source:
        if _format_of(source) is not native:
            source.refuse(
                "holds vectors only, no output matrix and no counts; it can be asked, not trained "
                "further"
            )
        return native.load_model(source, model_class)


def load_vectors(
    path: Path | str,
    *,
    limit: int | None = None,
    words: Iterable[str | bytes] | None = None,
    read_vocab: Path | str | None = None,
) -> Vectors:
    """Open the input vectors of any readable file, or some of them.

    What is odd about the file is told by a :class:`FormatWarning`.

    Args:
        path: the file, a folder of static embeddings, or a pipe.
        limit: only the first so many rows.
        words: only the rows of these words; those that are not there are left out.
        read_vocab: a vocabulary file whose counts the words get.

    Raises:
        FormatError: missing, unreadable, damaged or of an unknown kind.
        CorpusError: the vocabulary file cannot be read.
        VocabularyError: it is damaged, or lacks a word.
        ConfigError: `limit` is below 1.
    """
    loaded = load(path, selection(limit, words))
    loaded = loaded if read_vocab is None else with_counts(loaded, read_vocab)
    for note in loaded.notes:
        warnings.warn(f"{path}: {note}", FormatWarning, stacklevel=2)
    return Vectors(loaded.matrix, loaded.vocabulary)


def selection(limit: int | None = None, words: Iterable[str | bytes] | None = None) -> Selection:
    """Return the choice of the first `limit` rows, of these words.

    Raises:
        ConfigError: `limit` is below 1.
    """
    if limit is not None and limit < 1:
        raise ConfigError(f"--limit must be at least 1, not {limit}")
    if words is None:
        return Selection(limit)
    encoded = map(encode_word, words)
    return Selection(limit, frozenset(raw for raw in encoded if raw is not None))


def load(path: Path | str, wanted: Selection = ALL, *, keep: bool = True) -> Loaded:
    """Open vectors with all that is known about them; `keep=False` may leave the numbers out."""
    with _open(Path(path)) as source:
        loaded: Loaded = _format_of(source).load(source, wanted, keep=keep)
        return loaded


def describe(path: Path | str) -> Description:
    """Say what a file is: format, words, dimensions, settings, story, and what is odd.

    Raises:
        FormatError: missing, unreadable, damaged or of an unknown kind.
    """
    with _open(Path(path)) as source:
        module = _format_of(source)
        if module is native:
            return native.describe(source)
        return described(source, module.load(source, ALL, keep=False))


def save_model(model: Model, path: Path | str, *, force: bool = False) -> None:
    """Write a model, or its input vectors only where the suffix means such a format.

    `.safetensors` holds all of a model; `.bin`, `.txt` and `.vec` vectors, from which training
    cannot go on.

    Raises:
        OutputError: the place cannot be written, or a file is there and `force` is not set.
        DivergenceError: a row is not finite.
    """
    check_writable(path, force=force)  # before the matrices are looked through
    model.check_finite()
    if not holds_model(path):
        save_vectors(model.vectors, path, force=force)
        return
    with replacing(path, force=force) as stream:
        native.write_model(stream, model)


def holds_model(path: Path | str) -> bool:
    """Return whether the suffix means a file that training can go on from."""
    return Path(path).suffix.lower() == SUFFIXES[0]


def save_vectors(
    vectors: Vectors, path: Path | str, *, format: str | None = None, force: bool = False
) -> None:
    """Write vectors in the format of that name (see export.py), or that the suffix means.

    Raises:
        OutputError: the place or a word is refused, or writing fails.
        ConfigError: no such format.
    """
    from w2v_sgns.formats.export import format_named, write

    kind = format_named(format, path)
    write(path, vectors.matrix, vectors.vocabulary, kind=kind, force=force)


def _open(path: Path) -> Source:
    return Source((static.find(path) or path) if os.path.isdir(path) else path)


def _format_of(source: Source) -> ModuleType:
    for module in FORMATS:
        if module.matches(source.head):
            return module
    titles = ", ".join(module.TITLE for module in FORMATS)
    packed = f"{source.packed} data of " if source.packed else ""
    source.refuse(f"is {packed}{looks_like(source.head)}; what can be read: {titles}")
