"""The common yardstick of all objectives, and the comparison built on it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from w2v_sgns import TrainConfig
from w2v_sgns.cli.app import app
from w2v_sgns.config import RunOptions
from w2v_sgns.corpus.inputs import open_source
from w2v_sgns.errors import ConfigError, CorpusError, DivergenceError
from w2v_sgns.evaluation import objectives as comparing
from w2v_sgns.evaluation.ground import Ground, log_likelihood, split
from w2v_sgns.evaluation.objectives import compare_objectives
from w2v_sgns.objectives.readout import log_probabilities
from w2v_sgns.training.trainer import counted, selection_of

P = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
LOG_Q = np.log([0.6, 0.3, 0.1])
SHIFT = np.array([[2.0], [-3.0]])
# The scores of each objective at its optimum; the softmax's are known up to a shift of each row.
OPTIMA = {
    "sgns": np.log(P) - np.log(5) - LOG_Q,
    "nce": np.log(P),
    "nce-sigmoid": np.log(P / (1 - P)),
    "softmax": np.log(P) + SHIFT,
    "inbatch": np.log(P) - LOG_Q + SHIFT,
}
ALIKE = ({"nce", "softmax"}, {"sgns", "inbatch"})  # one readout
LINES = [[f"w{6 * (n % 4) + (m * m + n) % 6}" for m in range(9)] for n in range(300)]
SMALL = TrainConfig(dim=8, min_count=1, epochs=2, sample=0)


@pytest.mark.parametrize("objective", OPTIMA)
def test_at_its_optimum_every_objective_reads_out_p(objective: str) -> None:
    found = np.exp(log_probabilities(objective, OPTIMA[objective], LOG_Q))
    assert found == pytest.approx(P, abs=1e-12)
    for other in OPTIMA:  # another readout gives something else, but for these
        same = objective == other or {objective, other} in ALIKE
        wrong = np.exp(log_probabilities(other, OPTIMA[objective], LOG_Q))
        assert same == (np.abs(wrong - P).max() < 1e-12), other


@pytest.mark.parametrize("objective", OPTIMA)
def test_huge_scores_stay_finite(objective: str) -> None:
    logs = log_probabilities(objective, [[800.0, -800.0, 0.0]], LOG_Q)
    assert np.isfinite(logs).all()
    assert np.exp(logs).sum() == pytest.approx(1)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("objective", OPTIMA)
def test_the_likelihood_is_the_mean_over_the_pairs(objective: str, bias: bool) -> None:
    """Against one pair after another; more centers than are judged at once, repeated pairs."""
    rng = np.random.default_rng(4)
    E, Ep = rng.normal(0, 1, (2, 150, 6)).astype(np.float32)
    biases = rng.normal(0, 1, 150).astype(np.float32) if bias else None
    log_q = np.log(rng.dirichlet(np.ones(150)))
    centers, targets = rng.integers(0, 150, (2, 400))
    expected = []
    for c, t in zip(centers, targets, strict=True):
        scores = Ep.astype(float) @ E[c].astype(float) + (0 if biases is None else biases)
        expected.append(log_probabilities(objective, scores, log_q)[t])
    found = log_likelihood(objective, E, Ep, biases, centers, targets, log_q)
    assert found == pytest.approx(np.mean(expected), abs=1e-5)


def test_the_held_out_end_is_not_trained_on() -> None:
    tokens = np.arange(1000, dtype=np.uint32)
    train, held = split(tokens, 0.1)
    assert (train & 0x7FFFFFFF).tolist() == list(range(900))
    assert (held & 0x7FFFFFFF).tolist() == list(range(900, 1000))
    assert train[-1] >> 31 == held[-1] >> 31 == 1
    assert not (tokens >> 31).any(), "the text itself stays"
    with pytest.raises(CorpusError, match="too few"):
        split(tokens[:30], 0.02)


@pytest.mark.parametrize("objective", ["softmax", "inbatch"])
def test_a_softmax_learns_what_a_word_says_about_the_next(objective: str) -> None:
    """Six words of four groups: a model that knows the group reaches about log(1/6)."""
    said: list[str] = []
    found = compare_objectives(LINES, SMALL, objectives=[objective], threads=1, say=said.append)
    (leg,) = found.legs
    assert leg.likelihood > found.unigram + 0.5
    assert leg.likelihood < 0
    assert leg.lr == max(leg.tried, key=lambda lr: leg.tried[lr])
    assert set(comparing.RATES) <= leg.tried.keys()
    assert [moment.likelihood for moment in leg.moments][-1] == leg.likelihood
    assert len(leg.moments) == 2
    assert leg.epochs == 2
    assert found.words == 24
    assert found.tokens + found.held_out == 2700
    assert sum("on a tenth" in line for line in said) == len(leg.tried)


def test_equal_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare_objectives(LINES, SMALL, objectives=["softmax"], threads=1, seconds=1e-3)
    (leg,) = found.legs
    assert leg.epochs <= 1
    assert math.isfinite(leg.likelihood)


def test_a_rate_that_diverges_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "RATES", (0.05, 1e6))
    (leg,) = compare_objectives(LINES, SMALL, objectives=["softmax"], threads=1).legs
    assert leg.lr < 1e6
    assert math.isnan(leg.tried[1e6])
    monkeypatch.setattr(comparing, "RATES", (1e6,))
    monkeypatch.setattr(comparing, "FURTHER", 0)
    with pytest.raises(DivergenceError, match="every rate"):
        compare_objectives(LINES, SMALL, objectives=["softmax"], threads=1)


def test_word_frequencies_are_those_that_subsampling_leaves() -> None:
    often = [["the", word] for line in LINES for word in line]
    config = replace(SMALL, sample=0.01)
    source = open_source(often, config)
    with counted(source, RunOptions(threads=1), **selection_of(config)) as corpus:
        ground = Ground(corpus, config, holdout=0.05, threads=1)
    assert corpus.vocabulary.counts is not None
    kept = []
    for count in corpus.vocabulary.counts.tolist():
        ratio = 0.01 * 5400 / count
        kept.append(count * min(1, math.sqrt(ratio) + ratio))
    assert kept[0] < corpus.vocabulary.counts[0] / 2, "the most frequent word is thinned out"
    expected = np.mean([math.log(kept[target] / sum(kept)) for target in ground.targets])
    assert ground.unigram() == pytest.approx(expected)


class MadeTrial:
    """A training whose outcome is known: `tenth` and `whole` say it by the rate."""

    tenth: ClassVar[dict[float, float]] = {}
    whole: ClassVar[dict[float, float]] = {}

    def __init__(self, ground: Any, objective: str, lr: float, tokens: Any, *, epochs: int) -> None:
        short = len(tokens) < len(ground.tokens)
        self.likelihood = (self.tenth if short else self.whole).get(lr, math.nan)
        self.E, self.seconds, self.words_per_second = np.ones((24, 2)), 1.0, 1.0
        self.done, self.loss, self.moments = len(tokens), 1.0, list[Any]()

    def train(self, most: float | None) -> float:
        return self.likelihood


@pytest.mark.parametrize(
    ("tenth", "whole", "tried", "chosen"),
    [
        # the best of three lies between the others
        ({0.0125: -3, 0.05: -1, 0.2: -2}, {0.05: -1}, [0.0125, 0.05, 0.2], 0.05),
        # at the low end: no further, such runs have learned nothing
        ({0.0125: -1, 0.05: -2, 0.2: -3}, {0.0125: -1}, [0.0125, 0.05, 0.2], 0.0125),
        # all diverge: further down, two rates at most
        ({0.003125: -3}, {0.003125: -1}, [0.003125, 0.0125, 0.05, 0.2], 0.003125),
        (
            {0.00078125: -1.1},
            {0.00078125: -1},
            [0.00078125, 0.003125, 0.0125, 0.05, 0.2],
            0.00078125,
        ),
        # equally good: the higher one; no lower one, which is equal too
        ({0.0125: -2.0003, 0.05: -2.0005, 0.2: -2.1}, {0.05: -1}, [0.0125, 0.05, 0.2], 0.05),
        # at the high end: one further, which is worse
        ({0.0125: -3, 0.05: -2, 0.2: -1, 0.8: -4}, {0.2: -1}, [0.0125, 0.05, 0.2, 0.8], 0.2),
        # diverges on all of the text: the next lower, and below all that were tried
        ({0.0125: -3, 0.05: -1}, {0.0125: -2}, [0.0125, 0.05, 0.2], 0.0125),
        ({0.0125: -3, 0.05: -1}, {0.003125: -2}, [0.0125, 0.05, 0.2], 0.003125),
    ],
)
def test_rates_are_searched_beyond_the_highest_and_lowered_where_the_run_diverges(
    tenth: dict[float, float],
    whole: dict[float, float],
    tried: list[float],
    chosen: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MadeTrial, "tenth", tenth)
    monkeypatch.setattr(MadeTrial, "whole", whole)
    monkeypatch.setattr(comparing, "Trial", MadeTrial)
    (leg,) = compare_objectives(LINES, SMALL, objectives=["softmax"], threads=1).legs
    assert sorted(leg.tried) == tried
    assert (leg.lr, leg.likelihood) == (chosen, whole[chosen])


def test_diverging_on_all_of_the_text_at_every_rate_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MadeTrial, "tenth", {0.0125: -3, 0.05: -1})
    monkeypatch.setattr(comparing, "Trial", MadeTrial)
    with pytest.raises(DivergenceError, match=r"all of the text at lr 0\.003125"):
        compare_objectives(LINES, SMALL, objectives=["softmax"], threads=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objectives": ["sgns", "nec"]}, "--objectives"),
        ({"objectives": []}, "--objectives"),
        ({"objectives": ["sgns", "sgns"]}, "once"),
        ({"seconds": 0}, "--seconds"),
        ({"seconds": math.nan}, "--seconds"),
        ({"holdout": 0}, "--holdout"),
        ({"holdout": 1.0}, "--holdout"),
    ],
)
def test_bad_values_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compare_objectives(LINES, SMALL, **settings)


def test_odd_texts_are_refused() -> None:
    with pytest.raises(CorpusError, match="too few"):
        compare_objectives([["a", "b"]] * 3, replace(SMALL), objectives=["softmax"])
    with pytest.raises(CorpusError, match="no pair"):
        compare_objectives([["a", "b"]] * 200 + [["a"]] * 20, SMALL, objectives=["softmax"])


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("".join(" ".join(line) + "\n" for line in LINES))
    Path("pairs.txt").write_text("w0 w1 9\nw0 w7 1\nw2 w3 8\nw2 w20 2\nw8 w9 7\n")
    arguments = ["compare", "text", "--objectives", "softmax", "--dim", "8", "--sample", "0"]
    arguments += ["--epochs", "2", "--threads", "1", "--eval", "pairs.txt"]
    done = CliRunner().invoke(app, [*arguments, "--plot", "a.svg"])
    assert done.exit_code == 0, done.output
    head, row, *_ = done.stdout.splitlines()
    assert head.split()[:2] == ["objective", "lr"]
    assert "pairs.txt" in head
    assert row.startswith("softmax")
    assert "word frequencies alone" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert Path("a.svg").read_bytes().startswith(b"<?xml")
    again = CliRunner().invoke(app, [*arguments, "--plot", "a.svg"])
    assert again.exit_code == 1
    assert "a.svg" in again.stderr
    found = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert found["legs"][0]["objective"] == "softmax"
    assert found["legs"][0]["scores"].keys() == {"pairs.txt"}


def test_a_missing_matplotlib_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("w2v_sgns.plots.figure.find_spec", lambda name: None)
    Path("text").write_text("too few words\n")  # what the work itself would complain about
    done = CliRunner().invoke(app, ["compare", "text", "--plot", "a.png"])
    assert done.exit_code == 1
    assert "w2v-sgns[plot]" in done.stderr
