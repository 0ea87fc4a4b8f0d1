"""The shared cases: folding, hand-made analogies, word pairs and what is no file of pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from naive_evaluation import read_vectors

from w2v_sgns.errors import FormatError
from w2v_sgns.evaluation import evaluate_analogies, evaluate_similarity
from w2v_sgns.evaluation.report import notes, table

CASES = Path(__file__).resolve().parent.parent / "cases"
CASE, HAND, PAIRS = (
    CASES / "54-analogy-case",
    CASES / "56-analogy-handmade",
    CASES / "57-word-similarity",
)


def outcomes(folder: Path, **options: object) -> tuple[list[int], list[str | None]]:
    vectors = read_vectors(folder / "vectors.txt")
    before = vectors.matrix.copy()
    result = evaluate_analogies(vectors, folder / "questions.txt", **options)
    np.testing.assert_array_equal(vectors.matrix, before)
    words = [vectors.index_to_key[row] if row >= 0 else None for row in result.answers]
    return result.outcome.tolist(), words


def test_exact_takes_words_as_written() -> None:
    assert outcomes(CASE, case="exact") == ([-1, -1, 1], [None, None, "Germany"])


def test_exact_names_what_it_does_not_know() -> None:
    vectors = read_vectors(CASE / "vectors.txt")
    words = list(vectors.vocabulary)
    result = evaluate_analogies(vectors, CASE / "questions.txt", case="exact")
    assert (result.total.asked, result.total.answered, result.total.right) == (3, 1, 1)
    unknown = {missing.word for missing in result.missing}
    assert {"france", "berlin", "germany", "PARIS"} <= unknown
    assert list(vectors.vocabulary) == words
    assert "case: exact" in notes(result)
    assert table(result).rows[-1][:4] == ["total", "3", "1", "2"]


def test_folding_takes_any_letter(tmp_path: Path) -> None:
    questions = tmp_path / "q"
    text = "straße Berlin Paris Germany\nSTRASSE Berlin Paris Germany\nİ ſ ΣΟΦΌΣ ı\n"
    questions.write_text(text, encoding="utf-8")
    vectors = read_vectors(CASE / "vectors.txt")
    answered = {
        case: (evaluate_analogies(vectors, questions, case=case).outcome >= 0).tolist()
        for case in ("exact", "fold", "match")
    }
    assert answered["exact"] == [True, False, False]
    assert answered["fold"] == answered["match"] == [True, True, False]


def test_fold_takes_the_most_frequent_spelling() -> None:
    assert outcomes(CASE, case="fold") == ([1, 1, 1], ["Germany"] * 3)


def test_match_folds_only_what_it_must() -> None:
    result = evaluate_analogies(read_vectors(CASE / "vectors.txt"), CASE / "questions.txt")
    assert result.case == "match"
    # The first question has `paris` as written, another row than Paris; its answer is folded.
    assert result.outcome.tolist()[1:] == [1, 1]
    assert result.folded.tolist() == [True, True, False]
    assert result.total.answered == 3
    assert "2 of those answered needed folding" in "\n".join(notes(result))


def test_a_folded_question_word_cannot_answer() -> None:
    vectors = read_vectors(CASE / "vectors.txt")
    result = evaluate_analogies(vectors, CASE / "questions.txt", case="fold", at=7)
    assert result.outcome.tolist() == [1, 1, 1]
    paris = vectors.key_to_index["paris"]
    assert paris not in result.answers.tolist()


def test_the_hand_made_analogies() -> None:
    outcome, words = outcomes(HAND)
    assert outcome == [1, 1, 1, 0, 0]
    assert words == ["queen", "king", "princess", "queen", "princess"]


def test_the_hand_made_sections_add_up() -> None:
    result = evaluate_analogies(read_vectors(HAND / "vectors.txt"), HAND / "questions.txt")
    assert [(t.name, t.right, t.answered) for t in result.sections()] == [
        ("gender", 2, 2),
        ("royal", 1, 3),
    ]
    assert (result.total.asked, result.total.answered, result.total.right) == (5, 5, 3)


def test_the_hand_made_cut_leaves_no_question() -> None:
    vectors = read_vectors(HAND / "vectors.txt")
    result = evaluate_analogies(vectors, HAND / "questions.txt", restrict=3)
    assert (result.total.asked, result.total.answered, result.total.accuracy) == (5, 0, None)
    assert {missing.word: missing.row for missing in result.missing}["queen"] == 3
    counted = evaluate_analogies(vectors, HAND / "questions.txt", restrict=3, count_skipped=True)
    assert counted.total.accuracy == 0


TOP_THREE = {  # a, b, c: the three nearest to b - a + c
    ("man", "king", "woman"): {"queen": 0.958569, "regina": 0.958569, "princess": 0.945277},
    ("woman", "queen", "man"): {"king": 0.958569, "prince": 0.945277, "regina": 0.232588},
    ("king", "prince", "queen"): {"princess": 0.997823, "regina": 0.967162, "woman": 0.735297},
    ("man", "apple", "woman"): {"princess": 0.570637, "queen": 0.408248, "regina": 0.408248},
}


@pytest.mark.parametrize("asked", TOP_THREE, ids=" ".join)
def test_the_hand_made_top_three(asked: tuple[str, str, str]) -> None:
    a, b, c = asked
    found = read_vectors(HAND / "vectors.txt").most_similar([b, c], [a], topn=3)
    assert [word for word, _ in found] == list(TOP_THREE[asked])
    np.testing.assert_allclose([x for _, x in found], list(TOP_THREE[asked].values()), atol=1e-6)


def test_the_words_are_those_of_most_similar() -> None:
    vectors = read_vectors(HAND / "vectors.txt")
    found = vectors.most_similar(["king", "woman"], ["man"], topn=3)
    assert [word for word, _ in found] == ["queen", "regina", "princess"]
    np.testing.assert_allclose([c for _, c in found], [0.958569, 0.958569, 0.945277], atol=1e-6)
    found = vectors.most_similar(["apple", "woman"], ["man"], topn=9)
    assert [word for word, _ in found][:3] == ["princess", "queen", "regina"]
    assert "zero" not in dict(found)


def test_word_pairs() -> None:
    result = evaluate_similarity(read_vectors(PAIRS / "vectors.txt"), PAIRS / "pairs.tsv")
    assert result.spearman == pytest.approx(0.882353, abs=1e-6)
    assert result.pearson == pytest.approx(0.794797, abs=1e-6)
    assert (result.asked, result.answered, result.unknown, result.without_direction) == (8, 6, 1, 1)
    assert result.questions.header == f"{PAIRS / 'pairs.tsv'}:2"
    assert [bad.line for bad in result.questions.malformed] == [10]
    assert [missing.word for missing in result.missing] == ["unknownword"]


def test_word_pairs_between_commas() -> None:
    result = evaluate_similarity(read_vectors(PAIRS / "vectors.txt"), PAIRS / "pairs.csv")
    assert result.spearman == pytest.approx(0.882353, abs=1e-6)


def test_constant_scores_have_no_correlation() -> None:
    result = evaluate_similarity(read_vectors(PAIRS / "vectors.txt"), PAIRS / "constant.tsv")
    assert (result.spearman, result.pearson, result.spearman_interval) == (None, None, None)
    assert [row[3] for row in table(result).rows[1:]] == ["n/a", "n/a"]
    assert "undefined" in "\n".join(notes(result))


@pytest.mark.parametrize("evaluate", [evaluate_similarity, evaluate_analogies])
def test_a_page_is_no_file_of_pairs(evaluate: object) -> None:
    with pytest.raises(
        FormatError, match=r"page\.html: .*no usable pairs; looks like an HTML page"
    ):
        evaluate(read_vectors(PAIRS / "vectors.txt"), PAIRS / "page.html")
