"""Ranges of settings, their messages, and their way through JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from w2v_sgns.config import RunOptions, TrainConfig, parse_size
from w2v_sgns.errors import ConfigError, W2VError

NAN, INF = math.nan, math.inf
BAD: list[tuple[str, Any]] = [
    *[("dim", value) for value in (0, -1, 16_385, 1.5, "100", True, None)],
    *[("window", value) for value in (0, -1, 1_001)],
    *[("negative", value) for value in (0, -1, 1_001)],
    *[("epochs", value) for value in (0, -1, 10**7)],
    *[("min_count", value) for value in (0, -5)],
    *[("seed", value) for value in (-1, 2**63)],
    *[("lr", value) for value in (0, 0.0, -1, -1e-9, NAN, INF, "0.1", None, False)],
    *[("min_lr", value) for value in (-1e-9, NAN, INF, 0.06)],
    *[("sample", value) for value in (-1, -1e-9, NAN, INF, "x")],
    *[("noise_exponent", value) for value in (NAN, INF, -INF, "0.75")],
    *[("collisions", value) for value in ("", "Keep", "redraw", None)],
    *[("objective", value) for value in ("", "SGNS", "cbow", None)],
    *[("shared_noise", value) for value in ("", "none", None)],
    *[("bias", value) for value in (1, "yes", None)],
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=[f"{n}={v!r}" for n, v in BAD])
def test_bad_values_are_named(name: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        TrainConfig(**{name: value})
    message = str(caught.value)
    assert message.startswith("--" + name.replace("_", "-") + " ")
    assert "\n" not in message
    shown = f"{value:g}" if name == "min_lr" and value == 0.06 else str(value)
    assert shown in message, message
    assert isinstance(caught.value, W2VError)
    assert isinstance(caught.value, ValueError)


GOOD: list[tuple[str, Any]] = [
    *[("dim", value) for value in (1, 16_384, np.int64(7))],
    *[("window", value) for value in (1, 1_000)],
    *[("negative", value) for value in (1, 1_000)],
    *[("seed", value) for value in (0, 2**63 - 1)],
    *[("lr", value) for value in (1e-30, 5, 1e6, np.float32(0.5))],
    *[("min_lr", value) for value in (None, 0, 0.05)],
    *[("sample", value) for value in (0, 1e-12, 2.0)],
    *[("noise_exponent", value) for value in (0, -0.5, 1)],
    *[("collisions", value) for value in ("keep", "drop")],
]


@pytest.mark.parametrize(("name", "value"), GOOD, ids=[f"{n}={v!r}" for n, v in GOOD])
def test_the_ends_of_the_ranges_are_inside(name: str, value: Any) -> None:
    assert getattr(TrainConfig(**{name: value}), name) == value


def test_defaults() -> None:
    config = TrainConfig()
    assert (config.dim, config.window, config.negative, config.epochs) == (100, 5, 5, 5)
    assert (config.lr, config.sample, config.noise_exponent) == (0.05, 1e-4, 0.75)
    assert (config.min_count, config.seed, config.collisions) == (5, 1, "keep")
    assert not config.fixed_window


def test_final_lr() -> None:
    assert TrainConfig(lr=0.1).final_lr == pytest.approx(1e-5)
    assert TrainConfig(lr=0.1, min_lr=0.0).final_lr == 0
    assert TrainConfig(lr=0.1, min_lr=0.1).final_lr == 0.1


def test_it_cannot_be_changed_or_given_by_position() -> None:
    with pytest.raises(AttributeError):
        TrainConfig().dim = 5  # type: ignore[misc]
    with pytest.raises(TypeError):
        TrainConfig(5)  # type: ignore[misc]
    with pytest.raises(TypeError):
        TrainConfig(size=5)  # type: ignore[call-arg]


def test_json_and_back() -> None:
    config = TrainConfig(dim=7, sample=0, min_lr=0.001, collisions="drop", fixed_window=True)
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert config != TrainConfig()


def test_settings_of_newer_versions_are_passed_over() -> None:
    assert TrainConfig.from_dict({"dim": 9, "from_the_future": 1}) == TrainConfig(dim=9)


@pytest.mark.parametrize("threads", [-1, 2**63, 1.5, "2"])
def test_bad_threads(threads: Any) -> None:
    with pytest.raises(ConfigError, match="--threads"):
        RunOptions(threads=threads)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        (4_000_000_000, 4_000_000_000),
        ("512M", 512 << 20),
        ("4G", 4 << 30),
        ("1.5k", 1536),
        ("2 gb", 2 << 30),
        ("3GiB", 3 << 30),
        ("1T", 1 << 40),
    ],
)
def test_sizes(text: str | int, size: int) -> None:
    assert parse_size(text) == size
    assert RunOptions(memory=text).memory == text


@pytest.mark.parametrize("text", ["", "0", "-1", "G", "much", "4X", "nan", "inf", "1e30", 0, -5])
def test_bad_sizes(text: str | int) -> None:
    with pytest.raises(ConfigError, match="--memory"):
        RunOptions(memory=text)


@pytest.mark.parametrize("value", ["no", 1, None])
def test_a_switch_is_true_or_false(value: Any) -> None:
    with pytest.raises(ConfigError, match="--fixed-window is on or off"):
        TrainConfig(fixed_window=value)


@pytest.mark.parametrize(
    "setting", [{"lr": 1e39}, {"noise_exponent": 1e9}, {"noise_exponent": -11}]
)
def test_numbers_beyond_any_use(setting: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="at most"):
        TrainConfig(**setting)


@pytest.mark.parametrize(
    ("objective", "exponent"),
    [("sgns", 0.75), ("nce", 0), ("nce-sigmoid", 0), ("softmax", None), ("inbatch", None)],
)
def test_each_objective_has_its_noise(objective: str, exponent: float | None) -> None:
    config = TrainConfig(objective=objective)
    assert config.noise_exponent == exponent
    assert config.to_dict()["noise_exponent"] == exponent
    assert config.without_noise == (exponent is None)
    if exponent is not None:
        assert TrainConfig(objective=objective, noise_exponent=0.5).noise_exponent == 0.5


@pytest.mark.parametrize(
    ("settings", "flag"),
    [
        ({"objective": "nce-sigmoid", "collisions": "drop"}, "--collisions drop"),
        ({"objective": "softmax", "collisions": "drop"}, "--collisions drop"),
        ({"objective": "softmax", "noise_exponent": 0.75}, "--noise-exponent"),
        ({"objective": "softmax", "shared_noise": "batch"}, "--shared-noise batch"),
        ({"objective": "inbatch", "noise_exponent": 0.75}, "--noise-exponent"),
    ],
)
def test_settings_without_a_meaning_are_refused(settings: dict[str, Any], flag: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TrainConfig(**settings)
    assert str(caught.value).startswith(flag)
    assert settings["objective"] in str(caught.value)
