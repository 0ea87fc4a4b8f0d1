"""The same answers as gensim, question by question, on a model trained here.

Two differences are on purpose. gensim compares upper-cased words, this package casefolded ones: the
two differ for a few letters outside ASCII. And gensim looks for the answer among the five nearest
words only, so where all five are spellings of the question's words it answers with one of them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.vectors import Vectors

pytestmark = pytest.mark.interop


def to_gensim(vectors: Vectors) -> Any:
    from gensim.models import KeyedVectors

    theirs = KeyedVectors(vectors.vector_size)
    theirs.add_vectors(list(vectors.vocabulary), np.ascontiguousarray(vectors.matrix))
    theirs.fill_norms()
    return theirs


@pytest.fixture(scope="module")
def vectors(demo_model: Path) -> Vectors:
    """The demo vectors, some words capitalised, some under two spellings."""
    loaded = Vectors.load(demo_model)
    words = [w.title() if place % 3 == 0 else w for place, w in enumerate(loaded.vocabulary)]
    twins = [word.upper() for word in words[::5]]
    noise = np.random.default_rng(1).standard_normal((len(twins), loaded.vector_size)) * 0.02
    matrix = np.concatenate([loaded.matrix, loaded.matrix[::5] + noise.astype("f4")])
    return Vectors(matrix, Vocabulary.from_words([*words, *twins]))


def answers(sections: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(
        (section["section"], kind, *words)
        for section in sections[:-1]
        for kind in ("correct", "incorrect")
        for words in section[kind]
    )


@pytest.mark.parametrize("case", ["exact", "fold"])
@pytest.mark.parametrize("restrict", [900, 30_000])
def test_every_analogy(vectors: Vectors, root: Path, case: str, restrict: int) -> None:
    path = root / "data" / "demo-analogies.txt"
    result = vectors.evaluate_analogies(path, case=case, restrict=restrict)
    ours: Counter[tuple[Any, ...]] = Counter()
    for question, outcome in zip(result.questions.questions, result.outcome, strict=True):
        if outcome >= 0:
            words = (*question[1:4], question.answers[0])
            words = tuple(word.upper() for word in words) if case == "fold" else words
            ours[(question.section, "correct" if outcome else "incorrect", *words)] += 1
    _, sections = to_gensim(vectors).evaluate_word_analogies(
        str(path), restrict_vocab=restrict, case_insensitive=case == "fold"
    )
    assert ours == answers(sections)
    assert sum(ours.values()) > 20


@pytest.mark.filterwarnings("ignore:Call to deprecated `init_sims`")  # gensim calls its own
def test_products_of_cosines(vectors: Vectors) -> None:
    theirs, words = to_gensim(vectors), vectors.index_to_key
    for a, b, c in np.random.default_rng(2).integers(0, len(words), (20, 3)):
        asked = {"positive": [words[b], words[c]], "negative": [words[a]]}
        expected = dict(theirs.most_similar_cosmul(**asked, topn=5))
        assert dict(vectors.most_similar_cosmul(**asked, topn=5)) == pytest.approx(
            expected, rel=1e-4
        )


def test_the_odd_one_out(vectors: Vectors) -> None:
    theirs, words = to_gensim(vectors), vectors.index_to_key
    for rows in np.random.default_rng(3).integers(0, len(words), (20, 5)):
        some = [words[row] for row in rows]
        assert vectors.doesnt_match(some) == theirs.doesnt_match(some)


@pytest.mark.parametrize("case", ["exact", "fold"])
def test_word_pairs(vectors: Vectors, tmp_path: Path, case: str) -> None:
    rng, words = np.random.default_rng(4), vectors.index_to_key
    lines = [
        f"{words[a].lower()}\t{words[b]}\t{score}"
        for a, b, score in rng.integers(0, (len(words), len(words), 11), (400, 3))
    ]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(lines))
    ours = vectors.evaluate_similarity(path, case=case)
    pearson, spearman, skipped = to_gensim(vectors).evaluate_word_pairs(
        str(path), case_insensitive=case == "fold"
    )
    assert ours.pearson == pytest.approx(pearson[0], abs=1e-6)
    assert ours.spearman == pytest.approx(spearman[0], abs=1e-5)
    assert ours.unknown == pytest.approx(4 * skipped)
