"""softplus and sigmoid at every size of argument."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from w2v_sgns.objectives.stable import sigmoid, softplus

FIXTURE = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "sgns_fixtures.json").read_text()
)["stable_scalar"]


@pytest.mark.parametrize("i", range(len(FIXTURE["s"])), ids=lambda i: f"s={FIXTURE['s'][i]:g}")
def test_values(i: int) -> None:
    s = FIXTURE["s"][i]
    # relative: e^-100 is far below any absolute tolerance; 0 stands for e^-800, below all floats
    assert softplus(s) == pytest.approx(FIXTURE["softplus_pos"][i], rel=1e-10, abs=1e-300)
    assert softplus(-s) == pytest.approx(FIXTURE["minus_logsig"][i], rel=1e-10, abs=1e-300)
    assert sigmoid(s) == pytest.approx(FIXTURE["sigma"][i], rel=1e-10, abs=1e-300)


def test_no_argument_overflows() -> None:
    with np.errstate(all="raise", under="ignore"):
        extremes = np.array([-1e308, -800.0, 800.0, 1e308])
        assert np.array_equal(sigmoid(extremes), [0, 0, 1, 1])
        assert np.array_equal(softplus(extremes), [0, 0, 800, 1e308])


def test_identities() -> None:
    x = np.linspace(-50, 50, 1001)
    assert np.allclose(sigmoid(x) + sigmoid(-x), 1, rtol=0, atol=1e-15)
    assert np.allclose(softplus(x) - softplus(-x), x, rtol=0, atol=1e-13)
    h = 1e-6
    slope = (softplus(x + h) - softplus(x - h)) / (2 * h)
    assert np.abs(slope - sigmoid(x)).max() < 1e-8


def test_shapes_are_kept() -> None:
    assert softplus(0).shape == ()
    assert sigmoid(np.zeros((2, 3))).shape == (2, 3)
