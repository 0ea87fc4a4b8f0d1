"""`w2v info`: readable at 80 columns, complete in JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_models import small_model
from typer.testing import CliRunner

from w2v_sgns.cli.app import app
from w2v_sgns.cli.output import width


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_model().save("model.safetensors")
    return Path("model.safetensors")


def info(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["info", *map(str, arguments)])


def test_the_table(file: Path) -> None:
    done = info(file)
    assert (done.exit_code, done.stderr) == (0, "")
    table = done.stdout.splitlines()
    assert table[:5] == [
        "file        model.safetensors",
        "format      w2v-sgns 1 (safetensors)",
        "words       8",
        "dimensions  5",
        "dtype       float32",
    ]
    assert "tokens      360 (sum of the words' counts)" in table
    assert "tensors     counts              int64    8" in table
    assert "            input               float32  8 × 5" in table
    assert "provenance  corpus.names a.txt, corpus.tokens 360" in table
    assert any(line.startswith("settings    dim 5, window 5, fixed_window no") for line in table)
    assert table[-3:] == [
        "history     epoch  loss",
        "                1   2.5",
        "                2  2.25",
    ]
    assert all(width(line) <= 80 for line in table)


def test_the_file_is_an_argument_an_option_or_the_folders_model(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = info(file).stdout
    assert info("-m", file).stdout == expected
    assert info().stdout == expected
    monkeypatch.setenv("W2V_MODEL", "elsewhere")
    assert info().exit_code == 1
    assert info(file).stdout == expected


def test_json_has_everything(file: Path) -> None:
    table = json.loads(info(file, "--json").stdout)
    assert table["file"] == "model.safetensors"
    assert table["config"]["dim"] == 5
    assert table["history"] == [{"epoch": 1, "loss": 2.5}, {"epoch": 2, "loss": 2.25}]
    assert "digest" not in table


def test_the_digest(file: Path) -> None:
    table = json.loads(info(file, "--json", "--digest").stdout)
    assert f"digest      {table['digest']}\n" in info(file, "--digest").stdout
    assert all(len(line) <= 80 for line in info(file, "--digest").stdout.splitlines())


def test_a_long_history_loses_its_middle(file: Path) -> None:
    model = small_model()
    model.history = [{"epoch": n, "loss": 2 / n, "extra": None} for n in range(1, 101)]
    model.save(file, force=True)
    lines = info(file).stdout.splitlines()
    story = lines[[line.startswith("history") for line in lines].index(True) :]
    assert len(story) == 1 + 10 + 1 + 10
    assert story[11].strip() == "… 80 epochs more in --json"
    assert story[10].split()[0] == "10"
    assert story[12].split()[0] == "91"
    assert len(json.loads(info(file, "--json").stdout)["history"]) == 100


def test_names_cannot_harm_the_terminal(file: Path) -> None:
    model = small_model()
    model.provenance = {
        "parts": [{"name": "a", "bytes": 1}],
        "corpus": "evil\x1b[2J\n",
        "names": ["b\udcff" * 60],
    }
    model.save(file, force=True)
    done = info(file)
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert "parts (name a, bytes 1)" in done.stdout
    assert r"evil\x1b[2J\n" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_what_is_no_model_is_one_line(file: Path) -> None:
    Path("page.html").write_text("<!doctype html><p>404")
    done = info("page.html")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("w2v: page.html: is an HTML page")
