"""Nodes lost where it hurts: at the start, in an undo, while others are put back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_rounds import Overshooting, assert_same, losing

from w2v_sgns.cluster.engine import LostNodeError
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.cluster.node import Node


@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize(
    ("task", "times"),
    [("take", 1), ("begin", 1), ("restore", 1), ("moves", 1), ("merge", 2), ("apply", 1)],
)
def test_a_node_lost_before_the_first_round_is_replaced(
    runs: Any, undisturbed: Any, who: int, task: str, times: int
) -> None:
    found = runs.run(make=losing(who, task, times))
    assert_same(found, undisturbed)
    assert [f"node {who} is lost (killed); another begins in its place"] == [
        note for note in found.notes if "is lost" in note
    ]


def test_a_node_that_never_starts_ends_the_run(runs: Any) -> None:
    class Never(Node):
        def begin(self, settings: Any) -> Any:
            if self.rank:
                raise LostNodeError([1], "killed", {})
            return super().begin(settings)

    with pytest.raises(LostNodeError, match=r"^--cluster: node 1 is lost \(killed\); go on"):
        runs.run(make=Never)


@pytest.mark.parametrize("task", ["remerge", "replace"])
@pytest.mark.parametrize("who", [0, 1])
def test_a_node_lost_in_an_undo(runs: Any, who: int, task: str) -> None:
    class Wild(Overshooting):
        bad = -200.0

    lost = losing(who, task, 1)
    found = runs.run(make=type("Both", (lost, Wild), {}))
    assert sum("is lost" in note for note in found.notes) == 1
    assert sum("the loss went from" in note for note in found.notes) >= 1
    assert np.isfinite(found.E).all()
    assert found.totals.tokens == len(runs.tokens)


@pytest.mark.parametrize("task", ["take", "begin", "restore", "train"])
@pytest.mark.parametrize("first", ["train", "moves", "apply"])
def test_a_node_lost_again_as_it_is_put_back(
    runs: Any, undisturbed: Any, first: str, task: str
) -> None:
    left = {"down": 0, "rounds": 0}

    class Twice(Node):
        def _do(self, name: str, *arguments: Any) -> Any:
            rounds = {"train": 2, "moves": 4, "apply": 4}
            if self.rank == 1 and name == first:
                left["rounds"] += 1
                if left["rounds"] == rounds[first]:
                    left["down"] = 1
                    raise LostNodeError([1], "killed", {})
            if self.rank == 1 and left["down"] == 1 and name == task:
                left["down"] = 2
                raise LostNodeError([1], "killed", {})
            return getattr(Node, name)(self, *arguments)

    for name in {"train", "moves", "apply", task}:
        setattr(Twice, name, lambda self, *rest, _name=name: self._do(_name, *rest))
    found = runs.run(make=Twice)
    assert_same(found, undisturbed)


@pytest.mark.parametrize("task", ["train", "moves"])
def test_a_node_that_is_lost_again_and_again_ends_the_run(runs: Any, task: str) -> None:
    lost: list[int] = []

    def act(self: Node, *arguments: Any) -> Any:
        if self.rank == 1 and self.version >= 2:  # both merges that measure are done
            lost.append(1)
            raise LostNodeError([1], "killed", {})
        return getattr(Node, task)(self, *arguments)

    with pytest.raises(LostNodeError, match=r"node 1 is lost \(killed\); go on from the last"):
        runs.run(make=type("Frail", (Node,), {task: act}))
    assert len(lost) == 6


def test_losses_of_different_rounds_are_not_added_up(runs: Any, undisturbed: Any) -> None:
    lost: list[tuple[int, ...]] = []

    class Often(Node):
        def train(self, *stretch: int) -> Any:
            if self.rank == 1 and stretch not in lost:
                lost.append(stretch)
                raise LostNodeError([1], "killed", {})
            return super().train(*stretch)

    assert_same(runs.run(make=Often), undisturbed)
    assert len(lost) == 6


def test_another_node_lost_while_one_is_put_back(runs: Any) -> None:
    whole = runs.run(nodes=3)
    found = runs.run(nodes=3, make=type("Two", (losing(1, "train", 2), losing(2, "where", 1)), {}))
    assert_same(found, whole)
    assert sum("is lost" in note for note in found.notes) == 2


def test_a_node_that_stays_keeps_what_waits_for_its_merge(runs: Any) -> None:
    """It lacks a merge of the first 20 rows that another node has done."""
    engine = LocalEngine(3)
    try:
        backend = runs.backend(engine, sync_words=16_384)
        backend.warm_up()
        ahead, behind = engine.nodes[1], engine.nodes[2]
        ahead.version, ahead.base[0][:20] = 7, 1.0
        behind.replica[0][:] = 2.0
        backend.merging._kept[:] = 3
        back = backend.merging.put_back(LostNodeError([0], "killed", {}), 20)
        assert back == ([0], 7)
        # of what the lost node had trained, nothing waits any more
        assert backend.merging._kept[:, 0].tolist() == [0, 3, 3]
        assert [node.version for node in engine.nodes] == [7, 7, 7]
        assert (behind.replica[0][:20] == 1).all()
        assert (behind.base[0][:20] == 1).all()
        assert (behind.replica[0][20:] == 2).all()
        assert np.array_equal(engine.nodes[0].replica[0], ahead.base[0])
    finally:
        engine.close()
