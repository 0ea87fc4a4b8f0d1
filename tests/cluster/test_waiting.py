"""Rare rows that wait for their merge, and what else the nodes are told alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_rounds import losing

from w2v_sgns import sampling
from w2v_sgns.cluster import pace
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.cluster.merge import curvature
from w2v_sgns.cluster.merging import Merging
from w2v_sgns.cluster.node import Node
from w2v_sgns.training.setup import training_data

CHUNK = 16_384
FIRST = 32  # rows of the first merge


@contextmanager
def three_rounds(runs: Any, make: type[Node] = Node, **options: Any) -> Iterator[Any]:
    """Yield a backend of two nodes: an epoch's merges are of 32 rows, of 64, and of all 300."""
    engine = LocalEngine(2, make)
    try:
        made = runs.backend(engine, sync_words=CHUNK, **options)
        made.warm_up()
        made.pace = replace(made.pace, full_every=4)
        assert made.pace.rounds == 3
        yield made
    finally:
        engine.close()


@pytest.fixture(autouse=True)
def short_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "FIRST_ROWS", FIRST)


@pytest.fixture
def backend(runs: Any) -> Iterator[Any]:
    with three_rounds(runs) as made:
        yield made


def assert_all_merged(backend: Any) -> None:
    assert not backend.merging._kept.any()
    for node in backend.engine.nodes:
        for replica, base, told in zip(node.replica, node.base, backend.matrices, strict=True):
            assert np.array_equal(replica, told)
            assert np.array_equal(base, told)


def test_an_epochs_last_merge_is_of_all_rows(backend: Any) -> None:
    backend.run_epoch(0, lambda totals: None)
    assert_all_merged(backend)
    assert backend.merging.cost.merges == 3


def test_a_stop_merges_what_waits(backend: Any) -> None:
    done = backend.run_epoch(0, lambda totals: totals.next_chunk > 0)
    assert done.next_chunk == 2
    assert_all_merged(backend)
    assert backend.matrices[1][FIRST:].any()  # Ep starts at zero
    assert backend.merging.cost.merges == 2


def test_an_exception_from_tick_loses_nothing_of_the_rounds_before(backend: Any) -> None:
    def tick(totals: Any) -> None:
        if totals.next_chunk:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        backend.run_epoch(0, tick)
    assert_all_merged(backend)
    assert backend.matrices[1][FIRST:].any()


def test_a_merge_done_anew_leaves_what_waits_to_its_own(
    backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows were not finite after it, so none had moved."""
    real, seen = Node._steps, []

    def steps(self: Node, part: slice, sums: Any, merge: Any) -> Any:
        seen.append(merge.rows)
        found = real(self, part, sums, merge)
        return [step * np.float32(np.inf) for step in found] if len(seen) <= 2 else found

    monkeypatch.setattr(Node, "_steps", steps)
    backend.run_epoch(0, lambda totals: totals.next_chunk > 0)
    assert seen == [FIRST] * 4 + [300] * 2
    assert backend.matrices[1][FIRST:].any()
    assert_all_merged(backend)


class Cautious(Node):
    """Its first merge is done with the caution of one that was undone."""

    def _steps(self, part: slice, sums: Any, merge: Any) -> Any:
        twice = 2 if merge.version == 3 else 1  # two merges measured
        return super()._steps(part, sums, merge._replace(rate=twice * merge.rate))


class Wild(Node):
    """Its first merge lets the loss jump."""

    def _steps(self, part: slice, sums: Any, merge: Any) -> Any:
        steps = super()._steps(part, sums, merge)
        return [-200 * step for step in steps] if merge.version == 3 else steps


def undone(runs: Any, make: type[Node]) -> Any:
    """Train two rounds, of which the first one's merge, of 32 rows, is undone."""
    with three_rounds(runs, make, int8=False) as backend:
        backend.run_epoch(0, lambda totals: totals.next_chunk > 2)
        notes = [note for note in runs.notes if "the loss went from" in note]
        return *(matrix.copy() for matrix in backend.matrices), notes


def test_an_undo_costs_rows_that_wait_nothing(runs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor any other: with the first merge done carefully at once, all ends in the same rows."""
    *found, notes = undone(runs, Wild)
    assert len(notes) == 1
    real = Merging.merge

    def merge(self: Merging, *arguments: Any) -> None:
        real(self, *arguments)
        self.kappa = 4.0

    monkeypatch.setattr(Merging, "merge", merge)
    *careful, notes = undone(runs, Cautious)
    assert not notes
    for ours, theirs in zip(found, careful, strict=True):
        assert np.array_equal(ours, theirs)
        assert ours[FIRST:].any()


@pytest.mark.parametrize("task", ["remerge", "replace"])
@pytest.mark.parametrize("who", [0, 1])
def test_a_node_lost_in_an_undo_costs_the_others_nothing_that_waits(
    runs: Any, who: int, task: str
) -> None:
    waiting: dict[int, Any] = {}

    class Watched(losing(who, task, 1), Wild):
        def apply(self, received: Any, merge: Any) -> bool:
            done = super().apply(received, merge)
            if merge.version == 3:
                waiting[self.rank] = [replica[FIRST:].copy() for replica in self.replica]
            return done

        def train(self, epoch: int, first: int, end: int) -> Any:
            if self.version > 3 and self.rank in waiting:  # the round that is trained again
                held = waiting.pop(self.rank)
                same = [
                    np.array_equal(r[FIRST:], h) for r, h in zip(self.replica, held, strict=True)
                ]
                seen[self.rank] = all(same)
            return super().train(epoch, first, end)

    seen: dict[int, bool] = {}
    undone(runs, Watched)
    assert seen == {1 - who: True, who: False}


def test_a_node_put_back_in_the_round_that_is_undone_begins_it_anew(runs: Any) -> None:
    begun: list[bool] = []

    class Watched(losing(1, "train", 2), Wild):
        def train(self, epoch: int, first: int, end: int) -> Any:
            if self.rank == 1 and self.version == 4:  # the merge done anew
                begun.extend(map(np.array_equal, self.replica, self.base))
            return super().train(epoch, first, end)

    *_, notes = undone(runs, Watched)
    assert len(notes) == 1
    assert begun[:2] == [True, True]


def test_an_undo_takes_every_replica_back(backend: Any) -> None:
    for node in backend.engine.nodes:
        for replica in node.replica:
            replica[:] = 5
    merge = backend.merging._described(300, 0.0, None)
    assert all(backend.engine.exchange("remerge", "replace", argument=merge))
    assert_all_merged(backend)


def test_the_curvature_is_of_a_replica_by_kept_words_and_by_noise(backend: Any, runs: Any) -> None:
    node = backend.engine.nodes[0]
    backend.run_epoch(0, lambda totals: None)
    config = runs.config
    found = node.curve((1, 2))
    expected = curvature(
        *node.replica,
        p=runs.counts / runs.counts.sum(),  # --sample 0
        q=sampling.noise_distribution(runs.counts, 0.75),
        negatives=config.negative,
        generator=np.random.Generator(np.random.PCG64(np.random.SeedSequence((1, 2)))),
    )
    for spectrum, twin in zip(found, expected, strict=True):
        assert np.allclose(spectrum.values, twin.values, rtol=1e-5)


def test_a_fixed_window_has_more_contexts(runs: Any) -> None:
    rates = []
    for fixed in (False, True):
        engine = LocalEngine(1)
        try:
            backend = runs.backend(engine, config={"fixed_window": fixed})
            rates.append(backend.merging._described(300, 0.05, None).rate)
        finally:
            engine.close()
    assert rates == [pytest.approx(2 * 0.05 * 3), pytest.approx(2 * 0.05 * 4)]


def test_words_are_dropped_by_their_share_of_the_whole_text(runs: Any) -> None:
    """t is raised to a word of the text, which is twice as long as a node's share."""
    engine = LocalEngine(2)
    try:
        backend = runs.backend(engine, config={"sample": 1e-6})
        backend.warm_up()
        whole = training_data(runs.tokens, runs.counts, backend.settings.config)
        for node in engine.nodes:
            assert np.array_equal(node._backend.data.keep, whole.keep)
        alone = training_data(runs.tokens[:48_000], runs.counts, backend.settings.config)
        assert not np.array_equal(alone.keep, whole.keep)
    finally:
        engine.close()
