"""Rounds of training and merging on nodes in threads: what comes out, and what may go wrong."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import naive_merge
import numpy as np
import pytest

from w2v_sgns.cluster import rows, slow
from w2v_sgns.cluster.engine import LostNodeError
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.cluster.merge import KAPPA, Spectrum
from w2v_sgns.cluster.node import Node, node_seed
from w2v_sgns.errors import DivergenceError, ResourceError
from w2v_sgns.training.schedule import Schedule
from w2v_sgns.training.setup import backend_for, initial_matrices, training_data

CHUNK = 16_384


def assert_same(found: Any, expected: Any) -> None:
    assert np.array_equal(found.E, expected.E)
    assert np.array_equal(found.Ep, expected.Ep)


def test_one_node_trains_what_one_machine_does(runs: Any) -> None:
    config = runs.config
    E, Ep = initial_matrices(len(runs.counts), config)
    schedule = Schedule(start=config.lr, end=config.final_lr, tokens=len(runs.tokens), epochs=2)
    data = training_data(runs.tokens, runs.counts, config)
    alone = backend_for(E, Ep, data, config, schedule, threads=1, window=None)
    for epoch in range(2):
        totals = alone.run_epoch(epoch, lambda totals: None)
    found = runs.run(nodes=1)
    assert np.array_equal(found.E, E)
    assert np.array_equal(found.Ep, Ep)
    assert (found.totals.kept, found.totals.pairs) == (totals.kept, totals.pairs)
    assert found.totals.loss == pytest.approx(totals.loss, rel=1e-9)
    assert found.backend.merging.cost.bytes == 0


def test_a_round_is_separate_training_and_the_float64_rule(
    runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One epoch of one round, float32, the curvature known."""
    A = np.diag(np.arange(1.0, 9)) / 8
    known = Spectrum(np.diag(A).astype(np.float32), np.eye(8, dtype=np.float32))
    monkeypatch.setattr(Node, "curve", lambda self, draw: (known, known))
    engine = LocalEngine(3)
    try:
        config = {"epochs": 1, "min_lr": 0.01}
        backend = runs.backend(engine, int8=False, sync_words=len(runs.tokens), config=config)
        backend.warm_up()
        assert backend.pace.rounds == 1
        backend.run_epoch(0, lambda totals: None)
    finally:
        engine.close()
    config = replace(runs.config, **config)
    base, replicas, kept = initial_matrices(len(runs.counts), config), [], []
    for rank, shard in enumerate(np.array_split(runs.tokens, 3)):
        E, Ep = initial_matrices(len(runs.counts), config)
        schedule = Schedule(start=0.05, end=0.01, tokens=len(shard), epochs=1)
        data = training_data(shard, runs.counts, config, tokens_in_all=len(runs.tokens))
        seeded = replace(config, seed=node_seed(config.seed, rank))
        node = backend_for(E, Ep, data, seeded, schedule, threads=1, window=None)
        kept.append(node.run_epoch(0, lambda totals: None).kept)
        replicas.append((E, Ep))
    p = runs.counts / runs.counts.sum()
    q = runs.counts**0.75 / (runs.counts**0.75).sum()
    work = np.outer(kept, p), np.outer(kept, p + 2 * q)
    rate = KAPPA * 0.01 * 3  # the rate at the merge, and a window of 2 has 3 contexts on average
    for number in range(2):
        expected = naive_merge.merged(
            np.stack([pair[number] for pair in replicas]), base[number], work[number], A, rate=rate
        )
        assert np.abs(backend.matrices[number] - expected).max() < 1e-6


def test_the_first_node_has_the_seed_of_the_run_and_others_their_own() -> None:
    seeds = [node_seed(7, rank) for rank in range(5)]
    assert seeds[0] == 7
    assert len(set(seeds)) == 5
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_all_nodes_hold_the_same_rows_after_each_epoch(runs: Any) -> None:
    engine = LocalEngine(3)
    try:
        backend = runs.backend(engine, sync_words=CHUNK)
        backend.warm_up()
        backend.run_epoch(0, lambda totals: None)
        for node in engine.nodes:
            for replica, base, told in zip(node.replica, node.base, backend.matrices, strict=True):
                assert np.array_equal(replica, told)
                assert np.array_equal(base, told)
    finally:
        engine.close()


def test_every_token_is_trained_once_an_epoch(runs: Any, undisturbed: Any) -> None:
    assert undisturbed.totals.tokens == len(runs.tokens)
    assert undisturbed.totals.kept == len(runs.tokens)  # --sample 0
    assert undisturbed.totals.next_chunk == undisturbed.backend.chunks
    assert undisturbed.backend.merging.cost.merges == 2 * undisturbed.backend.pace.rounds


def test_int8_ends_near_float32(runs: Any, undisturbed: Any) -> None:
    exact = runs.run(int8=False)
    difference = np.abs(undisturbed.E - exact.E).mean()
    assert 0 < difference < 0.02 * np.abs(exact.E).mean()
    assert exact.backend.merging.cost.bytes > 2 * undisturbed.backend.merging.cost.bytes


def test_stopped_and_gone_on_with_is_straight(runs: Any, undisturbed: Any) -> None:
    parts = []
    for first in (0, None):
        engine = LocalEngine(2)
        try:
            backend = runs.backend(engine, sync_words=CHUNK)
            if first is None:
                for matrix, rows in zip(backend.matrices, parts, strict=True):
                    matrix[:] = rows
            backend.warm_up()
            if first == 0:
                done = backend.run_epoch(0, lambda totals: totals.next_chunk > 0)
                assert 0 < done.next_chunk < backend.chunks
            else:
                backend.run_epoch(0, lambda totals: None, first=done.next_chunk)
                backend.run_epoch(1, lambda totals: None)
            parts = [matrix.copy() for matrix in backend.matrices]
        finally:
            engine.close()
    assert np.array_equal(parts[0], undisturbed.E)
    assert np.array_equal(parts[1], undisturbed.Ep)


def test_another_number_of_nodes_goes_on_at_the_same_share_of_the_epoch(runs: Any) -> None:
    engine = LocalEngine(3)
    try:
        backend = runs.backend(engine, sync_words=CHUNK)
        backend.warm_up()
        totals = backend.run_epoch(1, lambda totals: None, first=3)  # of 6 chunks
    finally:
        engine.close()
    assert totals.tokens == pytest.approx(len(runs.tokens) / 2, abs=3 * CHUNK / 2)
    assert totals.next_chunk == 6


def test_a_machine_without_the_memory_is_told(runs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "available_memory", lambda: 10_000)
    with pytest.raises(ResourceError, match=r"machine of the cluster has 10 kB .* needs 115 kB"):
        runs.run()


def test_an_exception_from_tick_ends_the_round_with_the_rows_of_the_last_merge(runs: Any) -> None:
    engine, calls = LocalEngine(2), []
    try:
        backend = runs.backend(engine, sync_words=CHUNK)
        backend.warm_up()
        before = backend.matrices[0].copy()

        def tick(totals: Any) -> None:
            calls.append(totals.next_chunk)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            backend.run_epoch(0, tick)
        assert calls == [0]
        assert np.array_equal(backend.matrices[0], before)
    finally:
        engine.close()


def losing(who: int, task: str, times: int) -> type[Node]:
    """Return a kind of node of which one is lost when it does something for the nth time."""
    left = [times]

    def act(self: Node, *arguments: Any) -> Any:
        if self.rank == who:
            left[0] -= 1
            if left[0] == 0:
                raise LostNodeError([who], "killed", {})
        return getattr(Node, task)(self, *arguments)

    return type("Losing", (Node,), {task: act})


# The first two merges measure; the fourth is the second of the training.
@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize(
    ("task", "times"), [("train", 2), ("moves", 4), ("merge", 4), ("apply", 4)]
)
def test_a_lost_node_is_put_back_and_nothing_is_lost(
    runs: Any, undisturbed: Any, who: int, task: str, times: int
) -> None:
    found = runs.run(make=losing(who, task, times))
    assert_same(found, undisturbed)
    assert sum(f"node {who} is lost (" in note for note in found.notes) == 1


def test_the_curvature_is_asked_of_the_next_node_if_the_first_is_gone(runs: Any) -> None:
    found = runs.run(make=losing(0, "curve", 4))
    assert np.isfinite(found.E).all()
    assert found.totals.tokens == len(runs.tokens)


def test_all_nodes_lost_is_an_error_that_says_so(runs: Any) -> None:
    class Gone(Node):
        def train(self, *_: Any) -> Any:
            raise LostNodeError([self.rank], "killed", {})

    with pytest.raises(LostNodeError, match=r"node 0, 1 is lost \(.*killed"):
        runs.run(make=Gone)


def test_all_are_named_where_none_is_left_to_ask(runs: Any) -> None:
    class Gone(Node):
        def curve(self, *_: Any) -> Any:
            raise LostNodeError([self.rank], "killed", {})

    with pytest.raises(LostNodeError, match=r"node 0, 1 is lost \(killed\)"):
        runs.run(make=Gone)


class Overshooting(Node):
    """Its merges are bad unless they are cautious."""

    bad = np.inf

    def _steps(self, part: slice, sums: Any, merge: Any) -> Any:
        steps = super()._steps(part, sums, merge)
        if merge.version == 4 and merge.rate < 1e9:  # the second of the training
            return [step * np.float32(self.bad) for step in steps]
        return steps


def test_a_merge_that_is_not_finite_is_undone_and_done_more_cautiously(runs: Any) -> None:
    found = runs.run(make=Overshooting)
    assert any(
        "undone and done anew with κ = 4: rows were not finite" in note for note in found.notes
    )
    assert found.backend.merging.kappa == 4
    assert np.isfinite(found.E).all()
    assert np.isfinite(found.Ep).all()


def test_a_merge_after_which_the_loss_jumps_is_undone(runs: Any, undisturbed: Any) -> None:
    class Wild(Overshooting):
        bad = -200.0

    found = runs.run(make=Wild)
    jumps = [note for note in found.notes if "the loss went from" in note]
    assert len(jumps) == 1
    assert found.backend.merging.kappa == 4
    mean = found.totals.loss / found.totals.pairs
    assert mean < 1.02 * undisturbed.totals.loss / undisturbed.totals.pairs


def test_moves_that_are_not_finite_themselves_end_the_training(runs: Any) -> None:
    class Diverged(Node):
        def moves(self, merge: Any) -> Any:
            if merge.version > 3:
                self.replica[0][5] = np.nan
            return super().moves(merge)

    with pytest.raises(
        DivergenceError, match=r"--lr 0\.05: the training diverged; try --lr 0\.005"
    ):
        runs.run(make=Diverged)


def test_a_slow_node_ends_its_round_where_it_is(runs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "LEAST_PATIENCE", 0.05)

    class Slow(Node):
        def train(self, epoch: int, first: int, end: int) -> Any:
            if self.rank == 1 and (epoch, first) == (0, 0):
                self._stop = False
                while not self._stop:  # for ever, if nobody asked it to end
                    time.sleep(0.01)
                monkeypatch.setattr(slow, "LEAST_PATIENCE", 600.0)
                return super().train(epoch, first, first)
            return super().train(epoch, first, end)

    found = runs.run(make=Slow)
    assert sum("node 1 is slow: " in note for note in found.notes) == 1
    assert np.isfinite(found.E).all()
    assert found.totals.tokens == len(runs.tokens)  # of the second epoch: nobody was slow
