"""Adding, taking away, products of cosines, vectors and the odd one out, against naive code."""

from __future__ import annotations

import numpy as np
import pytest
from naive_evaluation import ranking
from small_models import small_model

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, UnknownWordError
from w2v_sgns.vectors import Vectors, products


@pytest.fixture
def vectors() -> Vectors:
    rng = np.random.default_rng(11)
    matrix = rng.standard_normal((30, 6)).astype("f4")
    matrix[7], matrix[8] = 0, np.nan
    matrix[20:25] = matrix[:5] * 3  # twins of other lengths
    return Vectors(matrix, Vocabulary.from_words([f"w{row}" for row in range(30)]))


def words(hits: list[tuple[str, float]]) -> list[int]:
    return [int(word[1:]) for word, _ in hits]


@pytest.mark.parametrize("method", ["add", "mul"])
@pytest.mark.parametrize("abc", [(0, 1, 2), (9, 9, 4), (5, 20, 0), (7, 1, 2)])
def test_analogies_equal_the_naive_ranking(
    vectors: Vectors, method: str, abc: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "BLOCK_BYTES", 1)
    ask = vectors.most_similar if method == "add" else vectors.most_similar_cosmul
    a, b, c = (f"w{row}" for row in abc)
    matrix = np.nan_to_num(vectors.matrix)
    for topn in (1, 5, 30):
        assert words(ask([b, c], [a], topn=topn)) == ranking(matrix, *abc, abc, method)[:topn]


def test_products_give_the_published_score(vectors: Vectors) -> None:
    rows = vectors.matrix.astype(float)
    unit = rows / np.where(rows.any(axis=1), np.linalg.norm(rows, axis=1), 1)[:, None]
    ((word, score),) = vectors.most_similar_cosmul(["w1", "w2"], ["w0"], topn=1)
    to = (1 + unit[int(word[1:])] @ unit[:3].T) / 2
    assert score == pytest.approx(to[1] * to[2] / (to[0] + 1e-6), rel=1e-9)


def test_restrict_and_exclusion_of_products(vectors: Vectors) -> None:
    assert set(words(vectors.most_similar_cosmul("w9", restrict=3, topn=9))) == {0, 1, 2}
    assert vectors.most_similar_cosmul(["w0", "w1"], ["w2"], restrict=3) == []


def test_weights_and_vectors_are_items_too(vectors: Vectors) -> None:
    plain = vectors.most_similar(["w1", "w2"], ["w0"])
    assert vectors.most_similar([("w1", 2.0), ("w2", 2.0), ("w0", -2.0)]) == [
        (word, pytest.approx(cosine)) for word, cosine in plain
    ]
    by_rows = vectors.most_similar([vectors["w1"], vectors["w2"]], [vectors["w0"]], topn=30)
    named = [hit for hit in by_rows if hit[0] not in ("w0", "w1", "w2")]
    assert [word for word, _ in named[:10]] == [word for word, _ in plain]
    assert vectors.most_similar(("w1", 1.0)) == vectors.most_similar("w1")
    assert vectors.most_similar(("w1", "w2")) == vectors.most_similar(["w1", "w2"])


def test_nothing_is_left_out_when_asked_by_vector(vectors: Vectors) -> None:
    hits = vectors.similar_by_vector(vectors["w3"], topn=3)
    assert words(hits)[:2] == [3, 23]
    assert hits[0][1] == pytest.approx(1)
    assert vectors.similar_by_vector(np.zeros(6)) == []


def test_taking_away_alone(vectors: Vectors) -> None:
    (far, cosine) = vectors.most_similar(None, "w1", topn=1)[0]
    assert cosine == pytest.approx(-vectors.similarity("w1", far))


def test_what_cannot_be_asked(vectors: Vectors) -> None:
    with pytest.raises(ConfigError, match="nothing to look for"):
        vectors.most_similar([])
    with pytest.raises(ConfigError, match=r"shape \(2,\); needed: 6 numbers"):
        vectors.similar_by_vector([1.0, 2.0])
    with pytest.raises(ConfigError, match="neither a word nor a vector"):
        vectors.most_similar([object()])
    with pytest.raises(UnknownWordError, match="'x', 'y'"):
        vectors.most_similar(["x", "w1"], ["y"])
    with pytest.raises(ConfigError, match="at least 1, not 0"):
        vectors.most_similar_cosmul("w1", topn=0)


def test_the_odd_one_out() -> None:
    rows = np.array([[1, 0.1], [0, 0], [1, 0], [-0.2, 1], [5, 0.2]], np.float32)
    vectors = Vectors(rows, Vocabulary.from_words(["a", "zero", "b", "odd", "c"]))
    assert vectors.doesnt_match(["a", "b", "odd", "c"]) == "odd"
    assert vectors.doesnt_match(["zero", "a", "b", "odd"]) == "odd"
    assert vectors.doesnt_match(["a", "a", "a"]) == "a"
    for few in (["a", "b"], ["a", "b", "zero"], []):
        with pytest.raises(ConfigError, match="at least three words"):
            vectors.doesnt_match(few)
    with pytest.raises(UnknownWordError):
        vectors.doesnt_match(["a", "b", "nothing"])


def test_asking_changes_nothing() -> None:
    model = small_model()
    before = model.E.copy()
    asked = model.vectors
    asked.most_similar(["king"], ["queen"])
    asked.most_similar_cosmul(["king"], ["queen"])
    asked.doesnt_match(["king", "queen", "größe"])
    asked.similar_by_vector(model.E[0])
    np.testing.assert_array_equal(model.E, before)
