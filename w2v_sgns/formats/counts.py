"""Counts of a vocabulary file for the words of vectors, whose format may carry none.

A word without a count is refused: counts are never invented. Reading the file is
corpus/vocabulary_file.py's business.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.corpus.vocabulary_file import SENTENCE_END, read_vocabulary
from w2v_sgns.errors import VocabularyError
from w2v_sgns.formats.findings import listed, plural
from w2v_sgns.formats.rows import Loaded

__all__ = ["with_counts"]


def with_counts(loaded: Loaded, path: Path | str) -> Loaded:
    """Return vectors whose counts are those of a vocabulary file; what it has beyond is noted.

    The rows keep their order. `</s>` counts 0 where the file does not have it: word2vec.c gives
    it a row whether or not it was counted.

    Raises:
        CorpusError: the file cannot be read.
        VocabularyError: a line without a count, or a word of the vectors without a line.
    """
    words, given = loaded.vocabulary, read_vocabulary(path)
    assert given.counts is not None
    known = {SENTENCE_END: 0} | dict(zip(given.iter_bytes(), given.counts.tolist(), strict=True))
    missing = [word for word in words.iter_bytes() if word not in known]
    if missing:
        raise VocabularyError(
            f"{path}: no count for {plural(len(missing), 'word')} of the vectors: "
            f"{listed(missing)}; add them, or keep only the words of this file with --words"
        )
    counts = np.fromiter(map(known.__getitem__, words.iter_bytes()), np.int64, len(words))
    beyond = set(given.iter_bytes()).difference(words.iter_bytes())
    notes = loaded.notes
    if beyond:
        extra = [word for word in given.iter_bytes() if word in beyond]
        notes += (f"{plural(len(extra), 'word')} of {path} without a vector: {listed(extra)}",)
    vocabulary = Vocabulary(words.data, words.offsets, counts)
    return replace(loaded, vocabulary=vocabulary, notes=notes)
