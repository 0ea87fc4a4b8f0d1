"""Texts judged: which files hold texts, ranks against a loop, what cannot be found."""

from __future__ import annotations

import gzip
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2v_sgns import CorpusError, FormatError, Vocabulary
from w2v_sgns.evaluation.comparison import compare
from w2v_sgns.evaluation.questions import Pair
from w2v_sgns.evaluation.report import document, notes, table
from w2v_sgns.evaluation.retrieval import (
    QueryDocuments,
    RetrievalResult,
    ScoredTexts,
    _ranks,
    ask_documents,
    ask_scored,
    holds_texts,
    read_text_questions,
)
from w2v_sgns.evaluation.statistics import spearman, wilson
from w2v_sgns.text import Encoder

PAIRS = "a cat\tthe cat sat\na dog\tthe dog ran\n"
STS = "a cat\tthe cat\t4.5\na dog\tthe cat\t1.0\na cat\ta dog\t2\nthe dog\ta dog\t4\n"
WORDS = ["cat", "dog", "sat", "ran"]
ENCODER = Encoder(np.eye(4, dtype=np.float32), Vocabulary.from_words(WORDS))


@pytest.mark.parametrize(
    "text, kind",
    [
        (PAIRS, "paired"),
        (STS, "scored"),
        ("first\tsecond\tscore\n" + STS, "scored"),
        ("a b\tc d\te f\n" * 3, "paired"),
        ("anarchism\tthe title of this one is a word\n" * 3, "paired"),
        ("tiger\tcat\t7.35\nking\tqueen\t8.58\n", None),
        ("tiger cat 7.35\nking queen 8.58\n", None),
        (": capital\nAthens Greece Baghdad Iraq\n", None),
        ("album\tsongs/tracks\nking\tmen\n", None),
        ("", None),
    ],
)
def test_files_of_texts_are_told_from_files_of_words(
    tmp_path: Path, text: str, kind: str | None
) -> None:
    (tmp_path / "f").write_text(text)
    assert holds_texts(tmp_path / "f") == kind
    (tmp_path / "f.gz").write_bytes(gzip.compress(text.encode()))
    assert holds_texts(tmp_path / "f.gz") == kind


def test_folders_missing_files_and_pipes_are_not_looked_at(tmp_path: Path) -> None:
    assert holds_texts(tmp_path) is None
    assert holds_texts(tmp_path / "none.tsv") is None
    os.mkfifo(tmp_path / "pipe")
    assert holds_texts(tmp_path / "pipe") is None  # looking would wait, and eat what it holds


def test_cut_files_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(os.urandom(1000))[:-20])
    with pytest.raises(FormatError, match=r"f\.gz"):
        holds_texts(path)


def naive_ranks(
    queries: np.ndarray, pool: np.ndarray, own: list[list[int]], right: list[list[int]]
) -> list[int]:
    ranks = []
    for query, mine, known in zip(queries.astype(float), own, right, strict=True):
        scores = [float(query @ row) if row.any() else -math.inf for row in pool.astype(float)]
        best = max((scores[place] for place in mine), default=-math.inf)
        if not query.any() or best == -math.inf:
            ranks.append(0)
            continue
        ahead = [i for i, s in enumerate(scores) if s >= best - 1e-6]
        ranks.append(1 + len([i for i in ahead if i not in known]))
    return ranks


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 9))
def test_ranks_equal_a_loop(seed: int, questions: int, documents: int) -> None:
    rng = np.random.default_rng(seed)
    # coarse numbers make ties, and some rows are zero
    queries = rng.integers(-1, 2, (questions, 3)).astype(np.float32)
    pool = rng.integers(-1, 2, (documents, 3)).astype(np.float32)
    own = [rng.permutation(documents)[: rng.integers(0, 3)].tolist() for _ in range(questions)]
    right = [[*some, *rng.permutation(documents)[: rng.integers(0, 2)].tolist()] for some in own]
    assert _ranks(queries, pool, own, right).tolist() == naive_ranks(queries, pool, own, right)


def asked(queries: list[str], documents: list[str], pool: list[str]) -> RetrievalResult:
    encoded = [[text.encode() for text in some] for some in (queries, documents, pool)]
    parts = dict(zip(("queries", "documents", "pool"), encoded, strict=True))
    return ask_documents(ENCODER, QueryDocuments("p.tsv", "queries and documents", **parts))


def test_equal_texts_are_right_and_ties_count_against() -> None:
    found = asked(["cat"], ["cat sat"], ["dog", "cat sat", "cat sat"])
    assert found.ranks.tolist() == [1]
    tied = asked(["cat"], ["cat sat"], ["cat ran", "cat sat"])
    assert tied.ranks.tolist() == [2]


def test_other_right_documents_of_a_query_are_left_out() -> None:
    queries, documents = ["cat", "cat", "dog"], ["cat", "cat sat", "dog"]
    found = asked(queries, documents, ["cat", "cat sat", "cat sat ran", "dog"])
    assert found.ranks.tolist() == [1, 1, 1]  # "cat sat" is second to "cat", which is right as well
    alone = asked(["cat"], ["cat sat"], ["cat", "cat sat"])
    assert alone.ranks.tolist() == [2]


def test_what_cannot_be_found() -> None:
    queries, documents = ["cat", "?", "dog", "ran"], ["cat", "cat", "mouse", "ran ran"]
    found = asked(queries, documents, ["cat", "mouse", "ran"])
    assert found.ranks.tolist() == [1, 0, 0, 0]
    assert (found.absent, found.without_direction, found.empty) == (1, 2, 1)
    said = " ".join(notes(found))
    assert "1 right documents are not in the pool" in said and "2 questions" in said


def test_the_measures() -> None:
    parts = QueryDocuments("p.tsv", "queries and documents", pool=[b""] * 200)
    ranks = np.array([1, 2, 7, 11, 150, 0])
    result = RetrievalResult(parts, ranks, words=4, absent=0, without_direction=0, empty=0)
    figures = {name: (value, interval) for name, value, interval in result.figures()}
    shares = {1: 1, 5: 2, 10: 3, 100: 4}
    for depth, right in shares.items():
        assert figures[f"recall@{depth}"] == (right / 6, wilson(right, 6))
    assert figures["MRR@10"][0] == pytest.approx((1 + 1 / 2 + 1 / 7) / 6)
    gains = 1 + 1 / math.log2(3) + 1 / math.log2(8)
    assert figures["nDCG@10"][0] == pytest.approx(gains / 6)
    low, high = figures["MRR@10"][1] or (0, 0)
    assert low < figures["MRR@10"][0] < high
    assert [row[0] for row in table(result).rows[1:]] == list(figures)
    assert document(result)["candidates"] == 200


def test_two_models_are_compared() -> None:
    parts = QueryDocuments("p.tsv", "queries and documents", pool=[b""] * 20)
    first, second = (
        RetrievalResult(parts, np.array(ranks), words=4, absent=0, without_direction=0, empty=0)
        for ranks in ([1, 12, 0, 2], [1, 1, 3, 2])
    )
    values = {one.name: (one.first, one.second) for one in compare(first, second)}
    assert values["recall@10"] == (0.5, 1.0)
    assert values["MRR@10"] == pytest.approx((1.5 / 4, (1 + 1 + 1 / 3 + 1 / 2) / 4))


def test_scored_texts(tmp_path: Path) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text("first\tsecond\tscore\n" + STS + "broken\nx y\tz\t3\n")
    questions = read_text_questions(path)
    assert isinstance(questions, ScoredTexts)
    assert (len(questions.pairs), questions.header) == (5, f"{path}:1")
    assert [bad.line for bad in questions.malformed] == [6]
    result = ask_scored(ENCODER, questions)
    assert (result.asked, result.unknown, int(result.counted.sum())) == (5, 1, 4)
    assert result.spearman == spearman([1, 0, 0, 1], [4.5, 1, 2, 4])
    assert "1 pairs with a text without a known word are left out" in " ".join(notes(result))
    assert int(ask_scored(ENCODER, questions, count_skipped=True).counted.sum()) == 5


def test_rounding_is_not_ranked() -> None:
    """Each text beside itself: the cosines are 1 but for float32's rounding."""
    rng = np.random.default_rng(1)
    words = [f"w{number}" for number in range(60)]
    encoder = Encoder(
        rng.standard_normal((60, 16)).astype(np.float32), Vocabulary.from_words(words)
    )
    texts = [" ".join(words[3 * number : 3 * number + 3]) for number in range(20)]
    rows = encoder.encode(texts).rows.astype(float)
    assert len(set((rows * rows).sum(axis=1))) > 1  # there is something to rank
    pairs = [Pair(text, text, float(number)) for number, text in enumerate(texts)]
    result = ask_scored(encoder, ScoredTexts("s.tsv", "text pairs", pairs=pairs))
    assert (result.spearman, result.pearson) == (None, None)
    assert "undefined (n/a)" in " ".join(notes(result))


def test_scores_that_are_not_finite_are_malformed(tmp_path: Path) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text("a cat\tthe dog\tnan\na dog\tthe dog\t-inf\nthe cat\ta cat\t3\n")
    questions = read_text_questions(path)
    assert isinstance(questions, ScoredTexts)
    assert ([bad.line for bad in questions.malformed], questions.header) == ([1, 2], None)
    assert "finite score" in questions.malformed[0].message
    path.write_text("a cat\tthe dog\tnan\n")
    with pytest.raises(FormatError, match="no line holds two texts and a finite score"):
        read_text_questions(path)


def test_the_pool_is_given_or_the_files_own(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text(PAIRS + "a cat\tthe cat sat\n")
    (tmp_path / "pool.txt").write_text("the cat sat\n\nother\n")
    own = read_text_questions(tmp_path / "p.tsv")
    assert isinstance(own, QueryDocuments)
    assert own.pool == [b"the cat sat", b"the dog ran"]
    given_pool = read_text_questions(tmp_path / "p.tsv", [tmp_path / "pool.txt"])
    assert isinstance(given_pool, QueryDocuments)
    assert given_pool.pool == [b"the cat sat", b"other"]
    with pytest.raises(CorpusError, match=r"none\.txt"):
        read_text_questions(tmp_path / "p.tsv", [tmp_path / "none.txt"])
