"""Writing every format: round trips, what is refused, which matrix, all or nothing."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

from w2v_sgns import Model, Vectors
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, FormatError, OutputError
from w2v_sgns.formats import describe, load, load_vectors
from w2v_sgns.formats.blanks import replace_blanks
from w2v_sgns.formats.export import FORMATS, format_named, write
from w2v_sgns.formats.rows import Selection
from w2v_sgns.formats.which import load_which

PLAIN = ("king", "queen", "größe", b"caf\xe9", "", "x" * 5000, "日本", "a\u00a0b", "7")
ODD = ("new york", "a\tb", "a\rb", "a\nb", "\x0b")


def vectors(words=PLAIN, dim: int = 5) -> Vectors:
    rows = np.random.default_rng(1).standard_normal((len(words), dim)).astype(np.float32)
    return Vectors(rows, Vocabulary.from_words(words))


@pytest.mark.parametrize("name", ["safetensors", "text", "binary", "glove", "npy"])
def test_words_and_numbers_come_back_to_the_bit(name: str, tmp_path: Path) -> None:
    given = vectors()
    given.save(tmp_path / "v.npy", format=name)
    again = load(tmp_path / "v.npy")
    assert again.vocabulary == given.vocabulary
    assert np.array_equal(again.matrix, given.matrix)
    assert describe(tmp_path / "v.npy").words == len(PLAIN)


@pytest.mark.parametrize("name", ["text", "binary", "glove"])
@pytest.mark.parametrize("word", ODD)
def test_words_that_would_be_read_wrongly_are_refused(name: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="1 word with a blank cannot be written"):
        vectors(("king", word)).save(tmp_path / "v", format=name)
    assert not list(tmp_path.iterdir())


def test_safetensors_holds_every_word(tmp_path: Path) -> None:
    vectors((*PLAIN, *ODD)).save(tmp_path / "v.safetensors")
    assert list(load_vectors(tmp_path / "v.safetensors").vocabulary.iter_bytes()) == [
        word if isinstance(word, bytes) else word.encode() for word in (*PLAIN, *ODD)
    ]


@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_nothing_is_replaced_without_force(name: str, tmp_path: Path) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install -e '.[arrow]'")
    given = vectors(("king", "queen", "7"))
    given.save(tmp_path / "v.npy", format=name)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(OutputError, match="exists; use --force"):
        vectors(("cat", "dog")).save(tmp_path / "v.npy", format=name)
    assert {file: file.read_bytes() for file in before} == before
    given.save(tmp_path / "v.npy", format=name, force=True)
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.parametrize("name", [known.name for known in FORMATS if known.name != "parquet"])
def test_a_full_disk_leaves_the_old_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors(("king", "queen")).save(tmp_path / "v.npy", format=name)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("w2v_sgns.formats.atomic.os.fsync", full)
    with pytest.raises(OutputError, match="No space left on device; nothing was changed"):
        vectors(("cat", "dog")).save(tmp_path / "v.npy", format=name, force=True)
    assert {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()} == before


@pytest.mark.parametrize(("dtype", "most"), [("float16", 5e-4), ("int8", 1e-2)])
def test_narrow_numbers_state_their_error(dtype: str, most: float, tmp_path: Path) -> None:
    given = vectors(dim=50)
    written = write(tmp_path / "v.safetensors", given.matrix, given.vocabulary, dtype=dtype)
    found = load(tmp_path / "v.safetensors")
    losses = np.linalg.norm(found.matrix - given.matrix, axis=1)
    lengths = np.linalg.norm(given.matrix, axis=1)
    assert written.error == pytest.approx(float((losses / lengths).max()), rel=1e-3)
    assert 0 < written.error < most
    assert found.dtype == describe(tmp_path / "v.safetensors").dtype == dtype
    assert describe(tmp_path / "v.safetensors").provenance["largest_error"] == written.error


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e6])
def test_narrow_numbers_refuse_what_they_cannot_hold(bad: float, tmp_path: Path) -> None:
    given = vectors()
    rows = given.matrix.copy()
    rows[1, 1] = bad
    with pytest.raises(OutputError, match="row 2 holds numbers that float16 cannot"):
        write(tmp_path / "v.safetensors", rows, given.vocabulary, dtype="float16")


def test_zero_rows_stay_zero_in_int8(tmp_path: Path) -> None:
    rows = np.zeros((2, 3), np.float32)
    rows[1] = 1e-40
    words = Vocabulary.from_words(["a", "b"])
    write(tmp_path / "v.safetensors", rows, words, dtype="int8")
    assert load(tmp_path / "v.safetensors").matrix.tolist() == np.zeros((2, 3)).tolist()


def test_which_matrix(tmp_path: Path) -> None:
    model = small_model()
    model.save(tmp_path / "m.safetensors")

    def which(name: str, **more: bool) -> np.ndarray:
        return load_which(tmp_path / "m.safetensors", Selection(), which=name, **more).matrix

    unit = [m / np.linalg.norm(m.astype(np.float64), axis=1)[:, None] for m in (model.E, model.Ep)]
    assert np.array_equal(which("input"), model.E)
    assert np.array_equal(which("output"), model.Ep)
    assert np.allclose(which("sum"), unit[0] + unit[1], atol=1e-6)
    assert np.allclose(which("concat"), np.hstack(unit), atol=1e-6)
    assert np.allclose(np.linalg.norm(which("concat", normalize=True), axis=1), 1)
    assert np.allclose(which("input", normalize=True), unit[0], atol=1e-6)
    with pytest.raises(ConfigError, match="--which must be one of input, output"):
        which("both")


def test_the_output_matrix_of_vectors_is_refused(tmp_path: Path) -> None:
    vectors().save(tmp_path / "v.bin")
    vectors().save(tmp_path / "v.safetensors")
    for name in ("v.bin", "v.safetensors"):
        with pytest.raises(FormatError, match="vectors only, no output matrix"):
            load_which(tmp_path / name, Selection(), which="output")


def test_formats_by_name_and_suffix() -> None:
    assert format_named(None, "a.VEC").name == "text"
    assert format_named("glove", "a.bin").name == "glove"
    for name, path in ((None, "a.gz"), ("word2vec", "a.txt")):
        with pytest.raises(ConfigError, match="safetensors, text, binary, glove"):
            format_named(name, path)
    with pytest.raises(ConfigError, match="--dtype must be one of float32 for word2vec text"):
        given = vectors()
        write("a.txt", given.matrix, given.vocabulary, dtype="int8")


def test_a_model_saved_under_another_suffix_is_vectors_only(tmp_path: Path) -> None:
    model = small_model(["king", "queen"])
    for name in ("m.bin", "m.txt", "m.vec"):
        model.save(tmp_path / name)
        assert np.array_equal(load_vectors(tmp_path / name).matrix, model.E)
        with pytest.raises(FormatError, match="no output matrix and no counts"):
            Model.load(tmp_path / name)


def test_the_projectors_pair(tmp_path: Path) -> None:
    words = ("king", "a\tb\n", "", b"\xe9")
    given = vectors(words, dim=2)
    given.save(tmp_path / "p.tsv")
    labels = (tmp_path / "p.metadata.tsv").read_text().splitlines()
    assert labels == ["king", "a\\tb\\n", "''", "\\xe9"]
    numbers = [line.split("\t") for line in (tmp_path / "p.tsv").read_text().splitlines()]
    assert np.array_equal(np.array(numbers, np.float32), given.matrix)
    counted = Vectors(given.matrix, Vocabulary.from_words(words, [4, 3, 2, 1]))
    counted.save(tmp_path / "p.tsv", force=True)
    labels = (tmp_path / "p.metadata.tsv").read_text().splitlines()
    assert labels[:2] == ["word\tcount", "king\t4"]
    assert len(labels) == 5


def test_a_folder_comes_back_with_a_zero_row_for_unknown_words(tmp_path: Path) -> None:
    given = vectors(("king", "größe", "7"))
    given.save(tmp_path / "folder", format="folder")
    again = load(tmp_path / "folder")
    assert list(again.vocabulary) == ["king", "größe", "7", "[UNK]"]
    assert np.array_equal(again.matrix[:3], given.matrix)
    assert not again.matrix[3].any()
    assert json.loads((tmp_path / "folder/tokenizer.json").read_text())["model"]["vocab"]["7"] == 2
    with pytest.raises(OutputError, match="not valid UTF-8"):
        vectors((b"\xe9",)).save(tmp_path / "other", format="folder")
    assert not (tmp_path / "other").exists()


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"holds other files \('notes.txt'\)"):
        vectors(("king",)).save(tmp_path, format="folder", force=True)


def test_nothing_at_all_can_be_written(tmp_path: Path) -> None:
    for name in ("text", "binary", "safetensors", "npy"):
        vectors(()).save(tmp_path / "v.npy", format=name, force=True)
        assert load(tmp_path / "v.npy").matrix.shape == (0, 5)


def test_a_folder_keeps_weights_and_scale_of_a_model_tuned_on_pairs(tmp_path: Path) -> None:
    model = small_model(("king", "queen", "of"))
    weights = np.array([2.0, 0.5, 0.0], np.float32)
    model.extras = {"word_weights": weights, "log_scale": np.array(1.5, np.float32)}
    model.save(tmp_path / "m.safetensors")
    for which, rows in (("input", model.E), ("output", model.Ep)):
        loaded = load_which(tmp_path / "m.safetensors", Selection(2), which=which)
        assert np.array_equal(loaded.weights, weights[:2])
        write(
            tmp_path / which,
            loaded.matrix,
            loaded.vocabulary,
            kind=format_named("folder", ""),
            weights=loaded.weights,
            log_scale=loaded.log_scale,
        )
        again = load(tmp_path / which)
        assert np.array_equal(again.matrix[:2], rows[:2] * weights[:2, None])
        about = json.loads((tmp_path / which / "config.json").read_text())
        assert about["log_scale"] == 1.5
    some = load_which(tmp_path / "m.safetensors", Selection(None, frozenset({b"of", b"king"})))
    assert some.weights.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("by", ["", "__", " ", "\n", "\udc00"])
def test_a_replacement_is_one_character(by: str) -> None:
    with pytest.raises(ConfigError, match="one character that is no blank"):
        replace_blanks(Vocabulary.from_words(["a b"]), by)


@pytest.mark.parametrize(
    "words", [["new_york", "new york"], ["new york", "new_york"], ["a b", "a\tb"]]
)
def test_a_replacement_makes_no_word_twice(words: list[str]) -> None:
    with pytest.raises(OutputError, match=r"1 word would be written as words that are there"):
        replace_blanks(Vocabulary.from_words(words), "_")


def test_replacements_beyond_ascii_and_bytes_that_are_no_text() -> None:
    words = Vocabulary.from_words([b"a \xff\v", b"b", b"\\ "], [3, 2, 1])
    found, changed = replace_blanks(words, "·")
    assert list(found.iter_bytes()) == ["a·".encode() + b"\xff\xc2\xb7", b"b", b"\\\xc2\xb7"]
    assert (changed, found.counts.tolist()) == (2, [3, 2, 1])
