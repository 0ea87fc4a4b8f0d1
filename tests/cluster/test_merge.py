"""The rule that merges replicas, against its float64 twin and by its properties."""

from __future__ import annotations

from typing import Any

import naive_merge
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from w2v_sgns.cluster import merge
from w2v_sgns.cluster.merge import Spectrum, effective_nodes, merged, shrinkage

DIM, ROWS = 6, 9


def spectrum_of(A: Any) -> Spectrum:
    values, vectors = np.linalg.eigh(A)
    return Spectrum(values.clip(min=0).astype(np.float32), vectors.astype(np.float32))


def drawn(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def curved(seed: int, scale: float = 1.0) -> Any:
    half = drawn(seed, DIM, DIM)
    return scale * half @ half.T


def by_rule(replicas: Any, base: Any, work: Any, A: Any, rate: float) -> Any:
    moves = (replicas - base).sum(axis=0).astype(np.float32)
    nodes = effective_nodes(work)
    return base + merged(moves, work.sum(axis=0), nodes, spectrum_of(A), rate=rate)


@pytest.mark.parametrize("nodes", [1, 2, 3, 8])
@pytest.mark.parametrize("rate", [0.0, 1e-9, 1e-3, 0.1, 10.0, 1e6])
def test_is_its_float64_twin(nodes: int, rate: float) -> None:
    base, replicas = drawn(1, ROWS, DIM), drawn(2, nodes, ROWS, DIM)
    work = np.random.default_rng(3).integers(0, 50, (nodes, ROWS)).astype(float)
    work[:, 0] = 0  # a row that nobody touched
    A = curved(4)
    expected = naive_merge.merged(replicas, base, work, A, rate=rate)
    found = by_rule(replicas, base, work, A, rate)
    assert np.abs(found - expected).max() <= 2e-6 * np.abs(expected).max()


def test_blocks_of_rows_are_all_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    moves, work = drawn(1, 11, DIM).astype(np.float32), np.arange(11.0)
    whole = merged(moves, work, 4.0, spectrum_of(curved(2)), rate=0.1)
    monkeypatch.setattr(merge, "BLOCK", 4)
    parts = merged(moves, work, 4.0, spectrum_of(curved(2)), rate=0.1)
    assert np.allclose(parts, whole, rtol=0, atol=1e-6)


def test_one_node_is_the_identity() -> None:
    base, replicas = drawn(1, ROWS, DIM), drawn(2, 1, ROWS, DIM)
    found = by_rule(replicas, base, np.full((1, ROWS), 1e4), curved(3), 100.0)
    assert np.abs(found - replicas[0]).max() < 1e-5


def test_rows_that_one_node_touched_get_its_full_move() -> None:
    base, replicas = drawn(1, ROWS, DIM), np.repeat(drawn(1, ROWS, DIM)[None], 4, axis=0)
    replicas[2] += 1.0
    work = np.zeros((4, ROWS))
    work[2] = 1e5  # however saturated
    found = by_rule(replicas, base, work, curved(3), 100.0)
    assert np.abs(found - replicas[2]).max() < 1e-5


def test_saturated_directions_are_averaged_and_flat_ones_summed() -> None:
    base, replicas = np.zeros((ROWS, DIM)), drawn(2, 5, ROWS, DIM)
    A = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    found = by_rule(replicas, base, np.full((5, ROWS), 1e3), A, 1e3)
    assert np.allclose(found[:, :3], replicas.mean(axis=0)[:, :3], atol=1e-5)
    assert np.allclose(found[:, 3:], replicas.sum(axis=0)[:, 3:], atol=1e-5)


@given(
    st.integers(1, 40),
    st.floats(0, 1e4, width=32),
    arrays(np.float32, DIM, elements=st.floats(-10, 10, width=32)),
)
@settings(deadline=None)
def test_identical_replicas_move_by_what_their_work_in_a_row_would(
    nodes: int, mass: float, move: Any
) -> None:
    """δ·(1 − e^(−m))/(1 − e^(−m/P)): between one node's move and P of them, never beyond."""
    identity = Spectrum(np.ones(DIM, np.float32), np.eye(DIM, dtype=np.float32))
    found = merged(nodes * move[None], [mass], float(nodes), identity, rate=1.0)[0]
    one = -np.expm1(-mass / nodes)
    expected = move * (-np.expm1(-mass) / one if one > 1e-12 else nodes)
    assert np.allclose(found, expected, rtol=2e-5, atol=1e-5)
    assert (np.abs(found) >= np.abs(move) * (1 - 1e-5) - 1e-6).all()
    assert (np.abs(found) <= nodes * np.abs(move) * (1 + 1e-5) + 1e-6).all()


@given(
    arrays(np.float32, (3, 4), elements=st.floats(0, 2.0**120, width=32)),
    st.floats(1, 1e6),
)
@settings(deadline=None)
def test_the_factor_lies_between_mean_and_sum(mass: Any, nodes: float) -> None:
    factor = shrinkage(mass, nodes)
    assert np.isfinite(factor).all()
    assert (factor <= 1 + 1e-6).all()
    assert (factor >= (1 - 1e-5) / nodes).all()


@given(
    arrays(np.float32, (4, DIM), elements=st.floats(-(2.0**60), 2.0**60, width=32)),
    arrays(np.float64, (3, 4), elements=st.floats(0, 1e12)),
    st.floats(0, 1e6),
)
@settings(deadline=None)
def test_finite_moves_stay_finite(moves: Any, work: Any, rate: float) -> None:
    found = merged(
        moves, work.sum(axis=0), effective_nodes(work), spectrum_of(curved(1)), rate=rate
    )
    assert np.isfinite(found).all()


@given(arrays(np.float64, (4, 5), elements=st.floats(0, 1e9)))
@settings(deadline=None)
def test_effective_nodes_are_from_one_to_all(each: Any) -> None:
    found = effective_nodes(each)
    assert (found >= 1 - 1e-9).all()
    assert (found <= 4 + 1e-9).all()


def test_effective_nodes_by_hand() -> None:
    assert effective_nodes([[4.0, 1, 0, 3], [4, 0, 0, 1]]).tolist() == [2, 1, 1, 1.6]


def test_curvature_is_its_twin_on_the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one word that is ever drawn for each mean, the draws are known."""
    monkeypatch.setattr(merge, "SAMPLE", 3)
    E, Ep = drawn(1, 4, DIM).astype(np.float32), drawn(2, 4, DIM).astype(np.float32)
    p, q = np.array([0, 1.0, 0, 0]), np.array([0, 0, 0, 1.0])
    found = merge.curvature(E, Ep, p=p, q=q, negatives=5, generator=np.random.default_rng(1))
    three = [np.repeat(rows[None], 3, axis=0).astype(float) for rows in (E[1], Ep[3], Ep[1])]
    for spectrum, expected in zip(found, naive_merge.curvature(*three, 5), strict=True):
        values, U = spectrum
        assert np.allclose((U * values) @ U.T, expected, atol=1e-4)


def test_curvature_draws_words_by_their_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "SAMPLE", 4000)
    E = np.zeros((3, 3), np.float32)
    Ep = np.diag([1.0, 2, 3]).astype(np.float32)
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    generator = np.random.default_rng(1)
    found = merge.curvature(E, Ep, p=p, q=q, negatives=2, generator=generator)[0]
    A = (found.vectors * found.values) @ found.vectors.T
    squares = np.array([1, 4, 9])  # of each word's own direction; σ' of a score of 0 is 1/4
    assert np.allclose(np.diag(A), (2 * q / 4 + 0.2 * p) * squares, rtol=0.15)
    assert np.allclose(A - np.diag(np.diag(A)), 0, atol=1e-5)


def test_rows_so_long_that_the_sigmoid_overflows_have_no_curvature() -> None:
    E, Ep = np.full((2, 3), -1e3, np.float32), np.full((2, 3), 1e3, np.float32)
    shares = np.full(2, 0.5)
    for spectrum in merge.curvature(
        E, Ep, p=shares, q=shares, negatives=5, generator=np.random.default_rng(1)
    ):
        assert np.isfinite(spectrum.values).all()
        assert (spectrum.values >= 0).all()
