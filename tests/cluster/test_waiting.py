"""Rare rows that wait for their merge, and what else the nodes are told alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from w2v_sgns import sampling
from w2v_sgns.cluster import pace
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.cluster.merge import curvature
from w2v_sgns.cluster.node import Node
from w2v_sgns.training.setup import training_data

CHUNK = 16_384
FIRST = 32  # rows of the first merge


@pytest.fixture
def backend(runs: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Three rounds an epoch: of 32 rows, of 64, and of all 300."""
    monkeypatch.setattr(pace, "FIRST_ROWS", FIRST)
    engine = LocalEngine(2)
    try:
        made = runs.backend(engine, sync_words=CHUNK)
        made.warm_up()
        made.pace = replace(made.pace, full_every=4)
        assert made.pace.rounds == 3
        yield made
    finally:
        engine.close()


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
