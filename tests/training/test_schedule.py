"""The learning rate: one straight line over all epochs, exact also beyond 2^32 tokens."""

from __future__ import annotations

import numpy as np
import pytest

from w2v_sgns.training.schedule import Schedule


def test_the_line() -> None:
    schedule = Schedule(start=0.05, end=0.01, tokens=1000, epochs=4)
    assert schedule.at(0, 0) == 0.05
    assert schedule.at(2, 0) == pytest.approx(0.03)
    assert schedule.at(3, 500) == pytest.approx(0.05 - 0.04 * 3.5 / 4)
    assert schedule.at(3, 1000) == pytest.approx(0.01)
    rates = [schedule.at(epoch, position) for epoch in range(4) for position in range(0, 1000, 50)]
    steps = np.diff(rates)
    assert steps == pytest.approx(-0.04 / 80, rel=1e-9), "equal steps, over epochs as well"


def test_past_the_end_it_stays() -> None:
    schedule = Schedule(start=0.05, end=0.01, tokens=1000, epochs=1)
    assert schedule.at(0, 5000) == pytest.approx(0.01)
    assert schedule.at(7, 0) == pytest.approx(0.01)


@pytest.mark.parametrize("tokens", [2**31 + 1, 2**32 + 1, 20_294_967_300])
def test_totals_above_32_bits(tokens: int) -> None:
    schedule = Schedule(start=0.05, end=5e-6, tokens=tokens, epochs=5)
    places = [(epoch, tokens * part // 8) for epoch in range(5) for part in range(8)]
    rates = [schedule.at(*place) for place in places]
    assert (np.diff(rates) < 0).all()
    assert rates[0] == 0.05
    assert 5e-6 < rates[-1] < 0.05 / 30
