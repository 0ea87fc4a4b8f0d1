"""How often, and which rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from w2v_sgns.cluster.pace import class_ends, paced, rows_merged

USUAL: dict[str, Any] = {
    "words": 100_000_000,
    "epochs": 5,
    "most_rounds": 6000,
    "words_a_second": 1e6,
    "sync_seconds": 0.5,
    "short_seconds": 0.1,
}


def test_merging_takes_a_twentieth_of_the_time() -> None:
    pace = paced(**USUAL)
    # 100 s an epoch, 0.5 s a merge: 10 or 11 an epoch, but 50 a run are the least
    assert pace.rounds == 11
    assert pace.share == pytest.approx(0.05, abs=0.003)
    assert pace.words == 100_000_000 // 11
    assert pace.full_every == 1


def test_a_run_has_fifty_rounds_at_least_and_a_thousand_at_most() -> None:
    slow = paced(**USUAL | {"sync_seconds": 5.0})
    assert slow.rounds * 5 == 50
    assert slow.share == pytest.approx(50 / 150)
    assert slow.full_every == 1
    fast = paced(**USUAL | {"sync_seconds": 1e-4})
    assert fast.rounds * 5 == 1000


def test_where_full_merges_do_not_fit_most_are_short() -> None:
    pace = paced(**USUAL | {"sync_seconds": 30.0})
    assert pace.full_every == 8
    assert pace.rounds == 40
    # five full ones of 30 s in 100 s, and 35 short ones
    assert pace.share == pytest.approx(153.5 / 253.5)


def test_short_merges_are_done_where_they_save_time() -> None:
    """A small model's take as long as its full ones: what is sent is nothing beside the rest."""
    pace = paced(**USUAL | {"sync_seconds": 30.0, "short_seconds": 10.0})
    assert pace.full_every == 1
    assert pace.rounds == 10
    assert pace.share == pytest.approx(300 / 400)


def test_what_is_asked_for_is_done() -> None:
    pace = paced(**USUAL, asked=2_000_000)
    assert (pace.rounds, pace.words, pace.full_every) == (50, 2_000_000, 1)
    assert paced(**USUAL, asked=10**12).rounds == 1
    assert paced(**USUAL | {"sync_seconds": 1e3}, asked=2_000_000).full_every == 1


def test_a_round_has_a_chunk_at_least() -> None:
    assert paced(**USUAL | {"most_rounds": 3}).rounds == 3
    assert paced(**USUAL | {"most_rounds": 3}, asked=1).rounds == 3


def test_dyadic_rows() -> None:
    rows = [rows_merged(number, 10_000, 8) for number in range(1, 17)]
    assert rows == [
        *(1024, 2048, 1024, 4096, 1024, 2048, 1024, 10_000),
        *(1024, 2048, 1024, 4096, 1024, 2048, 1024, 10_000),
    ]
    assert rows_merged(4, 3000, 8) == 3000
    assert rows_merged(1, 50, 1) == 50


@pytest.mark.parametrize("words", [5, 1024, 1025, 70_000])
def test_classes_end_where_short_merges_do(words: int) -> None:
    ends = class_ends(words)
    assert ends[-1] == words
    assert (np.diff(ends) > 0).all()
    for number in range(1, 300):
        assert rows_merged(number, words, 256) in ends
