"""Word classes: spherical k-means, what word2vec.c's `-classes` does.

Every word goes to the class whose centre has the largest cosine to it; a centre is the direction
of the sum of its words' unit vectors (Dhillon and Modha, "Concept decompositions for large sparse
text data using clustering", 2001). Float32 products find the centres that could win and float64
decides between them, so the classes depend on the vectors and the seed, not on how many threads a
matrix product used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import Vocabulary, decode_word
from w2v_sgns.errors import ConfigError, ResourceError, VocabularyError
from w2v_sgns.machine import available_memory, human_bytes
from w2v_sgns.vectors.neighbours import UNIT_ROUNDOFF, unit

__all__ = ["NO_CLASS", "WordClasses", "word_classes"]

NO_CLASS = -1  # of a row without a direction: zero, or not finite
ITERATIONS = 20  # at most; later ones bring next to nothing. word2vec.c stops after 10
BLOCK_BYTES = 1 << 24  # of cosines a step: the threads of a product meet seldom
BLOCK_ROWS = 1 << 14

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class WordClasses:
    """What was found.

    Attributes:
        labels: int64 (V,), the class of every row, 0 to K - 1 in the order of their first words;
            NO_CLASS for rows without a direction.
        centres: float64 (K, d), unit vectors.
        cosine: the mean cosine of a word to the nearest centre, which the iterations raise.
        iterations: passes over the words.
        settled: whether the last pass moved no word.
    """

    labels: Labels
    centres: NDArray[np.float64]
    cosine: float
    iterations: int
    settled: bool

    def order(self, *, by_class: bool = False) -> NDArray[np.int64]:
        """Return the rows in file order, or class after class."""
        if by_class:
            return np.argsort(self.labels, kind="stable")
        return np.arange(len(self.labels))

    def lines(self, vocabulary: Vocabulary, *, by_class: bool = False) -> Iterator[bytes]:
        """Yield `word<TAB>class` and a line end for every row.

        Raises:
            VocabularyError: a word holds a tab or a line end.
        """
        labels = self.labels.tolist()
        for row in self.order(by_class=by_class).tolist():
            word = vocabulary.word_bytes(row)
            if b"\t" in word or b"\n" in word:
                raise VocabularyError(
                    f"the word {decode_word(word)!a:.60} holds a tab or a line end, which a line "
                    "of word and class cannot; use --json"
                )
            yield b"%s\t%d\n" % (word, labels[row])


def word_classes(
    matrix: NDArray[np.float32], classes: int, *, seed: int = 1, iterations: int = ITERATIONS
) -> WordClasses:
    """Divide rows (V, d) into `classes` classes of similar direction.

    Starts from so many rows drawn with the seed. A class that loses all its words gets the word
    that fits worst where it is, so none is empty.

    Raises:
        ConfigError: fewer than 1 class, or more classes than rows with a direction; a negative
            seed; fewer than 1 iteration.
        ResourceError: there is no memory for a copy of the rows.
    """
    _check_settings(classes, seed, iterations)
    _check_memory(matrix)
    rows, kept = _directions(matrix)
    if classes > len(rows):
        raise ConfigError(
            f"{classes:,} classes need as many words with a direction, not {len(rows):,}"
        )
    start = np.random.default_rng(seed).choice(len(rows), classes, replace=False)
    centres = rows[np.sort(start)].astype(np.float64)
    labels = np.full(len(rows), NO_CLASS, np.int64)
    passes, settled = 0, False
    while passes < iterations and not settled:
        found, cosines = _assign(rows, centres)
        _fill_empty(found, cosines, classes)
        passes, settled = passes + 1, bool((found == labels).all())
        labels, centres = found, _centres(rows, found, centres)
    labels, centres = _in_order(labels, centres)
    everywhere = np.full(len(matrix), NO_CLASS, np.int64)
    everywhere[kept] = labels
    return WordClasses(everywhere, centres, float(cosines.mean()), passes, settled)


def _check_settings(classes: int, seed: int, iterations: int) -> None:
    for name, value, least in (
        ("the number of classes", classes, 1),
        ("--seed", seed, 0),
        ("iterations", iterations, 1),
    ):
        if value < least:
            raise ConfigError(f"{name} must be at least {least}, not {value}")


def _check_memory(matrix: NDArray[np.float32]) -> None:
    needed = 2 * matrix.shape[0] * matrix.shape[1] * 4 + 2 * BLOCK_BYTES
    free = available_memory()
    if needed > free:
        raise ResourceError(
            f"classes of {len(matrix):,} words of {matrix.shape[1]} numbers need "
            f"{human_bytes(needed)} of memory, {human_bytes(free)} are free; --top N takes fewer"
        )


def _directions(matrix: NDArray[np.float32]) -> tuple[NDArray[np.float32], Labels]:
    """Return the unit rows that have a direction, float32, and where they stand."""
    rows = np.empty(matrix.shape, np.float32)
    for start in range(0, len(matrix), BLOCK_ROWS):
        block = matrix[start : start + BLOCK_ROWS]
        rows[start : start + len(block)] = unit(block.astype(np.float64))
    kept = np.flatnonzero((rows != 0).any(axis=1))
    return (rows if len(kept) == len(rows) else rows[kept]), kept


def _assign(
    rows: NDArray[np.float32], centres: NDArray[np.float64]
) -> tuple[Labels, NDArray[np.float64]]:
    """Return for every row the centre of largest cosine, the first of equals, and that cosine."""
    labels, cosines = np.empty(len(rows), np.int64), np.empty(len(rows), np.float64)
    columns = np.ascontiguousarray(centres.T, np.float32)
    slack = np.float32(4 * (rows.shape[1] + 4) * UNIT_ROUNDOFF)  # twice a score's worst error
    height = max(1, BLOCK_BYTES // (4 * len(centres)))
    for start in range(0, len(rows), height):
        block = rows[start : start + height]
        scores = block @ columns
        best = scores.argmax(axis=1)
        floor = scores[np.arange(len(block)), best] - slack
        doubtful = np.flatnonzero(np.count_nonzero(scores >= floor[:, None], axis=1) > 1)
        for row in doubtful.tolist():
            able = np.flatnonzero(scores[row] >= floor[row])
            best[row] = able[_cosines(block[row], centres[able]).argmax()]
        labels[start : start + height] = best
        cosines[start : start + height] = _cosines(block, centres[best])
    return labels, cosines


def _cosines(rows: NDArray[np.float32], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the products of unit rows, summed by NumPy alone: no library's threads take part."""
    sums: NDArray[np.float64] = (rows.astype(np.float64) * centres).sum(axis=1)
    return sums


def _fill_empty(labels: Labels, cosines: NDArray[np.float64], classes: int) -> None:
    """Give every empty class the worst fitting word of a class that keeps others."""
    sizes = np.bincount(labels, minlength=classes)
    empty = np.flatnonzero(sizes == 0).tolist()
    if not empty:
        return
    for row in np.argsort(cosines, kind="stable").tolist():
        if sizes[labels[row]] > 1:
            sizes[labels[row]] -= 1
            labels[row] = empty.pop(0)
            sizes[labels[row]] += 1
            if not empty:
                return


def _centres(
    rows: NDArray[np.float32], labels: Labels, former: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the direction of each class's sum, summed in float64 and in the order of rows.

    Where the unit vectors cancel out, the former centre stays.
    """
    sums = np.empty(former.shape)
    for column in range(rows.shape[1]):
        sums[:, column] = np.bincount(labels, weights=rows[:, column], minlength=len(former))
    centres = unit(sums)
    lost = ~(centres != 0).any(axis=1)
    centres[lost] = former[lost]
    return centres


def _in_order(labels: Labels, centres: NDArray[np.float64]) -> tuple[Labels, NDArray[np.float64]]:
    """Give the classes numbers in the order of their first words."""
    _, first = np.unique(labels, return_index=True)  # no class is empty
    order = np.argsort(first)
    numbers = np.empty_like(order)
    numbers[order] = np.arange(len(order))
    return numbers[labels], centres[order]
