"""A text as one vector: the weighted mean of its words' rows, scaled to length 1.

Words are told apart as the vectors' training did. No transformer and no learned context: word
order is ignored, and a text without a known word has no direction, its row is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.source import Source
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, FormatError
from w2v_sgns.kernels.pooling import pool
from w2v_sgns.text.lines import whole_lines
from w2v_sgns.text.tokens import Tokenizer, Tokens, joined
from w2v_sgns.vectors.neighbours import SAFE_SQUARES, unit

__all__ = [
    "TEXT_NAMES",
    "TOWERS",
    "Encoded",
    "Encoder",
    "scale_to_unit",
    "smooth_inverse_frequency",
    "text_options",
]

TOWERS = ("query", "document")
TEXT_NAMES = ("split", "tokenizer", "lowercase", "max_token_bytes")  # what makes words of text
SMOOTH = 1e-4  # a of a / (a + p(w)); Arora et al. 2017 use 1e-3 to 1e-4
BLOCK_TEXTS = 2048  # pooled and scaled at a time, in the cache

Matrix = NDArray[np.float32]


class Encoded(NamedTuple):
    """Vectors of n texts.

    rows: float32 (n, d), of length 1, or zero for a text without a known word.
    known: int64 (n,), known words of each text.
    """

    rows: Matrix
    known: NDArray[np.int64]

    @property
    def empty(self) -> int:
        """Texts without a direction: no known word, or words whose rows cancel out."""
        return int((~self.rows.any(axis=1)).sum())


class Encoder:
    """Word rows, a weight a word, and how a text is split.

    Attributes:
        query: float32 (V, d), the words' rows in queries.
        document: the same array, or the other table of a model with two towers.
        weights: float32 (V,), each above 0, or 0 for a word that does not count.
        log_scale: t of the training's e^t, for information; None where it is unknown.

    Raises:
        ConfigError: the parts do not fit each other, or a weight is negative or not finite.
    """

    def __init__(
        self,
        query: Matrix,
        vocabulary: Vocabulary,
        *,
        document: Matrix | None = None,
        weights: NDArray[np.float32] | None = None,
        text: TextOptions | None = None,
        log_scale: float | None = None,
    ) -> None:
        self.query = _read_only(query)
        self.document = self.query if document is None else _read_only(document)
        if weights is None:
            weights = np.ones(len(query), np.float32)
        words = len(vocabulary)
        if not (len(self.query) == len(self.document) == words and weights.shape == (words,)):
            raise ConfigError(
                f"{words:,} words need as many rows and weights, not {len(self.query):,}, "
                f"{len(self.document):,} and {weights.shape}"
            )
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ConfigError("a word's weight must be a finite number of at least 0")
        self.vocabulary, self.log_scale = vocabulary, log_scale
        self.weights = _counting(weights, self.query, self.document)
        self.tokenizer = Tokenizer(vocabulary, text or TextOptions())

    @classmethod
    def load(cls, path: Path | str, *, text: TextOptions | None = None) -> Self:
        """Open any readable vectors; a model tuned on pairs brings weights and towers.

        Args:
            path: the file of vectors.
            text: what is asked beyond how the model's training split texts.

        Raises:
            FormatError: missing, damaged, a pipe, or its weights do not fit its words.
        """
        from w2v_sgns.formats import describe, load_vectors
        from w2v_sgns.formats.native import text_parts
        from w2v_sgns.formats.source import refuse_pipe

        refuse_pipe(path)
        about = describe(path)
        vectors = load_vectors(path)
        two = _table(about.provenance.get("pairs")).get("towers") == 2
        if two and "output" not in about.tensors:
            raise FormatError(f"{path}: has two towers, but no tensor 'output'")
        parts = text_parts(about.tensors, len(vectors), path)
        return cls(
            vectors.matrix,
            vectors.vocabulary,
            document=about.tensors["output"] if two else None,
            text=text_options(about.config, text),
            **parts,
        )

    @property
    def dim(self) -> int:
        """Numbers in a vector, d."""
        return int(self.query.shape[1])

    @property
    def towers(self) -> int:
        """1 where queries and documents share their words' rows, else 2."""
        return 1 if self.document is self.query else 2

    def encode(self, texts: Iterable[str | bytes], *, tower: str = "query") -> Encoded:
        """Return the vectors of texts, (n, d).

        Raises:
            ConfigError: `tower` is neither query nor document.
        """
        return self.encode_tokens(self.tokenizer.lines(joined(texts)), tower=tower)

    def encode_source(self, source: Source, *, tower: str = "document") -> Iterator[Encoded]:
        """Yield the vectors of a text a line, block by block, lines without words included.

        Raises:
            CorpusError, StreamError: the source cannot be read.
            ConfigError: `tower` is neither query nor document.
        """
        for lines in whole_lines(source):
            yield self.encode_tokens(self.tokenizer.lines(lines.data), tower=tower)

    def encode_tokens(self, tokens: Tokens, *, tower: str = "query") -> Encoded:
        """Return the vectors of texts that are token ids."""
        table = self._tower(tower)
        rows = np.empty((len(tokens), self.dim), np.float32)
        totals, known = np.empty(BLOCK_TEXTS, np.float32), np.empty(len(tokens), np.int64)
        for start in range(0, len(tokens), BLOCK_TEXTS):
            block = rows[start : start + BLOCK_TEXTS]
            offsets = tokens.offsets[start : start + BLOCK_TEXTS + 1]
            counts = known[start : start + BLOCK_TEXTS]
            pool(table, self.weights, tokens.ids, offsets, block, totals, counts)
            scale_to_unit(block)
        return Encoded(rows, known)

    def _tower(self, tower: str) -> Matrix:
        if tower not in TOWERS:
            raise ConfigError(f"--tower must be query or document, not {tower!r}")
        return self.query if tower == "query" else self.document


def scale_to_unit(rows: Matrix) -> None:
    """Scale rows to length 1 in place; rows that are zero or not finite become zero."""
    with np.errstate(all="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
        low, high = SAFE_SQUARES
        odd = np.flatnonzero(~((squares > low) & (squares < high)))
        exact = unit(rows[odd].astype(np.float64))
        rows /= np.sqrt(squares)[:, None]
    rows[odd] = exact


def smooth_inverse_frequency(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return a / (a + p(w)), float32 (V,), of words with these counts (Arora et al. 2017)."""
    share = counts / max(1, int(counts.sum()))
    return np.asarray(SMOOTH / (SMOOTH + share), np.float32)


def text_options(config: dict[str, Any], asked: TextOptions | None = None) -> TextOptions:
    """Return how a model's training told words apart, and what is asked for beyond that.

    Where the text of the training lay plays no part.
    """
    plain = TextOptions()
    stored = {name: config[name] for name in TEXT_NAMES if name in config}
    for name in TEXT_NAMES:
        if asked is not None and getattr(asked, name) != getattr(plain, name):
            stored[name] = getattr(asked, name)
    return TextOptions(**stored)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_only(matrix: Matrix) -> Matrix:
    """Return rows without gaps that cannot be written: one kind of array for the kernels."""
    view = np.ascontiguousarray(matrix, np.float32).view()
    view.flags.writeable = False
    return view


def _counting(weights: NDArray[np.float32], *tables: Matrix) -> NDArray[np.float32]:
    """Return the weights with 0 for words whose row is not finite."""
    weights = np.array(weights, np.float32)
    for table in tables:
        for start in range(0, len(table), 1 << 14):
            finite = np.isfinite(table[start : start + (1 << 14)]).all(axis=1)
            weights[start : start + (1 << 14)][~finite] = 0
    return weights
