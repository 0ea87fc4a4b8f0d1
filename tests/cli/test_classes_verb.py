"""`w2v classes`: what it prints, where it writes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import WORDS, small_model
from typer.testing import CliRunner

from w2v_sgns import Vectors
from w2v_sgns.cli.app import app
from w2v_sgns.vectors.classes import word_classes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.safetensors"
    small_model().save(path)
    return path


def run(file: Path, *arguments: str) -> Any:
    return CliRunner().invoke(app, ["classes", *arguments, "-m", str(file)])


def expected(file: Path, classes: int, **options: Any) -> list[int]:
    return word_classes(Vectors.load(file).matrix, classes, **options).labels.tolist()


def test_a_line_for_every_word_in_the_models_order(file: Path) -> None:
    lines = run(file, "3").stdout_bytes.split(b"\n")
    labels = [int(line.rpartition(b"\t")[2]) for line in lines[:-1]]
    assert labels == expected(file, 3)
    assert lines[4].startswith(b"caf\xe9\t")  # the bytes of the word, whatever they are
    assert len(lines) == len(WORDS) + 1


def test_by_class_and_seed(file: Path) -> None:
    lines = run(file, "3", "--by-class", "--seed", "4").stdout_bytes.splitlines()
    labels = [int(line.rpartition(b"\t")[2]) for line in lines]
    assert labels == sorted(expected(file, 3, seed=4))


def test_json(file: Path) -> None:
    document = json.loads(run(file, "2", "--top", "4", "--json").stdout)
    assert [entry["word"] for entry in document["words"]] == list(WORDS[:4])
    labels = word_classes(Vectors.load(file).matrix[:4], 2).labels.tolist()
    assert [entry["class"] for entry in document["words"]] == labels
    assert document["classes"] == 2
    assert document["settled"] is True
    assert 0 < document["mean_cosine"] <= 1


def test_a_file_is_written_whole_and_not_replaced(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "classes.tsv"
    printed = run(file, "2").stdout_bytes
    assert run(file, "2", "-o", str(out)).stdout == ""
    assert out.read_bytes() == printed
    done = run(file, "3", "-o", str(out))
    assert (done.exit_code, "use --force" in done.stderr) == (1, True)
    assert out.read_bytes() == printed
    assert run(file, "3", "-o", str(out), "--force").exit_code == 0
    assert out.read_bytes() != printed


def test_a_word_without_a_direction_is_told(tmp_path: Path) -> None:
    model = small_model()
    model.E[1] = 0
    file = tmp_path / "zero.safetensors"
    model.save(file)
    done = run(file, "2")
    assert done.stdout_bytes.splitlines()[1] == b"queen\t-1"
    assert "warning: 1 word has no direction" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["x"], 2, "Invalid value"),
        (["2", "--json", "-o", "a.tsv"], 2, "--json prints"),
        (["0"], 1, "w2v: the number of classes must be at least 1, not 0\n"),
        (["9"], 1, "w2v: 9 classes need as many words with a direction, not 8\n"),
        (["2", "--top", "0"], 1, "w2v: --top must be at least 1, not 0\n"),
        (["2", "-o", "missing/a.tsv"], 1, "make it first\n"),
    ],
)
def test_refusals(arguments: list[str], code: int, message: str, file: Path) -> None:
    done = run(file, *arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert message in done.stderr
    assert code == 2 or done.stderr.count("\n") == 1


def test_a_word_with_a_tab_needs_json(tmp_path: Path) -> None:
    file = tmp_path / "tab.safetensors"
    small_model(["a\tb", "c"]).save(file)
    done = run(file, "1", "-o", str(tmp_path / "out.tsv"))
    assert (done.exit_code, "use --json" in done.stderr) == (1, True)
    assert not (tmp_path / "out.tsv").exists()
    assert json.loads(run(file, "1", "--json").stdout)["words"][0]["word"] == "a\tb"


def test_numbers_are_the_models_own(file: Path) -> None:
    """A strided row is read as it is: its padding has no part in the classes."""
    assert expected(file, 2) == word_classes(np.array(Vectors.load(file).matrix), 2).labels.tolist()
