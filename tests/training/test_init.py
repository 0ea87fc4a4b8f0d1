"""Starting from given vectors: rows that are taken over, words that are added, rows that stay."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns import Model, train
from w2v_sgns.config import TrainConfig
from w2v_sgns.errors import ConfigError, FormatError, VocabularyError
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.training import trainer
from w2v_sgns.training.checkpoint import checkpoint_path, read_checkpoint
from w2v_sgns.training.estimate import estimate
from w2v_sgns.training.events import Event
from w2v_sgns.training.resume import planned

CASE = Path(__file__).resolve().parents[1] / "cases" / "62-vocab-growth"
SMALL: dict[str, Any] = {"dim": 4, "min_count": 1, "threads": 1, "epochs": 2, "sample": 0}


@pytest.fixture
def first(tmp_path: Path) -> Path:
    path = tmp_path / "first.safetensors"
    train(CASE / "first.txt", output=path, **SMALL)
    return path


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, np.ndarray]]:
    """What the matrices held when training began: a word's row of E and of Ep."""
    seen: list[Any] = []
    right = trainer._start_from

    def look(given: Any, state: Any, corpus: Any, config: Any) -> list[str]:
        notes = right(given, state, corpus, config)
        words = list(corpus.vocabulary)
        seen.append({w: (state.E[n].copy(), state.Ep[n].copy()) for n, w in enumerate(words)})
        return notes

    monkeypatch.setattr(trainer, "_start_from", look)
    return seen


def notes_of(*arguments: Any, **settings: Any) -> tuple[Model, list[str]]:
    notes: list[str] = []

    def watch(event: Event) -> None:
        if event.phase == "note":
            notes.append(event.text)

    return train(*arguments, progress=watch, **SMALL | settings), notes


def test_62_rows_of_a_text_file(starts: Any) -> None:
    model, notes = notes_of(CASE / "first.txt", init=CASE / "init.txt")
    assert f"--init {CASE / 'init.txt'}: 1 of 2 words used, 1 unknown (absent)" in notes
    assert "input vectors alone; 2 new words begin at random" in notes
    assert starts[0]["king"][0].tolist() == [1, 2, 3, 4]
    assert not starts[0]["king"][1].any()
    assert np.abs(starts[0]["man"][0]).max() <= 0.5 / 4
    assert not np.array_equal(model.vectors["king"], [1, 2, 3, 4])
    assert model.config.init == CASE / "init.txt"
    assert model.config.to_dict()["init"] == "init.txt"


def test_both_matrices_go_on(first: Path, starts: Any) -> None:
    _, notes = notes_of(CASE / "first.txt", init=first)
    old = Model.load(first)
    for n, word in enumerate(old.vocabulary):
        assert np.array_equal(starts[0][word][0], old.E[n])
        assert np.array_equal(starts[0][word][1], old.Ep[n])
    assert "input and output vectors; 0 new words begin at random" in notes


def test_62_growth(first: Path, starts: Any) -> None:
    model, notes = notes_of(CASE / "second-new.txt", init=first, grow_vocab=True)
    words = model.vocabulary
    assert list(words) == ["king", "lord", "man", "lady", "queen"], "new ones by their bytes"
    assert words.counts.tolist() == [60, 60, 40, 40, 40]
    assert "--grow-vocab: 2 new words, 3 known ones stay" in notes
    old = Model.load(first)
    for n, word in enumerate(old.vocabulary):
        assert np.array_equal(starts[0][word][0], old.E[n])
        assert np.array_equal(starts[0][word][1], old.Ep[n])
    assert np.array_equal(model.vectors["man"], old.vectors["man"]), "absent from the new text"


def test_62_growth_by_nothing(first: Path) -> None:
    model, notes = notes_of(CASE / "second-same.txt", init=first, grow_vocab=True)
    assert "--grow-vocab: 0 new words, 3 known ones stay" in notes
    assert len(model.vocabulary) == 3
    text = (CASE / "second-same.txt").read_text().split()
    old = Model.load(first).vocabulary
    for word, count in zip(model.vocabulary, model.vocabulary.counts, strict=True):
        assert count == old.counts[old.index(word)] + text.count(word)


def test_62_ten_rounds(first: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("w2v_sgns.training.needs.allowed_threads", lambda: 8)
    model = first
    for number in range(10):
        text = tmp_path / f"{number}.txt"
        text.write_text(f"new{number} king other{number} lord\n" * 20)
        output = tmp_path / f"{number}.safetensors"
        options = {"threads": 8, "sample": 1e-4, "output": output}
        train(text, init=model, grow_vocab=True, **SMALL | options)
        model = output
    grown = Model.load(model)
    assert len(grown.vocabulary) == 3 + 20
    assert (np.diff(grown.vocabulary.counts) <= 0).all()
    assert np.isfinite(grown.E).all()


def test_growth_merges_and_orders(tmp_path: Path) -> None:
    """New words may be more frequent than old ones: rows are sorted by the new counts."""
    (tmp_path / "a.txt").write_text("x y z\n" * 3 + "x y\n" * 5)
    (tmp_path / "b.txt").write_text("n z n m\n" * 10 + "rare n\n")
    old = train(tmp_path / "a.txt", output=tmp_path / "a.safetensors", **SMALL)
    model = train(
        tmp_path / "b.txt",
        init=tmp_path / "a.safetensors",
        grow_vocab=True,
        **SMALL,
    )
    counts = dict(zip(model.vocabulary, model.vocabulary.counts.tolist(), strict=True))
    assert counts == {"n": 21, "z": 13, "m": 10, "x": 8, "y": 8, "rare": 1}
    assert list(model.vocabulary) == ["n", "z", "m", "x", "y", "rare"]
    assert np.array_equal(model.vectors["x"], old.vectors["x"])
    less = train(
        tmp_path / "b.txt",
        init=tmp_path / "a.safetensors",
        grow_vocab=True,
        **SMALL | {"min_count": 5},
    )
    assert list(less.vocabulary) == ["n", "z", "m", "x", "y"], (
        "old words stay, new rare ones do not"
    )


def test_growth_of_vectors_without_counts(tmp_path: Path) -> None:
    model, _ = notes_of(CASE / "first.txt", init=CASE / "init.txt", grow_vocab=True)
    counts = dict(zip(model.vocabulary, model.vocabulary.counts.tolist(), strict=True))
    assert counts["absent"] == 1
    assert model.vectors["absent"].tolist() == [9, 9, 9, 9]
    assert counts["king"] == (CASE / "first.txt").read_text().split().count("king")


@pytest.mark.parametrize("suffix", [".txt", ".bin", ".safetensors"])
def test_62_freeze(suffix: str, tmp_path: Path, first: Path) -> None:
    """Bit for bit, from text, binary and native files alike."""
    from w2v_sgns.formats import load_vectors, save_vectors

    given, words = tmp_path / f"given{suffix}", tmp_path / "words.txt"
    save_vectors(load_vectors(CASE / "init.txt"), given)
    words.write_text("king\nnobody\n")
    model, notes = notes_of(CASE / "first.txt", init=given, freeze=words, epochs=5)
    assert model.vectors["king"].tobytes() == np.array([1, 2, 3, 4], np.float32).tobytes()
    assert model.Ep[model.vocabulary.index("king")].any(), "no output vector was given to stay"
    assert np.abs(model.vectors["man"]).max() > 0.2
    assert f"--freeze {words}: the input vectors of 1 words stay as they are" in notes[2]
    assert "1 words are not in" in notes[2]


@pytest.mark.parametrize("threads", [1, 2])
def test_frozen_rows_of_a_model(
    first: Path, tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("w2v_sgns.training.needs.allowed_threads", lambda: 2)
    words = tmp_path / "words.txt"
    words.write_text("king\nlord\n")
    text = tmp_path / "long.txt"
    text.write_text("king lord man queen\n" * 20_000)
    old = Model.load(first)
    model, _ = notes_of(text, init=first, freeze=words, threads=threads, epochs=3)
    for word in ("king", "lord"):
        a, b = old.vocabulary.index(word), model.vocabulary.index(word)
        assert old.E[a].tobytes() == model.E[b].tobytes()
        assert old.Ep[a].tobytes() == model.Ep[b].tobytes()
    a, b = old.vocabulary.index("man"), model.vocabulary.index("man")
    assert not np.array_equal(old.E[a], model.E[b])
    assert not np.array_equal(old.Ep[a], model.Ep[b])


@pytest.mark.parametrize("settings", [{"objective": "softmax"}, {"shared_noise": "batch"}], ids=str)
def test_frozen_rows_of_a_chunk_that_was_cut_off(
    settings: dict[str, Any], first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("w2v_sgns.training.run.GRACE", 0.0)
    monkeypatch.setattr("w2v_sgns.training.batches.TICK", -1.0)
    words, text = tmp_path / "words.txt", tmp_path / "long.txt"
    notes: list[str] = []
    pressed: list[Event] = []
    words.write_text("king\nlord\n")
    text.write_text("king lord man queen\n" * 10_000)
    assert CHUNK < 40_000

    def press(event: Event) -> None:
        notes.append(event.text)
        if event.phase == "train" and event.done > 20 and not pressed:
            pressed.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    old, output = Model.load(first), tmp_path / "m.safetensors"
    given = SMALL | settings | {"init": first, "freeze": words, "output": output}
    with pytest.raises(KeyboardInterrupt):
        train(text, progress=press, **given)
    assert any("was left out" in note for note in notes)
    cut = read_checkpoint(checkpoint_path(output))
    assert cut.place["chunk"] == 1, "the chunk that was cut off is not gone back to"
    assert 20 < cut.place["sums"]["tokens"] < CHUNK, "nor counted as a whole"
    words_now = cut.model.vocabulary
    for word in ("king", "lord"):
        a, b = old.vocabulary.index(word), words_now.index(word)
        assert old.E[a].tobytes() == cut.model.E[b].tobytes()
        assert old.Ep[a].tobytes() == cut.model.Ep[b].tobytes()
    a, b = old.vocabulary.index("man"), words_now.index("man")
    assert not np.array_equal(old.E[a], cut.model.E[b])


@pytest.mark.parametrize("deterministic", [False, True])
def test_judging_leaves_frozen_rows_bit_for_bit(
    demo_corpus: Path, tmp_path: Path, deterministic: bool
) -> None:
    given = {"dim": 8, "epochs": 1, "threads": 2, "deterministic": deterministic}
    first = train(demo_corpus, **given)
    for matrix in (first.E, first.Ep):
        matrix[:20, :5] = -0.0
    first.save(tmp_path / "first.safetensors")
    (tmp_path / "words.txt").write_text("\n".join(map(first.vocabulary.word, range(20))))
    start = {"init": tmp_path / "first.safetensors", "freeze": tmp_path / "words.txt"}
    second = train(demo_corpus, holdout=0.2, patience=1, **given | start)
    for ours, theirs in ((second.E, first.E), (second.Ep, first.Ep)):
        assert ours[:20].tobytes() == theirs[:20].tobytes()


def test_a_grown_and_frozen_run_resumes(first: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("king\n")
    settings = SMALL | {"init": first, "grow_vocab": True, "freeze": words, "epochs": 4}
    straight, output = tmp_path / "straight.safetensors", tmp_path / "m.safetensors"
    train(CASE / "second-new.txt", output=straight, **settings)
    train(CASE / "second-new.txt", output=output, stop_after=2, **settings)
    words.unlink()
    first.unlink()
    train(resume=checkpoint_path(output))
    assert output.read_bytes() == straight.read_bytes()


def test_refusals(first: Path, tmp_path: Path) -> None:
    text = CASE / "first.txt"
    with pytest.raises(ConfigError, match=r"have 4 numbers, --dim is 5; give --dim 4"):
        train(text, init=CASE / "init.txt", **SMALL | {"dim": 5})
    for setting in ({"grow_vocab": True}, {"freeze": "words.txt"}):
        with pytest.raises(ConfigError, match="needs vectors to start from: --init FILE"):
            TrainConfig(**setting)
    words = tmp_path / "words.txt"
    words.write_text("nobody\n")
    with pytest.raises(VocabularyError, match="none of its 1 words"):
        train(text, init=first, freeze=words, **SMALL)
    with pytest.raises(FormatError, match="no such file; needed: vectors"):
        train(text, init=tmp_path / "nowhere.bin", **SMALL)
    broken = tmp_path / "broken.txt"
    broken.write_text("king 1 nan 3 4\nman 1 2 3 4\n")
    with pytest.raises(FormatError, match="'king' is not finite"):
        train(text, init=broken, **SMALL)
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(first.read_bytes()[:-10])
    with pytest.raises(FormatError, match="cut short"):
        train(text, init=damaged, **SMALL)


def test_a_checkpoint_can_be_started_from(first: Path, tmp_path: Path) -> None:
    output = tmp_path / "m.safetensors"
    train(CASE / "first.txt", output=output, stop_after=1, **SMALL)
    checkpoint = checkpoint_path(output)
    model = train(CASE / "first.txt", init=checkpoint, output=tmp_path / "n.safetensors", **SMALL)
    assert len(model.history) == 2
    assert read_checkpoint(checkpoint).place["epoch"] == 1


@pytest.mark.parametrize("grow", [False, True])
def test_a_dry_run_knows_the_words_of_init(tmp_path: Path, grow: bool) -> None:
    """What it says of words and memory is what the training then has."""
    (tmp_path / "old.txt").write_text("one two three four five\n" * 20)
    (tmp_path / "new.txt").write_text("five six seven\n" * 20)
    train(tmp_path / "old.txt", output=tmp_path / "m.safetensors", dim=8, epochs=1)
    settings = {"init": tmp_path / "m.safetensors", "grow_vocab": grow, "dim": 8, "epochs": 1}
    text = [line.split() for line in (tmp_path / "new.txt").read_text().splitlines()]
    found = estimate(text, TrainConfig(**settings))
    model = train(text, **settings)
    assert found.stats.types_kept == len(model.vocabulary) == (7 if grow else 3)
    assert found.matrices == 2 * len(model.vocabulary) * 16 * 4
    with pytest.raises(ConfigError, match="--dim 8"):
        estimate(text, TrainConfig(**settings | {"dim": 9}))


def test_a_dry_run_of_a_resumed_run_needs_no_init(tmp_path: Path) -> None:
    """The checkpoint holds what it was begun with; the file may be gone."""
    (tmp_path / "c.txt").write_text("one two three four five\n" * 20)
    given = {"dim": 8, "epochs": 2}
    train(tmp_path / "c.txt", output=tmp_path / "m.safetensors", **given)
    start = {"output": tmp_path / "n.safetensors", "init": tmp_path / "m.safetensors"}
    train(tmp_path / "c.txt", stop_after=1, **given | start)
    (tmp_path / "m.safetensors").unlink()
    plan = planned(None, {"resume": checkpoint_path(tmp_path / "n.safetensors")})
    assert estimate(plan.corpus, plan.config, options=plan.options).stats.types_kept == 5
