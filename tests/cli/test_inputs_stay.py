"""No verb writes over what it reads, whatever --force says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from small_models import small_model
from typer.testing import CliRunner

from w2v_sgns.cli.app import app

VERBS = (
    "classes 2 -m m.safetensors -o m.safetensors",
    "classes 2 -m m.safetensors -o link.tsv",
    "map m.html -m m.html",
    "map w.html -m m.safetensors --words w.html",
    "encode t.txt -m m.npy -o m.npy",
    "encode t.npy -m m.safetensors -o t.npy",
    "pairs p.tsv -m m.safetensors -o m.safetensors",
    "pairs p.safetensors --from-scratch -o p.safetensors",
    "export m.safetensors -m m.safetensors",
    "export m.txt -m m.safetensors --words m.txt",
    "export v.npy -m m.safetensors --words v.words.txt",
    "export v.tsv -m m.safetensors --read-vocab v.metadata.tsv",
    "export folder -m folder --format folder",
    "phrases t.txt -o t.txt",
    "phrases t.txt -o new.txt --save-scores t.txt",
    "plot curve log.svg -o log.svg",
    "compare t.svg --plot t.svg",
    "compare t.txt --eval t.svg --plot t.svg",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    model = small_model(["king", "queen", "man", "woman"])
    model.save("m.safetensors")
    for copy in ("m.html", "m.npy"):
        shutil.copy("m.safetensors", copy)
    model.vectors.save("folder", format="folder")
    os.symlink("m.safetensors", "link.tsv")
    for name in ("w.html", "m.txt", "v.words.txt"):
        Path(name).write_text("king\nqueen\n")
    Path("v.metadata.tsv").write_text("king\t3\nqueen\t3\nman\t2\nwoman\t1\n")
    for name in ("t.txt", "t.npy", "t.svg", "log.svg"):
        Path(name).write_text("king queen\nman woman\n")
    for name in ("p.tsv", "p.safetensors"):
        Path(name).write_text("king man\tqueen woman\nman king\twoman queen\n")
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("line", VERBS)
@pytest.mark.parametrize("more", [["--force"], []])
def test_an_output_that_is_an_input_is_refused(folder: Path, line: str, more: list[str]) -> None:
    before = contents(folder)
    done = CliRunner().invoke(app, [*line.split(), *more])
    if "--format folder" in line and not more:
        assert "exists; use --force" in done.output
    else:
        assert "the output would replace an input" in done.output
    assert done.exit_code == 1
    assert contents(folder) == before


def test_a_model_through_a_pipe_is_one_line_where_it_is_read_twice(folder: Path) -> None:
    os.mkfifo("pipe")
    for line in (
        "encode t.txt -m pipe -o new.npy",
        "pairs p.tsv -m pipe -o new.safetensors",
        "search king -m pipe --documents t.txt",
        "train t.txt --init pipe -o new.safetensors",
    ):
        done = CliRunner().invoke(app, line.split())
        assert "pipe: is a pipe, and a model is read twice here" in done.output
        assert done.exit_code == 1


def test_vectors_and_from_scratch_exclude_each_other(folder: Path) -> None:
    line = ["pairs", "p.tsv", "--from-scratch", "-o", "new.safetensors"]
    done = CliRunner().invoke(app, [*line, "-m", "m.safetensors"])
    assert "give either vectors to begin with (-m MODEL), or --from-scratch" in done.output
    assert done.exit_code == 1
    done = CliRunner().invoke(app, [*line, "--min-count", "1"], env={"W2V_MODEL": "m.safetensors"})
    assert done.exit_code == 0, done.output
