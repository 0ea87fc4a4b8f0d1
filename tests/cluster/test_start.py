"""From --cluster to a model, on nodes in threads; what a cluster refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns import ConfigError, CorpusError, ResourceError, train
from w2v_sgns.cluster import ray
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.config import RunOptions, TrainConfig
from w2v_sgns.formats import load_model
from w2v_sgns.training.estimate import estimate

SMALL: dict[str, Any] = {"dim": 8, "epochs": 2, "cluster": "here:1", "threads": 1}


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> list[LocalEngine]:
    """Any address leads to two nodes in threads."""
    engines: list[LocalEngine] = []

    def connect(address: str, *, threads: int) -> LocalEngine:
        assert (address, threads) == ("here:1", 1)
        engines.append(LocalEngine(2))
        return engines[-1]

    monkeypatch.setattr(ray, "RayEngine", connect)
    return engines


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """70,000 words, 5 chunks."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    draw = np.random.default_rng(1).zipf(1.5, 70_000) % 500
    path.write_text("\n".join(" ".join(map(str, line)) for line in draw.reshape(-1, 20)))
    return path


def test_a_cluster_trains_and_says_so(
    two_nodes: list[LocalEngine], text: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    model = train(text, **SMALL, output=tmp_path / "m.safetensors", log_json=log)
    alone = train(text, dim=8, epochs=2, threads=1)
    assert np.isfinite(model.E).all()
    assert model.history[-1]["tokens"] == alone.history[-1]["tokens"]
    assert model.history[-1]["loss"] < 1.1 * alone.history[-1]["loss"]
    stored = load_model(tmp_path / "m.safetensors").provenance
    assert stored["nodes"] == 2
    assert not stored["deterministic"]
    assert stored["fingerprint"] == alone.provenance["fingerprint"]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    merges = [line for line in lines if line["phase"] == "merge"]
    assert merges[-1]["nodes"] == 2
    assert merges[-1]["sent"] > merges[0]["sent"] > 0
    assert 0 < merges[-1]["merging"] < 1
    assert any("2 nodes, merged every" in line.get("text", "") for line in lines)
    with pytest.raises(RuntimeError, match="shutdown"):  # its threads have ended
        two_nodes[0].call("where")


def test_resumed_is_straight(two_nodes: list[LocalEngine], text: Path, tmp_path: Path) -> None:
    fixed = SMALL | {"sync_words": 16_000}
    straight = train(text, **fixed)
    train(text, **fixed, output=tmp_path / "m.safetensors", stop_after=1)
    resumed = train(resume=tmp_path / "m.checkpoint.safetensors")
    assert len(two_nodes) == 3
    assert np.array_equal(resumed.E, straight.E)
    assert np.array_equal(resumed.Ep, straight.Ep)


@pytest.mark.parametrize(
    "refused",
    [
        {"objective": "nce"},
        {"bias": True},
        {"shared_noise": "batch"},
        {"window": "line"},
        {"holdout": 0.1},
    ],
    ids=lambda refused: next(iter(refused)),
)
def test_what_the_rule_was_not_made_for_is_refused_before_counting(
    two_nodes: list[LocalEngine], text: Path, refused: dict[str, Any]
) -> None:
    flag = "--" + next(iter(refused)).replace("_", "-")
    with pytest.raises(ConfigError, match=f"^--cluster merges .* not {flag}"):
        train(text, **SMALL, **refused)
    assert not two_nodes


def test_a_short_text_is_refused(two_nodes: list[LocalEngine]) -> None:
    lines = [["a", "b", "c", "d"]] * 100
    with pytest.raises(CorpusError, match="2 machines have 200, 200 tokens, each needs 16,384"):
        train(lines, **SMALL)


def test_sync_words_needs_a_cluster() -> None:
    with pytest.raises(ConfigError, match="--sync-words is about several machines"):
        train([["a"]], sync_words=5)
    with pytest.raises(ConfigError, match="--sync-type must be one of int8, float32"):
        train([["a"]], sync_type="int4")


def test_a_dry_run_is_of_one_machine(text: Path) -> None:
    with pytest.raises(ConfigError, match="--dry-run tries this machine alone"):
        estimate(text, TrainConfig(), options=RunOptions(cluster="here:1"))


def test_without_ray_one_sentence_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, text: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(ray, "_check_address", lambda address: None)
    with pytest.raises(
        ResourceError, match=r"^--cluster needs Ray: pip install 'w2v-sgns\[cluster\]'"
    ):
        train(text, cluster="here:1")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:99999", "no-such-host.invalid:80"])
def test_an_address_that_nobody_answers_is_told_at_once(text: Path, address: str) -> None:
    with pytest.raises(ConfigError, match=f"^--cluster {address}: no Ray cluster answers"):
        train(text, cluster=address)


@pytest.mark.parametrize("address", ["ray://127.0.0.1:10001", "auto", "host", "host:x", ":1", ""])
def test_other_addresses_are_refused(text: Path, address: str) -> None:
    with pytest.raises(ConfigError, match="needed: HOST:PORT"):
        train(text, cluster=address)
