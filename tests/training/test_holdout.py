"""Lines kept out, their loss, the end by patience, and the log of events."""

from __future__ import annotations

import json
import os
import threading
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns import Model, train
from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus import LINE_END, TokenStore, holdout, load_corpus
from w2v_sgns.corpus.holdout import hold_out
from w2v_sgns.errors import ConfigError
from w2v_sgns.training import log as log_module
from w2v_sgns.training.checkpoint import checkpoint_path
from w2v_sgns.training.events import Event
from w2v_sgns.training.holdout import HeldOut

SMALL: dict[str, Any] = {"dim": 12, "min_count": 1, "threads": 1, "epochs": 3}


def lines_of(store: TokenStore) -> list[list[int]]:
    lines: list[list[int]] = [[]]
    for token in store.tokens.tolist():
        lines[-1].append(token & 0x7FFFFFFF)
        if token & int(LINE_END):
            lines.append([])
    return [line for line in lines if line]


def store_of(lines: list[list[int]]) -> TokenStore:
    tokens = [
        t | (int(LINE_END) if n == len(line) - 1 else 0)
        for line in lines
        for n, t in enumerate(line)
    ]
    return TokenStore(np.array(tokens, np.uint32))


@pytest.mark.parametrize("block", [1 << 20, 7, 1])
def test_lines_are_kept_out_whole(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdout, "BLOCK", block)
    lines = [[n * 10 + m for m in range(1 + n % 5)] for n in range(400)]
    train_part, held = hold_out(store_of(lines), 0.2, seed=3)
    ours, theirs = lines_of(train_part), lines_of(held)
    assert sorted([*ours, *theirs]) == lines
    assert ours == sorted(ours)
    assert theirs == sorted(theirs)
    assert 50 < len(theirs) < 110
    again, _ = hold_out(store_of(lines), 0.2, seed=3)
    assert lines_of(again) == ours
    other, _ = hold_out(store_of(lines), 0.2, seed=4)
    assert lines_of(other) != ours


def test_a_long_line_loses_stretches_and_no_pair_spans_the_gap() -> None:
    count = 50 * holdout.STRETCH + 17
    train_part, held = hold_out(store_of([list(range(count))]), 0.3, seed=1)
    ours, theirs = lines_of(train_part), lines_of(held)
    assert sorted(t for line in ours + theirs for t in line) == list(range(count))
    for line in ours + theirs:
        assert line == list(range(line[0], line[0] + len(line)))
    assert all(len(line) % holdout.STRETCH == 0 for line in theirs[:-1])
    assert 5 * holdout.STRETCH < len(held.tokens) < 25 * holdout.STRETCH


def test_a_spooled_store_is_split_alike(demo_corpus: Path) -> None:
    parts = []
    for memory in (1 << 30, 1 << 12):
        corpus = load_corpus(demo_corpus, min_count=1, threads=1, memory_bytes=memory)
        assert corpus.store.spooled == (memory == 1 << 12)
        train_part, held = hold_out(corpus.store, 0.1, seed=1)
        assert train_part.spooled == (memory == 1 << 12)
        parts.append((train_part.tokens.copy(), held.tokens.copy()))
        train_part.close()
    for ours, theirs in zip(*parts, strict=True):
        assert np.array_equal(ours, theirs)


def test_the_held_out_loss_is_reported(demo_corpus: Path) -> None:
    events: list[Event] = []
    model = train(demo_corpus, holdout=0.1, progress=events.append, **SMALL)
    losses = [entry["heldout_loss"] for entry in model.history]
    assert losses == [event.heldout for event in events if event.phase == "epoch"]
    assert losses == sorted(losses, reverse=True)
    for entry in model.history:
        assert entry["heldout_loss"] == pytest.approx(entry["loss"], rel=0.15)
    tokens = len(demo_corpus.read_bytes().split())
    assert 0.85 * tokens < model.history[0]["tokens"] < 0.95 * tokens
    (note,) = [event.text for event in events if event.phase == "note"]
    held = int(note.split()[2].replace(",", ""))
    assert held + model.history[0]["tokens"] == tokens


def test_judging_changes_nothing(demo_corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = train(demo_corpus, holdout=0.1, **SMALL | {"epochs": 1})
    monkeypatch.setattr(HeldOut, "loss", lambda held: 1.0)
    unjudged = train(demo_corpus, holdout=0.1, **SMALL | {"epochs": 1})
    assert np.array_equal(judged.E, unjudged.E)
    assert np.array_equal(judged.Ep, unjudged.Ep)


def losses(monkeypatch: pytest.MonkeyPatch, *values: float) -> None:
    left = iter(values)
    monkeypatch.setattr(HeldOut, "loss", lambda held: next(left))


def test_patience_ends_with_the_best(
    demo_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best: list[Any] = []

    def watch(event: Event) -> None:
        if event.phase == "checkpoint":
            best.append(Model.load(event.path).E.copy())

    losses(monkeypatch, 3.0, 2.0, 2.1, 2.0, 1.0)
    settings = SMALL | {"epochs": 9, "holdout": 0.1, "patience": 2}
    model = train(
        demo_corpus,
        output=tmp_path / "m.safetensors",
        checkpoint_every=1,
        progress=watch,
        **settings,
    )
    assert [entry["heldout_loss"] for entry in model.history] == [3.0, 2.0, 2.1, 2.0]
    assert model.provenance["best_epoch"] == 2
    assert np.array_equal(model.E, best[1])
    assert np.array_equal(Model.load(tmp_path / "m.safetensors").E, best[1])


def test_patience_survives_a_checkpoint(
    demo_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SMALL | {"epochs": 9, "holdout": 0.1, "patience": 2}
    straight, output = tmp_path / "straight.safetensors", tmp_path / "m.safetensors"
    losses(monkeypatch, 3.0, 2.0, 2.1, 2.2, 2.3)
    train(demo_corpus, output=straight, **settings)
    losses(monkeypatch, 3.0, 2.0, 2.1, 2.2, 2.3)
    train(demo_corpus, output=output, stop_after=3, **settings)
    train(resume=checkpoint_path(output))
    assert output.read_bytes() == straight.read_bytes()


def test_nothing_to_hold_out(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("a b c\na b c\n")
    with pytest.raises(ConfigError, match="no pair; try a larger share"):
        train(tmp_path / "c.txt", holdout=1e-6, **SMALL)
    with pytest.raises(ConfigError, match="--patience watches the held-out loss"):
        TrainConfig(patience=1)
    with pytest.raises(ConfigError, match="--holdout needs"):
        TrainConfig(holdout=0.6)


# ---- the log


def test_the_log_holds_every_event(demo_corpus: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    path = tmp_path / "log.jsonl"
    settings = SMALL | {"holdout": 0.1}
    model = train(
        demo_corpus,
        log_json=path,
        output=tmp_path / "m.safetensors",
        progress=events.append,
        **settings,
    )
    first, *lines = map(json.loads, path.read_text().splitlines())
    assert first["phase"] == "start"
    assert first["config"]["dim"] == 12
    assert first["program"].startswith("w2v-sgns ")
    assert [line["phase"] for line in lines] == [event.phase for event in events]
    epochs = [line for line in lines if line["phase"] == "epoch"]
    assert [line["loss"] for line in epochs] == [entry["loss"] for entry in model.history]
    assert [line["epoch"] for line in epochs] == [1, 2, 3]
    keys = {"phase", "done", "total", "epoch", "lr", "loss", "kept", "pairs", "seconds"}
    assert set(epochs[0]) == keys | {"cpu_seconds", "heldout"}
    (corpus,) = [line for line in lines if line["phase"] == "corpus"]
    assert corpus["corpus"]["tokens_read"] == len(demo_corpus.read_bytes().split())
    assert lines[-1] == {"phase": "done", "path": str(tmp_path / "m.safetensors")}


def test_a_resumed_run_goes_on_with_its_log(demo_corpus: Path, tmp_path: Path) -> None:
    path, output = tmp_path / "log.jsonl", tmp_path / "m.safetensors"
    train(demo_corpus, log_json=path, output=output, stop_after=1, **SMALL)
    train(resume=checkpoint_path(output))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["epoch"] for line in lines if line["phase"] == "epoch"] == [1, 2, 3]
    assert [line["phase"] for line in lines].count("start") == 2
    seconds = [line["seconds"] for line in lines if "seconds" in line]
    assert seconds == sorted(seconds)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("most", [None, 2])
def test_a_log_may_go_to_a_program(demo_corpus: Path, tmp_path: Path, most: int | None) -> None:
    """Which reads all of it, or ends early; a resumed run has no such program."""
    path, output = tmp_path / "log", tmp_path / "m.safetensors"
    os.mkfifo(path)
    lines: list[str] = []

    def read() -> None:
        with path.open(encoding="utf-8") as stream:
            lines.extend(islice(stream, most))

    reader = threading.Thread(target=read)
    reader.start()
    events: list[Event] = []
    train(demo_corpus, log_json=path, output=output, progress=events.append, stop_after=1, **SMALL)
    reader.join()
    phases = [json.loads(line)["phase"] for line in lines]
    assert phases[0] == "start"
    ended = [e.text for e in events if e.phase == "note" and "the log ends here" in e.text]
    assert len(ended) == (most is not None)
    assert "epoch" in phases or most is not None
    assert train(resume=checkpoint_path(output)).history[-1]["epoch"] == 3


def test_a_log_that_cannot_go_on_ends_alone(
    demo_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []

    def watch(event: Event) -> None:
        if event.phase == "note":
            notes.append(event.text)

    def fail(*_: Any, **__: Any) -> str:
        raise OSError(28, "No space left on device")

    right = log_module.json.dumps

    def dumps(line: dict[str, Any], **more: Any) -> str:
        return fail() if line["phase"] == "epoch" else right(line, **more)

    monkeypatch.setattr(log_module.json, "dumps", dumps)
    model = train(demo_corpus, log_json=tmp_path / "log.jsonl", progress=watch, **SMALL)
    assert len(model.history) == 3
    assert notes == [f"{tmp_path / 'log.jsonl'}: the log ends here: No space left on device"]
