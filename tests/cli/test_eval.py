"""`w2v eval`: a table that fits, JSON and Markdown, what went wrong on stderr, models compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive_evaluation import read_vectors
from typer.testing import CliRunner

from w2v_sgns.cli.app import app
from w2v_sgns.cli.output import width
from w2v_sgns.config import TrainConfig
from w2v_sgns.model import Model

CASES = Path(__file__).resolve().parent.parent / "cases"
QUESTIONS = CASES / "56-analogy-handmade" / "questions.txt"
PAIRS = CASES / "57-word-similarity"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two models, a.safetensors and b.safetensors."""
    vectors = read_vectors(PAIRS / "vectors.txt")
    blur = np.random.default_rng(1).standard_normal(vectors.matrix.shape).astype("f4") / 2
    for name, matrix in (("a", vectors.matrix), ("b", vectors.matrix + blur)):
        model = Model(
            np.array(matrix),
            np.array(matrix),
            vocabulary=vectors.vocabulary,
            config=TrainConfig(dim=4),
        )
        model.save(tmp_path / f"{name}.safetensors")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("W2V_MODEL", raising=False)
    return tmp_path


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["eval", *map(str, arguments)])


def test_the_table(folder: Path) -> None:
    done = run(QUESTIONS, "-m", "a.safetensors")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "gender       2         2        0      2   100.0 %  34.2 to 100.0" in lines
    assert "total        5         5        0      3    60.0 %   23.1 to 88.2" in lines
    assert "  model: a.safetensors" in lines
    assert "  words: all 9" in lines
    assert all(width(line) <= 80 for line in lines)


def test_long_names_are_cut_to_the_terminal(folder: Path) -> None:
    Path("q").write_text(f": {'日本' * 60}\nman king woman queen\n")
    done = run("q", "-m", "a.safetensors", "-m", "b.safetensors")
    assert done.exit_code == 0
    assert all(width(line) <= 80 for line in done.stdout.splitlines())


def test_pairs_and_what_is_told_of_them(folder: Path) -> None:
    done = run(PAIRS / "pairs.tsv", "-m", "a.safetensors")
    assert done.exit_code == 0
    assert "Spearman         8     6  0.8824" in done.stdout
    header, malformed = done.stderr.splitlines()
    assert header == f"w2v: {PAIRS / 'pairs.tsv'}:2: skipped as a header"
    assert malformed.startswith(f"w2v: {PAIRS / 'pairs.tsv'}:10: 2 fields, needed")
    strict = run(PAIRS / "pairs.tsv", "-m", "a.safetensors", "--strict")
    assert (strict.exit_code, strict.stdout) == (1, "")
    assert "pairs.tsv:10: 2 fields" in strict.stderr


def test_undefined_is_told(folder: Path) -> None:
    done = run(PAIRS / "constant.tsv", "-m", "a.safetensors")
    assert done.exit_code == 0
    assert "n/a" in done.stdout
    assert "nan" not in done.stdout
    assert done.stderr == f"w2v: {PAIRS / 'constant.tsv'}: the correlation is undefined\n"


def test_many_malformed_lines_are_summed_up(folder: Path) -> None:
    Path("q").write_text("man king woman queen\n" * 3 + "odd\n" * 50)
    done = run("q", "-m", "a.safetensors")
    assert len(done.stderr.splitlines()) == 21
    assert "30 more malformed lines" in done.stderr


def test_several_files_and_options(folder: Path) -> None:
    options = (
        "--restrict",
        "0",
        "--case",
        "fold",
        "--method",
        "mul",
        "--at",
        "2",
        "--count-skipped",
    )
    done = run(QUESTIONS, PAIRS / "pairs.csv", "-m", "a.safetensors", *options, "--json")
    analogies, pairs = json.loads(done.stdout)
    (one,) = analogies["models"]
    assert (one["case"], one["method"], one["at"], one["count_skipped"]) == ("fold", "mul", 2, True)
    assert [tally["name"] for tally in one["sections"]] == ["gender", "royal"]
    assert pairs["models"][0]["spearman"] == pytest.approx(0.882353, abs=1e-6)
    assert pairs["differences"] == []


def test_two_models(folder: Path) -> None:
    done = run(QUESTIONS, PAIRS / "pairs.csv", "-m", "a.safetensors", "-m", "b.safetensors")
    assert done.exit_code == 0
    assert "  A: a.safetensors\n  B: b.safetensors\n" in done.stdout
    document = json.loads(
        run(QUESTIONS, "-m", "a.safetensors", "-m", "b.safetensors", "--json").stdout
    )
    (difference,) = document[0]["differences"]
    assert difference["first"] == "a.safetensors"
    total = difference["parts"][-1]
    assert total["difference"] == pytest.approx(total["second"] - total["first"])


def test_the_shared_vocabulary_needs_two_models(folder: Path) -> None:
    assert run(QUESTIONS, "-m", "a.safetensors", "--shared-vocabulary").exit_code == 2
    models = ("-m", "a.safetensors", "-m", "b.safetensors")
    done = run(QUESTIONS, *models, "--shared-vocabulary", "--restrict", "4", "--json")
    assert [model["words"] for model in json.loads(done.stdout)[0]["models"]] == [4, 4]


def test_markdown(folder: Path) -> None:
    done = run(QUESTIONS, PAIRS / "pairs.csv", "-m", "a.safetensors", "--markdown")
    assert (
        "| section | asked | answered | skipped | right | accuracy | 95 % interval |" in done.stdout
    )
    assert "|---|---:|---:|---:|---:|---:|---:|" in done.stdout
    assert r"3CosAdd" in done.stdout
    assert run(QUESTIONS, "--markdown", "--json").exit_code == 2


def test_the_model_comes_from_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "model.safetensors: no such file" in run(QUESTIONS).stderr
    monkeypatch.setenv("W2V_MODEL", str(folder / "a.safetensors"))
    assert run(QUESTIONS).exit_code == 0


@pytest.mark.parametrize("option", [("--case", "x"), ("--method", "x"), ("--at", "0")])
def test_ranges_are_the_librarys(folder: Path, option: tuple[str, str]) -> None:
    done = run(QUESTIONS, "-m", "a.safetensors", *option)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"w2v: {option[0]} must be")


def test_no_file_is_wrong_usage(folder: Path) -> None:
    assert run("-m", "a.safetensors").exit_code == 2
    assert run("page.html", "-m", "a.safetensors").exit_code == 1
