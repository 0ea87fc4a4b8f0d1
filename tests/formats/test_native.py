"""Our model file: everything comes back, nothing unknown is lost, damage is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from small_models import WORDS, small_model

from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import FormatError
from w2v_sgns.formats import describe, load_model, load_vectors
from w2v_sgns.model import Model


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.safetensors"
    small_model().save(path)
    return path


def parts(file: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    with safetensors.safe_open(file, "np") as opened:
        metadata = opened.metadata()
    return safetensors.numpy.load_file(file), metadata


def rewrite(file: Path, tensors: dict[str, Any] | None = None, **metadata: Any) -> Path:
    """Change some tensors or strings of a model file; None takes one away."""
    old_tensors, old_metadata = parts(file)
    new_tensors = {k: v for k, v in (old_tensors | (tensors or {})).items() if v is not None}
    new_metadata = {k: v for k, v in (old_metadata | metadata).items() if v is not None}
    safetensors.numpy.save_file(new_tensors, file, new_metadata)
    return file


def test_a_model_comes_back_exactly(file: Path) -> None:
    before, after = small_model(), load_model(file)
    np.testing.assert_array_equal(after.E, before.E)
    np.testing.assert_array_equal(after.Ep, before.Ep)
    assert after.vocabulary == before.vocabulary
    assert after.config == before.config
    assert after.history == before.history
    assert after.provenance == {"corpus": {"names": ["a.txt"], "tokens": 360}}
    assert [after.vocabulary.word_bytes(i) for i in range(len(WORDS))] == [
        word if isinstance(word, bytes) else word.encode() for word in WORDS
    ]


def test_saving_a_loaded_model_gives_the_same_bytes(file: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.safetensors"
    load_model(file).save(again)
    assert again.read_bytes() == file.read_bytes()


def test_a_model_can_be_saved_over_the_file_it_is_mapped_from(file: Path) -> None:
    before = file.read_bytes()
    model = load_model(file)
    model.save(file, force=True)
    assert file.read_bytes() == before
    np.testing.assert_array_equal(model.E, small_model().E)


def test_the_package_reads_our_padded_rows(file: Path) -> None:
    tensors, metadata = parts(file)
    model = small_model()
    assert sorted(tensors) == ["counts", "input", "output", "vocabulary", "vocabulary_offsets"]
    np.testing.assert_array_equal(tensors["input"], model.E)
    np.testing.assert_array_equal(tensors["output"], model.Ep)
    assert tensors["counts"].dtype == tensors["vocabulary_offsets"].dtype == np.int64
    assert tensors["vocabulary"].tobytes() == b"".join(
        word if isinstance(word, bytes) else word.encode() for word in WORDS
    )
    assert metadata["format"] == "w2v-sgns"
    assert metadata["format_version"] == "1"
    assert json.loads(metadata["config"])["dim"] == 5
    assert json.loads(metadata["history"])[1] == {"epoch": 2, "loss": 2.25}


def test_we_read_the_file_as_the_package_writes_it(file: Path) -> None:
    before = load_model(file)
    after = load_model(rewrite(file))
    np.testing.assert_array_equal(after.E, before.E)
    assert after.vocabulary == before.vocabulary


def test_what_is_unknown_is_kept_on_rewriting(file: Path, tmp_path: Path) -> None:
    extra = np.arange(6, dtype="f4").reshape(2, 3)
    rewrite(file, {"word_weights": extra, "log_scale": np.array([1.5])}, other_tool="hello")
    again = tmp_path / "again.safetensors"
    load_model(file).save(again)
    tensors, metadata = parts(again)
    np.testing.assert_array_equal(tensors["word_weights"], extra)
    assert tensors["log_scale"].tolist() == [1.5]
    assert metadata["other_tool"] == "hello"


def test_vectors_alone_can_be_asked_and_not_trained(file: Path) -> None:
    rewrite(file, {"output": None, "counts": None}, history=None)
    vectors = load_vectors(file)
    assert vectors.vocabulary.counts is None
    np.testing.assert_array_equal(vectors["queen"], small_model().E[1])
    assert describe(file).tokens is None
    with pytest.raises(FormatError, match="vectors only, no output matrix"):
        load_model(file)


def test_a_higher_version_is_refused_in_one_sentence(file: Path) -> None:
    rewrite(file, format_version="2")
    for load in (load_model, load_vectors, describe):
        with pytest.raises(FormatError, match=r"newer w2v-sgns \(format_version 2.*upgrade"):
            load(file)


@pytest.mark.parametrize("version", ["", "1.5", "-1", "x", "9" * 5000, "¹", None])
def test_a_version_that_is_no_number_is_refused(file: Path, version: str | None) -> None:
    rewrite(file, format_version=version)
    with pytest.raises(FormatError, match="format_version must be a whole number"):
        load_model(file)


def test_another_tools_file_is_named_as_such(file: Path) -> None:
    rewrite(file, format="pt")
    with pytest.raises(FormatError, match=r"another tool \(tensors: '.*input"):
        load_model(file)


V = len(WORDS)
OFFSETS = small_model().vocabulary.offsets
ROWS = np.arange(V + 1)
DAMAGED: dict[str, tuple[dict[str, Any], str]] = {
    "no input": ({"input": None}, "'input' is missing"),
    "no words": ({"vocabulary": None}, "'vocabulary' is missing"),
    "no offsets": ({"vocabulary_offsets": None}, "'vocabulary_offsets' is missing"),
    "input of float64": ({"input": np.zeros((V, 5))}, "'input' is float64"),
    "input in one row": ({"input": np.zeros(V, "f4")}, "with 2 dimensions"),
    "a row missing": ({"input": np.zeros((V - 1, 5), "f4")}, rf"needed: \({V}, 1 or more\)"),
    "other widths": ({"output": np.zeros((V, 4), "f4")}, "Ep is float32"),
    "width of config": (
        {"input": np.zeros((V, 4), "f4"), "output": np.zeros((V, 4), "f4")},
        "settings are damaged.*E is float32",
    ),
    "width 0": ({"input": np.zeros((V, 0), "f4")}, "'input'"),
    "a count missing": ({"counts": np.ones(V - 1, "i8")}, f"counts for {V} words"),
    "counts of int32": ({"counts": np.ones(V, "i4")}, "'counts' is int32"),
    "negative counts": ({"counts": np.array([0] * (V - 1) + [-1])}, "is negative"),
    "rising counts": ({"counts": np.arange(1, V + 1)}, "counts must fall, but row 1 exceeds"),
    "no offsets at all": ({"vocabulary_offsets": np.zeros(0, "i8")}, "damaged|needed"),
    "offsets that fall": (
        {"vocabulary_offsets": OFFSETS[[0, 2, 1, *range(3, V + 1)]]},
        "word offset 2 lies before",
    ),
    "offsets past the words": ({"vocabulary_offsets": OFFSETS + (ROWS == V)}, "run from"),
    "offsets from 1": ({"vocabulary_offsets": OFFSETS + (ROWS == 0)}, "run from 1"),
    "negative offsets": (
        {"vocabulary_offsets": OFFSETS - 9 * (ROWS == 1)},
        "word offset 1 lies before",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("tensors", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_tensors_that_do_not_fit(file: Path, tensors: dict[str, Any], message: str) -> None:
    rewrite(file, tensors)
    with pytest.raises(FormatError, match=message) as caught:
        load_model(file)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"config": "{"}, "'config' is no valid JSON"),
        ({"config": "[]"}, "'config' must be a dict"),
        ({"config": '{"dim": "x"}'}, "settings are damaged: --dim needs a whole number"),
        ({"history": "{}"}, "'history' must be a list"),
        ({"history": "[1]"}, "'history' must be a list of tables"),
        ({"history": "[" * 100_000}, "'history' is no valid JSON"),
        ({"provenance": "null"}, "'provenance' must be a dict"),
    ],
)
def test_metadata_that_does_not_fit(file: Path, metadata: dict[str, str], message: str) -> None:
    rewrite(file, **metadata)
    with pytest.raises(FormatError, match=message):
        load_model(file)


def test_settings_of_a_later_version_are_ignored(file: Path) -> None:
    rewrite(file, config='{"dim": 5, "invented_later": true}')
    assert load_model(file).config.dim == 5


def test_an_empty_vocabulary_is_described(tmp_path: Path) -> None:
    file = tmp_path / "empty.safetensors"
    small_model([]).save(file)
    assert len(load_vectors(file)) == 0
    assert describe(file).words == 0


def test_words_of_other_surrogates_have_no_bytes() -> None:
    assert Vocabulary.from_words(["a"]).index("\ud800") is None


def test_a_subclass_is_loaded_as_itself(file: Path) -> None:
    class Special(Model):
        pass

    assert type(Special.load(file)) is Special
