"""fastText models, NumPy arrays, static embeddings, Parquet: rows, words, damage."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v_sgns import Vectors
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, FormatError
from w2v_sgns.formats import describe, load, safetensors
from w2v_sgns.formats.rows import Selection

ROOT = Path(__file__).resolve().parents[2]
WORDS = ["</s>", "king", "größe"]
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4) + 1


def fuzz_module() -> Any:
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "scripts" / "fuzz_formats.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def model() -> bytes:
    return fuzz_module().fasttext(ROWS, WORDS)


def test_fasttext_gives_whole_words_with_counts(model: bytes, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(model)
    found = load(tmp_path / "m")
    assert list(found.vocabulary) == WORDS
    assert found.vocabulary.counts.tolist() == [10, 9, 8]
    assert np.array_equal(found.matrix, ROWS)
    assert found.notes[-1].startswith("4 rows of subwords are ignored")
    some = load(tmp_path / "m", Selection(None, frozenset([b"king"])))
    assert (some.matrix.tolist(), some.vocabulary.counts.tolist()) == ([ROWS[1].tolist()], [9])
    assert describe(tmp_path / "m").tokens == 27


def test_every_cut_of_a_fasttext_model_is_told(model: bytes, tmp_path: Path) -> None:
    end = len(model) - (1 + 16 + ROWS.nbytes)  # the output matrix is not read
    for size in range(8, end, 7):
        (tmp_path / "m").write_bytes(model[:size])
        with pytest.raises(FormatError, match=r"byte \d+: "):
            load(tmp_path / "m")


@pytest.mark.parametrize(
    ("place", "raw", "message"),
    [
        (4, b"\x09", "byte 4: fastText version 9"),
        (64, b"\xff\xff\xff\x7f", "a dictionary of 2,147,483,647 entries"),
        (92 + 13, b"\x01", "kind 1; needed: a count from 0, words ahead of labels"),
    ],
)
def test_a_damaged_fasttext_model(
    model: bytes, place: int, raw: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "m").write_bytes(model[:place] + raw + model[place + len(raw) :])
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "m")


def test_a_quantised_fasttext_model_is_refused(model: bytes, tmp_path: Path) -> None:
    flag = model.index(b"\0" + (7).to_bytes(8, "little") + (4).to_bytes(8, "little"))
    (tmp_path / "m").write_bytes(model[:flag] + b"\1" + model[flag + 1 :])
    with pytest.raises(FormatError, match="a quantised fastText model"):
        load(tmp_path / "m")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<f2"])
def test_arrays_with_a_file_of_words(dtype: str, order: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ROWS.astype(dtype, order=order))
    (tmp_path / "v.words").write_bytes("</s>\nking\r\ngröße".encode())
    found = load(tmp_path / "v.npy")
    assert list(found.vocabulary) == WORDS
    assert np.array_equal(found.matrix, ROWS)
    assert found.matrix.flags.c_contiguous
    assert len(load(tmp_path / "v.npy", Selection(2)).vocabulary) == 2


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([{"a": 1}], object), "Python objects, which is never opened"),
        (np.arange(6).reshape(2, 3), "an array of '<i8'; needed: float32"),
        (np.ones(3, np.float32), "shape .*needed: .words, numbers."),
        (np.ones((2, 3), np.float32), "3 words, but the array has 2 rows|more than 2 words"),
    ],
)
def test_arrays_that_cannot_be(array: Any, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", array, allow_pickle=True)
    (tmp_path / "v.words.txt").write_text("a\nb\nc\n")
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "v.npy")


def test_an_array_cut_short_or_without_words(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ROWS)
    with pytest.raises(FormatError, match=r"no words: an array needs v\.words\.txt or"):
        load(tmp_path / "v.npy")
    raw = (tmp_path / "v.npy").read_bytes()
    (tmp_path / "v.npy").write_bytes(raw[:-4])
    with pytest.raises(FormatError, match=r"byte 128: .* 176 bytes in all; the file has 172"):
        load(tmp_path / "v.npy")


def static_folder(folder: Path, name: str, vocab: Any, **tensors: np.ndarray) -> Path:
    with (folder / "model.safetensors").open("wb") as stream:
        safetensors.write(stream, {name: ROWS, **tensors}, {})
    tokenizer = {"model": {"vocab": vocab}, "added_tokens": [{"id": 0, "content": "</s>"}]}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder


@pytest.mark.parametrize("name", ["embeddings", "embedding.weight"])
@pytest.mark.parametrize(
    "vocab", [{"king": 1, "größe": 2, "</s>": 0}, [["</s>", 0], ["king", -1], ["größe", -2]]]
)
def test_static_embeddings(name: str, vocab: Any, tmp_path: Path) -> None:
    folder = static_folder(tmp_path, name, vocab)
    for path in (folder, folder / "model.safetensors"):
        found = load(path)
        assert list(found.vocabulary) == WORDS
        assert np.array_equal(found.matrix, ROWS)


def test_static_embeddings_with_shared_rows_and_weights(tmp_path: Path) -> None:
    vocab = {"</s>": 0, "king": 1, "größe": 2}
    mapping, weights = np.array([2, 2, 0]), np.array([1, 2, 3], np.float32)
    found = load(static_folder(tmp_path, "embeddings", vocab, mapping=mapping, weights=weights))
    assert np.array_equal(found.matrix, ROWS[[2, 2, 0]] * weights[:, None])


@pytest.mark.parametrize(
    ("vocab", "message"),
    [
        ({"king": 1}, "names 2 rows; the vectors have 3"),
        ({"king": 1, "a": 7, "b": 2}, "one of them 7"),
        ({"king": "1"}, "one of them '1'"),
        (None, "no model.vocab"),
    ],
)
def test_a_tokenizer_that_does_not_fit(vocab: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        load(static_folder(tmp_path, "embeddings", vocab))


def test_tensors_of_other_names_are_listed(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"another tool \(tensors: 'wte'\); needed: "):
        load(static_folder(tmp_path, "wte", {}) / "model.safetensors")


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install -e '.[arrow]'")
    import pyarrow.parquet

    words = Vocabulary.from_words(WORDS, [30, 20, 10])
    Vectors(ROWS, words).save(tmp_path / "v.parquet")
    found = load(tmp_path / "v.parquet")
    assert found.vocabulary == words
    assert np.array_equal(found.matrix, ROWS)
    table = pyarrow.parquet.read_table(tmp_path / "v.parquet")
    assert table.column_names == ["word", "count", "vector", "neighbors"]
    assert table["neighbors"][0].as_py()["ids"] == [1, 2]
    other = pa.table({"id": [1, 2], "token": ["a", "b"], "emb": [[1.0, 2.0], [3.0, 4.0]]})
    pyarrow.parquet.write_table(other, tmp_path / "o.parquet")
    assert load(tmp_path / "o.parquet").matrix.tolist() == [[1, 2], [3, 4]]
    raw = (tmp_path / "v.parquet").read_bytes()
    for size in range(4, len(raw), len(raw) // 20):
        (tmp_path / "v.parquet").write_bytes(raw[:size])
        with pytest.raises(FormatError):
            load(tmp_path / "v.parquet")
    for column in ([[1.0], [2.0, 3.0]], [[1.0], None], [[1.0], [None]], ["x", "y"]):
        pyarrow.parquet.write_table(
            pa.table({"w": ["a", "b"], "v": column}), tmp_path / "o.parquet"
        )
        with pytest.raises(FormatError, match=r"needed: |is missing"):
            load(tmp_path / "o.parquet")


def test_neighbours_in_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install -e '.[arrow]'")
    from pyarrow.parquet import read_table

    from w2v_sgns.formats import arrow
    from w2v_sgns.formats.export import format_named, with_neighbors, write

    rows = np.random.default_rng(1).standard_normal((30, 4)).astype(np.float32)
    vectors = Vectors(rows, Vocabulary.from_words(map(str, range(30))))
    monkeypatch.setattr(arrow, "BATCH_ROWS", 7)
    monkeypatch.setattr(arrow, "MOST_SEARCHED", 29)
    kind = format_named("parquet", "")
    write(tmp_path / "none", rows, vectors.vocabulary, kind=kind)
    assert "neighbors" not in read_table(tmp_path / "none").column_names
    write(tmp_path / "three", rows, vectors.vocabulary, kind=with_neighbors(kind, 3))
    table = read_table(tmp_path / "three")["neighbors"].to_pylist()
    for word, found in enumerate(table):
        expected = vectors.most_similar(str(word), topn=3)
        assert found["ids"] == [int(near) for near, _ in expected]
        assert np.allclose(found["distances"], [1 - cosine for _, cosine in expected], atol=1e-6)
    for other, number in ((kind, -1), (format_named("text", ""), 3)):
        with pytest.raises(ConfigError, match="--neighbors "):
            with_neighbors(other, number)


def test_mutated_files(tmp_path: Path) -> None:
    """1,000 here; scripts/fuzz_formats.py runs 10,000."""
    import warnings

    with warnings.catch_warnings():
        assert list(fuzz_module().run(1_000, 1, tmp_path)) == []
