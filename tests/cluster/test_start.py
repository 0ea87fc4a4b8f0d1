"""From --cluster to a model, on nodes in threads; what a cluster refuses."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from w2v_sgns import ConfigError, CorpusError, DivergenceError, ResourceError, train
from w2v_sgns.cluster import address as address_of
from w2v_sgns.cluster import connection, ray
from w2v_sgns.cluster.address import check_address
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.config import RunOptions, TrainConfig
from w2v_sgns.formats import load_model
from w2v_sgns.training.estimate import estimate
from w2v_sgns.training.events import Event
from w2v_sgns.training.header import header

SMALL: dict[str, Any] = {"dim": 8, "epochs": 2, "cluster": "here:1", "threads": 1}


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> list[LocalEngine]:
    """Any address leads to two nodes in threads."""
    engines: list[LocalEngine] = []

    def connect(address: str, *, threads: int, device: str) -> LocalEngine:
        assert (address, threads) == ("here:1", 1)
        assert device in ("cpu", "auto")
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
    log, events = tmp_path / "log.jsonl", list[Event]()
    output = tmp_path / "m.safetensors"
    model = train(text, **SMALL, output=output, log_json=log, progress=events.append)
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
    counted = next(event for event in events if event.phase == "corpus")
    assert counted.corpus is not None
    assert list(header(counted.corpus.stats, TrainConfig(), 1, nodes=counted.nodes))[-1] == (
        "            2 nodes of a cluster: results vary a little between runs"
    )
    with pytest.raises(RuntimeError, match="shutdown"):  # its threads have ended
        two_nodes[0].call("where")


def test_auto_is_each_machines_choice(
    two_nodes: list[LocalEngine], text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise ResourceError("--device cuda: there is none")

    monkeypatch.setattr("w2v_sgns.training.placement.cuda_device", none)
    events: list[Event] = []
    model = train(text, **SMALL, device="auto", progress=events.append)
    assert model.provenance["device"] == "auto"
    told = "node 0, 1: --device auto: the CPU, no GPU can train this"
    assert told in [event.text for event in events]
    assert np.array_equal(model.E, train(text, **SMALL).E)


def test_a_gpu_is_asked_for_and_what_it_cannot_train_is_refused_first(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def connect(address: str, *, threads: int, device: str) -> LocalEngine:
        asked.append(device)
        raise ResourceError("enough")

    monkeypatch.setattr(ray, "RayEngine", connect)
    with pytest.raises(ConfigError, match=r"^--device cuda: at most 2,048 dimensions"):
        train(text, **SMALL | {"dim": 3000}, device="cuda")
    assert not asked
    with pytest.raises(ResourceError, match="enough"):
        train(text, **SMALL, device="cuda")
    assert asked == ["cuda"]


def test_ctrl_c_gives_up_the_round_and_resume_trains_it(
    two_nodes: list[LocalEngine], text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("w2v_sgns.training.run.GRACE", 0.0)
    fixed, events = SMALL | {"sync_words": 16_000}, list[Event]()

    def press(event: Event) -> None:
        events.append(event)
        if event.phase == "train" and sum(e.phase == "train" for e in events) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(text, **fixed, output=tmp_path / "m.safetensors", progress=press)
    notes = [event.text for event in events]
    assert "the round under way was given up; --resume trains it again" in notes
    assert not any("left out" in note for note in notes)
    resumed, straight = train(resume=tmp_path / "m.checkpoint.safetensors"), train(text, **fixed)
    assert np.array_equal(resumed.E, straight.E)
    assert np.array_equal(resumed.Ep, straight.Ep)


def test_a_rate_far_too_high_is_told(two_nodes: list[LocalEngine], text: Path) -> None:
    with pytest.raises(DivergenceError, match=r"the training diverged; try --lr 1000; nothing was"):
        train(text, **SMALL, lr=1e4)


def test_resumed_is_straight(two_nodes: list[LocalEngine], text: Path, tmp_path: Path) -> None:
    fixed = SMALL | {"sync_words": 16_000}
    straight = train(text, **fixed)
    train(text, **fixed, output=tmp_path / "m.safetensors", stop_after=1)
    resumed = train(resume=tmp_path / "m.checkpoint.safetensors")
    assert len(two_nodes) == 3
    assert np.array_equal(resumed.E, straight.E)
    assert np.array_equal(resumed.Ep, straight.Ep)


def test_a_cluster_that_is_gone_is_not_needed_to_go_on(
    two_nodes: list[LocalEngine], text: Path, tmp_path: Path
) -> None:
    given = SMALL | {"sync_words": 16_000, "sync_type": "float32"}
    train(text, **given, output=tmp_path / "m.safetensors", stop_after=1)
    model = train(resume=tmp_path / "m.checkpoint.safetensors", cluster="none")
    assert len(two_nodes) == 1
    assert len(model.history) == 2
    assert model.history[-1]["loss"] < model.history[0]["loss"]
    assert train(text, dim=8, epochs=1, cluster="none").provenance["device"] == "cpu"


class OneOrMany:
    """Ray's way with results: with num_returns 1 whatever is returned is one object."""

    def __init__(self, actor: ray._Actor) -> None:
        self._actor = actor

    @property
    def pass_on(self) -> Any:
        def remote(count: int, *arguments: Any) -> Any:
            made = self._actor.pass_on(*arguments)
            return made if count == 1 else list(made)

        return SimpleNamespace(
            options=lambda num_returns: SimpleNamespace(remote=partial(remote, num_returns))
        )


class Passing:
    """A node whose stages tell who sent what."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def first(self, argument: str) -> list[str]:
        return [f"{argument} {self.rank} to {rank}" for rank in range(self.size)]

    def last(self, received: list[str], argument: str) -> list[str]:
        return received


@pytest.mark.parametrize("size", [1, 2])
def test_rows_are_passed_one_by_one(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """A cluster of one machine too."""
    monkeypatch.setattr(ray, "Node", Passing)
    engine: Any = object.__new__(ray.RayEngine)
    engine.size = size
    engine._actors = {rank: OneOrMany(ray._Actor(rank, size)) for rank in range(size)}
    engine._ray = SimpleNamespace(put=lambda value: value)
    engine._all_of = lambda made: made
    found = engine.exchange("first", "last", argument="from")
    assert found == [[f"from {sent} to {rank}" for sent in range(size)] for rank in range(size)]


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
    monkeypatch.setattr(ray, "check_address", lambda address: None)
    with pytest.raises(
        ResourceError, match=r"^--cluster needs Ray: pip install 'w2v-sgns\[cluster\]'"
    ):
        train(text, cluster="here:1")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:99999", "no-such-host.invalid:80"])
def test_an_address_that_nobody_answers_is_told_at_once(text: Path, address: str) -> None:
    with pytest.raises(ConfigError, match=f"^--cluster {address}: no Ray cluster answers"):
        train(text, cluster=address)


@pytest.mark.parametrize(
    "address", ["ray://127.0.0.1:10001", "auto", "local", "host", "host:x", ":1", ""]
)
def test_other_addresses_are_refused(text: Path, address: str) -> None:
    with pytest.raises(ConfigError, match="needed: HOST:PORT,"):
        train(text, cluster=address)


@pytest.fixture
def listening(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that answers each connection with these bytes, or never."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection, suppress(ConnectionError):
                connection.recv(100)
                connection.sendall(request.param)
                connection.recv(1)  # until the other side has gone

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join(10)


@pytest.mark.parametrize("listening", [b"", b"HTTP/1.1 400 Bad Request\r\n"], indirect=True)
def test_what_listens_but_is_not_ray_is_told(
    listening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address_of, "KNOCK", 0.5)
    with pytest.raises(ConfigError, match=r"no Ray cluster answers \((timed out|what listens)"):
        check_address(listening)


@pytest.mark.parametrize("listening", [b"\0\0\6\4\0\0\0\0\0\0\4\0\1\0\0"], indirect=True)
def test_a_server_that_speaks_as_ray_does_is_taken(listening: str) -> None:
    check_address(listening)


def some_ray(init: Any, *, connected: bool = False) -> Any:
    """Return what Ray's module is to the connection."""
    exceptions = SimpleNamespace(RayError=OSError)
    return SimpleNamespace(init=init, exceptions=exceptions, is_initialized=lambda: connected)


def test_a_token_that_is_refused_is_told() -> None:
    def init(**_: Any) -> None:
        raise RuntimeError("InvalidAuthToken: provided token does not match")

    with pytest.raises(ConfigError, match=r"^--cluster here:1: .*RAY_AUTH_MODE and RAY_AUTH_TOKEN"):
        connection.connect(some_ray(init), "here:1")


def test_a_program_that_is_in_a_cluster_stays_in_it() -> None:
    def init(**_: Any) -> None:
        raise AssertionError("not called")

    with pytest.raises(ConfigError, match=r"^--cluster here:1: .* call ray\.shutdown\(\) before"):
        connection.connect(some_ray(init, connected=True), "here:1")


def test_what_ray_says_of_lost_actors_is_not_shown_while_we_are_connected() -> None:
    said: list[str] = []
    worker = SimpleNamespace(print_to_stdstream=said.append)
    with connection.unheard(SimpleNamespace(_private=SimpleNamespace(worker=worker))):
        worker.print_to_stdstream({"lines": ["a worker died"]}, ignore_prefix=False)
    assert not said
    worker.print_to_stdstream("after it")
    assert said == ["after it"]


def test_a_ray_that_says_it_otherwise_is_left_alone() -> None:
    """The function is not one that Ray promises to keep."""
    for private in ({}, {"worker": SimpleNamespace()}):
        with connection.unheard(SimpleNamespace(_private=SimpleNamespace(**private))):
            pass


def test_what_ray_says_as_it_connects_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    def init(**_: Any) -> None:
        os.write(2, b"logging.cc: Set ray log level\n")

    connection.connect(some_ray(init), "here:1")
    os.write(2, b"ours\n")
    assert capfd.readouterr().err == "ours\n"


def test_rays_handler_of_sigterm_is_undone() -> None:
    former = signal.getsignal(signal.SIGTERM)

    def init(**_: Any) -> None:
        signal.signal(signal.SIGTERM, lambda *_: None)

    connection.connect(some_ray(init), "here:1")
    assert signal.getsignal(signal.SIGTERM) is former


def test_a_sigterm_while_ray_connects_is_ours() -> None:
    came: list[int] = []
    former = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))

    def init(**_: Any) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        signal.raise_signal(signal.SIGTERM)
        assert not came

    try:
        connection.connect(some_ray(init), "here:1")
    finally:
        signal.signal(signal.SIGTERM, former)
    assert came == [signal.SIGTERM]
