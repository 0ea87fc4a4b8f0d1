"""What a file is, told by its content; what cannot be read, named by its first bytes."""

from __future__ import annotations

import gzip
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

from w2v_sgns.errors import FormatError
from w2v_sgns.formats import describe, load_model, load_vectors

UNKNOWN = {
    "empty": (b"", "an empty file"),
    "html": (b"\n<!DOCTYPE html><html><body>404", "an HTML page"),
    "bare html": (b"<html>\n", "an HTML page"),
    "gzip": (gzip.compress(b"<html>"), "gzip data of an HTML page"),
    "gzip twice": (gzip.compress(gzip.compress(b"king 0.1")), "gzip data of gzip data"),
    "pickle": (pickle.dumps({"a": 1}), "a Python pickle, which is never opened"),
    "old pickle": (pickle.dumps([1], protocol=2), "a Python pickle"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    "text": ("größe und mehr\n".encode(), "text ('gr\\xf6\\xdfe und mehr')"),
    "text cut in a letter": ("ü".encode() * 255 + b"a" + "ü".encode(), "text ('"),
    "bytes": (b"\xff\xd8\xff\xe0\x00\x10", "unknown binary data (ff d8 ff e0 00 10)"),
    "control": (b"\x01\x02\x03", "unknown binary data"),
    "zeros": (bytes(600), "zero bytes"),
    "blanks": (b"\n \r\n", "nothing but blanks"),
    "gzip of blanks": (gzip.compress(b"\n"), "gzip data of nothing but blanks"),
}


@pytest.mark.parametrize(("raw", "what"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_file_is_described_by_its_first_bytes(
    raw: bytes, what: str, tmp_path: Path
) -> None:
    file = tmp_path / "m.safetensors"
    file.write_bytes(raw)
    for load in (load_model, load_vectors, describe):
        with pytest.raises(FormatError) as caught:
            load(file)
        assert f"is {what}" in str(caught.value)
        assert "what can be read: w2v-sgns model (.safetensors)" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_suffix_does_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    small_model().save(file)
    other = file.rename(tmp_path / "vectors.bin")
    assert load_vectors(other)["king"].shape == (5,)


def test_a_missing_file_says_what_to_try(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no such file; .*w2v train"):
        load_model(tmp_path / "none.safetensors")


def test_a_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is a directory"):
        load_model(tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_text_and_binary_come_through_a_pipe(packed: bool, tmp_path: Path) -> None:
    raw = b"king 0.5 1\nqueen 2 3\n"
    os.mkfifo(tmp_path / "pipe")
    data = gzip.compress(raw) if packed else raw
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
    writer.start()
    vectors = load_vectors(tmp_path / "pipe")
    writer.join()
    assert vectors["queen"].tolist() == [2, 3]


def test_a_path_too_long_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read: File name too long"):
        load_model(tmp_path / ("x" * 300))


def test_the_digest_is_of_the_tensors_alone(tmp_path: Path) -> None:
    one, two, three = (tmp_path / f"{name}.safetensors" for name in "abc")
    model = small_model()
    model.save(one)
    model.provenance["comment"] = "other metadata"
    model.history.clear()
    model.save(two)
    model.E[0, 0] += np.float32(1e-6)
    model.save(three)
    digests = [describe(file).digest() for file in (one, two, three)]
    assert digests[0] == digests[1] != digests[2]
    assert len(digests[0]) == 64


def test_the_description_is_ready_for_json(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    small_model().save(file)
    table = describe(file).to_dict()
    assert table["words"] == 8
    assert table["dimensions"] == 5
    assert table["tokens"] == 360
    assert table["tensors"]["input"] == {"dtype": "float32", "shape": [8, 5]}
    assert table["history"][-1] == {"epoch": 2, "loss": 2.25}
