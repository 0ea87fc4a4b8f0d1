"""`train`: reproducible with one thread, close with two, exact against the twin, and it stops."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from naive import replay

import w2v_sgns
from w2v_sgns import Model, train
from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus import load_corpus
from w2v_sgns.errors import DivergenceError, OutputError, ResourceError
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.sampling import (
    alias_table,
    keep_probabilities,
    keep_thresholds,
    noise_distribution,
    pack_alias,
)
from w2v_sgns.training import needs, trainer
from w2v_sgns.training.divergence import LossWatch
from w2v_sgns.training.events import Event
from w2v_sgns.training.trainer import initial_matrices

SETTINGS = {"dim": 20, "epochs": 2, "min_count": 2}


@pytest.fixture(scope="module")
def corpus(demo_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 24,000 words of the demo corpus: two chunks."""
    lines, words = [], 0
    for line in demo_corpus.read_bytes().splitlines(keepends=True):
        lines.append(line)
        words += len(line.split())
        if words > 24_000:
            break
    path = tmp_path_factory.mktemp("small") / "corpus.txt"
    path.write_bytes(b"".join(lines))
    return path


@pytest.fixture
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two threads run wherever the tests do."""
    monkeypatch.setattr(needs, "allowed_threads", lambda: 2)


# ---- the same again


def test_one_thread_gives_the_same_file(corpus: Path, tmp_path: Path) -> None:
    for name in ("a", "b", "other"):
        seed = 2 if name == "other" else 1
        output = tmp_path / f"{name}.safetensors"
        train(corpus, output=output, threads=1, seed=seed, **SETTINGS)
    first, again, other = (path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert first == again
    assert first != other


def test_neither_process_nor_hash_seed_nor_folder_matter(corpus: Path, tmp_path: Path) -> None:
    """Another folder, another hash seed, another memory limit: byte for byte the same."""
    files = []
    for number, memory in (("1", "1G"), ("4242", "10k")):
        folder = tmp_path / number
        folder.mkdir()
        (folder / "corpus.txt").write_bytes(corpus.read_bytes())
        command = [sys.executable, "-m", "w2v_sgns", "train", "corpus.txt", "--threads", "1"]
        command += ["--dim", "20", "--epochs", "1", "--quiet", "--memory", memory]
        environment = os.environ | {"PYTHONHASHSEED": number}
        done = subprocess.run(command, cwd=folder, env=environment, timeout=120)
        assert done.returncode == 0
        files.append((folder / "model.safetensors").read_bytes())
    assert files[0] == files[1]
    here = tmp_path / "here.safetensors"
    train(corpus, output=here, threads=1, dim=20, epochs=1)
    assert here.read_bytes() == files[0], "the library and the command are one"
    assert str(tmp_path).encode() not in files[0]


def test_two_threads_reach_the_same_loss(
    demo_corpus: Path, two_processors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = train(demo_corpus, threads=1, dim=20, epochs=2)
    two = train(demo_corpus, threads=2, dim=20, epochs=2)
    assert two.provenance["threads"] == 2
    assert (one.provenance["deterministic"], two.provenance["deterministic"]) == (True, False)
    for a, b in zip(one.history, two.history, strict=True):
        assert (a["tokens"], a["kept"], a["pairs"]) == (b["tokens"], b["kept"], b["pairs"])
        assert b["loss"] == pytest.approx(a["loss"], rel=0.03)
    assert not np.array_equal(one.E, two.E), "two threads take the chunks in another order"


def test_three_lines_and_64_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "allowed_threads", lambda: 64)
    (tmp_path / "c.txt").write_text("a b c d\nb c d\nd a b\n")
    model = train(tmp_path / "c.txt", threads=64, min_count=1, sample=0, dim=4, epochs=3)
    assert [(entry["tokens"], entry["kept"]) for entry in model.history] == [(10, 10)] * 3


# ---- against the twin


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"sample": 1e-3, "collisions": "drop", "negative": 3, "seed": 5},
        {"window": 3, "fixed_window": True, "noise_exponent": 0.0, "min_lr": 0.02, "dim": 9},
    ],
    ids=["defaults", "drop", "fixed"],
)
def test_history_is_the_twins_replay(corpus: Path, settings: dict[str, object]) -> None:
    config = TrainConfig(**(SETTINGS | {"sample": 1e-2} | settings))  # type: ignore[arg-type]
    assert_history_is_the_twins(corpus, config)


def test_one_line_over_several_chunks_is_the_twins(demo_corpus: Path, tmp_path: Path) -> None:
    """Windows cross every chunk's border: each chunk must know what its neighbours keep."""
    words = demo_corpus.read_bytes().split()[: 2 * CHUNK + 3000]
    (tmp_path / "line.txt").write_bytes(b" ".join(words))
    config = TrainConfig(dim=8, epochs=2, min_count=2, sample=1e-3, negative=1)
    assert_history_is_the_twins(tmp_path / "line.txt", config)


def assert_history_is_the_twins(corpus: Path, config: TrainConfig) -> None:
    model = train(corpus, threads=1, **config.to_dict())
    with load_corpus(corpus, min_count=2, threads=1, memory_bytes=1 << 30) as loaded:
        tokens = np.array(loaded.store.tokens)
        counts = loaded.vocabulary.counts
    assert counts is not None
    assert len(tokens) > CHUNK
    q = noise_distribution(counts, config.noise_exponent)
    tables = {
        "keep": keep_thresholds(keep_probabilities(counts, config.sample)),
        "noise": pack_alias(*alias_table(q)),
    }
    E, Ep = (m.astype(np.float64) for m in initial_matrices(len(counts), config))
    for epoch, entry in enumerate(model.history):
        sums = replay(tokens, E, Ep, config=config, epoch=epoch, **tables)
        assert (entry["kept"], entry["pairs"]) == (sums.kept, sums.pairs)
        assert entry["loss"] == pytest.approx(sums.loss / sums.pairs, rel=1e-4)
    assert len(model.history) == config.epochs == 2
    assert np.abs(model.E - E).max() < 1e-4
    assert np.abs(model.Ep - Ep).max() < 1e-4
    assert np.abs(E).max() > 0.1, "it has learned"


def test_the_first_loss(corpus: Path) -> None:
    model = train(corpus, lr=1e-30, epochs=1, negative=7, dim=5)
    assert model.history[0]["loss"] == pytest.approx(8 * math.log(2), rel=1e-6)


def test_the_loss_falls(corpus: Path) -> None:
    losses = [entry["loss"] for entry in train(corpus, dim=20, epochs=4).history]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.1


def test_initial_matrices() -> None:
    E, Ep = initial_matrices(10_000, TrainConfig(dim=10))
    assert not Ep.any()
    assert np.abs(E).max() <= 0.05
    assert np.abs(E.mean(axis=0)).max() < 0.002
    assert np.abs(E.std() - 0.1 / math.sqrt(12)) < 3e-4
    again, _ = initial_matrices(10_000, TrainConfig(dim=10))
    assert np.array_equal(E, again)
    other, _ = initial_matrices(10_000, TrainConfig(dim=10, seed=2))
    assert not np.array_equal(E, other)
    assert len(np.unique(E)) > 90_000, "no block of rows repeats another"


# ---- what is told on the way


def test_events(corpus: Path) -> None:
    events: list[Event] = []
    model = train(corpus, progress=events.append, threads=1, **SETTINGS)
    phases = [event.phase for event in events if event.phase not in ("compile", "train")]
    assert phases == ["count"] * phases.count("count") + ["corpus", "epoch", "epoch", "done"]
    assert phases.count("count") > 0
    epochs = [event for event in events if event.phase == "epoch"]
    tokens = model.history[0]["tokens"]
    assert [event.done for event in epochs] == [tokens, 2 * tokens]
    assert {event.total for event in epochs} == {2 * tokens}
    assert [event.loss for event in epochs] == [entry["loss"] for entry in model.history]
    rates = [event.lr for event in events if event.phase in ("train", "epoch")]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == pytest.approx(0.05 / 10_000)
    done = [event.done for event in events if event.phase in ("train", "epoch")]
    assert done == sorted(done)


def test_provenance_has_no_place_and_no_clock(corpus: Path) -> None:
    provenance = train(corpus, threads=1, **SETTINGS).provenance
    assert provenance["corpus"] == [{"name": "corpus.txt", "bytes": corpus.stat().st_size}]
    assert provenance["program"] == f"w2v-sgns {w2v_sgns.__version__}"
    assert not {"seconds", "time", "date", "host", "path"} & set(provenance)


def test_nothing_is_written_without_output(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = train(corpus, **SETTINGS)
    assert list(tmp_path.iterdir()) == []
    assert model.E.shape == (len(model.vocabulary), 20)
    assert model.vectors.most_similar("king", topn=3)


@pytest.mark.parametrize("name", ["init", "freeze", "keep_words", "read_vocab"])
@pytest.mark.parametrize("flag", ["output", "log_json", "plot", "save_vocab"])
def test_no_output_replaces_an_input(corpus: Path, tmp_path: Path, name: str, flag: str) -> None:
    path = tmp_path / ("read.svg" if flag == "plot" else "read.safetensors")
    path.write_bytes(b"kept")
    given = {name: path} | ({"init": tmp_path / "v.txt"} if name == "freeze" else {})
    with pytest.raises(OutputError, match="would replace an input"):
        train(corpus, **given, **{flag: path}, force=True)
    assert path.read_bytes() == b"kept"


def test_an_unknown_setting_is_named(corpus: Path) -> None:
    with pytest.raises(TypeError, match=r"'size'; it knows .*dim"):
        train(corpus, size=100)


def test_the_output_may_not_be_the_corpus(tmp_path: Path) -> None:
    path = tmp_path / "text.safetensors"
    path.write_text("a b\nb a\n")
    with pytest.raises(OutputError, match="would replace an input"):
        train(path, output=path, force=True, min_count=1)
    (tmp_path / "link.safetensors").symlink_to(path)
    with pytest.raises(OutputError, match="would replace an input"):
        train(path, output=tmp_path / "link.safetensors", force=True, min_count=1)
    assert path.read_text() == "a b\nb a\n"


def test_matrices_that_cannot_fit_are_refused_before_they_are_taken(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allocated: list[object] = []
    monkeypatch.setattr(trainer, "initial_matrices", lambda *a: allocated.append(a))
    monkeypatch.setattr(needs, "available_memory", lambda: 230_000_000)
    with pytest.raises(ResourceError) as caught:
        train(corpus, dim=16_000, min_count=1)
    words = len(set(corpus.read_bytes().split()))
    needed = 2 * words * 16_000 * 4
    assert f"{words:,} words of dim 16000" in str(caught.value)
    assert f"{needed / 1e6:.3g} MB" in str(caught.value)
    assert "230 MB" in str(caught.value)
    assert not allocated
    needs.check_memory(100, TrainConfig(dim=100))


@pytest.mark.parametrize("lr", [1e4, 1e5, 1e6])
def test_divergence_is_an_error(corpus: Path, tmp_path: Path, lr: float) -> None:
    with pytest.raises(DivergenceError) as caught:
        train(corpus, lr=lr, min_lr=lr, output=tmp_path / "m.safetensors", epochs=5, sample=0)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_divergence_is_seen_in_its_epoch(corpus: Path) -> None:
    """A NaN score makes the loss NaN: the other epochs are not run for nothing."""
    seen = []
    with pytest.raises(DivergenceError, match="epoch 1 at --lr 1e"):
        train(corpus, lr=1e6, epochs=20, sample=0, progress=lambda event: seen.append(event.epoch))
    assert max(seen) <= 1


def test_vectors_that_are_not_finite_are_refused_without_an_output_too(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(words: int, config: TrainConfig) -> object:
        E, Ep = initial_matrices(words, config)
        E[1, 0] = np.inf
        return E, Ep

    monkeypatch.setattr(trainer, "initial_matrices", broken)
    monkeypatch.setattr(LossWatch, "check", lambda *_: None)
    with pytest.raises(DivergenceError, match="not finite"):
        train(corpus, epochs=1)


# ---- stopping


@pytest.fixture(scope="module")
def slow(demo_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One line of 180,000 words: with a wide window an epoch takes many seconds."""
    path = tmp_path_factory.mktemp("slow") / "corpus.txt"
    path.write_bytes(demo_corpus.read_bytes().replace(b"\n", b" ") * 2)
    return path


SLOW = {"window": 300, "dim": 300, "sample": 0, "epochs": 20, "lr": 1e-4}


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_from_progress_ends_the_work_at_once(
    slow: Path, threads: int, two_processors: None
) -> None:
    raised = 0.0

    def impatient(event: Event) -> None:
        nonlocal raised
        if event.phase == "train" and event.seconds > 0.3:
            raised = time.monotonic()
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        train(slow, progress=impatient, threads=threads, **SLOW)
    assert time.monotonic() - raised < 5, "a second; the epoch would take far longer"
    assert threading.active_count() == before, "no worker is left behind"


def test_an_error_in_a_worker_is_raised(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from w2v_sgns.training import hogwild

    right, calls = hogwild.train_chunk, 0

    def broken(*arguments: object) -> None:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise RuntimeError("a broken chunk")
        right(*arguments)

    monkeypatch.setattr(hogwild, "train_chunk", broken)
    with pytest.raises(RuntimeError, match="a broken chunk"):
        train(corpus, threads=1, **SETTINGS)


def test_a_model_file_holds_what_train_returned(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "m.safetensors"
    model = train(corpus, output=output, **SETTINGS)
    loaded = Model.load(output)
    assert np.array_equal(loaded.E, model.E)
    assert np.array_equal(loaded.Ep, model.Ep)
    assert loaded.history == model.history
    assert loaded.config == model.config
    assert list(loaded.vocabulary) == list(model.vocabulary)
