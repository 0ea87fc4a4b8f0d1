"""`w2v similar`: a list for every word, as a table or as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_models import WORDS, small_model
from typer.testing import CliRunner

from w2v_sgns.cli.app import app
from w2v_sgns.cli.output import width


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.safetensors"
    small_model([*WORDS[:-1], "日本", "-1", "zero"]).save(path)
    return path


@pytest.fixture
def ask(file: Path) -> Any:
    def similar(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["similar", "-m", str(file), *arguments])

    return similar


def test_each_word_gets_its_own_list(ask: Any) -> None:
    lines = ask("king", "queen", "--top", "3").stdout.splitlines()
    assert (lines[0], lines[4], lines[5], len(lines)) == ("king", "", "queen", 9)
    assert all(line.startswith("  ") for line in lines[1:4] + lines[6:])
    assert len({width(line) for line in lines[1:4]}) == 1


def test_the_numbers_are_the_librarys(ask: Any, file: Path) -> None:
    from w2v_sgns import Vectors

    expected = Vectors.load(file).most_similar("new york", topn=3)
    (answer,) = json.loads(ask("new york", "--top", "3", "--json").stdout)
    assert answer["word"] == "new york"
    assert [(hit["word"], hit["cosine"]) for hit in answer["similar"]] == [
        (word, pytest.approx(cosine, abs=1e-6)) for word, cosine in expected
    ]


def test_json_is_one_readable_document(ask: Any) -> None:
    done = ask("日本", "king", "--top", "50", "--json")
    document = json.loads(done.stdout)
    assert [answer["word"] for answer in document] == ["日本", "king"]
    assert all(len(answer["similar"]) == 9 for answer in document)
    assert '"größe"' in done.stdout
    assert r'"caf\udce9"' in done.stdout


def test_strange_words_in_the_table(ask: Any) -> None:
    done = ask("king", "--top", "50")
    assert done.exit_code == 0
    assert r"caf\xe9" in done.stdout
    assert "(the empty word)" in done.stdout
    assert "x" * 59 + "…" in done.stdout
    assert max(map(width, done.stdout.splitlines())) <= 80


def test_restrict_leaves_the_most_frequent(ask: Any) -> None:
    (answer,) = json.loads(ask("größe", "--restrict", "2", "--json").stdout)
    assert {hit["word"] for hit in answer["similar"]} == {"king", "queen"}


def test_a_word_like_an_option(ask: Any) -> None:
    assert ask("--", "-1").stdout.startswith("-1\n")


def test_an_unknown_word_is_one_line_and_nothing_is_printed(ask: Any) -> None:
    done = ask("king", "quene")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "w2v: not among the 10 words: 'quene' (close: queen)\n"


def test_a_zero_vector_is_said_to_be_one(tmp_path: Path) -> None:
    model = small_model()
    model.E[0] = 0
    model.save(tmp_path / "z.safetensors")
    command = ["similar", "king", "queen", "-m", str(tmp_path / "z.safetensors")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0
    assert "no neighbours: the vector is zero" in done.stdout
    assert "nan" not in done.stdout
    document = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert document[0] == {"word": "king", "similar": []}


def test_the_model_comes_from_the_option_the_environment_or_the_folder(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("W2V_MODEL", raising=False)
    done = CliRunner().invoke(app, ["similar", "king"])
    assert (done.exit_code, "model.safetensors: no such file" in done.stderr) == (1, True)
    monkeypatch.setenv("W2V_MODEL", str(file))
    assert CliRunner().invoke(app, ["similar", "king"]).exit_code == 0
    monkeypatch.delenv("W2V_MODEL")
    file.rename(tmp_path / "model.safetensors")
    assert CliRunner().invoke(app, ["similar", "king"]).exit_code == 0


def test_a_word_of_invalid_bytes_can_be_asked(file: Path) -> None:
    command = [sys.executable, "-m", "w2v_sgns", "similar", "-m", str(file), b"caf\xe9"]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(rb"caf\xe9")
