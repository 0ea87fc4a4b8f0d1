"""What only the GPU's backend has: texts in pieces, its own settings, `w2v train --device cuda`.

On Numba's simulator, with NUMBA_ENABLE_CUDASIM=1.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import distance
from test_backend_contract import EXACT, Case, config, nothing, sparse_text
from typer.testing import CliRunner

from w2v_sgns import Model
from w2v_sgns.cli.app import app
from w2v_sgns.training.checkpoint import checkpoint_path
from w2v_sgns.training.cuda.backend import CudaBackend
from w2v_sgns.training.devices import cuda_device

pytestmark = pytest.mark.simulated
LINES = "a b c d a b\nc d a b\n"


def on(device: Any) -> Any:
    """Return a factory of backends on a device."""

    def make(*arguments: Any, workers: int = 1, **settings: Any) -> CudaBackend:
        return CudaBackend(*arguments, streams=workers, device=device, **settings)

    return make


def test_a_text_larger_than_the_memory_comes_in_pieces() -> None:
    case = Case(text=sparse_text(4, 2), config=config(window=3), kept_share=0.9)
    roomy, _ = case.backend(on(cuda_device()))
    assert roomy.resident
    small, ours = case.backend(on(replace(cuda_device(), free=roomy.needs.least)))
    assert not small.resident
    small.run_epoch(0, nothing)
    assert distance(ours, case.twin()[0]) < EXACT


def test_slow_parts_become_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a run can be stopped soon; nothing is trained twice or left out."""
    monkeypatch.setattr("w2v_sgns.training.cuda.backend.LAUNCHES", 1)
    monkeypatch.setattr("w2v_sgns.training.cuda.backend.PATIENCE", 0.0)
    case = Case(text=sparse_text(4, 1), config=config(window=2), kept_share=0.9)
    backend, ours = case.backend(on(cuda_device()))
    assert backend.part == 4
    first = backend.run_epoch(0, nothing)
    assert first.tokens == len(case.text.tokens)
    assert distance(ours, case.twin()[0]) < EXACT


def run(folder: Path, *arguments: str) -> str:
    """Run `w2v train` on a text of ten tokens; return what it says."""
    text = folder / "corpus.txt"
    text.write_text(LINES)
    command = ["train", str(text), "-o", str(folder / "m.safetensors"), *arguments]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.stderr
    return done.stderr


SMALL = ("--dim", "4", "--min-count", "1", "--sample", "0", "--negative", "1", "--window", "1")


def test_training_on_the_gpu_is_training_on_the_cpu(tmp_path: Path) -> None:
    for device in ("cpu", "cuda"):
        (tmp_path / device).mkdir()
    options = (*SMALL, "--epochs", "1", "--threads", "1")
    run(tmp_path / "cpu", *options)
    said = run(tmp_path / "cuda", *options, "--device", "cuda", "--holdout", "0.5")
    assert "trains on Numba's CUDA simulator, 1 stream of windows at once" in said
    run(tmp_path / "cuda", *options, "--device", "cuda", "--streams", "1", "--force")
    here, there = (Model.load(tmp_path / name / "m.safetensors") for name in ("cpu", "cuda"))
    assert distance((there.E, there.Ep), (here.E, here.Ep)) < EXACT
    assert there.history[0]["loss"] == pytest.approx(here.history[0]["loss"], rel=1e-5)
    assert there.provenance["device"] == "cuda"
    assert there.provenance["streams"] == 1


def test_a_checkpoint_goes_from_the_cpu_to_the_gpu_and_back(tmp_path: Path) -> None:
    (tmp_path / "straight").mkdir()
    options = (*SMALL, "--epochs", "3", "--threads", "1")
    run(tmp_path / "straight", *options)
    run(tmp_path, *options, "--stop-after", "1")
    output = tmp_path / "m.safetensors"
    for device, stop in (("cuda", ("--stop-after", "2")), ("cpu", ())):
        checkpoint = shutil.move(checkpoint_path(output), tmp_path / "checkpoint.safetensors")
        command = ["train", "--resume", str(checkpoint), "--device", device, *stop]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.stderr
    ours, exact = Model.load(output), Model.load(tmp_path / "straight" / "m.safetensors")
    assert distance((ours.E, ours.Ep), (exact.E, exact.Ep)) < EXACT
    assert not np.array_equal(ours.E, exact.E)  # one epoch was really another machine's
