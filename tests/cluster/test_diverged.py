"""A training that leaves the finite numbers ends in the sentence that says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from w2v_sgns.cluster.merge import curvature
from w2v_sgns.cluster.node import Node
from w2v_sgns.errors import DivergenceError

SENTENCE = r"the training diverged; try --lr"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_replica_that_is_not_finite_has_no_curvature(value: float) -> None:
    rows, shares = np.ones((3, 4), np.float32), np.full(3, 1 / 3)
    bad = rows.copy()
    bad[1] = value
    generator = np.random.default_rng(1)
    for spectrum in curvature(bad, rows, p=shares, q=shares, negatives=2, generator=generator):
        assert np.isfinite(spectrum.values).all()
        assert np.isfinite(spectrum.vectors).all()
    assert (spectrum.values == 0).all()


def test_rows_of_the_first_node_that_are_not_numbers(runs: Any) -> None:
    """Its curvature is asked for before their merge tells."""

    class Diverged(Node):
        def train(self, *stretch: int) -> Any:
            totals = super().train(*stretch)
            if self.rank == 0:
                self.replica[0][:20] = np.nan
            return totals

    with pytest.raises(DivergenceError, match=SENTENCE):
        runs.run(make=Diverged)


def test_a_loss_that_is_not_finite_is_told_before_the_merge(runs: Any) -> None:
    merged = []

    class Infinite(Node):
        def train(self, *stretch: int) -> Any:
            return type(totals := super().train(*stretch))(
                totals.tokens, totals.kept, totals.pairs, np.inf, totals.next_chunk
            )

        def moves(self, merge: Any) -> Any:
            merged.append(merge.version)
            return super().moves(merge)

    with pytest.raises(DivergenceError, match=rf"^the loss became infinite or NaN .*{SENTENCE}"):
        runs.run(make=Infinite)
    assert set(merged) == {1, 2}  # those that measure
