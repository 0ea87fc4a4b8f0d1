"""Starting from given vectors: which rows they fill, and which of these never change.

Reads the vectors through formats/, fills matrices in place, trains nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from w2v_sgns.corpus.vocabulary import Vocabulary, decode_word
from w2v_sgns.corpus.vocabulary_file import read_words
from w2v_sgns.errors import ConfigError, FormatError, VocabularyError

if TYPE_CHECKING:
    from w2v_sgns.config import TrainConfig
    from w2v_sgns.model import Model
    from w2v_sgns.training.state import State

__all__ = ["Given", "frozen_rows", "read_given"]

SHOWN = 3  # words in a note
Matrix = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Given:
    """Vectors to start from; Ep is None where the file holds input vectors only."""

    path: Path
    vocabulary: Vocabulary
    E: Matrix
    Ep: Matrix | None
    bias: Matrix | None = None  # (V,)

    def fill(self, state: State, vocabulary: Vocabulary) -> list[str]:
        """Copy the rows of words that both have; return what to say about it.

        Raises:
            FormatError: a row to be copied is not finite.
        """
        rows = vocabulary.indices(self.vocabulary.iter_bytes())
        ours = np.array([row for row in rows if row is not None], np.int64)
        theirs = np.array([n for n, row in enumerate(rows) if row is not None], np.int64)
        for target, source in ((state.E, self.E), (state.Ep, self.Ep), (state.bias, self.bias)):
            if target is not None and source is not None:
                target[ours] = self._finite(source, theirs)
        return self._notes(rows, len(vocabulary) - len(np.unique(ours)))

    def _finite(self, source: Matrix, rows: Rows) -> Matrix:
        taken = source[rows]
        bad = np.flatnonzero(~np.isfinite(taken.reshape(len(rows), -1)).all(axis=1))
        if len(bad):
            word = self.vocabulary.word(int(rows[bad[0]]))
            raise FormatError(f"{self.path}: the vector of {word!a:.60} is not finite")
        return taken

    def _notes(self, rows: Sequence[int | None], fresh: int) -> list[str]:
        missing = [n for n, row in enumerate(rows) if row is None]
        used = len(rows) - len(missing)
        note = f"--init {self.path}: {used:,} of {len(rows):,} words used"
        if missing:
            more = ", …" if len(missing) > SHOWN else ""
            words = ", ".join(self.vocabulary.word(n) for n in missing[:SHOWN])
            note += f", {len(missing):,} unknown ({words}{more})"
        what = "input vectors alone" if self.Ep is None else "input and output vectors"
        return [note, f"{what}; {fresh:,} new words begin at random"]


def read_given(config: TrainConfig) -> Given | None:
    """Read the vectors of --init; None where there is none.

    Raises:
        FormatError: the file cannot be read.
        ConfigError: other dimensions than --dim.
    """
    from w2v_sgns.formats import load, load_model
    from w2v_sgns.formats.source import refuse_pipe

    if config.init is None:
        return None
    path = Path(config.init)
    if not path.exists():
        raise FormatError(f"--init {path}: no such file; needed: vectors in any readable format")
    refuse_pipe(path)
    try:
        model: Model = load_model(path)
        given = Given(path, model.vocabulary, model.E, model.Ep, model.output_bias)
    except FormatError:  # no model of ours, or one that is damaged: then this refuses it too
        loaded = load(path)
        given = Given(path, loaded.vocabulary, loaded.matrix, None)
    dim = given.E.shape[1]
    if dim != config.dim:
        raise ConfigError(
            f"--init {path}: its vectors have {dim} numbers, --dim is {config.dim}; give "
            f"--dim {dim}"
        )
    return given


def frozen_rows(path: Path | str, vocabulary: Vocabulary, given: Given) -> tuple[Rows, list[str]]:
    """Return the rows of the words in a file, and what to say about those that have none.

    Raises:
        VocabularyError: none of the words is there.
        CorpusError: the file cannot be read.
    """
    words = read_words(path)
    known = [word for word in words if given.vocabulary.index(word) is not None]
    rows = [row for row in vocabulary.indices(known) if row is not None]
    if not rows:
        raise VocabularyError(
            f"--freeze {path}: none of its {len(words):,} words is both in {given.path} and in the "
            f"vocabulary (the first: {decode_word(words[0])!a:.60})"
        )
    which = "input vectors" if given.Ep is None else "input and output vectors"
    note = f"--freeze {path}: the {which} of {len(rows):,} words stay as they are"
    left = len(words) - len(rows)
    if left:
        note += f"; {left:,} words are not in {given.path} or not in the vocabulary"
    return np.array(sorted(rows), np.int64), [note]
