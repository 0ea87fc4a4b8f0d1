"""Vectors of words: compare them, find the nearest, judge them.

The names are gensim's where the meaning is the same. Rows are read where they lie (a model in
memory or a mapped file) and never changed. Words are looked up in rows.py, searching is
neighbours.py's business, files are formats/'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2v_sgns.errors import ConfigError
from w2v_sgns.vectors.neighbours import nearest, unit
from w2v_sgns.vectors.products import nearest_by_product
from w2v_sgns.vectors.questions import Asked, read_question, read_vector
from w2v_sgns.vectors.rows import WordRows

if TYPE_CHECKING:
    from w2v_sgns.evaluation.analogy import AnalogyResult
    from w2v_sgns.evaluation.similarity import SimilarityResult
    from w2v_sgns.vectors.ann import Index

__all__ = ["Vectors"]

Neighbours = list[tuple[str, float]]


class Vectors(WordRows):
    """Vectors of words and the questions to them.

    Attributes:
        matrix: float32 (V, d), read-only.
        vocabulary: the words of the V rows.

    Raises:
        FormatError: rows and words differ in number.
    """

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        limit: int | None = None,
        words: Iterable[str | bytes] | None = None,
        read_vocab: Path | str | None = None,
    ) -> Self:
        """Open the input vectors of any readable file, or only its first rows or some words.

        With `read_vocab` the words get the counts of a vocabulary file. What is odd about the
        file is told by a FormatWarning.

        Raises:
            FormatError: missing, damaged or of an unknown kind.
            VocabularyError: the vocabulary file is damaged or lacks a word.
            ConfigError: `limit` is below 1.
        """
        from w2v_sgns.formats import load_vectors

        loaded = load_vectors(path, limit=limit, words=words, read_vocab=read_vocab)
        return cls(loaded.matrix, loaded.vocabulary)

    def save(self, path: Path | str, *, format: str | None = None, force: bool = False) -> None:
        """Write the vectors in the format that the suffix means, or the named one.

        Formats: safetensors, text, binary, glove, npy, tsv, parquet, folder.

        Raises:
            OutputError: the place or a word is refused, or writing fails.
            ConfigError: no such format.
        """
        from w2v_sgns.formats import save_vectors

        save_vectors(self, path, format=format, force=force)

    def similarity(self, first: str, second: str) -> float:
        """Return the cosine of two words; 0 where one of the vectors is zero.

        Raises:
            UnknownWordError: a word is not there.
        """
        left, right = unit(self[[first, second]].astype(np.float64))
        return float((left * right).sum().clip(-1, 1))

    def most_similar(
        self,
        positive: Asked = None,
        negative: Asked = None,
        *,
        topn: int = 10,
        restrict: int | None = None,
        index: Index | None = None,
    ) -> Neighbours:
        """Return the words of largest cosine to the mean direction of what is asked.

        Every vector counts with length 1; what is `negative` is subtracted. The asked words
        themselves are left out. Where no direction remains there are no neighbours.

        Args:
            positive: a word, a vector, several of them, or pairs of one and its weight.
            negative: likewise.
            topn: most neighbours.
            restrict: only the first so many rows compete (the most frequent words).
            index: an approximate search to ask instead of the exact one.

        Raises:
            UnknownWordError: a word is not there.
            ConfigError: nothing is asked, `topn` or `restrict` is below 1, or both `restrict`
                and `index` are given.
        """
        asked = read_question(self, positive, negative)
        (found,) = self._nearest(asked.mean(), [asked.rows], topn, restrict, index)
        return found

    def most_similar_cosmul(
        self,
        positive: Asked = None,
        negative: Asked = None,
        *,
        topn: int = 10,
        restrict: int | None = None,
    ) -> Neighbours:
        """Return the words of largest product of shifted cosines (3CosMul), with that product.

        Raises:
            UnknownWordError: a word is not there.
            ConfigError: nothing is asked, or `topn` or `restrict` is below 1.
        """
        asked = read_question(self, positive, negative)
        return self._named(
            nearest_by_product(
                self.matrix,
                asked.signed(1),
                asked.signed(-1),
                topn=topn,
                restrict=restrict,
                exclude=asked.rows,
            )
        )

    def similar_by_vector(
        self,
        vector: ArrayLike,
        *,
        topn: int = 10,
        restrict: int | None = None,
        index: Index | None = None,
    ) -> Neighbours:
        """Return the words of largest cosine to a vector (d,); no word is left out.

        Raises:
            ConfigError: the vector has another width, or `topn` or `restrict` is below 1.
        """
        asked = read_vector(vector, self)
        return self.most_similar(asked, topn=topn, restrict=restrict, index=index)

    def doesnt_match(self, words: Sequence[str]) -> str:
        """Return the word least like the mean direction of all; ties go to the first.

        Words whose vector is zero have no direction and are never the answer.

        Raises:
            UnknownWordError: names all words that are missing.
            ConfigError: fewer than three words, or fewer than three with a direction.
        """
        directions = unit(self[list(words)].astype(np.float64))
        valid = (directions != 0).any(axis=1)
        if valid.sum() < 3:
            raise ConfigError(
                f"the odd one out needs at least three words that are not zero, not {valid.sum()}"
            )
        cosines = (directions * unit(directions.sum(axis=0, keepdims=True))).sum(axis=1)
        return words[int(np.where(valid, cosines.round(12), np.inf).argmin())]

    def most_similar_each(
        self,
        words: Sequence[str],
        *,
        topn: int = 10,
        restrict: int | None = None,
        index: Index | None = None,
    ) -> list[Neighbours]:
        """Return for every word its own nearest words; one pass over the matrix serves all.

        Raises:
            UnknownWordError: names all words that are missing.
            ConfigError: `topn` or `restrict` is below 1, or `restrict` is given with `index`.
        """
        rows = self.rows(words)
        return self._nearest(self.matrix[rows], [[row] for row in rows], topn, restrict, index)

    def evaluate_analogies(self, path: Path | str, **options: Any) -> AnalogyResult:
        """Ask the analogy questions of a file or folder; options as in evaluation.analogy.

        Raises:
            FormatError: the file cannot be read or holds no analogies.
        """
        from w2v_sgns.evaluation.analogy import evaluate_analogies

        return evaluate_analogies(self, path, **options)

    def evaluate_similarity(self, path: Path | str, **options: Any) -> SimilarityResult:
        """Compare cosines with the scores of a file of word pairs; see evaluation.similarity.

        Raises:
            FormatError: the file cannot be read or holds no pairs.
        """
        from w2v_sgns.evaluation.similarity import evaluate_similarity

        return evaluate_similarity(self, path, **options)

    def _nearest(
        self,
        queries: NDArray[Any],
        exclude: list[list[int]],
        topn: int,
        restrict: int | None,
        index: Index | None,
    ) -> list[Neighbours]:
        if index is None:
            found = nearest(self.matrix, queries, topn=topn, restrict=restrict, exclude=exclude)
        elif restrict is not None:
            raise ConfigError("--restrict needs the exact search; leave out --index")
        else:
            found = index.nearest(queries, topn=topn, exclude=exclude)
        return [self._named(hits) for hits in found]

    def _named(self, hits: list[tuple[int, float]]) -> Neighbours:
        return [(self.vocabulary.word(row), cosine) for row, cosine in hits]
