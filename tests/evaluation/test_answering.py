"""Answers in blocks equal the naive ranking: ties, zero rows, twins, both methods, any K."""

from __future__ import annotations

import numpy as np
import pytest
from naive_evaluation import ranking

from w2v_sgns.evaluation import answering, tiles
from w2v_sgns.evaluation.answering import RowQuestions, answer


@pytest.fixture(params=["one block", "many blocks"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "many blocks":  # of one tile, and three questions a step
        monkeypatch.setattr(tiles, "TABLE_BYTES", 1)
        monkeypatch.setattr(answering, "BOUNDS", 3)
        monkeypatch.setattr(answering, "MOST_TOGETHER", 7)
        monkeypatch.setattr(answering, "MOST_FOUND", 9)


def random_questions(rng: np.random.Generator, rows: int, count: int) -> RowQuestions:
    a, b, c = rng.integers(0, rows, (3, count))
    banned = rng.integers(0, rows, (count, 2)).tolist()
    accepted = [
        [int(row) for row in rng.integers(0, rows, rng.integers(0, 4)) if row not in (*abc, *more)]
        for *abc, more in zip(a, b, c, banned, strict=True)
    ]
    return RowQuestions(a, b, c, accepted, banned)


def check(matrix: np.ndarray, questions: RowQuestions, method: str, at: int) -> None:
    found = answer(matrix, questions, method=method, at=at)
    for place, (a, b, c) in enumerate(zip(questions.a, questions.b, questions.c, strict=True)):
        rows = ranking(matrix, a, b, c, [a, b, c, *questions.banned[place]], method)
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


@pytest.mark.parametrize("method", ["add", "mul"])
def test_a_bound_is_never_below_a_score_of_its_tile(method: str) -> None:
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((50, 6)).astype("f4")
    matrix[[7, 20]] = 0
    a, b, c = rng.integers(0, 50, (3, 30))
    tables = tiles.Tables(matrix, a, b, c, multiply=method == "mul")
    (block,) = tables.blocks()
    bounds = block.bounds(tables.word, tables.pair)
    for tile in range(block.tiles):
        scores = block.scores(tables.word, tables.pair, np.full(30, tile))
        rows = tile * tiles.TILE + np.arange(tiles.TILE)
        own = (rows == a[:, None]) | (rows == b[:, None]) | (rows == c[:, None])
        assert (np.where(own, -np.inf, scores) <= bounds[:, [tile]]).all()
        answering_rows = (rows < 50) & ~np.isin(rows, [7, 20]) & ~own
        question, column = np.nonzero(answering_rows)
        exact = tables.exact(question, rows[column])
        near = scores[question, column]
        assert (np.abs(near - exact) <= tables.margin(near) / 2).all()
        assert (scores[:, (rows >= 50) | np.isin(rows, [7, 20])] == -np.inf).all()


@pytest.mark.parametrize("method", ["add", "mul"])
def test_most_rows_are_never_looked_at(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    matrix = rng.standard_normal((4000, 30)).astype("f4")
    a, b, c, d = rng.choice(4000, (4, 50), replace=False)
    matrix[d] = matrix[b] - matrix[a] + matrix[c]
    looked_at = []
    scores = tiles.Block.scores

    def counted(block: tiles.Block, word: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        looked_at.append(len(word) * tiles.TILE)
        return scores(block, word, *rest)

    monkeypatch.setattr(tiles.Block, "scores", counted)
    found = answer(matrix, RowQuestions(a, b, c, d[:, None].tolist(), [[]] * 50), method=method)
    assert found.right.all()
    assert sum(looked_at) < 0.2 * 50 * 4000
