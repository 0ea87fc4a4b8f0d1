"""`w2v export` and `w2v train -o vectors.bin`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_models import small_model
from typer.testing import CliRunner

from w2v_sgns import Vectors
from w2v_sgns.cli.app import app


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_model(["king", "queen", "größe"]).save("model.safetensors")
    return Path("model.safetensors")


def w2v(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_every_format_says_what_it_wrote(model: Path) -> None:
    done = w2v("export", "out.txt")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "written     out.txt: 3 words × 5, word2vec text\n"
    done = w2v("export", "out.npy", "--dtype", "float16")
    assert "out.npy and out.words.txt: 3 words × 5" in done.stderr
    assert "float16 changes a row by at most 0.0" in done.stderr
    assert w2v("export", "folder", "--format", "folder").exit_code == 0
    assert "words       4" in w2v("info", "folder").stdout


def test_stdout(model: Path) -> None:
    done = w2v("export", "-", "--limit", "2")
    assert done.stdout.startswith("2 5\nking ")
    assert w2v("export", "-", "--format", "binary").stdout_bytes.startswith(b"3 5\nking ")
    refused = w2v("export", "-", "--format", "npy")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "needs a place with a name" in refused.stderr


def test_some_words(model: Path) -> None:
    Path("words").write_text("größe\nnone\r\nking\r\n")
    assert w2v("export", "out.vec", "--words", "words").exit_code == 0
    assert list(Vectors.load("out.vec").vocabulary) == ["king", "größe"]


def test_one_exported_file_can_be_exported_again(model: Path) -> None:
    for source, out in (("model.safetensors", "a.bin"), ("a.bin", "a.vec"), ("a.vec", "b.bin")):
        assert w2v("export", out, "-m", source).exit_code == 0
    assert Path("a.bin").read_bytes() == Path("b.bin").read_bytes()
    info = w2v("info", "a.vec").stdout
    assert "format      word2vec text\nwords       3\ndimensions  5\n" in info
    assert "tokens" not in info


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out.xyz"], "the suffix '.xyz' means no format"),
        (["there.bin"], "exists; use --force"),
        (["model.safetensors", "--force"], "the output would replace an input"),
        (["out.txt", "--limit", "0"], "--limit must be at least 1"),
        (["out.txt", "--which", "E"], "--which must be one of"),
        (["out.txt", "--dtype", "int8"], "--dtype must be one of"),
        (["out.txt", "--words", "none"], "none: no such file"),
        (["out.txt", "-m", "none"], "none: no such file"),
        (["none/out.txt"], "the folder none does not exist"),
    ],
)
def test_what_cannot_be_is_one_line(model: Path, arguments: list[str], message: str) -> None:
    Path("there.bin").write_bytes(b"mine")
    done = w2v("export", *arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
    assert Path("there.bin").read_bytes() == b"mine"
    assert done.stderr.count("\n") == 1
    assert sorted(file.name for file in Path().iterdir()) == ["model.safetensors", "there.bin"]


def test_training_into_a_format_of_vectors(model: Path) -> None:
    Path("text").write_text("a b c d e f\n" * 200)
    done = w2v("train", "text", "-o", "v.bin", "--dim", "4", "--epochs", "1", "--sample", "0")
    assert done.exit_code == 0
    assert "vectors only: training cannot be resumed from this file" in done.stderr
    assert Vectors.load("v.bin").matrix.shape == (6, 4)
