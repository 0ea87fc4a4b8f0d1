"""A folder that model2vec's StaticModel and sentence-transformers' SentenceTransformer load.

Four files: the rows as safetensors, a tokenizer.json that splits at blanks and looks words up,
and two short files that say so. They are plain JSON, so no package of theirs is needed. Reading
such folders is static.py's business.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import OutputError
from w2v_sgns.formats import safetensors
from w2v_sgns.formats.atomic import Inputs, replacing_all

__all__ = ["FILES", "TITLE", "UNKNOWN", "write"]

TITLE = "folder for model2vec and sentence-transformers"
FILES = ("model.safetensors", "tokenizer.json", "config.json", "modules.json")
UNKNOWN = "[UNK]"  # stands for every other word; its row is zero

MODULES = [
    {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}
]


def write(
    path: Path,
    matrix: NDArray[np.float32],
    vocabulary: Vocabulary,
    *,
    weights: NDArray[np.float32] | None = None,
    log_scale: float | None = None,
    force: bool = False,
    inputs: Inputs = (),
) -> tuple[Path, ...]:
    """Write the folder; return its files.

    A row of zeros for unknown words follows the last word. Both tools take the plain mean of a
    text's rows, so each row is written times its word's weight; the scale stands in config.json.

    Raises:
        OutputError: a word is not valid UTF-8 or is [UNK], something else lies in the folder, or
            it cannot be written.
    """
    words = _words(vocabulary)
    rows = matrix if weights is None else matrix * weights[:, None]
    if UNKNOWN not in words:
        words[UNKNOWN] = len(words)
        rows = np.concatenate([rows, np.zeros((1, matrix.shape[1]), np.float32)])
    about = {"model_type": "model2vec", "normalize": False, "hidden_dim": matrix.shape[1]}
    scale = {} if log_scale is None else {"log_scale": log_scale}
    contents = (_tokenizer(words), about | scale, MODULES)
    files = tuple(path / name for name in FILES)
    made = _make_folder(path, force)
    try:
        with replacing_all(files, force=force, inputs=inputs) as (vectors, *others):
            safetensors.write(vectors, {"embeddings": rows}, {"format": "np"})
            for stream, content in zip(others, contents, strict=True):
                stream.write(json.dumps(content, ensure_ascii=False, indent=1).encode())
    except BaseException:
        if made:
            with suppress(OSError):
                path.rmdir()
        raise
    return files


def _words(vocabulary: Vocabulary) -> dict[str, int]:
    words: dict[str, int] = {}
    for row, raw in enumerate(vocabulary.iter_bytes()):
        try:
            words[raw.decode()] = row
        except UnicodeDecodeError as error:
            raise OutputError(
                f"row {row + 1:,} ({raw!a:.60}) is not valid UTF-8, which a tokenizer.json cannot "
                "hold; --format safetensors holds every word"
            ) from error
    if len(words) != len(vocabulary):
        raise OutputError("a tokenizer.json cannot hold the same word twice")
    return words


def _tokenizer(words: dict[str, int]) -> dict[str, Any]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": words, "unk_token": UNKNOWN},
    }


def _make_folder(path: Path, force: bool) -> bool:
    """Make the folder; return whether it was not there."""
    try:
        path.mkdir()
    except FileExistsError:
        if not path.is_dir():
            raise OutputError(f"{path}: exists and is no folder; use another name") from None
        others = sorted({entry.name for entry in path.iterdir()} - set(FILES))
        if others:
            raise OutputError(
                f"{path}: the folder holds other files ({others[0]!a:.80}); name a new one"
            ) from None
        if any(path.iterdir()) and not force:
            raise OutputError(f"{path}: exists; use --force to replace it") from None
        return False
    except OSError as error:
        raise OutputError(f"{path}: cannot be made: {error.strerror or error}") from error
    return True
