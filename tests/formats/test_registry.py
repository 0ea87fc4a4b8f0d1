"""What a file is, told by its content; what cannot be read, named by its first bytes."""

from __future__ import annotations

import gzip
import os
import pickle
import struct
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
    "gzip": (gzip.compress(b"king 0.1"), "gzip data"),
    "bzip2": (b"BZh91AY&SY", "bzip2 data"),
    "xz": (b"\xfd7zXZ\x00\x00", "xz data"),
    "zstandard": (b"\x28\xb5\x2f\xfd\x04", "zstandard data"),
    "zip": (b"PK\x03\x04\x14", "a zip archive"),
    "npy": (b"\x93NUMPY\x01\x00v\x00", "a NumPy array"),
    "pickle": (pickle.dumps({"a": 1}), "a Python pickle, which is never opened"),
    "old pickle": (pickle.dumps([1], protocol=2), "a Python pickle"),
    "fasttext": (struct.pack("<ii", 793712314, 12), "a fastText model"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    "word2vec": (b"3 4\nking 0.1 0.2 0.3 0.4\n", "a word2vec file (header '3 4')"),
    "text": ("größe 0.1 0.2\n".encode(), "text ('gr\\xf6\\xdfe 0.1 0.2')"),
    "text cut in a letter": ("ü".encode() * 255 + b"a" + "ü".encode(), "text ('"),
    "bytes": (b"\xff\xd8\xff\xe0\x00\x10", "unknown binary data (ff d8 ff e0 00 10)"),
    "control": (b"\x01\x02\x03", "unknown binary data"),
    "zeros": (bytes(600), "zero bytes"),
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


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="no regular file"):
        load_model(tmp_path / "pipe")


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
