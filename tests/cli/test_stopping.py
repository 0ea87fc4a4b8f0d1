"""Stopping and going on at the command line: what a person types, reads and finds (cases 49-63)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from w2v_sgns import Model, train
from w2v_sgns.cli.app import app
from w2v_sgns.training.events import Event

W2V = (sys.executable, "-m", "w2v_sgns")
CASES = Path(__file__).resolve().parents[1] / "cases"
SMALL = ("--min-count", "1", "--dim", "8", "--threads", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # cases 59-disk-full and 60-interrupt have the same text
    (tmp_path / "corpus.txt").write_bytes((CASES / "45-negative-zero" / "corpus.txt").read_bytes())
    return tmp_path


def w2v(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def names() -> list[str]:
    return sorted(path.name for path in Path().iterdir() if path.name != "corpus.txt")


def test_stop_after_and_resume() -> None:
    done = w2v("train", "corpus.txt", *SMALL, "--epochs", "4", "--stop-after", "2")
    assert done.exit_code == 0, done.output
    lines = {line.split()[0]: line for line in done.stderr.splitlines() if line[:1].strip()}
    assert lines["stopped"] == "stopped     2 of 4 epochs"
    assert lines["saved"].startswith("saved       model.checkpoint.safetensors (")
    assert lines["next"] == "next        w2v train --resume model.checkpoint.safetensors"
    assert names() == ["model.checkpoint.safetensors"]
    done = w2v(*lines["next"].split()[2:])
    assert done.exit_code == 0, done.output
    assert "resumed from model.checkpoint.safetensors: 2 of 4 epochs are done" in done.stderr
    assert names() == ["model.safetensors"]
    assert len(Model.load("model.safetensors").history) == 4


def test_a_checkpoint_of_the_very_end() -> None:
    """Ctrl-C in the last epoch's last moment: what is left is to write the model."""

    def interrupt(event: Event) -> None:
        if event.phase == "epoch" and event.epoch == 2:
            signal.raise_signal(signal.SIGINT)

    given = {"min_count": 1, "dim": 8, "threads": 1, "epochs": 2}
    with pytest.raises(KeyboardInterrupt):
        train("corpus.txt", output="model.safetensors", progress=interrupt, **given)
    done = w2v("train", "--resume", "model.checkpoint.safetensors")
    assert done.exit_code == 0, done.output
    assert "pairs before; nothing was left to train\n" in done.stderr
    assert "written     model.safetensors (" in done.stderr
    assert names() == ["model.safetensors"]


def test_info_tells_a_checkpoint_from_a_model() -> None:
    w2v("train", "corpus.txt", *SMALL, "--stop-after", "1")
    done = w2v("info", "model.checkpoint.safetensors")
    said = "a checkpoint: 1 of 5 epochs are complete; w2v train --resume goes on"
    assert said in " ".join(done.stdout.split())
    assert w2v("train", "--resume", "model.checkpoint.safetensors").exit_code == 0
    assert "checkpoint" not in w2v("info").stdout


def test_what_is_not_said_is_the_checkpoints() -> None:
    """A default of the command line is no change."""
    w2v("train", "corpus.txt", *SMALL, "--stop-after", "1", "--lr", "0.1", "-o", "m.safetensors")
    same = w2v("train", "--resume", "m.checkpoint.safetensors", "--lr", "0.1", "--quiet")
    assert (same.exit_code, same.output) == (0, "")
    model = Model.load("m.safetensors")
    assert (model.config.dim, model.config.lr, model.provenance["threads"]) == (8, 0.1, 1)


def test_a_difference_is_one_line() -> None:
    w2v("train", "corpus.txt", *SMALL, "--stop-after", "1")
    done = w2v("train", "--resume", "model.checkpoint.safetensors", "--dim", "9")
    assert done.exit_code == 1
    assert done.stderr == (
        "w2v: model.checkpoint.safetensors: --dim is 9 here and 8 there; it cannot change on the "
        "way: leave it out, or start anew with --init model.checkpoint.safetensors\n"
    )


def test_40_vectors_cannot_be_resumed() -> None:
    vectors = CASES / "40-no-counts" / "vectors.txt"
    done = w2v("train", "corpus.txt", "--resume", str(vectors))
    assert done.exit_code == 1
    assert done.stderr == (
        f"w2v: {vectors}: this file has no output matrix and no counts; resume needs a "
        f"checkpoint; use --init {vectors}\n"
    )


def test_neither_corpus_nor_checkpoint_is_wrong_usage() -> None:
    done = w2v("train", "--dim", "5")
    assert done.exit_code == 2
    assert "CORPUS" in done.stderr


def test_an_unfinished_run_is_in_the_way() -> None:
    w2v("train", "corpus.txt", *SMALL, "--stop-after", "1")
    done = w2v("train", "corpus.txt", *SMALL)
    assert done.exit_code == 1
    assert "w2v train --resume model.checkpoint.safetensors" in done.stderr
    assert w2v("train", "corpus.txt", *SMALL, "--force").exit_code == 0
    assert names() == ["model.safetensors"]


def test_a_pipe_must_be_given_again() -> None:
    text = Path("corpus.txt").read_bytes()
    first = [*W2V, "train", "-", *SMALL, "--stop-after", "1"]
    stopped = subprocess.run(first, input=text, timeout=120, capture_output=True)
    assert stopped.returncode == 0
    assert b"next        w2v train CORPUS --resume model.checkpoint.safetensors" in stopped.stderr
    done = w2v("train", "--resume", "model.checkpoint.safetensors")
    assert done.exit_code == 1
    assert "give the same text: w2v train CORPUS --resume" in done.stderr
    again = [*W2V, "train", "-", "--resume", "model.checkpoint.safetensors", "--quiet"]
    assert subprocess.run(again, input=text, timeout=120).returncode == 0
    assert names() == ["model.safetensors"]


def test_dry_run_of_a_resumed_run() -> None:
    w2v("train", "corpus.txt", *SMALL, "--stop-after", "1")
    done = w2v("train", "--resume", "model.checkpoint.safetensors", "--dry-run", "--quiet")
    assert done.exit_code == 0, done.output
    assert "nothing was written" in done.stdout
    assert names() == ["model.checkpoint.safetensors"]


def test_holdout_and_log() -> None:
    log = ("--log-json", "log.jsonl", "--holdout", "0.2")
    done = w2v("train", "corpus.txt", *SMALL, *log)
    assert done.exit_code == 0, done.output
    assert "held out    loss " in done.stderr
    lines = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    assert lines[0]["config"]["holdout"] == 0.2
    assert lines[-1]["phase"] == "done"
    refused = w2v("train", "corpus.txt", *SMALL, *log, "-o", "b.safetensors")
    assert refused.exit_code == 1
    assert refused.stderr == "w2v: log.jsonl: exists; use --force to replace it, or another name\n"


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_60_a_hundred_thousand_epochs(first: signal.Signals) -> None:
    """Started by a script in the background, where a shell lets Ctrl-C be ignored."""
    command = [*W2V, "train", "corpus.txt", "-o", "out.txt", "--min-count", "1"]
    command += ["--epochs", "100000", "--workers", "4"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    try:
        assert process.stderr is not None
        shown = b""
        while b"epochs, seed" not in shown:
            shown += process.stderr.readline()
        time.sleep(3)
        process.send_signal(first)
        rest = process.communicate(timeout=30)[1]
    finally:
        process.kill()
    assert process.returncode == 128 + first, rest
    assert b"Traceback" not in rest
    assert b"epochs complete" in rest
    assert b"w2v train --resume out.txt.checkpoint.safetensors" in rest
    assert names() == ["out.txt.checkpoint.safetensors"]
    Model.load("out.txt.checkpoint.safetensors").check_finite()


def test_without_the_compiler_it_says_so() -> None:
    command = [*W2V, "train", "corpus.txt", *SMALL]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    for more in ((), ("--dry-run",)):
        done = subprocess.run(
            [*command, *more], env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 1
        assert done.stderr == (
            "w2v: NUMBA_DISABLE_JIT is set, but the training itself runs compiled only; unset it\n"
        )
    assert names() == []


PRESS = """
import os, signal, sys
class Press:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
from w2v_sgns.__main__ import main
name, sys.argv[1:] = sys.argv[1], ["train", "corpus.txt"]
import builtins
sys.meta_path[0].find_spec = lambda wanted, *_: (
    os.kill(os.getpid(), signal.SIGINT) if wanted == name else None)
main()
"""


@pytest.mark.parametrize("module", ["typer", "w2v_sgns.cli.train"])
def test_ctrl_c_while_the_program_loads(module: str) -> None:
    done = subprocess.run([sys.executable, "-c", PRESS, module], capture_output=True, timeout=60)
    assert done.returncode == 130
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_59_a_device_is_no_output() -> None:
    done = w2v("train", "corpus.txt", *SMALL, "-o", "/dev/full")
    assert done.exit_code == 1
    assert "/dev/full" in done.stderr


def test_59_a_limit_on_file_sizes(folder: Path) -> None:
    """The old file stays, no stray file is left, the message names the file and the fault."""
    Path("out.txt").write_text("1 1\nold 1\n")
    inner = " ".join([*W2V, "train corpus.txt -o out.txt --force --min-count 1 --dim 200"])
    environment = os.environ | {"TMPDIR": str(folder), "HOME": str(folder)}
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 1; {inner}"],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("w2v: out.txt: cannot be written: File too large; nothing was changed")
    assert Path("out.txt").read_text() == "1 1\nold 1\n"
    assert names() == ["out.txt"]


def test_49_hash_seeds_and_order_of_ties(tmp_path: Path) -> None:
    ties = CASES / "49-determinism" / "shuffled-ties.txt"
    digests = set()
    for number, seed in enumerate(("0", "1", "random")):
        output = f"{number}.safetensors"
        command = [*W2V, "train", str(ties), *SMALL, "--seed", "7", "-o", output, "--quiet"]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        assert subprocess.run(command, env=environment, timeout=120).returncode == 0
        digests.add(Path(output).read_bytes())
    assert len(digests) == 1
    words = list(Model.load("0.safetensors").vocabulary)
    assert words == sorted(words)
    other = w2v("train", str(ties), *SMALL, "--seed", "8", "-o", "8.safetensors")
    assert "seed 8," in other.stderr and " 1 thread\n" in other.stderr
    assert Path("8.safetensors").read_bytes() not in digests
