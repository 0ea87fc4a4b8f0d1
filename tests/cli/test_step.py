"""`w2v step`: the toy's printed figures, every objective, and odd questions."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import small_model
from typer.testing import CliRunner

from w2v_sgns import Model
from w2v_sgns.cli.app import app
from w2v_sgns.evaluation.one_step import TOY_WORDS, one_step, toy
from w2v_sgns.objectives import nce, sgns, softmax
from w2v_sgns.sampling import noise_distribution

FIXTURE = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "sgns_fixtures.json").read_text()
)["sgns_toy"]


def step(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["step", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    done = step(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.chdir(tmp_path)
    model = small_model()
    model.save("model.safetensors")
    return model


def test_the_toy_prints_the_articles_figures() -> None:
    done = step("sat", "on", "--toy")
    assert (done.exit_code, done.stderr) == (0, "")
    for figure in ("1.9512 before", "1.9229 with the new E[sat] alone", "1.8626 with all new"):
        assert figure in done.stdout
    for row in ("-0.0435   0.5269   0.0717", "0.3344  -0.3227   0.8328"):
        assert row in done.stdout
    assert "are reconstructed: the article does not print Ep" in " ".join(done.stdout.split())
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_the_toy_to_all_digits() -> None:
    found = document("sat", "on", "--toy")
    assert [row["word"] for row in found["rows"]] == ["on", "cat", "mat"]
    for ours, theirs in (
        ("score", FIXTURE["scores"]),
        ("probability", FIXTURE["sigma"]),
        ("term", FIXTURE["terms"]),
    ):
        assert [row[ours] for row in found["rows"]] == pytest.approx(theirs, abs=1e-10)
    assert found["gradient"] == pytest.approx(FIXTURE["dE_c"], abs=1e-10)
    assert found["updated"] == pytest.approx(FIXTURE["E_c_new"], abs=1e-10)
    for row, place in zip(found["rows"], (3, 1, 4), strict=True):
        assert row["gradient"] == pytest.approx(FIXTURE["dEp"][place], abs=1e-10)
        assert row["updated"] == pytest.approx(FIXTURE["Ep_new"][place], abs=1e-10)
    losses = [found[name] for name in ("loss", "loss_center_only", "loss_all")]
    expected = [FIXTURE[name] for name in ("loss", "loss_center_only", "loss_all")]
    assert losses == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("form", ["nce", "nce-sigmoid"])
def test_nce_on_the_toy(form: str) -> None:
    """Uniform noise: k·q is 2/5 for every word."""
    found = document("sat", "on", "--toy", "--objective", form)
    E, Ep = np.array(FIXTURE["E"]), np.array(FIXTURE["Ep"])
    log_kq = np.full(5, np.log(2 / 5))
    assert found["rows"][0]["log_kq"] == pytest.approx(np.log(2 / 5), abs=1e-12)
    for name in ("loss", "loss_all"):
        loss = nce.evaluate(E, Ep, [2], [3, 1, 4], log_kq=log_kq, form=form).loss
        assert found[name] == pytest.approx(loss, abs=1e-12)
        nce.window_step(E, Ep, [2], [3, 1, 4], 0.1, log_kq=log_kq, form=form)


def test_softmax_on_the_toy() -> None:
    found = document("sat", "on", "--toy", "--objective", "softmax", "--lr", "0.5")
    E, Ep = np.array(FIXTURE["E"]), np.array(FIXTURE["Ep"])
    true = np.eye(5)[[3]]
    assert found["loss"] == pytest.approx(softmax.evaluate(E, Ep, [2], true).loss, abs=1e-12)
    softmax.batch_step(E, Ep, [2], true, 0.5)
    assert found["updated"] == pytest.approx(E[2], abs=1e-12)
    assert found["loss_all"] == pytest.approx(softmax.evaluate(E, Ep, [2], true).loss, abs=1e-12)
    assert len(found["rows"]) == 5
    assert sum(row["probability"] for row in found["rows"]) == pytest.approx(1)
    assert "softmax" in step("sat", "on", "--toy", "--objective", "softmax").stdout


def notes(*arguments: str) -> str:
    return " ".join(document(*arguments, "--toy")["notes"])


def test_the_toys_note_is_about_the_rows_used() -> None:
    said = notes("sat", "on")
    assert "Ep[cat], Ep[on] and Ep[mat] are reconstructed" in said
    assert "made up" not in said
    said = notes("sat", "on", "--objective", "softmax")
    assert "Ep[the] and Ep[sat] are made up" in said
    said = notes("cat", "the", "--negatives", "the,sat")
    assert said == (
        "E[cat], Ep[the] and Ep[sat] are made up: no figure of the article depends on them."
    )
    assert "Ep[mat] is reconstructed" in notes("sat", "sat", "--negatives", "mat")
    assert "Ep[sat] is made up" in notes("sat", "sat", "--negatives", "mat")


def test_the_toys_note_names_every_row_that_counts() -> None:
    """A row of Ep that the note leaves out may hold anything."""
    for arguments in (["--objective", "softmax"], ["--negatives", "cat,the"], ["--negatives", ""]):
        example, named = toy(), notes("sat", "on", *arguments)
        before = document("sat", "on", "--toy", *arguments)["loss_all"]
        for place, word in enumerate(TOY_WORDS):
            Ep = example.Ep.copy()
            Ep[place] += 0.5
            chosen = arguments[1].split(",") if arguments[0] == "--negatives" else None
            taken = one_step(
                replace(example, Ep=Ep),
                "sat",
                "on",
                negatives=[w for w in chosen if w] if chosen is not None else None,
                objective="softmax" if chosen is None else None,
            )
            assert (f"Ep[{word}]" in named) == (taken.loss_all != before), (arguments, word)


@pytest.mark.parametrize("objective", ["sgns", "nce", "nce-sigmoid", "softmax"])
def test_biases_are_the_references(objective: str, model: Model) -> None:
    """With a word that stands twice among the noise, and the target too."""
    model.output_bias = np.linspace(-1, 1, len(model.E), dtype=np.float32)
    model.config = replace(model.config, bias=True)
    model.save("bias.safetensors")
    a, b, c = (model.vocabulary.word(n) for n in range(3))
    E, Ep = model.E.astype(float), model.Ep.astype(float)
    bias = model.output_bias.astype(float)
    chosen = ["-m", "bias.safetensors", "--lr", "0.3", "--objective", objective]
    if objective == "softmax":
        softmax.batch_step(E, Ep, [0], np.eye(len(E))[[1]], 0.3, bias=bias)
    else:
        chosen += ["--negatives", f"{c},{a},{c},{b}"]
        outputs = [1, 2, 0, 2, 1]
        if objective == "sgns":
            sgns.window_step(E, Ep, [0], outputs, 0.3, bias=bias)
        else:
            counts = model.vocabulary.counts
            q = noise_distribution(counts, 0.0)
            log_kq = np.log(4 * q)
            nce.window_step(E, Ep, [0], outputs, 0.3, log_kq=log_kq, form=objective, bias=bias)
    rows = document(a, b, *chosen)["rows"]
    assert {row["word"] for row in rows} >= {a, b, c}
    for row in rows:
        place = model.vocabulary.index(row["word"])
        assert row["bias"] == pytest.approx(model.output_bias[place])
        assert row["updated_bias"] == pytest.approx(bias[place], abs=1e-12)
        assert row["bias_gradient"] == pytest.approx((row["bias"] - bias[place]) / 0.3)
        assert row["updated"] == pytest.approx(Ep[place].tolist(), abs=1e-12)
    printed = step(a, b, *chosen).stdout
    assert f"{rows[0]['bias']:.4f}, gradient {rows[0]['bias_gradient']:.4f}" in printed
    assert f"new {rows[0]['updated_bias']:.4f}" in printed


def test_without_biases_none_are_printed(model: Model) -> None:
    a, b = model.vocabulary.word(0), model.vocabulary.word(1)
    assert document(a, b)["rows"][0]["bias"] is None
    assert "bias" not in step(a, b).stdout


def test_a_model_stays_as_it_is_and_draws_the_same_noise_each_time(model: Model) -> None:
    before = Path("model.safetensors").read_bytes()
    center, target = model.vocabulary.word(0), model.vocabulary.word(1)
    first = document(center, target)
    assert first == document(center, target)
    assert len(first["rows"]) == 1 + model.config.negative
    assert first["lr"] == model.config.lr
    assert first["vector"] == pytest.approx(model.E[0].tolist())
    assert Path("model.safetensors").read_bytes() == before


def test_repeats_collisions_and_the_center_itself(model: Model) -> None:
    """A word that stands several times moves by the sum; a target among the noise counts."""
    a, b = model.vocabulary.word(0), model.vocabulary.word(1)
    found = document(a, b, "--negatives", f"{b},{a},{a}")
    assert [row["word"] for row in found["rows"]] == [b, b, a, a]
    errors = [row["error"] for row in found["rows"]]
    vector = np.array(found["vector"])
    assert found["rows"][0]["gradient"] == pytest.approx((errors[0] + errors[1]) * vector)
    assert found["rows"][2]["gradient"] == pytest.approx((errors[2] + errors[3]) * vector)
    same = document(a, a, "--negatives", b)
    assert same["center"] == same["target"] == a
    printed = step(a, b, "--negatives", f"{b},{a},{a}").stdout
    assert printed.count(f"Ep[{a}]") == 1


def test_no_noise_at_all(model: Model) -> None:
    a, b = model.vocabulary.word(0), model.vocabulary.word(1)
    assert len(document(a, b, "--negatives", "")["rows"]) == 1
    assert len(document(a, b, "--negatives", "", "--objective", "nce")["rows"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sat", "dog", "--toy"], "dog"),
        (["sat", "on", "--toy", "--negatives", "cat,dog"], "dog"),
        (["sat", "on", "--toy", "--lr", "0"], "--lr"),
        (["sat", "on", "--toy", "--lr", "nan"], "--lr"),
        (["sat", "on", "--toy", "--objective", "cbow"], "--objective"),
        (["sat", "on", "--toy", "--objective", "inbatch"], "other pairs of a batch"),
        (["sat", "on", "--toy", "--objective", "softmax", "--negatives", "cat"], "--negatives"),
        (["sat", "on", "-m", "missing.safetensors"], "missing.safetensors"),
    ],
)
def test_bad_questions_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = step(*arguments)
    assert done.exit_code == 1, done.output
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_does_not_wait_for_the_compiler(root: Path) -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from w2v_sgns.cli.app import app\n"
        "done = CliRunner().invoke(app, ['step', 'sat', 'on', '--toy', '--objective', 'nce'])\n"
        "assert done.exit_code == 0, done.output\n"
        "assert 'numba' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
