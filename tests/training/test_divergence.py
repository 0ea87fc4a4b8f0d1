"""A learning rate that is too large: seen at once, told by name, and nothing bad is written."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from w2v_sgns import Model, train
from w2v_sgns.errors import DivergenceError
from w2v_sgns.training.divergence import ENOUGH, FAR, LossWatch
from w2v_sgns.training.state import Sums

CASE = Path(__file__).resolve().parents[1] / "cases" / "47-diverging" / "corpus.txt"
START = 6 * math.log(2)  # k = 5


def sums(pairs: int, mean: float) -> Sums:
    return Sums(tokens=pairs, kept=pairs, pairs=pairs, loss=pairs * mean)


def test_a_loss_far_above_its_start_is_refused() -> None:
    watch = LossWatch(START)
    watch.check(1, sums(ENOUGH, START), 0.05, 0.05)
    watch.check(1, sums(2 * ENOUGH, START * FAR / 2), 0.05, 0.05)
    with pytest.raises(DivergenceError, match=r"the loss is 70, .* --lr 0\.5 \(then 0\.4\).*0\.05"):
        watch.check(1, sums(3 * ENOUGH, (START * FAR + 70) / 3), 0.4, 0.5)


def test_a_good_beginning_hides_nothing() -> None:
    watch = LossWatch(START)
    good = sums(10**9, 2.0)
    watch.check(3, good, 0.05, 0.05)
    late = Sums(pairs=good.pairs + ENOUGH, loss=good.loss + ENOUGH * START * (FAR + 1))
    assert late.loss / late.pairs < 2.001
    with pytest.raises(DivergenceError, match="in epoch 3"):
        watch.check(3, late, 0.05, 0.05)


def test_few_pairs_are_not_judged_but_nan_is() -> None:
    watch = LossWatch(START)
    watch.check(1, sums(ENOUGH - 1, 1e9), 0.05, 0.05)
    for loss in (math.nan, math.inf):
        with pytest.raises(DivergenceError, match="became infinite or NaN"):
            LossWatch(START).check(1, Sums(pairs=1, loss=loss), 0.05, 0.05)


def test_every_epoch_begins_anew() -> None:
    watch = LossWatch(START)
    watch.check(1, sums(10**6, 2.0), 0.05, 0.05)
    with pytest.raises(DivergenceError):
        watch.check(2, sums(ENOUGH, START * FAR * 1.1), 0.05, 0.05)


REPEATED = "a a a a a b\n" * 1500 + "b a a a a a a a\n" * 1500


@pytest.mark.parametrize("lr", [0.05, 0.1, 0.3, 0.5, 1.0, 50.0])
@pytest.mark.parametrize("text", ["case", "repeated", "one"])
@pytest.mark.filterwarnings("error")
def test_47_finite_or_refused(text: str, lr: float, tmp_path: Path) -> None:
    """Either the vectors are finite, or the run stops and names the rate; no other way."""
    corpus = tmp_path / "corpus.txt"
    lines = {"case": CASE.read_text(), "repeated": REPEATED, "one": REPEATED.replace("\n", " ")}
    corpus.write_text(lines[text])
    output = tmp_path / "m.safetensors"
    settings = {"min_count": 1, "epochs": 4, "dim": 16, "sample": 0, "threads": 1}
    try:
        model = train(corpus, output=output, lr=lr, checkpoint_every=1, **settings)
    except DivergenceError as error:
        assert lr > 0.05
        assert f"--lr {lr:g}" in str(error) or "smaller --lr" in str(error)
        for path in tmp_path.glob("*.safetensors"):
            Model.load(path).check_finite()
        assert not output.exists()
    else:
        assert lr < 1
        assert np.isfinite(model.E).all()
        Model.load(output).check_finite()
