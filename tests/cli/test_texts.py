"""`w2v pairs`, `encode`, `search` and `eval` of texts, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from w2v_sgns.cli.app import app
from w2v_sgns.config import PairConfig

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def tuned(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model from scratch and the documents of the demo pairs."""
    folder = tmp_path_factory.mktemp("texts")
    pairs = root / "data" / "demo-pairs.tsv"
    (folder / "pairs.tsv").write_bytes(pairs.read_bytes())
    lines = pairs.read_text().splitlines()
    (folder / "docs.txt").write_text("\n".join(line.split("\t")[1] for line in lines) + "\n\n?\n")
    done = run("pairs", pairs, "--from-scratch", "-o", folder / "model.safetensors", "--batch", 64)
    assert done.exit_code == 0, done.output
    assert "pairs       180" in done.stderr and "epoch 5/5   180 of 180  loss" in done.stderr
    return folder


def run(*arguments: object, stdin: str | None = None) -> Result:
    return RUNNER.invoke(app, [*map(str, arguments)], input=stdin)


def model(folder: Path) -> tuple[str, Path]:
    return "-m", folder / "model.safetensors"


def test_the_demo_pairs_are_what_their_script_makes(root: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    out = tmp_path / "p.tsv"
    script = root / "scripts" / "make_demo_pairs.py"
    subprocess.run([sys.executable, script, "-o", out], check=True)
    assert out.read_bytes() == (root / "data" / "demo-pairs.tsv").read_bytes()


def test_every_setting_has_its_flag() -> None:
    from dataclasses import fields

    from typer.main import get_command

    command = get_command(app).commands["pairs"]  # type: ignore[attr-defined]
    options = [one for one in command.params if one.opts[0].startswith("-")]
    flags = {
        next(opt for opt in one.opts if opt.startswith("--"))[2:].replace("-", "_")
        for one in options
    }
    others = {"output", "model", "force", "quiet", "debug", "help"}
    where_text_lies = {"text_field", "column", "recursive"}  # a pair is a line of a text
    assert flags - others == {field.name for field in fields(PairConfig)} - where_text_lies
    for one in options:
        name = one.name or ""
        if name in {field.name for field in fields(PairConfig)}:
            assert one.default == getattr(PairConfig, name)


def test_search(tuned: Path) -> None:
    asked = ("search", "where can i find a teapot", *model(tuned), "--documents")
    found = run(*asked, tuned / "docs.txt", "--top", 2)
    assert found.exit_code == 0, found.output
    query, first, _ = found.stdout.splitlines()
    assert query == "where can i find a teapot"
    assert "the teapot stands on shelf" in first
    assert "1 of 181 documents have no known word" in found.stderr
    (answer,) = json.loads(run(*asked, tuned / "docs.txt", "--json").stdout)
    assert len(answer["documents"]) == 10
    assert answer["documents"][0]["text"].startswith("the teapot stands")
    assert answer["documents"][0]["line"] == 62


def test_search_of_unknown_words_and_of_stdin(tuned: Path) -> None:
    found = run(
        "search", "-", *model(tuned), "--documents", tuned / "docs.txt", stdin="xyzzy\n\nlamp\n"
    )
    assert found.exit_code == 0, found.output
    assert "xyzzy\n  nothing: the query has no known word" in found.stdout
    assert "\n\nlamp\n  0." in found.stdout


def test_search_by_index_finds_the_same(tuned: Path) -> None:
    pytest.importorskip("faiss")
    asked = ("search", "my drum is broken", *model(tuned), "--documents", tuned / "docs.txt")
    exact, near = (json.loads(run(*asked, "--json", *more).stdout) for more in ((), ("--index",)))
    assert near == exact
    assert (tuned / "docs.txt.faiss").is_file()


def test_encode_to_numpy(tuned: Path) -> None:
    out = tuned / "docs.npy"
    done = run("encode", tuned / "docs.txt", "-o", out, *model(tuned))
    assert done.exit_code == 0, done.output
    assert "182 texts of dim 100" in done.stderr and "2 without a known word" in done.stderr
    rows = np.load(out)
    assert (rows.shape, rows.dtype) == ((182, 100), np.float32)
    assert np.linalg.norm(rows[:180], axis=1) == pytest.approx(1, abs=1e-5)
    assert not rows[180:].any()
    again = run("encode", tuned / "docs.txt", "-o", out, *model(tuned))
    assert again.exit_code == 1 and "exists" in again.stderr


def test_encode_to_parquet(tuned: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tuned / "docs.parquet"
    assert run("encode", tuned / "docs.txt", "-o", out, *model(tuned)).exit_code == 0
    column = parquet.read_table(out).column("vector").combine_chunks()
    assert len(column) == 182 and column.type.list_size == 100
    npy = tuned / "same.npy"
    assert run("encode", tuned / "docs.txt", "-o", npy, *model(tuned)).exit_code == 0
    assert np.array_equal(column.flatten().to_numpy().reshape(182, 100), np.load(npy))


def test_eval_of_pairs_and_of_scores(tuned: Path) -> None:
    asked = ("eval", tuned / "pairs.tsv", *model(tuned))
    found = run(*asked, "--pool", tuned / "docs.txt")
    assert found.exit_code == 0, found.output
    assert "recall@10" in found.stdout and "candidates: 181 documents" in found.stdout
    (one,) = json.loads(run(*asked, "--json").stdout)
    figures = {part["name"]: part["value"] for part in one["models"][0]["figures"]}
    assert figures["recall@10"] > 0.9
    scores = tuned / "scores.tsv"
    scores.write_text("a lamp\tthe lamp\t5\na lamp\tthe tent\t1\nmy drum\tthis drum\t4\n")
    found = run("eval", scores, *model(tuned))
    assert found.exit_code == 0 and "Spearman" in found.stdout
    both = run(*asked, *model(tuned))
    assert "B minus A" in both.stdout and "MRR@10" in both.stdout
    for option, value in (
        ("--restrict", 100),
        ("--case", "fold"),
        ("--method", "mul"),
        ("--at", 5),
    ):
        refused = run(*asked, option, value)
        assert refused.exit_code == 2 and f"{option} is for words" in refused.stderr


def test_two_towers_answer_similar_and_encode(tuned: Path) -> None:
    out = tuned / "two.safetensors"
    pairs = tuned / "pairs.tsv"
    done = run("pairs", pairs, *model(tuned), "-o", out, "--towers", 2, "--quiet", "--epochs", 2)
    assert (done.exit_code, done.stderr) == (0, "")
    assert run("similar", "lamp", "-m", out).exit_code == 0
    info = run("info", out).stdout
    assert "log_scale" in info and "pairs" in info
    for tower in ("query", "document"):
        assert (
            run(
                "encode",
                tuned / "docs.txt",
                "-o",
                tuned / f"{tower}.npy",
                "-m",
                out,
                "--tower",
                tower,
            ).exit_code
            == 0
        )
    assert not np.array_equal(np.load(tuned / "query.npy"), np.load(tuned / "document.npy"))


def test_export_keeps_weights_in_a_folder_and_says_where_it_does_not(tuned: Path) -> None:
    out = tuned / "weighted.safetensors"
    pairs = tuned / "pairs.tsv"
    done = run("pairs", pairs, *model(tuned), "-o", out, "--weights", "--quiet", "--epochs", 1)
    assert done.exit_code == 0, done.output
    texts = tuned / "docs.txt"
    assert run("export", tuned / "folder", "--format", "folder", "-m", out).exit_code == 0
    for source, rows in ((out, "a.npy"), (tuned / "folder", "b.npy")):
        assert run("encode", texts, "-o", tuned / rows, "-m", source).exit_code == 0
    assert np.load(tuned / "a.npy") == pytest.approx(np.load(tuned / "b.npy"), abs=1e-6)
    done = run("export", tuned / "plain.vec", "-m", out)
    assert "weights are left out; --format folder or safetensors keeps them" in done.stderr
    half = tuned / "half.safetensors"
    done = run("export", half, "--dtype", "float16", "-m", out)
    assert done.exit_code == 0 and "left out" not in done.stderr
    assert run("encode", texts, "-o", tuned / "c.npy", "-m", half).exit_code == 0
    assert np.load(tuned / "a.npy") == pytest.approx(np.load(tuned / "c.npy"), abs=2e-3)


def test_export_of_two_towers_says_what_is_lost(tuned: Path) -> None:
    out, pairs = tuned / "towers.safetensors", tuned / "pairs.tsv"
    done = run("pairs", pairs, *model(tuned), "-o", out, "--towers", 2, "--quiet", "--epochs", 1)
    assert done.exit_code == 0, done.output
    for which, lost in (("input", "queries'"), ("output", "documents'"), ("sum", "mixes queries'")):
        done = run("export", tuned / f"{which}.vec", "-m", out, "--which", which)
        assert done.exit_code == 0
        assert "has two towers" in done.stderr and lost in done.stderr
    done = run("export", tuned / "one.vec", *model(tuned))
    assert "towers" not in done.stderr


def test_info_and_step_tell_of_no_training_that_never_was(tuned: Path) -> None:
    scratch = tuned / "model.safetensors"
    said = run("info", scratch).stdout
    assert "objective sgns" not in said and "score       none of words" in said
    assert "tokenizer" in said  # how texts are split is known
    towers = tuned / "apart.safetensors"
    done = run("pairs", tuned / "pairs.tsv", "-m", scratch, "-o", towers, "--towers", 2, "--quiet")
    assert done.exit_code == 0, done.output
    assert "queries' rows" in run("info", towers).stdout
    for file in (scratch, towers):
        done = run("step", "lamp", "tent", "-m", file)
        assert done.exit_code == 1 and "has no context vectors" in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("score", ["", "\t5"])
def test_eval_of_other_encodings(tuned: Path, score: str) -> None:
    wide, plain = tuned / "wide.tsv", tuned / "plain.tsv"
    text = f"a lamp\tthe lamp{score}\nmy drum\tthis drum{score.replace('5', '4')}\n"
    wide.write_bytes(text.encode("utf-16-le"))
    plain.write_text(text)
    done = run("eval", wide, *model(tuned), "--encoding", "utf-16-le")
    assert done.exit_code == 0, done.output
    assert done.stdout.replace("wide", "plain") == run("eval", plain, *model(tuned)).stdout


def test_compare_refuses_texts_before_the_work(tuned: Path) -> None:
    done = run("compare", tuned / "docs.txt", "--eval", tuned / "pairs.tsv")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "pairs.tsv: holds texts; needed: analogies" in done.stderr
    assert done.stderr.count("\n") == 1


def test_malformed_lines_are_listed(tuned: Path) -> None:
    bad = tuned / "bad.tsv"
    bad.write_text("a lamp\tthe lamp\nonly one\na tent\tthe tent\nx\ty\tz\tw\n")
    done = run("pairs", bad, *model(tuned), "-o", tuned / "b.safetensors", "--epochs", 1)
    assert done.exit_code == 0, done.output
    assert f"{bad}:2: left out: 1 field" in done.stderr
    assert f"{bad}:4: left out: 4 fields" in done.stderr


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (("pairs", "{pairs}", "-o", "{out}"), 1, "--from-scratch"),
        (("pairs", "none.tsv", "-o", "{out}", "--from-scratch"), 1, "none.tsv"),
        (("pairs", "{pairs}", "-o", "{out}", "--from-scratch", "--loss", "x"), 1, "--loss must"),
        (("pairs", "{pairs}", "-o", "o.bin", "--from-scratch"), 1, "must end in .safetensors"),
        (("pairs", "{pairs}", "--from-scratch"), 2, "--output"),
        (("encode", "{docs}", "-o", "x.txt", "-m", "{model}"), 1, "must end in .npy or .parquet"),
        (("encode", "{docs}", "-o", "{npy}", "-m", "{model}", "--tower", "x"), 1, "--tower must"),
        (("encode", "none", "-o", "{npy}", "-m", "{model}"), 1, "none"),
        (("search", "q", "--documents", "none", "-m", "{model}"), 1, "none"),
        (("search", "q", "--documents", "{docs}", "-m", "{model}", "--top", "0"), 1, "--top"),
        (("search", "q", "--documents", "{docs}", "-m", "none.st"), 1, "none.st: no such file"),
        (("search", "q", "--documents", "{other}", "-m", "{model}"), 1, "no document has a word"),
        (("eval", "{pairs}", "-m", "{model}", "--pool", "none"), 1, "none"),
        (("pairs", "{pairs}", "-o", "{out}", "--from-scratch", "--batch", "1"), 1, "--batch 1"),
        (("search", "-", "--documents", "{docs}", "-m", "{model}"), 1, "no query on standard"),
        (("search", "-", "--documents", "-", "-m", "{model}"), 2, "read once"),
        (("encode", "{empty}", "-o", "{npy}", "-m", "{model}"), 1, "there is no text in it"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tuned: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (tuned / "other.txt").write_text("ничего\n")
    (tuned / "empty.txt").write_text("")
    places = {
        "pairs": tuned / "pairs.tsv",
        "docs": tuned / "docs.txt",
        "model": tuned / "model.safetensors",
        "other": tuned / "other.txt",
        "empty": tuned / "empty.txt",
        "out": tuned / "o.safetensors",
        "npy": tuned / "never.npy",
    }
    done = run(*(argument.format(**places) for argument in arguments))
    assert done.exit_code == code, done.output
    assert message in done.stderr and "Traceback" not in done.output
    if code == 1:
        assert done.stderr.count("\n") == 1
    assert not (tuned / "never.npy").exists() and not (tuned / "o.safetensors").exists()
