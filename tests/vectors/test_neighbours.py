"""The blocked search equals a naive one, ties and degenerate rows included."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from w2v_sgns.errors import ConfigError
from w2v_sgns.kernels.matrices import aligned_matrix
from w2v_sgns.vectors import neighbours
from w2v_sgns.vectors.neighbours import nearest, unit

Matrix = NDArray[np.float32]


def naive(
    matrix: Matrix, query: NDArray, topn: int, banned: tuple[int, ...] = ()
) -> list[tuple[int, float]]:
    """Score every row in float64, one after another, and sort."""
    scored = []
    query = query.astype(np.float64)
    for row, vector in enumerate(matrix.astype(np.float64)):
        length = np.linalg.norm(vector) * np.linalg.norm(query)
        if row not in banned and np.isfinite(length) and length > 0:
            scored.append((-round(float(vector @ query) / length, 12), row))
    return [(row, -cosine) for cosine, row in sorted(scored)[:topn]]


def assert_same(found: list[tuple[int, float]], expected: list[tuple[int, float]]) -> None:
    assert [row for row, _ in found] == [row for row, _ in expected]
    np.testing.assert_allclose([c for _, c in found], [c for _, c in expected], atol=1e-11)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture(params=["one block", "many blocks"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "many blocks":
        for size in ("BLOCK_BYTES", "PRODUCT_BYTES"):
            monkeypatch.setattr(neighbours, size, 1)  # 64 rows each, the least


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("dim", [1, 2, 17, 100])
@pytest.mark.parametrize("count", [1, 3, 9])  # 9: more than few, by a matrix product
@pytest.mark.parametrize("topn", [1, 10, 5000])
def test_equal_to_the_naive_search(
    rng: np.random.Generator, dim: int, count: int, topn: int
) -> None:
    matrix = rng.standard_normal((1000, dim), dtype=np.float32)
    queries = rng.standard_normal((count, dim))
    for query, found in zip(queries, nearest(matrix, queries, topn=topn), strict=True):
        assert_same(found, naive(matrix, query, topn))


@pytest.mark.usefixtures("blocks")
def test_strided_rows_and_exclusions(rng: np.random.Generator) -> None:
    matrix = aligned_matrix(500, 20)
    matrix[:] = rng.standard_normal(matrix.shape)
    queries = matrix[[3, 70, 3]]
    banned = [(3,), (70, 71, 499), ()]
    found = nearest(matrix, queries, topn=7, exclude=banned)
    for query, rows, hits in zip(queries, banned, found, strict=True):
        assert_same(hits, naive(matrix, query, 7, rows))
    assert found[2][0] == (3, pytest.approx(1.0))


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("count", [1, 9])
def test_ties_go_to_the_lower_row(rng: np.random.Generator, count: int) -> None:
    rows = rng.standard_normal((5, 30), dtype=np.float32)
    matrix = np.tile(rows, (200, 1))  # every row 200 times
    matrix *= rng.uniform(0.5, 8, (1000, 1)).astype("f4")  # at other lengths
    matrix[600] = matrix[1] * 2
    for hits in nearest(matrix, np.tile(rows[1], (count, 1)), topn=20):
        exact = [row for row, _ in nearest(matrix[:, :], rows[1:2], topn=20)[0]]
        assert [row for row, _ in hits] == exact
    same = np.tile(rows, (200, 1))
    for hits in nearest(same, np.tile(rows[1], (count, 1)), topn=20):
        assert [row for row, _ in hits] == list(range(1, 100, 5))
    equal = np.ones((1000, 30), np.float32)
    assert [r for r, _ in nearest(equal, equal[:1], topn=5, exclude=[[2]])[0]] == [0, 1, 3, 4, 5]


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("count", [1, 9])
def test_rows_without_a_direction_never_win(rng: np.random.Generator, count: int) -> None:
    matrix = -np.abs(rng.standard_normal((300, 8), dtype=np.float32))
    matrix[10], matrix[20, 3], matrix[30, 1], matrix[40, 1] = 0, np.nan, np.inf, -np.inf
    query = np.ones((count, 8))
    for hits in nearest(matrix, query, topn=300):
        rows = [row for row, _ in hits]
        assert sorted(rows) == sorted(set(range(300)) - {10, 20, 30, 40})
        assert all(cosine < 0 for _, cosine in hits)


@pytest.mark.parametrize("scale", [1e-45, 1e-30, 1e-20, 1e20, 1e38])
def test_rows_of_any_length_have_their_cosine(rng: np.random.Generator, scale: float) -> None:
    matrix = rng.uniform(-1, 1, (200, 6)).astype("f4")
    matrix[::2] = (matrix[::2] * scale).astype("f4")
    query = np.ones((1, 6)) * scale
    assert_same(nearest(matrix, query, topn=200)[0], naive(matrix, np.ones(6), 200))


def test_a_query_without_a_direction_has_no_neighbours(rng: np.random.Generator) -> None:
    matrix = rng.standard_normal((30, 4), dtype=np.float32)
    queries = np.ones((4, 4))
    queries[0], queries[1, 2], queries[2, 2] = 0, np.nan, np.inf
    found = nearest(matrix, queries, topn=3)
    assert found[:3] == [[], [], []]
    assert_same(found[3], naive(matrix, queries[3], 3))


def test_only_the_first_rows_compete(rng: np.random.Generator) -> None:
    matrix = rng.standard_normal((100, 4), dtype=np.float32)
    query = matrix[99:]
    assert_same(nearest(matrix, query, topn=9, restrict=50)[0], naive(matrix[:50], query[0], 9))
    assert len(nearest(matrix, query, topn=9, restrict=10**9)[0]) == 9


def test_cosines_stay_within_one(rng: np.random.Generator) -> None:
    matrix = np.tile(rng.standard_normal((1, 301), dtype=np.float32), (3, 1))
    assert all(abs(cosine) <= 1 for _, cosine in nearest(matrix, -matrix[:1])[0])


def test_nothing_to_search() -> None:
    assert nearest(np.zeros((0, 4), np.float32), np.ones((1, 4))) == [[]]
    assert nearest(np.ones((5, 4), np.float32), np.ones((0, 4))) == []


@pytest.mark.parametrize("wrong", [{"topn": 0}, {"topn": -1}, {"restrict": 0}])
def test_ranges(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="must be at least 1, not"):
        nearest(np.ones((5, 4), np.float32), np.ones((1, 4)), **wrong)


def test_widths_must_agree() -> None:
    with pytest.raises(ConfigError, match="a query has 3 numbers, needed: 4"):
        nearest(np.ones((5, 4), np.float32), np.ones((1, 3)))


def test_unit_rows() -> None:
    rows = np.array([[3.0, 4.0], [0, 0], [1e-320, 0], [1e308, 1e308], [np.nan, 1], [np.inf, 1]])
    half = np.sqrt(0.5)
    expected = [[0.6, 0.8], [0, 0], [1, 0], [half, half], [0, 0], [0, 0]]
    np.testing.assert_allclose(unit(rows), expected)
