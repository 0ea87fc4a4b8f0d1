"""Case 44: the reported loss is a mean per positive pair, in 64 bits, whatever the threads."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns import train
from w2v_sgns.training.events import Event
from w2v_sgns.training.state import Sums

CASE = Path(__file__).resolve().parents[1] / "cases" / "44-loss-accounting"
SETTINGS: dict[str, Any] = {"negative": 5, "epochs": 5, "dim": 20}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("case44")
    subprocess.run([sys.executable, CASE / "gen.py"], cwd=folder, check=True, timeout=60)
    return folder / "corpus.txt"


@pytest.fixture(scope="module")
def runs(corpus: Path) -> dict[int, list[float]]:
    """The losses of five epochs, by the number of threads."""
    losses = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("w2v_sgns.training.needs.allowed_threads", lambda: 8)
        for threads in (1, 4, 8):
            model = train(corpus, threads=threads, **SETTINGS)
            assert model.provenance["threads"] == threads
            losses[threads] = [entry["loss"] for entry in model.history]
    return losses


def test_44_it_falls_and_threads_agree(runs: dict[int, list[float]]) -> None:
    for losses in runs.values():
        assert losses == sorted(losses, reverse=True)
        assert losses[0] < 6 * math.log(2)
        for ours, theirs in zip(losses, runs[1], strict=True):
            assert ours == pytest.approx(theirs, rel=0.03)


def test_44_the_first_report_is_that_of_zero_vectors(corpus: Path) -> None:
    reports: list[float] = []

    def watch(event: Event) -> None:
        if event.phase in ("train", "epoch") and event.pairs:
            reports.append(event.loss)

    train(corpus, progress=watch, threads=1, lr=1e-9, **SETTINGS | {"epochs": 1})
    assert reports[0] == pytest.approx(6 * math.log(2), abs=1e-6)
    assert reports[0] == pytest.approx(4.158883, abs=1e-6)


def test_44_a_doubled_corpus_has_the_same_loss(corpus: Path, runs: Any, tmp_path: Path) -> None:
    double = tmp_path / "double.txt"
    double.write_bytes(2 * corpus.read_bytes())
    model = train(double, threads=1, **SETTINGS | {"epochs": 1})
    assert 0.7 * runs[1][0] < model.history[0]["loss"] < 1.1 * runs[1][0]


def test_44_sums_go_on_where_32_bits_stand_still() -> None:
    stuck = np.float32(2.0**27)
    assert np.float32(stuck + np.float32(4)) == stuck
    sums = Sums(pairs=2**25, loss=2.0**27)
    for _ in range(1000):
        sums = Sums(sums.tokens, sums.kept, sums.pairs + 1, sums.loss + 4.0)
    assert sums.loss == 2.0**27 + 4000
    assert sums.mean_loss == pytest.approx(4.0, abs=1e-8)


def test_44_more_than_two_to_the_27(corpus: Path, tmp_path: Path) -> None:
    """The sum of one epoch passes 2^27 and goes on: untrained vectors cost 6 ln 2 to the end."""
    line = tmp_path / "line.txt"
    line.write_bytes(corpus.read_bytes().replace(b"\n", b" "))
    settings = {"dim": 4, "window": 45, "fixed_window": True, "sample": 0, "lr": 1e-9, "epochs": 1}
    (entry,) = train(line, threads=1, **SETTINGS | settings).history
    assert entry["loss"] * entry["pairs"] > 2**27
    assert entry["loss"] == pytest.approx(6 * math.log(2), abs=1e-5)
