"""A trained model: both matrices, the words, the settings, and how the training went.

Files are the business of formats/, neighbours that of vectors/; both are called late, so that
importing this module costs NumPy and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, DivergenceError

if TYPE_CHECKING:
    from w2v_sgns.vectors import Vectors

__all__ = ["Model"]

BLOCK_ROWS = 1 << 14  # rows checked in one step


class Model:
    """Input vectors E, output vectors Ep and what belongs to them.

    Attributes:
        E: float32 (V, d), the input vectors; row i is word i. May be a padded view or a mapped
            file, then read-only.
        Ep: float32 (V, d), the output vectors.
        output_bias: float32 (V,), what is added to the score of each output word; None: nothing.
        vocabulary: the words and counts of the V rows.
        config: the settings of the training.
        history: one table an epoch, such as `{"epoch": 1, "loss": 2.31}`.
        provenance: where the vectors come from; holds no clock, host or absolute path.
        extras: tensors and strings of a file that this version does not know, kept on saving.

    Raises:
        ConfigError: the parts do not fit each other.
    """

    def __init__(
        self,
        E: NDArray[np.float32],
        Ep: NDArray[np.float32],
        *,
        vocabulary: Vocabulary,
        config: TrainConfig,
        history: Sequence[Mapping[str, Any]] = (),
        provenance: Mapping[str, Any] | None = None,
        extras: Mapping[str, NDArray[Any] | str] | None = None,
        output_bias: NDArray[np.float32] | None = None,
    ) -> None:
        shape = (len(vocabulary), config.dim)
        for name, matrix in (("E", E), ("Ep", Ep)):
            if matrix.shape != shape or matrix.dtype != np.float32:
                raise ConfigError(
                    f"{name} is {matrix.dtype} {matrix.shape}; {shape[0]:,} words of dim "
                    f"{shape[1]} need float32 {shape}"
                )
        if output_bias is not None and (
            output_bias.shape != shape[:1] or output_bias.dtype != np.float32
        ):
            raise ConfigError(
                f"output_bias is {output_bias.dtype} {output_bias.shape}; {shape[0]:,} words need "
                f"float32 {shape[:1]}"
            )
        self.E = E
        self.Ep = Ep
        self.output_bias = output_bias
        self.vocabulary = vocabulary
        self.config = config
        self.history = [dict(entry) for entry in history]
        self.provenance = dict(provenance or {})
        self.extras = dict(extras or {})

    @property
    def vectors(self) -> Vectors:
        """The input vectors, ready for questions; shares E's memory."""
        from w2v_sgns.vectors import Vectors

        return Vectors(self.E, self.vocabulary)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Open a model file; the matrices stay in the file and are mapped, not copied.

        Raises:
            FormatError: missing, damaged, or not one of our models.
        """
        from w2v_sgns.formats import load_model

        return load_model(path, cls)

    def save(self, path: Path | str, *, force: bool = False) -> None:
        """Write the model to one file, whole or not at all.

        Raises:
            OutputError: the place cannot be written, or a file is there and `force` is not set.
            DivergenceError: a row is not finite.
        """
        from w2v_sgns.formats import save_model

        save_model(self, path, force=force)

    def check_finite(self) -> None:
        """Refuse NaN and infinity.

        Raises:
            DivergenceError: names the first word whose vector is not finite.
        """
        parts = [("input vector", self.E), ("output vector", self.Ep)]
        if self.output_bias is not None:
            parts.append(("output bias", self.output_bias[:, None]))
        for name, matrix in parts:
            row = _first_bad_row(matrix)
            if row is not None:
                word = self.vocabulary.word(row)
                raise DivergenceError(
                    f"the {name} of {word!a:.80} (row {row:,}) is not finite: the training "
                    "diverged; try a smaller --lr"
                )

    def __repr__(self) -> str:
        loss = self.history[-1].get("loss") if self.history else None
        ending = f", loss {loss:.4f}" if isinstance(loss, float) else ""
        epochs = f"{len(self.history)} of {self.config.epochs} epochs"
        return f"<Model of {len(self.vocabulary):,} words × {self.config.dim}, {epochs}{ending}>"


def _first_bad_row(matrix: NDArray[np.float32]) -> int | None:
    for start in range(0, len(matrix), BLOCK_ROWS):
        finite = np.isfinite(matrix[start : start + BLOCK_ROWS]).all(axis=1)
        if not finite.all():
            return start + int(finite.argmin())
    return None
