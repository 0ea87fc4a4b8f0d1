"""Packed or piped files of formats that are mapped: unpacked to a file without a name."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import shutil
import tempfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from small_models import small_model

from w2v_sgns import Model, Vectors
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import FormatError, ResourceError
from w2v_sgns.formats import describe, load, safetensors
from w2v_sgns.formats.rows import Selection
from w2v_sgns.formats.spool import Spool

WORDS = ["king", "queen", "größe"]
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
PACKED = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of temporary files of our own, which must be empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.iterdir())


@pytest.fixture(params=["model", "vectors", "int8", "npy", "static"])
def plain(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of each format that is mapped; what must lie beside it does."""
    words, file = Vocabulary.from_words(WORDS, [9, 8, 7]), tmp_path / "v.safetensors"
    if request.param == "model":
        small_model().save(file)
    elif request.param == "vectors":
        Vectors(ROWS, words).save(file)
    elif request.param == "int8":
        from w2v_sgns.formats.export import write

        write(file, ROWS, words, dtype="int8")
    elif request.param == "npy":
        file = tmp_path / "v.npy"
        Vectors(ROWS, words).save(file)
    else:
        file = tmp_path / "model.safetensors"
        with file.open("wb") as stream:
            safetensors.write(stream, {"embeddings": ROWS}, {})
        table = {"model": {"vocab": {word: row for row, word in enumerate(WORDS)}}}
        (tmp_path / "tokenizer.json").write_text(json.dumps(table))
    return file


def zipped(raw: bytes, place: Path) -> None:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("some name", raw)


@pytest.mark.parametrize("packing", [*PACKED, "zip", "zstandard"])
def test_packed_files_hold_what_plain_ones_hold(plain: Path, packing: str) -> None:
    expected, raw = load(plain), plain.read_bytes()
    plain.unlink()  # the old file stays mapped
    if packing == "zip":
        zipped(raw, plain)
    elif packing == "zstandard":
        zstd = pytest.importorskip("backports.zstd", reason="needs the extra zst")
        plain.write_bytes(zstd.compress(raw))
    else:
        plain.write_bytes(PACKED[packing](raw))
    found = load(plain)
    assert found.vocabulary == expected.vocabulary
    assert np.array_equal(found.matrix, expected.matrix)
    assert len(load(plain, Selection(2)).vocabulary) == 2
    told = describe(plain)
    assert (told.packed, told.bytes) == (packing, plain.stat().st_size)


def test_a_pipe_holds_what_a_plain_file_holds(plain: Path) -> None:
    expected, raw = load(plain), plain.read_bytes()
    plain.unlink()
    os.mkfifo(plain)
    writer = threading.Thread(target=plain.write_bytes, args=(raw,))
    writer.start()
    found = load(plain)
    writer.join()
    assert found.vocabulary == expected.vocabulary
    assert np.array_equal(found.matrix, expected.matrix)


def test_a_packed_model_is_a_model(tmp_path: Path) -> None:
    model = small_model()
    model.save(tmp_path / "m.safetensors")
    digest = describe(tmp_path / "m.safetensors").digest()
    raw = (tmp_path / "m.safetensors").read_bytes()
    (tmp_path / "m.gz").write_bytes(gzip.compress(raw))
    again = Model.load(tmp_path / "m.gz")
    assert np.array_equal(again.Ep, model.Ep)
    assert again.config == model.config
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == raw
    told = describe(tmp_path / "m.gz")
    assert (told.digest(), told.history) == (digest, model.history)


def test_the_words_of_a_packed_array_may_be_named_after_the_array(tmp_path: Path) -> None:
    Vectors(ROWS, Vocabulary.from_words(WORDS)).save(tmp_path / "v.npy")
    (tmp_path / "v.npy.gz").write_bytes(gzip.compress((tmp_path / "v.npy").read_bytes()))
    assert list(load(tmp_path / "v.npy.gz").vocabulary) == WORDS


def test_parquet_packed_and_piped(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install -e '.[arrow]'")
    file = tmp_path / "v.parquet"
    Vectors(ROWS, Vocabulary.from_words(WORDS)).save(file)
    raw = file.read_bytes()
    file.write_bytes(gzip.compress(raw))
    assert np.array_equal(load(file).matrix, ROWS)
    file.write_bytes(gzip.compress(raw)[:-20])
    with pytest.raises(FormatError, match="gzip data ended early"):
        load(file)
    file.unlink()
    os.mkfifo(file)
    writer = threading.Thread(target=file.write_bytes, args=(raw,))
    writer.start()
    assert list(load(file).vocabulary) == WORDS
    writer.join()


def test_what_a_header_does_not_promise_is_not_unpacked(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bomb: a small valid file with 20 MB of zeros behind it, 90 kB packed."""
    size = plain.stat().st_size
    plain.write_bytes(gzip.compress(plain.read_bytes() + bytes(20_000_000), 1))
    written, write = [], Spool.write
    monkeypatch.setattr(
        Spool, "write", lambda spool, piece: (written.append(len(piece)), write(spool, piece))
    )
    with pytest.raises(FormatError, match=r"byte [\d,]+: .*more; something was appended to it"):
        load(plain)
    assert sum(written) < size


def test_packed_data_that_ends_before_the_header_says(plain: Path) -> None:
    raw = plain.read_bytes()
    plain.write_bytes(gzip.compress(raw[:-5]))
    with pytest.raises(FormatError, match=r"the header promises [\d,]+ bytes .*it is damaged"):
        load(plain)
    plain.write_bytes(gzip.compress(raw)[:-12])
    with pytest.raises(FormatError, match="gzip data ended early"):
        load(plain)


def test_a_promise_beyond_the_disk_is_refused_at_once(tmp_path: Path) -> None:
    table = {"a": {"dtype": "F32", "shape": [1 << 50], "data_offsets": [0, 4 << 50]}}
    text = json.dumps(table).encode()
    (tmp_path / "m").write_bytes(gzip.compress(len(text).to_bytes(8, "little") + text + bytes(9)))
    with pytest.raises(ResourceError, match=r"4,503,599,627,370,496 bytes more .* set TMPDIR"):
        load(tmp_path / "m")


def test_the_disk_is_not_filled_up(
    plain: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain.write_bytes(gzip.compress(plain.read_bytes()))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=64 << 20))
    with pytest.raises(ResourceError, match=r"67,108,864 are free there\); set TMPDIR") as caught:
        load(plain)
    assert str(temporary) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_folder_for_temporary_files(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain.write_bytes(gzip.compress(plain.read_bytes()))
    monkeypatch.setattr(tempfile, "tempdir", str(plain.parent / "none"))
    with pytest.raises(ResourceError, match=r"No such file.*; set TMPDIR"):
        load(plain)
