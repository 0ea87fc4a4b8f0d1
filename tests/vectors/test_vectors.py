"""Looking words up, comparing them, asking for neighbours; the names are gensim's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_models import WORDS, small_model

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import FormatError, UnknownWordError
from w2v_sgns.vectors import Vectors


@pytest.fixture
def vectors() -> Vectors:
    return small_model().vectors


def test_lookup(vectors: Vectors) -> None:
    E = small_model().E
    np.testing.assert_array_equal(vectors["queen"], E[1])
    np.testing.assert_array_equal(vectors[["queen", "king"]], E[[1, 0]])
    assert vectors[[]].shape == (0, 5)
    assert len(vectors) == len(WORDS)
    assert vectors.vector_size == 5
    assert "new york" in vectors
    assert "caf\udce9" in vectors
    assert "" in vectors
    assert "nothing" not in vectors
    assert 7 not in vectors
    assert repr(vectors) == "<Vectors of 8 words × 5>"


def test_the_lists_of_words(vectors: Vectors) -> None:
    assert vectors.index_to_key[:3] == ["king", "queen", "new york"]
    assert vectors.key_to_index["caf\udce9"] == 4
    assert all(vectors.key_to_index[word] == i for i, word in enumerate(vectors.index_to_key))


def test_the_first_of_twin_words_counts() -> None:
    twins = Vectors(np.arange(6, dtype="f4").reshape(3, 2), Vocabulary.from_words(["a", "b", "a"]))
    assert twins["a"].tolist() == [0, 1]
    assert twins.key_to_index == {"a": 0, "b": 1}
    # Row 2 is another vector under the same name.
    assert [word for word, _ in twins.most_similar("a")] == ["b", "a"]


def test_stored_vectors_cannot_be_changed(vectors: Vectors) -> None:
    before = vectors.matrix.copy()
    with pytest.raises(ValueError, match="read-only"):
        vectors["king"][0] = 1
    with pytest.raises(ValueError, match="read-only"):
        vectors.matrix += 1
    vectors.most_similar("king")
    vectors.most_similar(["king", "queen"])
    vectors.similarity("king", "queen")
    np.testing.assert_array_equal(vectors.matrix, before)
    assert small_model().E.flags.writeable


def test_similarity(vectors: Vectors) -> None:
    a, b = (vectors[word].astype(np.float64) for word in ("king", "queen"))
    expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert vectors.similarity("king", "queen") == pytest.approx(expected, abs=1e-14)
    assert vectors.similarity("king", "king") == pytest.approx(1)


def test_a_zero_vector_is_like_nothing() -> None:
    rows = np.array([[1, 1], [0, 0], [1, 0]], np.float32)
    vectors = Vectors(rows, Vocabulary.from_words(["one", "zero", "half"]))
    assert vectors.similarity("one", "zero") == 0
    assert vectors.most_similar("zero") == []
    assert [word for word, _ in vectors.most_similar("one")] == ["half"]


def test_most_similar_leaves_the_question_out(vectors: Vectors) -> None:
    found = vectors.most_similar("king", topn=100)
    assert len(found) == 7
    assert "king" not in dict(found)
    for word, cosine in found:
        assert cosine == pytest.approx(vectors.similarity("king", word), abs=1e-12)
    assert [c for _, c in found] == sorted((c for _, c in found), reverse=True)
    assert len(vectors.most_similar("king", topn=2)) == 2
    assert {w for w, _ in vectors.most_similar("größe", restrict=2)} == {"king", "queen"}


def test_most_similar_to_several_is_to_their_mean_direction(vectors: Vectors) -> None:
    rows = vectors.matrix.astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    mean = rows[0] + rows[1]
    cosines = rows @ mean / np.linalg.norm(mean)
    found = vectors.most_similar(["king", "queen"], topn=3)
    best = [i for i in np.argsort(-cosines) if i not in (0, 1)][:3]
    assert [word for word, _ in found] == [vectors.index_to_key[i] for i in best]
    np.testing.assert_allclose([c for _, c in found], cosines[best])


def test_each_word_its_own_list(vectors: Vectors) -> None:
    words = ["king", "größe", "king"]
    found = vectors.most_similar_each(words, topn=4)
    for word, hits in zip(words, found, strict=True):
        alone = vectors.most_similar(word, topn=4)
        assert [other for other, _ in hits] == [other for other, _ in alone]
        assert dict(hits) == pytest.approx(dict(alone), abs=1e-14)
    assert vectors.most_similar_each([]) == []


@pytest.mark.parametrize("ask", ["__getitem__", "most_similar"])
def test_an_unknown_word_is_one_line_with_close_spellings(vectors: Vectors, ask: str) -> None:
    with pytest.raises(UnknownWordError) as caught:
        getattr(vectors, ask)("kign")
    assert str(caught.value) == "not among the 8 words: 'kign' (close: king)"
    assert isinstance(caught.value, KeyError)


def test_all_unknown_words_are_named(vectors: Vectors) -> None:
    with pytest.raises(UnknownWordError) as caught:
        vectors.most_similar_each(["King", "king", "a\nb", "a\nb", "\ud800"])
    message = str(caught.value)
    assert message == "not among the 8 words: 'King' (close: king), 'a\\nb', '\\ud800'"
    with pytest.raises(UnknownWordError, match="and 95 more"):
        vectors.rows([f"unknown{i}" for i in range(100)])


def test_rows_and_words_must_agree() -> None:
    with pytest.raises(FormatError, match="for 2 words"):
        Vectors(np.zeros((3, 2), "f4"), Vocabulary.from_words(["a", "b"]))


def test_loaded_vectors_are_mapped(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    small_model().save(file)
    vectors = Vectors.load(file)
    np.testing.assert_array_equal(vectors["queen"], small_model().E[1])
    assert vectors.most_similar("king") == small_model().vectors.most_similar("king")
