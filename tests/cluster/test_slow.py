"""Who is too slow, and who has only more to do."""

from __future__ import annotations

import time
from typing import Any

import pytest

from w2v_sgns.cluster import slow
from w2v_sgns.cluster.node import Node
from w2v_sgns.cluster.slow import Slow
from w2v_sgns.cluster.stretch import own_tokens

CHUNK = 16_384
EQUAL = dict.fromkeys(range(4), 100.0)  # tokens a second


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "LEAST_PATIENCE", 1.0)


def test_a_larger_share_may_take_longer() -> None:
    watched = Slow({0: 1000, 1: 10_000}, EQUAL)
    assert watched.found(frozenset({0}), 10.0) == []
    assert watched.found(frozenset({0}), 199.0) == []  # its share takes 100 s
    assert watched.found(frozenset({0}), 200.0) == [1]
    assert watched.found(frozenset({0}), 300.0) == []  # told once


def test_nobody_is_slow_before_half_are_done() -> None:
    watched = Slow(dict.fromkeys(range(4), 1000), EQUAL)
    assert watched.found(frozenset({0}), 900.0) == []
    assert watched.found(frozenset({0, 3}), 1000.0) == []  # these took as long
    assert watched.found(frozenset({0, 3}), 2000.0) == [1, 2]


def test_a_machine_that_was_slower_from_the_start_has_its_time() -> None:
    watched = Slow({0: 1000, 1: 1000}, {0: 100.0, 1: 10.0})
    assert watched.found(frozenset({0}), 10.0) == []
    assert watched.found(frozenset({0}), 199.0) == []
    assert watched.found(frozenset({0}), 200.0) == [1]


def test_who_has_nothing_to_do_says_nothing_about_the_others() -> None:
    watched = Slow({0: 0, 1: 0, 2: 1000, 3: 1000}, EQUAL)
    assert watched.found(frozenset({0, 1}), 1e6) == []
    assert Slow({0: 0, 1: 0}, EQUAL).found(frozenset({0, 1}), 1e6) == []


def test_short_rounds_are_not_judged_by_the_tenths_of_a_second() -> None:
    watched = Slow({0: 10, 1: 10}, EQUAL)
    assert watched.found(frozenset({0}), 0.1) == []
    assert watched.found(frozenset({0}), 1.9) == []
    assert watched.found(frozenset({0}), 2.0) == [1]


def test_the_tokens_of_a_round_add_up() -> None:
    for size in (CHUNK, 5 * CHUNK - 7, 3 * CHUNK + 1):
        parts = [own_tokens(size, first, first + 2, 10) for first in range(0, 10, 2)]
        assert sum(parts) == size
    assert own_tokens(CHUNK, 0, 1, 10) == 0  # a small share sits out some rounds


def test_unequal_shares_of_equal_nodes_are_trained_whole(
    runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow, "LEAST_PATIENCE", 0.05)

    class Steady(Node):
        def train(self, epoch: int, first: int, end: int) -> Any:
            totals = super().train(epoch, first, end)
            time.sleep(0.25 * totals.tokens / CHUNK)
            return totals

    whole = len(runs.tokens)
    sizes = [CHUNK, whole - CHUNK]
    found = runs.run(make=Steady, sizes=sizes, sync_words=whole)
    assert found.backend.pace.rounds == 1
    assert not any("is slow" in note for note in found.notes)
    assert found.totals.tokens == whole


def test_the_smallest_share_does_not_limit_the_rounds(runs: Any) -> None:
    whole = len(runs.tokens)
    found = runs.run(sizes=[CHUNK, whole - CHUNK])
    assert found.backend.pace.rounds == 5  # of a chunk of the largest share
    assert found.totals.tokens == whole
    assert any("words of the largest share (5 times an epoch)" in note for note in found.notes)
