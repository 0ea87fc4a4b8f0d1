"""Which matrix leaves the house: E, Ep, their sum or both side by side; unit rows if asked.

Reads any file; where only input vectors are wanted, any format will do.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import ConfigError
from w2v_sgns.formats import load, load_model
from w2v_sgns.formats.native import text_parts
from w2v_sgns.formats.partial import select
from w2v_sgns.formats.rows import Loaded, Selection
from w2v_sgns.model import Model
from w2v_sgns.vectors.neighbours import unit

__all__ = ["WHICH", "load_which", "unit_rows"]

WHICH = ("input", "output", "sum", "concat")
BLOCK_ROWS = 1 << 13

Matrix = NDArray[np.float32]


def load_which(
    path: Path | str, selection: Selection, *, which: str = "input", normalize: bool = False
) -> Loaded:
    """Open the wanted vectors.

    Args:
        path: any readable file; for other than "input", a model with both matrices.
        selection: the wanted rows.
        which: "input" (E), "output" (Ep), "sum" (unit rows of E plus unit rows of Ep) or
            "concat" (unit rows of E and of Ep side by side, 2 d numbers).
        normalize: scale the resulting rows to length 1; rows without a direction become zero.

    Raises:
        FormatError: unreadable, or a file without an output matrix where one is needed.
        ConfigError: no such choice.
    """
    if which not in WHICH:
        raise ConfigError(f"--which must be one of {', '.join(WHICH)}, not {which!r}")
    loaded = load(path, selection) if which == "input" else _both(path, selection, which)
    if normalize:
        loaded = replace(loaded, matrix=unit_rows(loaded.matrix))
    return loaded


def _both(path: Path | str, selection: Selection, which: str) -> Loaded:
    model: Model = load_model(path)
    whole = Loaded(
        model.E,
        model.vocabulary,
        "w2v-sgns model",
        story=model.provenance,
        **text_parts(model.extras, len(model.vocabulary), path),
    )
    inputs = select(whole, selection)
    outputs = select(replace(whole, matrix=model.Ep), selection)
    if which == "output":
        return outputs
    E, Ep = unit_rows(inputs.matrix), unit_rows(outputs.matrix)
    return replace(inputs, matrix=E + Ep if which == "sum" else np.hstack([E, Ep]))


def unit_rows(matrix: Matrix) -> Matrix:
    """Return the rows (V, d) at length 1; rows that are zero or not finite become zero."""
    scaled = np.empty(matrix.shape, np.float32)
    for start in range(0, len(matrix), BLOCK_ROWS):
        rows = matrix[start : start + BLOCK_ROWS]
        scaled[start : start + len(rows)] = unit(rows.astype(np.float64))
    return scaled
