"""Answers in blocks equal the naive ranking: ties, zero rows, twins, both methods, any K."""

from __future__ import annotations

import numpy as np
import pytest
from naive_evaluation import ranking

from w2v_sgns.evaluation import answering
from w2v_sgns.evaluation.answering import RowQuestions, answer


@pytest.fixture(params=["one block", "many blocks"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "many blocks":
        monkeypatch.setattr(answering, "BLOCK_ROWS", 7)
        monkeypatch.setattr(answering, "BATCH", 3)


def random_questions(rng: np.random.Generator, rows: int, count: int) -> RowQuestions:
    a, b, c = rng.integers(0, rows, (3, count))
    extra = rng.integers(0, rows, (count, 2)).tolist()
    banned = [[*map(int, abc), *more] for *abc, more in zip(a, b, c, extra, strict=True)]
    accepted = [
        [int(row) for row in rng.integers(0, rows, rng.integers(0, 4)) if row not in some]
        for some in banned
    ]
    return RowQuestions(a, b, c, accepted, banned)


def check(matrix: np.ndarray, questions: RowQuestions, method: str, at: int) -> None:
    found = answer(matrix, questions, method=method, at=at)
    for place, (a, b, c) in enumerate(zip(questions.a, questions.b, questions.c, strict=True)):
        rows = ranking(matrix, a, b, c, questions.banned[place], method)
        assert found.rows[place] == (rows[0] if rows else -1), place
        assert found.right[place] == bool(set(rows[:at]) & set(questions.accepted[place])), place


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("method", ["add", "mul"])
@pytest.mark.parametrize("at", [1, 2, 5, 100])
@pytest.mark.parametrize("dim", [1, 2, 12])
def test_equal_to_the_naive_ranking(method: str, at: int, dim: int) -> None:
    rng = np.random.default_rng(dim)
    matrix = rng.standard_normal((40, dim)).astype("f4")
    check(matrix, random_questions(rng, 40, 25), method, at)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("method", ["add", "mul"])
@pytest.mark.parametrize("at", [1, 3])
def test_twins_and_zero_rows(method: str, at: int) -> None:
    rng = np.random.default_rng(5)
    few = rng.standard_normal((6, 8)).astype("f4")
    matrix = few[rng.integers(0, 6, 40)]
    matrix[[4, 11, 30]] = 0
    check(matrix, random_questions(rng, 40, 40), method, at)


@pytest.mark.parametrize("method", ["add", "mul"])
def test_near_ties_are_decided_in_float64(method: str) -> None:
    rng = np.random.default_rng(9)
    base = rng.standard_normal(50)
    matrix = (base + 1e-6 * rng.standard_normal((60, 50))).astype("f4")
    matrix[:3] = rng.standard_normal((3, 50))
    questions = random_questions(rng, 3, 4)
    accepted = [[int(row)] for row in rng.integers(3, 60, 4)]
    questions = RowQuestions(questions.a, questions.b, questions.c, accepted, questions.banned)
    for at in (1, 4, 20):
        check(matrix, questions, method, at)


def test_nobody_can_answer() -> None:
    matrix = np.eye(3, dtype="f4")
    rows = np.array([0]), np.array([1]), np.array([2])
    found = answer(matrix, RowQuestions(*rows, [[]], [[0, 1, 2]]))
    assert (found.rows.tolist(), found.right.tolist()) == ([-1], [False])


def test_the_rows_are_not_changed() -> None:
    matrix = np.random.default_rng(1).standard_normal((9, 4)).astype("f4")
    before = matrix.copy()
    check(matrix, random_questions(np.random.default_rng(2), 9, 9), "add", 2)
    np.testing.assert_array_equal(matrix, before)
