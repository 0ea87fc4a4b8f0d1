"""Static embeddings of model2vec and sentence-transformers: safetensors beside a tokenizer.json.

The words are the tokenizer's vocabulary, read as plain JSON; no code of theirs is run, and how a
tokenizer would split a text plays no part.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import FormatError, VocabularyError
from w2v_sgns.formats.partial import select
from w2v_sgns.formats.rows import Loaded, Selection
from w2v_sgns.formats.safetensors import Container
from w2v_sgns.formats.source import Source

__all__ = ["TENSORS", "find", "load"]

# What model2vec and sentence-transformers call the matrix.
TENSORS = ("embeddings", "embedding.weight")
PLACES = ("model.safetensors", "0_StaticEmbedding/model.safetensors")  # in a folder
MOST_JSON = 1 << 28  # bytes of tokenizer.json


def find(folder: Path) -> Path | None:
    """Return the file of vectors in a folder of these tools."""
    return next((folder / place for place in PLACES if (folder / place).is_file()), None)


def load(
    source: Source, container: Container, selection: Selection, *, keep: bool = True
) -> Loaded:
    """Return the rows with the words of the tokenizer.json beside the file.

    Raises:
        FormatError: no such tensor or words, or they do not fit each other.
    """
    name = next((name for name in TENSORS if name in container.tensors), None)
    if name is None:
        names = ", ".join(list(container.tensors)[:5]) or "none"
        source.refuse(
            f"a safetensors file of another tool (tensors: {names!a:.200}); needed: a w2v-sgns "
            f"model, or a tensor {' or '.join(TENSORS)} with a tokenizer.json beside it"
        )
    stored = container.tensors[name]
    if "mapping" in container.tensors or "weights" in container.tensors:
        stored = _weighted(container, stored, source)
    if stored.ndim != 2 or stored.dtype.kind != "f" or not stored.shape[1]:
        source.refuse(f"tensor {name!r} is {stored.dtype} {stored.shape}, needed: floats (V, d)")
    words = _words(source.path.parent / "tokenizer.json", len(stored))
    matrix: NDArray[np.float32] = stored.astype(np.float32, copy=False)
    title = "static embeddings (safetensors, tokenizer.json)"
    return select(Loaded(matrix, words, title, dtype=str(container.tensors[name].dtype)), selection)


def _weighted(container: Container, rows: NDArray[Any], source: Source) -> NDArray[Any]:
    """Return a word's row as model2vec sums it: several words may share one, each has a weight."""
    mapping, weights = container.tensors.get("mapping"), container.tensors.get("weights")
    if mapping is not None:
        if mapping.ndim != 1 or mapping.dtype.kind not in "iu":
            source.refuse(f"tensor 'mapping' is {mapping.dtype} {mapping.shape}, needed: rows (V)")
        if len(mapping) and not 0 <= int(mapping.min()) <= int(mapping.max()) < len(rows):
            source.refuse(f"tensor 'mapping' names rows beyond the {len(rows):,} there are")
        rows = rows[mapping]
    if weights is not None:
        if weights.shape != rows.shape[:1] or weights.dtype.kind != "f":
            source.refuse(
                f"tensor 'weights' is {weights.dtype} {weights.shape}, needed: ({len(rows)},)"
            )
        rows = rows.astype(np.float32) * weights.astype(np.float32)[:, None]
    return rows


def _words(path: Path, rows: int) -> Vocabulary:
    """Return the word of every row; a row that the tokenizer does not name gets ""."""
    table = _read_json(path)
    model = table.get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    named: dict[Any, Any] = {}
    if isinstance(vocab, dict):
        named = {row: word for word, row in vocab.items()}
    elif isinstance(vocab, list):
        named = {row: piece[0] for row, piece in enumerate(vocab) if isinstance(piece, list)}
    else:
        raise FormatError(f"{path}: no model.vocab in it; needed: the words of {rows:,} rows")
    for added in table.get("added_tokens") or []:
        if isinstance(added, dict):
            named.setdefault(added.get("id"), added.get("content"))
    wrong = [row for row in named if type(row) is not int or not 0 <= row < rows]
    if wrong or len(named) != rows:
        raise FormatError(
            f"{path}: names {len(named):,} rows"
            + (f", one of them {wrong[0]!a:.40}" if wrong else "")
            + f"; the vectors have {rows:,}"
        )
    try:
        return Vocabulary.from_words([str(named[row]) for row in range(rows)])
    except VocabularyError as error:
        raise FormatError(f"{path}: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MOST_JSON:
            raise FormatError(f"{path}: more than {MOST_JSON:,} bytes; no tokenizer is so large")
        table = json.loads(path.read_bytes())
    except OSError as error:
        raise FormatError(
            f"{path}: cannot be read ({error.strerror}); the words of these vectors are there"
        ) from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: no valid JSON: {error!s:.200}") from error
    if not isinstance(table, dict):
        raise FormatError(f"{path}: a {type(table).__name__}, needed: a table")
    return table
