"""`w2v step`: the toy's printed figures, every objective, and odd questions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import small_model
from typer.testing import CliRunner

from w2v_sgns import Model
from w2v_sgns.cli.app import app
from w2v_sgns.objectives import nce, softmax

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
    assert "Ep is reconstructed" in done.stdout
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
