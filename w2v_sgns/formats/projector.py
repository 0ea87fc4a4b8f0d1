"""The TensorBoard projector's pair of TSV files: numbers, and labels row by row.

Written only. A word's odd letters are escaped, since a label is for the eye.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.formats.digits import write_rows

__all__ = ["metadata_path", "write"]

BLOCK_ROWS = 1024


def metadata_path(path: Path) -> Path:
    """Return where the labels of a file of numbers are written."""
    return path.with_suffix(".metadata.tsv")


def write(
    numbers: BinaryIO, labels: BinaryIO, matrix: NDArray[np.float32], vocabulary: Vocabulary
) -> None:
    """Write both files.

    The projector wants a line of column names exactly where there is more than one column: with
    counts there are two, without them one.

    Args:
        numbers: takes the rows.
        labels: takes the words, and the counts where they are known.
        matrix: (V, d).
        vocabulary: V words.
    """
    for start in range(0, len(matrix), BLOCK_ROWS):
        for line in write_rows(matrix[start : start + BLOCK_ROWS]):
            numbers.write(line.replace(b" ", b"\t") + b"\n")
    labels.writelines(line.encode() + b"\n" for line in _labels(vocabulary))


def _labels(vocabulary: Vocabulary) -> Iterator[str]:
    words = map(_label, vocabulary.iter_bytes())
    if vocabulary.counts is None:
        yield from words
        return
    yield "word\tcount"
    for word, count in zip(words, vocabulary.counts.tolist(), strict=True):
        yield f"{word}\t{count}"


def _label(word: bytes) -> str:
    text = word.decode("utf-8", "backslashreplace")
    if not text.strip():
        return ascii(text)  # a blank line would be skipped and shift all labels
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
