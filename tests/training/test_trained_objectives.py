"""Trainings of every objective through the front door: files, seams, costs, divergence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns import Model, TrainConfig, train
from w2v_sgns.config import RunOptions
from w2v_sgns.errors import ConfigError, DivergenceError, FormatError, ResourceError
from w2v_sgns.formats import describe
from w2v_sgns.objectives import nce, sgns
from w2v_sgns.training.batches import BatchBackend, SoftmaxBackend
from w2v_sgns.training.cost import Cost, check_cost
from w2v_sgns.training.divergence import untrained_loss
from w2v_sgns.training.estimate import estimate
from w2v_sgns.training.events import Event
from w2v_sgns.training.header import header

# Lines of six words each, of four groups: 23 words, for the last group has five.
LINES = [[f"w{min(6 * (n % 4) + (m * m + n) % 6, 22)}" for m in range(9)] for n in range(120)]
SMALL = {"dim": 8, "min_count": 1, "epochs": 2, "threads": 1, "sample": 0}
EVERY = [
    {"objective": "nce"},
    {"objective": "nce-sigmoid", "bias": True},
    {"objective": "softmax"},
    {"objective": "softmax", "bias": True},
    {"objective": "inbatch", "lr": 0.2},
    {"objective": "inbatch", "bias": True, "lr": 0.2},
    {"shared_noise": "batch"},
    {"objective": "nce", "shared_noise": "batch", "bias": True, "collisions": "drop"},
]


def run(**settings: Any) -> Model:
    return train(LINES, **(SMALL | settings))


@pytest.mark.parametrize("settings", EVERY, ids=str)
def test_it_learns_and_comes_back_from_its_file(settings: dict[str, Any], tmp_path: Path) -> None:
    model = run(**settings, output=tmp_path / "a.safetensors")
    assert model.history[1]["loss"] < model.history[0]["loss"]
    again = Model.load(tmp_path / "a.safetensors")
    assert again.config == model.config
    assert np.array_equal(again.E, model.E)
    assert np.array_equal(again.Ep, model.Ep)
    if settings.get("bias"):
        assert np.array_equal(again.output_bias, model.output_bias)
        assert model.output_bias.any()
        assert again.output_bias.shape == (23,)
    else:
        assert again.output_bias is None
    again.save(tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


@pytest.mark.parametrize("settings", EVERY, ids=str)
def test_a_stopped_run_goes_on_to_the_same_file(settings: dict[str, Any], tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("".join(" ".join(line) + "\n" for line in LINES))
    straight, stopped = tmp_path / "straight.safetensors", tmp_path / "stopped.safetensors"
    train(text, **SMALL, **settings, output=straight)
    train(text, **SMALL, **settings, output=stopped, stop_after=1)
    train(resume=tmp_path / "stopped.checkpoint.safetensors")
    assert stopped.read_bytes() == straight.read_bytes()


def test_a_damaged_bias_is_refused(tmp_path: Path) -> None:
    model = run(objective="nce", bias=True)
    model.output_bias = np.zeros(5, np.float32)
    with (tmp_path / "bad.safetensors").open("wb") as stream:
        from w2v_sgns.formats.native import write_model

        write_model(stream, model)
    with pytest.raises(FormatError, match="output_bias"):
        Model.load(tmp_path / "bad.safetensors")
    with pytest.raises(ConfigError, match="output_bias"):
        Model(
            model.E,
            model.Ep,
            vocabulary=model.vocabulary,
            config=model.config,
            output_bias=model.output_bias,
        )


def test_a_bias_that_is_not_finite_is_found(tmp_path: Path) -> None:
    model = run(objective="nce", bias=True)
    assert model.output_bias is not None
    model.output_bias[3] = np.nan
    with pytest.raises(DivergenceError, match="output bias"):
        model.save(tmp_path / "x.safetensors")


def test_the_file_holds_the_bias_as_a_tensor(tmp_path: Path) -> None:
    run(objective="softmax", bias=True, output=tmp_path / "a.safetensors")
    tensors = describe(tmp_path / "a.safetensors").tensors
    assert tensors["output_bias"].shape == (23,)
    run(objective="softmax", output=tmp_path / "b.safetensors")
    assert "output_bias" not in describe(tmp_path / "b.safetensors").tensors


def test_a_bias_learns_the_frequencies() -> None:
    """With vectors too small to matter, NCE's bias is log P(w) and SGNS's log P(w) − log k·q."""
    lines = [["a"] * 8 + ["b"] * 4 + ["c"] * 2 + ["d"]] * 800
    settings = {"dim": 1, "window": "line", "lr": 0.002, "epochs": 5, "negative": 10, "seed": 3}
    share = np.log(np.array([8, 4, 2, 1]) / 15)
    for objective, expected in (("nce", share), ("sgns", share - np.log(10 / 4))):
        model = train(
            lines, **(SMALL | settings), objective=objective, bias=True, noise_exponent=0.0
        )
        assert model.output_bias is not None
        scores = (model.E @ model.Ep.T).mean(axis=0) + model.output_bias
        assert np.abs(scores - expected).max() < 0.15, objective


@pytest.mark.parametrize("objective", ["sgns", "nce", "nce-sigmoid", "softmax", "inbatch"])
def test_a_huge_rate_is_told(objective: str) -> None:
    with pytest.raises(DivergenceError, match="--lr"):
        train(LINES * 10, **(SMALL | {"epochs": 20}), objective=objective, lr=1e5)


def test_untrained_losses() -> None:
    counts = np.array([40, 25, 15, 10, 6, 4])
    q = np.full(6, 1 / 6)
    assert untrained_loss(TrainConfig(), counts) == pytest.approx(6 * np.log(2))
    assert untrained_loss(TrainConfig(objective="softmax"), counts) == pytest.approx(np.log(6))
    assert untrained_loss(TrainConfig(objective="inbatch"), counts) == pytest.approx(np.log(16))
    zero, kq = np.zeros((1, 1)), np.log(5 * q)
    step = nce.evaluate(zero, np.zeros((6, 1)), [0], [0, 1, 2, 3, 4, 5], log_kq=kq)
    assert untrained_loss(TrainConfig(objective="nce"), counts) == pytest.approx(step.loss)
    step = sgns.evaluate(zero, np.zeros((6, 1)), [0], [0, 1, 2, 3, 4, 5])
    assert untrained_loss(TrainConfig(), counts) == pytest.approx(step.loss)


def test_costly_softmax_is_refused_without_force() -> None:
    cost = Cost(
        over="softmax over 70,000 words",
        scores=70_000,
        each="each of 6,000,000 centres",
        dim=100,
        epochs=5,
        seconds=12_600,
        cheaper="fewer words (--max-vocab)",
    )
    assert cost.operations == 6 * 70_000 * 100
    assert "42.0 million operations for each of 6,000,000 centres" in cost.text
    assert cost.text.endswith("; 5 epochs take about 3:30:00")
    assert replace(cost, epochs=1, seconds=37.6).text.endswith("; 1 epoch takes about 37.6 s")
    with pytest.raises(
        ResourceError, match=r"--force to do it, or fewer words \(--max-vocab\), or"
    ):
        check_cost(cost, force=False)
    check_cost(cost, force=True)
    check_cost(replace(cost, seconds=3_600), force=False)


def test_one_estimate_is_told_throughout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run names one time, and the run itself the same where the rate is the same."""
    rate = 200.0
    monkeypatch.setattr(BatchBackend, "tokens_per_second", lambda backend, seconds: rate)
    config = TrainConfig(**{k: v for k, v in SMALL.items() if k != "threads"}, objective="softmax")
    found = estimate(LINES, config, options=RunOptions(threads=1))
    assert found.cost is not None
    assert found.seconds == found.cost.seconds == 2 * 9 * len(LINES) / rate
    lines = list(found.lines(config))
    assert "about 10.8 s of training" in lines[-1]
    assert not any("take" in line for line in lines)
    told = []
    train(LINES, **SMALL, objective="softmax", progress=told.append)
    assert any(event.text.endswith("2 epochs take about 10.8 s") for event in told)
    rate = 0.5
    with pytest.raises(ResourceError, match="2 epochs take about 1:12:00, more than an hour"):
        train(LINES, **SMALL, objective="softmax")


@pytest.mark.parametrize("bias", [False, True])
def test_measuring_leaves_the_matrices_alone(bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    right = SoftmaxBackend.tokens_per_second

    def watched(backend: SoftmaxBackend, seconds: float) -> float:
        before = [matrix.tobytes() for matrix in backend.matrices]
        measured.append(right(backend, seconds))
        assert [matrix.tobytes() for matrix in backend.matrices] == before
        return measured[-1]

    monkeypatch.setattr(SoftmaxBackend, "tokens_per_second", watched)
    run(objective="softmax", bias=bias)
    assert measured[0] > 0


@pytest.mark.parametrize("settings", [{}, *EVERY], ids=str)
def test_batches_are_the_same_on_two_threads(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a vocabulary of several blocks, which the threads share."""
    monkeypatch.setattr("w2v_sgns.training.needs.allowed_threads", lambda: 2)
    monkeypatch.setattr("w2v_sgns.kernels.softmax.BLOCK", 5)
    told: list[Event] = []
    one, again = (run(**settings, threads=n) for n in (1, 2))
    two = run(**settings, threads=2, progress=told.append)
    corpus = next(event.corpus for event in told if event.phase == "corpus")
    assert corpus is not None
    in_batches = one.config.in_batches
    assert one.provenance["deterministic"]
    assert two.provenance["deterministic"] == in_batches
    said = any("vary" in line for line in header(corpus.stats, two.config, 2))
    assert said != in_batches
    if in_batches:
        for other in (two, again):
            assert other.E.tobytes() == one.E.tobytes()
            assert other.Ep.tobytes() == one.Ep.tobytes()


@pytest.mark.parametrize(
    ("objective", "over", "each"),
    [
        ("softmax", "softmax over 23 words × 8", "operations for each of"),
        ("inbatch", "softmax over batches of 16 pairs × 8", "768 operations for each pair"),
    ],
)
def test_the_cost_is_told_before_the_start(
    objective: str, over: str, each: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Event] = []
    train(LINES, **SMALL, objective=objective, progress=told.append)
    phases = [event.phase for event in told]
    note = next(event for event in told if over in event.text)
    assert phases.index("note") < phases.index("train")
    assert each in note.text
    monkeypatch.setattr("w2v_sgns.training.cost.HOUR", 0.0)
    with pytest.raises(ResourceError, match="more than an hour"):
        train(LINES, **SMALL, objective=objective)
    train(LINES, **SMALL, objective=objective, force=True)
