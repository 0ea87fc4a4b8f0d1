"""What is asked, as directions: words and vectors to add and to take away.

Items are words, vectors, or either with a weight. Looking for the answer is the search's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import ConfigError
from w2v_sgns.vectors.neighbours import unit

if TYPE_CHECKING:
    from w2v_sgns.vectors.vectors import Vectors

__all__ = ["Asked", "Question", "read_question", "read_vector"]

Word: TypeAlias = str | bytes
Asked: TypeAlias = "Word | NDArray[Any] | Sequence[Any] | None"


@dataclass(frozen=True)
class Question:
    """Directions with their weights; the rows of the words asked of, which must not answer.

    Attributes:
        directions: float64 (n, d), each of length 1, or zero where it has no direction.
        weights: float64 (n,), negative for what is taken away.
        rows: the asked words' rows.
    """

    directions: NDArray[np.float64]
    weights: NDArray[np.float64]
    rows: list[int]

    def mean(self) -> NDArray[np.float64]:
        """Return the weighted sum of the directions, (1, d)."""
        total: NDArray[np.float64] = (self.weights @ self.directions)[None, :]
        return total

    def signed(self, sign: int) -> NDArray[np.float64]:
        """Return the directions that are added (1) or taken away (-1)."""
        chosen: NDArray[np.float64] = self.directions[np.sign(self.weights) == sign]
        return chosen


def read_question(vectors: Vectors, positive: Asked, negative: Asked) -> Question:
    """Look the words up and scale every vector to length 1.

    Raises:
        UnknownWordError: names all words that are missing.
        ConfigError: nothing is asked, or a vector is of another width.
    """
    signed = [(*_weighted(item), 1.0) for item in _items(positive)]
    signed += [(*_weighted(item), -1.0) for item in _items(negative)]
    if not signed:
        raise ConfigError("nothing to look for: name a word or give a vector")
    words = [item for item, _, _ in signed if isinstance(item, (str, bytes))]
    rows = vectors.rows(words)
    found = iter(rows)
    raw = [
        vectors.matrix[next(found)]
        if isinstance(item, (str, bytes))
        else read_vector(item, vectors)
        for item, _, _ in signed
    ]
    weights = np.array([weight * sign for _, weight, sign in signed])
    return Question(unit(np.array(raw, np.float64)), weights, rows)


def _items(asked: Asked) -> list[Any]:
    """Return a list of items from one of them, several, or none."""
    if asked is None:
        return []
    if isinstance(asked, (str, bytes)):
        return [asked]
    if isinstance(asked, np.ndarray):
        return list(np.atleast_2d(asked))
    if isinstance(asked, tuple) and _is_weighted(asked):
        return [asked]
    return list(asked)


def _weighted(item: Any) -> tuple[Any, float]:
    if isinstance(item, tuple) and _is_weighted(item):
        return item[0], float(item[1])
    return item, 1.0


def _is_weighted(item: tuple[Any, ...]) -> bool:
    """Return whether this is (word or vector, weight)."""
    return (
        len(item) == 2
        and isinstance(item[0], (str, bytes, np.ndarray))
        and isinstance(item[1], (int, float, np.number))
    )


def read_vector(item: Any, vectors: Vectors) -> NDArray[np.float64]:
    """Return a vector (d,) from whatever numbers it is given as.

    Raises:
        ConfigError: it is none, or of another width.
    """
    try:
        vector = np.asarray(item, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"neither a word nor a vector: {item!a:.80}") from error
    if vector.shape != (vectors.vector_size,):
        raise ConfigError(
            f"a query of shape {vector.shape}; needed: {vectors.vector_size} numbers in one row"
        )
    return vector
