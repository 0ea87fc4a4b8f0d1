"""`w2v analogy`, `w2v odd`, and what `w2v similar` takes besides words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_models import small_model
from typer.testing import CliRunner

from w2v_sgns import Vectors
from w2v_sgns.cli.app import app
from w2v_sgns.cli.output import shown
from w2v_sgns.cli.similar import similar

WORDS = ("king", "queen", "man", "woman", b"caf\xe9", "new york")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.safetensors"
    small_model(WORDS).save(path)
    return path


def run(verb: str, file: Path, *arguments: str, stdin: str | bytes | None = None) -> Any:
    return CliRunner().invoke(app, [verb, "-m", str(file), *arguments], input=stdin)


def names(done: Any) -> list[str]:
    (answer,) = json.loads(done.stdout)
    return [hit["word"] for hit in answer["similar"]]


@pytest.mark.parametrize("method", ["add", "mul"])
def test_analogy(file: Path, method: str) -> None:
    vectors = Vectors.load(file)
    ask = vectors.most_similar if method == "add" else vectors.most_similar_cosmul
    expected = ask(["king", "woman"], ["man"], topn=3)
    arguments = ("man", "king", "woman", "--top", "3", "--method", method)
    document = json.loads(run("analogy", file, *arguments, "--json").stdout)
    assert (document["a"], document["b"], document["c"]) == ("man", "king", "woman")
    score = "cosine" if method == "add" else "score"
    assert [(hit["word"], hit[score]) for hit in document["answers"]] == [
        (word, pytest.approx(value, abs=1e-6)) for word, value in expected
    ]
    lines = run("analogy", file, *arguments).stdout.splitlines()
    assert lines[0] == "man : king = woman : ?"
    assert [line.split()[0] for line in lines[1:]] == [
        shown(word).split()[0] for word, _ in expected
    ]


def test_analogy_refuses(file: Path) -> None:
    assert run("analogy", file, "man", "king").exit_code == 2
    assert run("analogy", file, "man", "king", "woman", "--method", "x").exit_code == 1
    done = run("analogy", file, "man", "kign", "woman")
    assert done.stderr == "w2v: not among the 6 words: 'kign' (close: king)\n"


def test_odd(file: Path) -> None:
    expected = Vectors.load(file).doesnt_match(["king", "queen", "man"])
    assert run("odd", file, "king", "queen", "man").stdout == f"{expected}\n"
    document = json.loads(run("odd", file, "king", "queen", "man", "--json").stdout)
    assert document == {"words": ["king", "queen", "man"], "odd": expected}
    done = run("odd", file, "king", "queen")
    assert (done.exit_code, "at least three words" in done.stderr) == (1, True)


def test_the_mean_and_what_is_taken_away(file: Path) -> None:
    vectors = Vectors.load(file)
    mean = [word for word, _ in vectors.most_similar(["king", "woman"])]
    assert names(run("similar", file, "king", "woman", "--mean", "--json")) == mean
    without = [word for word, _ in vectors.most_similar(["king", "woman"], ["man"])]
    done = run("similar", file, "king", "woman", "--without", "man", "--json")
    assert names(done) == without
    assert json.loads(done.stdout)[0]["word"] == "king + woman - man"
    assert run("similar", file, "--without", "man").stdout.startswith("- man\n")


def test_words_from_stdin(file: Path) -> None:
    done = run(
        "similar", file, "king", "-", "--top", "1", "--json", stdin=b"new york\r\n\ncaf\xe9\n"
    )
    assert [answer["word"] for answer in json.loads(done.stdout)] == [
        "king",
        "new york",
        "caf\udce9",
    ]
    done = run("similar", file, "-", stdin=b"king\nquene\n")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "'quene' (close: queen)" in done.stderr
    assert run("similar", file, "-", stdin=b"").stdout == ""


def test_vectors_from_stdin(file: Path) -> None:
    row = Vectors.load(file)["king"].tolist()
    assert names(run("similar", file, "--by-vector", "--json", stdin=json.dumps(row)))[0] == "king"
    done = run("similar", file, "--by-vector", "--json", stdin=json.dumps([row, row]))
    assert [answer["word"] for answer in json.loads(done.stdout)] == ["vector 1", "vector 2"]
    done = run("similar", file, "--by-vector", "--top", "1", stdin=json.dumps({"mine": row}))
    assert done.stdout.split() == ["mine", "king", "1.0000"]


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("nonsense", "stdin: no valid JSON"),
        ('{"a": "b"}', "stdin: 'a' is no list of numbers"),
        ("[1, true]", "is no list of numbers"),
        ("[1, 2]", "needed: 5 numbers in one row"),
        (f"[{10**400}, 1, 1, 1, 1]", "neither a word nor a vector"),
    ],
)
def test_what_is_no_vector(file: Path, stdin: str, message: str) -> None:
    done = run("similar", file, "--by-vector", stdin=stdin)
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    "arguments", [(), ("--json",), ("--mean",), ("king", "--by-vector"), ("--by-vector", "--mean")]
)
def test_wrong_usage(file: Path, arguments: tuple[str, ...]) -> None:
    assert run("similar", file, *arguments).exit_code == 2


def test_the_prompt_answers_until_the_end_of_input(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["king queen", " ", "new york", "quene"])

    def answer(prompt: str) -> str:
        assert prompt == "word> "
        line = next(typed, None)
        if line is None:
            raise EOFError
        return line

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    similar(model=file, top=1)
    done = capsys.readouterr()
    titles = [line for line in done.out.splitlines() if line and not line.startswith(" ")]
    assert titles == ["king", "queen", "new york"]
    assert done.err == "w2v: not among the 6 words: 'quene' (close: queen)\n"
