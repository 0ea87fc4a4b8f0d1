"""`w2v train` as a person meets it: what it says, what it refuses, how it stops."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from w2v_sgns import Model
from w2v_sgns.cli import train as train_module
from w2v_sgns.cli.app import app
from w2v_sgns.training import needs, progress, trainer

W2V = (sys.executable, "-m", "w2v_sgns")
PACKAGE = Path(train_module.__file__).parents[1]
CASES = Path(__file__).resolve().parents[1] / "cases"
SMALL = ("--min-count", "1", "--dim", "8", "--epochs", "2", "--threads", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder with one corpus."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_bytes((CASES / "45-negative-zero" / "corpus.txt").read_bytes())
    return tmp_path


def w2v(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def trained(*arguments: str) -> Model:
    """Run the command, expect success, return what it wrote."""
    done = w2v("train", "corpus.txt", *SMALL, *arguments)
    assert done.exit_code == 0, done.output
    return Model.load("model.safetensors")


def refused(*arguments: str | Path, code: int = 1) -> str:
    """Run the command, expect one line on stderr and no new file; return the line."""
    before = contents()
    done = w2v("train", *arguments)
    assert (done.exit_code, done.stdout) == (code, ""), done.output
    assert contents() == before
    assert done.stderr.startswith("w2v: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.endswith("\n")
    return done.stderr


def contents() -> dict[str, bytes | None]:
    return {str(p): p.read_bytes() if p.is_file() else None for p in Path().rglob("*")}


def test_noise_words_of_an_objective_that_draws_none() -> None:
    for objective in ("softmax", "inbatch"):
        message = w2v("train", "corpus.txt", "--objective", objective, "--negative", "7")
        assert message.exit_code == 2
        assert f"--objective {objective} draws no noise words" in message.stderr


# ---- what it does


def test_it_trains_writes_and_says_what_comes_next() -> None:
    done = w2v("train", "corpus.txt", *SMALL, "--sample", "0")
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    lines = {line.split()[0]: line for line in done.stderr.splitlines() if line[:1].strip()}
    tokens = len(Path("corpus.txt").read_bytes().split())
    types = len(set(Path("corpus.txt").read_bytes().split()))
    assert f"{tokens:,} tokens of {types} types" in lines["corpus"]
    assert f"{types} types kept" in lines["vocabulary"]
    assert "            0 types dropped by --min-count 1\n" in done.stderr
    assert "the 1–5 (drawn) nearest on either side" in lines["pairs"]
    assert "sgns, dim 8, 5 negatives by count^0.75" in lines["training"]
    model = Model.load("model.safetensors")
    pairs = sum(entry["pairs"] for entry in model.history)
    assert f"{pairs:,} pairs in " in lines["trained"]
    assert "words/s)" in lines["trained"]
    assert f"{model.history[0]['loss']:.4f} in the first epoch" in lines["loss"]
    assert f"{model.history[1]['loss']:.4f} in the last (mean per pair)" in lines["loss"]
    assert "model.safetensors (" in lines["written"]
    command = lines["next"].split(maxsplit=1)[1].split()
    assert command[:2] == ["w2v", "similar"]
    assert w2v(*command[1:]).exit_code == 0, "the advice works"


def test_quiet_says_nothing() -> None:
    done = w2v("train", "corpus.txt", *SMALL, "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert Path("model.safetensors").exists()


def test_lines_of_progress_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    done = w2v("train", "corpus.txt", *SMALL)
    shown = [line for line in done.stderr.splitlines() if line.startswith("epoch ")]
    assert "epoch 2/2  100 %  " in shown[-1]
    for part in ("words/s", "lr 0.0000", "loss ", "left"):
        assert part in shown[-1]
    assert "\r" not in done.stderr


def test_the_flags_reach_the_model() -> None:
    flags = {
        "dim": "12",
        "window": "3",
        "negative": "4",
        "noise_exponent": "0.5",
        "collisions": "drop",
        "sample": "0.01",
        "epochs": "3",
        "lr": "0.1",
        "min_lr": "0.002",
        "min_count": "2",
        "seed": "9",
    }
    words = [
        part for name, value in flags.items() for part in ("--" + name.replace("_", "-"), value)
    ]
    config = trained(*words, "--fixed-window").config.to_dict()
    assert config.pop("fixed_window") is True
    assert {name: str(config[name]) for name in flags} == flags


OLDER = {
    ("--size", "6"): ("dim", 6),
    ("--size=6",): ("dim", 6),
    ("--vector-size", "6"): ("dim", 6),
    ("--ws", "2"): ("window", 2),
    ("--neg", "2"): ("negative", 2),
    ("--ns-exponent", "1"): ("noise_exponent", 1.0),
    ("-t", "0.5"): ("sample", 0.5),
    ("--iter=3",): ("epochs", 3),
    ("--epoch", "3"): ("epochs", 3),
    ("--alpha", "0.025"): ("lr", 0.025),
    ("--min-alpha", "0.001"): ("min_lr", 0.001),
}


@pytest.mark.parametrize("words", OLDER, ids=" ".join)
def test_older_names(words: tuple[str, ...]) -> None:
    name, value = OLDER[words]
    assert getattr(trained(*words).config, name) == value


def test_workers_is_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "allowed_threads", lambda: 4)
    assert trained("--workers", "3").provenance["threads"] == 3
    assert trained("--workers=2", "--force").provenance["threads"] == 2
    assert set(train_module.ALIASES) >= {"--workers", *(words[0].split("=")[0] for words in OLDER)}


def test_help_shows_the_new_names_only() -> None:
    text = CliRunner().invoke(app, ["train", "--help"], terminal_width=200).stdout
    assert "--dim" in text
    assert "--workers" not in text
    assert "--size" not in text


def test_force_replaces() -> None:
    first = trained()
    done = w2v("train", "corpus.txt", *SMALL, "--force", "--seed", "7")
    assert done.exit_code == 0
    assert Model.load("model.safetensors").config.seed == 7 != first.config.seed


def test_debug_shows_the_traceback() -> None:
    done = w2v("train", "corpus.txt", "--dim", "0", "--debug")
    assert done.exit_code == 1
    assert "Traceback" in done.stderr


def test_invalid_utf8_words_train_and_are_found() -> None:
    text = b"caf\xe9 tea cup\ntea caf\xe9 pot\n\xff\xfe tea caf\xe9\n" * 20
    Path("bytes.txt").write_bytes(text)
    done = subprocess.run([*W2V, "train", "bytes.txt", *SMALL], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    query = [*map(os.fsencode, W2V), b"similar", b"caf\xe9", b"--json"]
    found = subprocess.run(query, capture_output=True, timeout=60)
    assert found.returncode == 0, found.stderr
    assert b"tea" in found.stdout
    assert json.loads(found.stdout)


# ---- what it refuses

RANGES = [
    ("--negative", "0"),
    ("--negative", "-1"),
    ("--dim", "0"),
    ("--epochs", "0"),
    ("--lr", "0"),
    ("--lr", "-1"),
    ("--lr", "nan"),
    ("--window", "0"),
    ("--threads", "-1"),
    ("--workers", "-1"),
    ("--sample", "-1"),
    ("--min-count", "0"),
    ("--noise-exponent", "nan"),
    ("--min-lr", "-0.1"),
    ("--seed", "-1"),
    ("--collisions", "redraw"),
    ("--memory", "much"),
]


@pytest.mark.parametrize("words", RANGES, ids=" ".join)
def test_values_out_of_range(words: tuple[str, str]) -> None:
    message = refused("corpus.txt", *words)
    flag = train_module.ALIASES.get(words[0], words[0])
    assert message.startswith(f"w2v: {flag} ")
    assert words[1] in message


def test_a_range_is_checked_before_the_corpus_is_opened() -> None:
    assert "--dim" in refused("missing.txt", "--dim", "0")


CORPORA: list[tuple[str, bytes, tuple[str, ...], tuple[str, ...]]] = [
    ("empty", b"", (), ("empty",)),
    ("blanks", b"  \n\t\n \r\n", (), ("0 tokens",)),
    ("rare", b"a b c\nd e f a\n", (), ("--min-count 5", "6 types", "--min-count 1 keeps 6")),
    ("one-word", b"a a a\na a\n", ("--min-count", "1"), ("1 type", "at least 2")),
    ("lines-of-one", b"a\nb\nc\na\n", ("--min-count", "1"), ("no training pairs",)),
]


@pytest.mark.parametrize("case", CORPORA, ids=lambda case: case[0])
def test_nothing_to_train_on(case: tuple[str, bytes, tuple[str, ...], tuple[str, ...]]) -> None:
    name, data, flags, parts = case
    Path(name).write_bytes(data)
    message = refused(name, *flags)
    assert message.startswith(f"w2v: {name}: ")
    for part in parts:
        assert part in message


def test_a_missing_corpus() -> None:
    assert "nowhere.txt" in refused("nowhere.txt")


def test_a_folder_as_corpus() -> None:
    Path("texts").mkdir()
    assert "texts" in refused("texts")


OUTPUTS = {
    "missing/model.safetensors": "folder",
    "corpus.txt/model.safetensors": "corpus.txt",  # a file as parent: root cannot write it either
    "model.pt": ".safetensors",
    "model": ".safetensors",
    "old.safetensors": "--force",
    "folder.safetensors": "folder.safetensors",
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_outputs_are_checked_before_counting(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("old.safetensors").write_bytes(b"dear")
    Path("folder.safetensors").mkdir()

    def counted(*_: object, **__: object) -> None:
        raise AssertionError("the corpus was read")

    monkeypatch.setattr(trainer, "counted", counted)
    message = refused("corpus.txt", "-o", output)
    assert output in message
    assert OUTPUTS[output] in message


def test_the_output_may_not_be_the_corpus() -> None:
    Path("text.safetensors").write_text("a b\nb a\n")
    message = refused("text.safetensors", "-o", "text.safetensors", "--force")
    assert "would replace an input" in message


@pytest.mark.skipif(not Path("/proc/1").exists(), reason="needs /proc, where nobody makes files")
def test_an_unwritable_folder() -> None:
    message = refused("corpus.txt", "-o", "/proc/model.safetensors")
    assert "/proc" in message


def test_matrices_too_large_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "available_memory", lambda: 200_000_500)
    assert "--dim" in refused("corpus.txt", *SMALL, "--quiet")
    done = w2v("train", "corpus.txt", *SMALL)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith("w2v: E and Ep for ")


@pytest.mark.parametrize("lr", ["1e10", "1e38"])
def test_divergence_writes_nothing(lr: str) -> None:
    settings = ("--quiet", "--lr", lr, "--min-lr", lr, "--epochs", "20", "--sample", "0")
    message = refused("corpus.txt", *SMALL, *settings)
    assert "--lr" in message


def test_a_training_that_saw_no_pair_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """When subsampling drops every pair, the vectors would be random numbers."""
    monkeypatch.setattr("w2v_sgns.sampling.keep_probabilities", lambda counts, sample: 0 * counts)
    message = refused("corpus.txt", *SMALL, "--quiet")
    assert "--sample" in message


def test_a_loop_of_links_as_corpus() -> None:
    Path("loop").symlink_to("loop")
    assert "loop" in refused("loop", "-o", "new.safetensors")


def test_more_threads_than_there_are() -> None:
    done = w2v("train", "corpus.txt", *SMALL, "--threads", "10000")
    assert done.exit_code == 0, done.output
    assert "all that this process may use, 10,000 asked for" in done.stderr


def test_no_line_is_wider_than_80_columns() -> None:
    done = w2v("train", "corpus.txt", *SMALL, "--threads", "1")
    assert max(map(len, done.stderr.splitlines())) <= 80, done.stderr


def test_words_of_control_characters_are_shown_escaped() -> None:
    Path("escapes.txt").write_bytes(b"\x1b[31mred \x1b]0;title\x07 \x1b[31mred\n" * 20)
    done = w2v("train", "escapes.txt", *SMALL, "--force")
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.stderr
    assert "next        w2v info" in done.stderr


def test_a_tiny_text_is_not_thinned_out() -> None:
    """The threshold is at least one token of the text: else every word would count as frequent."""
    tiny = ("tiny.txt", "--min-count", "1", "--epochs", "1", "--dim", "8")
    Path("tiny.txt").write_text("one two\nthree\n")
    done = w2v("train", *tiny)
    assert done.exit_code == 0, done.output
    assert "--sample 0.33: one token exceeds 0.0001 of this text\n" in done.stderr
    assert "trained     2 pairs" in done.stderr


@pytest.mark.parametrize(
    "words",
    [("--nonsense",), ("--dim", "many"), ("--dim",), ("--loss", "nce")],
    ids=" ".join,
)
def test_wrong_usage_is_2(words: tuple[str, ...]) -> None:
    before = contents()
    assert w2v("train", "corpus.txt", *words).exit_code == 2
    assert contents() == before


def test_no_corpus_is_wrong_usage() -> None:
    assert w2v("train").exit_code == 2


# ---- as a process


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs processor affinity")
def test_one_processor_and_eight_threads() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\n"
        "from w2v_sgns.cli.app import main; main()"
    )
    arguments = ["train", "corpus.txt", *SMALL, "--threads", "8", "--quiet"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], timeout=120)
    assert done.returncode == 0
    assert Model.load("model.safetensors").provenance["threads"] == 1


def test_numbas_own_thread_limit_does_not_matter() -> None:
    environment = os.environ | {"NUMBA_NUM_THREADS": "2"}
    command = [*W2V, "train", "corpus.txt", *SMALL, "--threads", "8", "--quiet"]
    assert subprocess.run(command, env=environment, timeout=120).returncode == 0


@pytest.mark.parametrize(
    "code",
    [
        "import w2v_sgns; w2v_sgns.train; w2v_sgns.TrainConfig(dim=5); w2v_sgns.Model",
        "import sys; sys.argv = ['w2v', 'train', '--help']\n"
        "from w2v_sgns.cli.app import main\ntry: main()\nexcept SystemExit: pass",
        "import sys; sys.argv = ['w2v', 'train', 'corpus.txt', '--dim', '0']\n"
        "from w2v_sgns.cli.app import main\ntry: main()\nexcept SystemExit: pass",
    ],
    ids=["import", "help", "a bad value"],
)
def test_the_compiler_is_not_loaded_before_it_is_needed(code: str) -> None:
    code += "\nimport sys; print([m for m in ('numba', 'llvmlite') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.endswith("[]\n"), done


@contextmanager
def default_interrupt() -> Iterator[None]:
    """Children start with Ctrl-C as it is, also where the tests themselves run with it ignored."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)


@contextmanager
def long_training(folder: Path, **options: Any) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a training whose every epoch takes long, on a terminal; yield it and its screen."""
    screen, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))
    command = [*W2V, "train", "long.txt", "--window", "300", "--dim", "300", "--sample", "0"]
    command += ["--epochs", "50", "--lr", "1e-4", "-o", "out/model.safetensors"]
    environment = os.environ | {"TMPDIR": str(folder / "tmp")}
    # 10k: the token ids lie in a temporary file, which must go as well
    with default_interrupt():
        process = subprocess.Popen(
            [*command, "--memory", "10k"], cwd=folder, env=environment, stderr=terminal, **options
        )
    os.close(terminal)
    try:
        yield process, screen
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def read_until(screen: int, text: bytes, seconds: float = 60) -> bytes:
    """Read a terminal until a text has appeared, or to the end."""
    shown = b""
    until = time.monotonic() + seconds
    while text not in shown and time.monotonic() < until:
        if not select.select([screen], [], [], 0.1)[0]:
            continue
        try:
            block = os.read(screen, 4096)
        except OSError:  # the other side is closed
            break
        if not block:
            break
        shown += block
    return shown


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_stops_the_training(name: str, code: int, folder: Path, demo_corpus: Path) -> None:
    (folder / "out").mkdir()
    (folder / "tmp").mkdir()
    text = demo_corpus.read_bytes().replace(b"\n", b" ") * 4
    (folder / "long.txt").write_bytes(text)
    with long_training(folder) as (process, screen):
        shown = read_until(screen, b"words/s")
        assert b"epoch 1/50" in shown, shown
        time.sleep(0.5)
        sent = time.monotonic()
        process.send_signal(getattr(signal, name))
        rest = read_until(screen, b"\0 never", seconds=20)
        status = process.wait(timeout=20)
        took = time.monotonic() - sent
    assert status == code, rest
    assert took < 10, "about a second, and a busy machine; the training would take minutes"
    assert b"Traceback" not in rest
    assert (b"w2v: interrupted" in rest) == (name == "SIGINT")
    assert b"w2v train --resume out/model.checkpoint.safetensors" in rest
    assert [path.name for path in (folder / "out").iterdir()] == ["model.checkpoint.safetensors"]
    left = [p for p in (folder / "tmp").rglob("*") if p.is_file()]
    assert not left, left


def test_ctrl_c_while_the_kernels_compile(tmp_path: Path, demo_corpus: Path) -> None:
    """The compiler cannot be interrupted, the process can: within a second, nothing written."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    with default_interrupt():
        process = subprocess.Popen(
            [*W2V, "train", str(demo_corpus), "-o", "m.safetensors"],
            cwd=tmp_path,
            env=environment,
            stderr=subprocess.PIPE,
        )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith(b"compiling"), line
        time.sleep(0.3)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(timeout=30) == 130, rest
        assert time.monotonic() - sent < 8, "a second, and a busy machine"
        assert b"w2v: interrupted" in rest
        assert not (tmp_path / "m.safetensors").exists()
    finally:
        process.kill()
        process.communicate()


def test_a_read_only_package_without_a_home(tmp_path: Path, demo_corpus: Path) -> None:
    """Case 63: no folder beside the package or in the home takes the compiled code."""
    package = tmp_path / "site" / "w2v_sgns"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("in the way, for root as well")
    (tmp_path / "home").write_text("no folder")
    (tmp_path / "tmp").mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": str(tmp_path / "site"),
    }
    done = subprocess.run(
        [*W2V, "train", str(demo_corpus), "--epochs", "1", "-o", "m.safetensors"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.safetensors").exists()
