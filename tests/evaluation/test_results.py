"""What is counted, said and compared: skipped questions, groups, relations, paired differences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from naive_evaluation import correlation, cosine, mean_ranks, read_vectors

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, FormatError
from w2v_sgns.evaluation import evaluate_analogies, evaluate_similarity
from w2v_sgns.evaluation.comparison import compare, shared_vocabulary
from w2v_sgns.evaluation.files import read_questions
from w2v_sgns.evaluation.relations import ask_relations
from w2v_sgns.evaluation.report import difference_document, difference_table, document, notes, table
from w2v_sgns.vectors import Vectors

HAND = Path(__file__).resolve().parent.parent / "cases" / "56-analogy-handmade"


@pytest.fixture
def vectors() -> Vectors:
    return read_vectors(HAND / "vectors.txt")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_skipped_questions_are_left_out_or_wrong(vectors: Vectors, tmp_path: Path) -> None:
    path = write(tmp_path / "q", "man king woman queen\nman king nobody queen\nman king woman x\n")
    result = evaluate_analogies(vectors, path)
    assert (result.total.asked, result.total.skipped, result.total.accuracy) == (3, 2, 1.0)
    assert {missing.word: missing.questions for missing in result.missing} == {"nobody": 1, "x": 1}
    assert all(missing.row is None for missing in result.missing)
    counted = evaluate_analogies(vectors, path, count_skipped=True)
    assert counted.total.accuracy == pytest.approx(1 / 3)
    assert "skipped questions count as wrong" in "\n".join(notes(counted))


def test_right_among_the_first(vectors: Vectors) -> None:
    path = HAND / "questions.txt"
    right = {at: evaluate_analogies(vectors, path, at=at).outcome.tolist() for at in (1, 2, 3)}
    assert right == {1: [1, 1, 1, 0, 0], 2: [1, 1, 1, 1, 0], 3: [1, 1, 1, 1, 0]}


def test_any_alternative_is_right(vectors: Vectors, tmp_path: Path) -> None:
    path = write(tmp_path / "E01.txt", "man\tking/x\nwoman\tnobody/regina/queen\n")
    result = evaluate_analogies(vectors, path)
    assert result.outcome.tolist() == [1, -1]  # the second's example, woman : nobody, is unknown
    assert [missing.word for missing in result.missing] == ["nobody"]


def test_zero_restrict_is_all_words(vectors: Vectors) -> None:
    assert evaluate_analogies(vectors, HAND / "questions.txt", restrict=0).restrict == 9


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"case": "x"}, "--case must be exact, fold, match"),
        ({"method": "x"}, "--method must be add or mul"),
        ({"restrict": -1}, "--restrict must be at least 0"),
        ({"at": 0}, "--at must be at least 1"),
    ],
)
def test_ranges(vectors: Vectors, wrong: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate_analogies(vectors, HAND / "questions.txt", **wrong)


def test_the_wrong_kind_of_file(vectors: Vectors, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="holds analogies"):
        evaluate_similarity(vectors, HAND / "questions.txt")
    with pytest.raises(FormatError, match="holds word pairs"):
        evaluate_analogies(vectors, write(tmp_path / "p", "man woman 3\n"))


def test_skipped_pairs_count_as_unlike(vectors: Vectors, tmp_path: Path) -> None:
    path = write(tmp_path / "p", "man king 6\nking queen 8\nking x 1\nking prince 9\nzero man 4\n")
    left_out, counted = (
        evaluate_similarity(vectors, path, count_skipped=count) for count in (False, True)
    )
    assert (int(left_out.counted.sum()), int(counted.counted.sum())) == (3, 4)
    assert counted.cosines[2] == 0
    assert np.isnan(counted.cosines[4])


@pytest.fixture
def semeval(tmp_path: Path) -> Path:
    write(tmp_path / "s" / "Phase1Questions-1a.txt", "man:king\nwoman:queen\nx:y\n")
    gold = (
        '9 "man:prince"\n8 "woman:regina"\n1 "king:man"\n2 "apple:man"\n5 "x:king"\n3 "zero:king"\n'
    )
    write(tmp_path / "s" / "GoldRatings-1a.txt", gold)
    return tmp_path / "s"


def test_relations_equal_naive(vectors: Vectors, semeval: Path) -> None:
    result = ask_relations(vectors, read_questions(semeval))
    unit = {
        w: v / (np.linalg.norm(v) or 1)
        for w, v in zip(vectors.index_to_key, vectors.matrix.astype(float), strict=True)
    }
    typical = unit["king"] - unit["man"] + unit["queen"] - unit["woman"]
    pairs = ["man prince", "woman regina", "king man", "apple man"]
    cosines = [round(cosine(unit[b] - unit[a], typical), 12) for a, b in map(str.split, pairs)]
    (one,) = result.relations
    np.testing.assert_allclose(one.cosines[:4], cosines, atol=1e-6)
    expected = correlation(mean_ranks(cosines), mean_ranks([9, 8, 1, 2]))
    assert result.mean == pytest.approx(expected)
    assert (one.unknown, one.without_direction) == (1, 1)
    assert [row[0] for row in table(result).rows] == ["relation", "1a", "mean"]


def other_model(vectors: Vectors) -> Vectors:
    """The words in another order, one missing, the rows blurred."""
    keep = [8, 0, 1, 2, 3, 5, 6, 7]
    blur = np.random.default_rng(1).standard_normal((8, 4)).astype("f4") * 0.8
    words = [vectors.index_to_key[row] for row in keep]
    return Vectors(vectors.matrix[keep] + blur, Vocabulary.from_words(words))


def test_differences_are_over_what_both_answered(vectors: Vectors) -> None:
    first, second = (
        evaluate_analogies(model, HAND / "questions.txt")
        for model in (vectors, other_model(vectors))
    )
    parts = {part.name: part for part in compare(first, second)}
    assert list(parts) == ["gender", "royal", "total"]
    both = (first.outcome >= 0) & (second.outcome >= 0)
    assert parts["total"].questions == both.sum() == 4
    expected = (second.outcome[both] == 1).mean() - (first.outcome[both] == 1).mean()
    assert parts["total"].difference == pytest.approx(expected)
    low, high = parts["total"].interval
    assert low <= expected <= high
    rows = difference_table(first, list(parts.values())).rows
    assert rows[-1][:2] == ["total", "4"]
    json.dumps(list(map(difference_document, parts.values())), allow_nan=False)


def test_differences_of_pairs_and_relations(
    vectors: Vectors, tmp_path: Path, semeval: Path
) -> None:
    lines = ["man king 6", "king queen 8", "man apple 1", "king prince 9", "man regina 2"]
    path = write(tmp_path / "p", "\n".join(lines))
    models = [vectors, other_model(vectors)]
    (part,) = compare(*(evaluate_similarity(model, path) for model in models))
    assert part.questions == 4  # one model has no regina
    assert part.difference == pytest.approx(part.second - part.first)
    relations = compare(*(ask_relations(model, read_questions(semeval)) for model in models))
    assert [part.name for part in relations] == ["1a", "mean"]
    with pytest.raises(ConfigError, match="same questions"):
        compare(
            evaluate_similarity(vectors, path), evaluate_analogies(vectors, HAND / "questions.txt")
        )


def test_the_shared_vocabulary(vectors: Vectors) -> None:
    models = shared_vocabulary([vectors, other_model(vectors)])
    assert models[0].index_to_key == models[1].index_to_key
    assert "regina" not in models[0]
    np.testing.assert_array_equal(models[0]["king"], vectors["king"])
    cut = shared_vocabulary([vectors, other_model(vectors)], restrict=3)
    assert cut[0].index_to_key == ["man", "woman"]
    nothing = Vectors(vectors.matrix[:1], Vocabulary.from_words(["else"]))
    with pytest.raises(ConfigError, match="no word in common"):
        shared_vocabulary([vectors, nothing])


def test_documents_hold_no_nan(vectors: Vectors, tmp_path: Path, semeval: Path) -> None:
    constant = write(tmp_path / "p", "man king 5\nking queen 5\n")
    for result in (
        evaluate_similarity(vectors, constant),
        evaluate_analogies(vectors, HAND / "questions.txt", restrict=3),
        ask_relations(vectors, read_questions(semeval)),
    ):
        text = json.dumps(document(result), allow_nan=False)
        assert json.loads(text)["words"] == 9
        assert "nan" not in " ".join(cell for row in table(result).rows for cell in row)
