"""Rows as they travel: int8 with a scale a row, or float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from w2v_sgns.cluster import deltas
from w2v_sgns.cluster.deltas import pack, sync_bytes, unpack_into

FLOATS = st.floats(-(2.0**100), 2.0**100, width=32)


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, min_side=0), elements=FLOATS))
@settings(deadline=None)
def test_int8_is_off_by_half_a_step_at_most(moves: Any) -> None:
    back = np.zeros_like(moves)
    unpack_into(pack(moves, int8=True), back)
    step = np.abs(moves).max(axis=1, initial=0) / 127
    assert (np.abs(back - moves) <= 0.5001 * step[:, None] + 1e-35).all()


@given(arrays(np.float32, (3, 4), elements=FLOATS), arrays(np.float32, (3, 4), elements=FLOATS))
@settings(deadline=None)
def test_float32_is_exact(rows: Any, base: Any) -> None:
    with np.errstate(over="ignore"):
        block = pack(rows, base, int8=False)
        assert np.array_equal(block.numbers, rows - base)
    back = np.zeros_like(rows)
    unpack_into(block, back)
    assert np.array_equal(back, block.numbers)


def test_a_move_is_taken_from_the_base() -> None:
    rows, base = np.array([[3.0, 1]], np.float32), np.array([[1.0, 1]], np.float32)
    block = pack(rows, base, int8=True)
    assert block.numbers.tolist() == [[127, 0]]
    assert block.scales.tolist() == pytest.approx([2 / 127])


def test_rows_that_have_not_moved_are_zero() -> None:
    block = pack(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32), int8=True)
    assert not block.numbers.any()
    assert not block.scales.any()
    assert block.finite


@pytest.mark.parametrize("int8", [True, False])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_told(bad: float, int8: bool) -> None:
    rows = np.ones((3, 2), np.float32)
    assert pack(rows, int8=int8).finite
    rows[1, 1] = bad
    assert not pack(rows, int8=int8).finite


@pytest.mark.parametrize("int8", [True, False])
def test_rows_can_be_put_in_the_place_of_others(int8: bool) -> None:
    rows = np.array([[127, -3], [0, 0]], np.float32)
    place = np.full((2, 2), np.nan, np.float32)
    unpack_into(pack(rows, int8=int8), place, add=False)
    assert np.array_equal(place, rows)


def test_many_rows_go_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(30, dtype=np.float32).reshape(10, 3)
    whole = pack(rows, int8=True)
    monkeypatch.setattr(deltas, "PART", 3)
    parts = pack(rows, int8=True)
    assert np.array_equal(parts.numbers, whole.numbers)
    assert np.array_equal(parts.scales, whole.scales)
    back, one = np.zeros_like(rows), np.zeros_like(rows)
    unpack_into(parts, back)
    monkeypatch.setattr(deltas, "PART", 100)
    unpack_into(parts, one)
    assert np.array_equal(back, one)


def test_bytes_of_a_merge_are_those_of_the_blocks() -> None:
    rows, dim, nodes = 12, 5, 3
    for int8 in (True, False):
        part = np.ones((rows // nodes, dim), np.float32)
        block = pack(part, int8=int8)
        size = block.numbers.nbytes + block.scales.nbytes
        # to each of the others: both matrices, its own rows' moves and the merged rows of ours
        assert sync_bytes(rows, dim, nodes, int8=int8) == 2 * 2 * (nodes - 1) * size
    assert sync_bytes(rows, dim, 1, int8=True) == 0
