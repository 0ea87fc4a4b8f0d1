"""What only the GPU's backend has: texts in pieces, its own settings, `w2v train --device cuda`.

On Numba's simulator, with NUMBA_ENABLE_CUDASIM=1.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import distance, random_text
from test_backend_contract import EXACT, Case, config, nothing, sparse_text
from typer.testing import CliRunner

from w2v_sgns import Model
from w2v_sgns.cli.app import app
from w2v_sgns.kernels.windows import CHUNK, WORD
from w2v_sgns.training.checkpoint import checkpoint_path, read_checkpoint
from w2v_sgns.training.cuda.backend import CudaBackend, next_size
from w2v_sgns.training.cuda.memory import Memory
from w2v_sgns.training.cuda.view import View
from w2v_sgns.training.devices import cuda_device
from w2v_sgns.training.setup import backend_for
from w2v_sgns.training.state import Frozen, State

pytestmark = pytest.mark.simulated
LINES = "a b\nc d a\nb c\nd a\nb d\n"


def on(device: Any) -> Any:
    """Return a factory of backends on a device."""

    def make(*arguments: Any, workers: int = 1, **settings: Any) -> CudaBackend:
        return CudaBackend(*arguments, streams=workers, device=device, **settings)

    return make


def cpu(*arguments: Any, workers: int = 1, **settings: Any) -> Any:
    return backend_for(*arguments, threads=workers, **settings)


def test_a_text_larger_than_the_memory_comes_in_pieces() -> None:
    case = Case(text=sparse_text(2, 2), config=config(window=3), kept_share=0.9)
    backend, ours = case.backend(on(cuda_device()))
    assert backend.resident
    backend.resident = False
    backend.run_epoch(0, nothing)
    assert distance(ours, case.twin()[0]) < EXACT


def test_gradients_that_do_not_fit_into_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """They wait in the device's, behind the sums of several tiles of outputs."""
    monkeypatch.setattr("w2v_sgns.kernels.cuda.shape.MOST_SHARED", 0)
    case = Case(text=random_text(5, [4]), config=config(dim=24, window=2, negative=11))
    backend, ours = case.backend(on(cuda_device()))
    shape = backend.work.shape
    assert shape.shared == 0
    assert shape.tiles == 2
    backend.run_epoch(0, nothing)
    assert distance(ours, case.twin()[0]) < EXACT


def test_slow_parts_become_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a run can be stopped soon; nothing is trained twice or left out."""
    monkeypatch.setattr("w2v_sgns.training.cuda.backend.LAUNCHES", 1)
    monkeypatch.setattr("w2v_sgns.training.cuda.backend.FIRST", 2)
    monkeypatch.setattr("w2v_sgns.training.cuda.backend.IN_FLIGHT", 1)
    case = Case(text=sparse_text(2, 1), config=config(window=2), kept_share=0.9)
    backend, ours = case.backend(on(cuda_device()))
    assert backend.part == 2
    assert backend.run_epoch(0, nothing).tokens == len(case.text.tokens)
    assert distance(ours, case.twin()[0]) < EXACT
    assert next_size(2, seconds=0.3, most=8) == 2
    assert next_size(2, seconds=0.6, most=8) == next_size(1, seconds=9, most=8) == 1
    assert next_size(2, seconds=0.01, most=8) == 4
    assert next_size(8, seconds=0.01, most=8) == 8


@pytest.mark.parametrize("outputs", [False, True])
def test_frozen_rows_go_back_after_each_chunk(
    outputs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after each part alone, in which they would move far and take other rows along."""
    monkeypatch.setattr("w2v_sgns.training.cuda.backend.LAUNCHES", 1)
    monkeypatch.setattr("w2v_sgns.training.cuda.backend.FIRST", 2)
    case = Case(text=sparse_text(2, 2), config=config(window=3, lr=0.5), kept_share=0.9)
    rows = np.unique(case.text.tokens[CHUNK - 2 : CHUNK + 2] & WORD).astype(np.int64)[:2]
    results = []
    for make in (on(cuda_device()), cpu):
        backend, (E, Ep) = case.backend(make)
        backend.freeze(Frozen(State(E=E, Ep=Ep), rows, outputs=outputs))
        backend.run_epoch(0, nothing)
        for matrix, before in zip((E, Ep)[: 1 + outputs], case.start, strict=False):
            assert np.array_equal(matrix[rows], before[rows])
        results.append((E, Ep))
    assert distance(*results) < EXACT


def test_a_run_that_is_to_end_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The part under way is trained and counted, however late its end comes."""
    case = Case(text=sparse_text(3, 1), config=config(window=2), kept_share=0.9)
    backend, _ = case.backend(on(cuda_device()))
    monkeypatch.setattr(backend, "part", 1)
    asked = []

    def stop(totals: Any) -> bool:
        asked.append(totals)
        return True

    totals = backend.run_epoch(0, stop)
    assert len(asked) == 1
    assert totals.next_chunk == 2
    assert totals.tokens == 2 * CHUNK


def run(folder: Path, *arguments: str) -> str:
    """Run `w2v train` on a text of eleven tokens; return what it says."""
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
    options = (*SMALL, "--epochs", "1", "--threads", "1", "--holdout", "0.4")
    run(tmp_path / "cpu", *options)
    said = run(tmp_path / "cuda", *options, "--device", "cuda")
    assert "on Numba's CUDA simulator, 1 stream of windows at once" in said
    assert "            1 stream on a GPU\n" in said
    here, there = (Model.load(tmp_path / name / "m.safetensors") for name in ("cpu", "cuda"))
    assert distance((there.E, there.Ep), (here.E, here.Ep)) < EXACT
    assert there.history[0]["loss"] == pytest.approx(here.history[0]["loss"], rel=1e-5)
    assert there.history[0]["heldout_loss"] == pytest.approx(here.history[0]["heldout_loss"], 1e-5)
    assert there.provenance["device"] == "cuda"
    assert there.provenance["streams"] == 1


def test_a_dry_run_tells_streams_and_memory(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text(LINES)
    command = ["train", str(tmp_path / "corpus.txt"), *SMALL, "--device", "cuda", "--dry-run"]
    said = CliRunner().invoke(app, command).output
    assert "268 MB of the memory of Numba's CUDA simulator\n" in said
    assert "of training on 1 stream; nothing was written" in said
    assert list(tmp_path.iterdir()) == [tmp_path / "corpus.txt"]


def test_a_checkpoint_goes_from_the_cpu_to_the_gpu_and_back(tmp_path: Path) -> None:
    (tmp_path / "straight").mkdir()
    options = (*SMALL, "--epochs", "3", "--threads", "1")
    run(tmp_path / "straight", *options)
    run(tmp_path, *options, "--stop-after", "1")
    output = tmp_path / "m.safetensors"
    for device, stop in (("cuda", ("--stop-after", "2")), ("cpu", ())):
        checkpoint = str(checkpoint_path(output))
        command = ["train", "--resume", checkpoint, "--device", device, *stop]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.stderr
    ours, exact = Model.load(output), Model.load(tmp_path / "straight" / "m.safetensors")
    assert distance((ours.E, ours.Ep), (exact.E, exact.Ep)) < EXACT
    assert ours.provenance["device"] == "cpu, cuda"


class CudaAPIError(RuntimeError):
    """As numba.cuda's, which the simulator never raises."""


def test_a_failing_gpu_is_one_sentence_and_leaves_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the second epoch every call fails from some moment on, the download included."""
    text, output = tmp_path / "corpus.txt", tmp_path / "m.safetensors"
    text.write_text(LINES)
    launch = CudaBackend._launch

    def broken(*arguments: Any) -> None:
        raise CudaAPIError("[700] Call to cuEventSynchronize: an illegal address")

    def failing(backend: CudaBackend, memory: Memory, epoch: int, view: View) -> Any:
        if epoch == 1:
            monkeypatch.setattr(Memory, "download", broken)
            broken()
        return launch(backend, memory, epoch, view)

    monkeypatch.setattr(CudaBackend, "_launch", failing)
    command = ["train", str(text), "-o", str(output), *SMALL, "--epochs", "3", "--device", "cuda"]
    done = CliRunner().invoke(app, [*command, "--checkpoint-every", "0.0001", "--quiet"])
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "--device cuda: the GPU failed ([700] Call to" in done.stderr
    assert "the last checkpoint is as it was: go on with --resume" in done.stderr
    assert read_checkpoint(checkpoint_path(output)).place["epoch"] == 1
    assert not output.exists()


def test_the_check_of_a_card_runs(root: Path, tmp_path: Path) -> None:
    """The script's tiny version: all its parts work, whatever the times say."""
    text, questions = tmp_path / "corpus.txt", tmp_path / "questions.txt"
    text.write_text(LINES)
    questions.write_text(": letters\na b c d\n")
    command = [root / "scripts" / "gpu_check.py", "--text", text, "--analogies", questions]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    table = done.stdout
    assert "WRONG" not in table
    for part in (
        "one stream, sgns",
        "not lost_repeats",
        "6 tokens, batches",
        "copy of 1 MB",
        "384 arrived",
        "V=30, 1 streams (the rule's)",
        "V=30, batches, 1 streams (the rule's)",
        "cuda, 1 streams, 1 epochs",
        "loss of the GPU",
        "analogies of the GPU",
    ):
        assert part in table, part


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--text", "nowhere.txt"], "nowhere.txt: no such file"),
        (["--analogies", __file__], "--analogies needs --text to train on"),
    ],
)
def test_the_check_of_a_card_refuses_at_once(root: Path, arguments: list[str], said: str) -> None:
    """Before minutes of measuring."""
    command = [sys.executable, root / "scripts" / "gpu_check.py", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr.endswith(f"error: {said}\n")


def test_the_check_of_a_card_keeps_what_it_found(root: Path, tmp_path: Path) -> None:
    """Where the text cannot be trained on: the table ends with the reason."""
    text = tmp_path / "corpus.txt"
    text.write_text("a a a\n")
    command = [sys.executable, root / "scripts" / "gpu_check.py", "--text", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "copy of 1 MB" in done.stdout
    assert "needs at least 2 different words" in done.stdout.splitlines()[-1]
    assert "Traceback" not in done.stderr
