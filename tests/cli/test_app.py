"""The command as a process: what it loads, its exit codes, its behaviour in a pipe."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from small_models import small_model
from typer.testing import CliRunner

import w2v_sgns
from w2v_sgns.cli import app as app_module
from w2v_sgns.cli.app import Verbs, app
from w2v_sgns.cli.options import DebugOption
from w2v_sgns.errors import CorpusError

W2V = (sys.executable, "-m", "w2v_sgns")
QUESTIONS = Path(__file__).resolve().parents[2] / "data" / "demo-analogies.txt"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.safetensors"
    small_model().save(path)
    return path


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "W2V_MODEL"}
    command = [*W2V, *map(str, arguments)]
    settings = {"capture_output": True, "text": True, "timeout": 60, "env": environment}
    return subprocess.run(command, **(settings | options))


def test_version() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"w2v {w2v_sgns.__version__}\n")


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("verb", [(), ("similar",), ("info",)])
def test_help(flag: str, verb: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*verb, flag], terminal_width=80)
    assert done.exit_code == 0
    assert all(name in done.stdout for name in (verb and ("--json",)) or ("similar", "info"))


@pytest.mark.parametrize(
    ("verb", "usage"),
    [
        ("train", "[OPTIONS] [CORPUS…]"),
        ("similar", "[OPTIONS] [WORD…]"),
        ("search", "[OPTIONS] QUERY…"),
        ("step", "[OPTIONS] CENTER TARGET"),
        ("info", "[OPTIONS] [FILE]"),
        ("eval", "[OPTIONS] FILE…"),
    ],
)
def test_a_line_of_usage_names_the_arguments_once(verb: str, usage: str) -> None:
    done = CliRunner().invoke(app, [verb, "--help"], terminal_width=80, prog_name="w2v")
    assert f"Usage: w2v {verb} {usage}" in done.stdout


@pytest.mark.parametrize("verb", ["pairs", "eval"])
def test_help_tells_defaults_that_depend_on_others(verb: str) -> None:
    """What stands in brackets in a help text is taken for markup, and not shown."""
    done = CliRunner().invoke(app, [verb, "--help"], terminal_width=200)
    expected = {"pairs": "for clip 0.07, for dot 1", "eval": "Else 30000 for analogies"}
    assert expected[verb] in " ".join(done.stdout.replace("│", " ").split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["similar", "--help"],
        ["similar", "king", "-m", "FILE"],
        ["similar", "king", "--without", "queen", "-m", "FILE"],
        ["analogy", "king", "queen", "größe", "-m", "FILE"],
        ["odd", "king", "queen", "größe", "-m", "FILE"],
        ["eval", str(QUESTIONS), "-m", "FILE"],
        ["similar", "unknown", "-m", "FILE"],
        ["classes", "2", "-m", "FILE"],
        ["map", "OUT.html", "-m", "FILE"],
        ["info", "FILE", "--digest"],
    ],
    ids=" ".join,
)
def test_no_compiler_is_loaded(arguments: list[str], file: Path) -> None:
    code = (
        "import sys; from w2v_sgns.cli.app import main\n"
        "try: main()\n"
        "finally: print([m for m in ('numba', 'llvmlite', 'tqdm') if m in sys.modules], end='')"
    )
    named = {"FILE": str(file), "OUT.html": str(file.with_name("out.html"))}
    words = [named.get(word, word) for word in arguments]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, timeout=60)
    assert done.stdout.endswith(b"[]"), done


@pytest.mark.parametrize("arguments", [["nonsense"], ["similar"], ["info", "--nonsense"]])
def test_wrong_usage_is_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 2


def test_a_value_that_cannot_be_parsed_is_2_and_one_out_of_range_is_1(file: Path) -> None:
    assert CliRunner().invoke(app, ["similar", "king", "--top", "x"]).exit_code == 2
    done = CliRunner().invoke(app, ["similar", "king", "--top", "0", "-m", str(file)])
    assert (done.exit_code, done.stderr) == (1, "w2v: --top must be at least 1, not 0\n")


def test_an_error_is_one_line_and_debug_shows_where(tmp_path: Path) -> None:
    missing = tmp_path / "a\nb"
    done = run("info", missing)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("w2v: ")
    assert done.stderr.count("\n") == 1
    assert r"a\nb: no such file" in done.stderr
    done = run("info", missing, "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("w2v: ")


def verb_raising(error: BaseException) -> typer.Typer:
    broken = typer.Typer(cls=Verbs, pretty_exceptions_enable=False)
    broken.callback()(lambda: None)

    @broken.command()
    def fail(debug: DebugOption = False) -> None:
        raise error

    return broken


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (CorpusError("a.txt: empty"), 1, "w2v: a.txt: empty"),
        (OSError(28, "No space left on device", "x"), 1, "w2v: x: No space left on device"),
        (OSError("strange"), 1, "w2v: strange"),
        (MemoryError(), 1, "w2v: not enough memory"),
        (MemoryError("needed 9 TB"), 1, "w2v: not enough memory: needed 9 TB"),
        (KeyboardInterrupt(), 130, "w2v: interrupted"),
    ],
)
def test_exit_codes(error: BaseException, code: int, line: str) -> None:
    done = CliRunner().invoke(verb_raising(error), ["fail"])
    assert (done.exit_code, done.stderr) == (code, line + "\n")


def test_a_fault_of_the_program_keeps_its_traceback() -> None:
    done = CliRunner().invoke(verb_raising(ZeroDivisionError("oops")), ["fail"])
    assert isinstance(done.exception, ZeroDivisionError)
    assert "oops" not in done.stderr


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put back what main changes."""
    monkeypatch.setattr(app_module, "_terminated", [])
    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("terminated", [True, False])
def test_terminate_is_143_also_where_a_library_exits_in_its_own_way(
    signals: None, monkeypatch: pytest.MonkeyPatch, terminated: bool
) -> None:
    def app(**_: object) -> None:
        try:
            if terminated:
                signal.raise_signal(signal.SIGTERM)
        finally:
            raise SystemExit(1)

    monkeypatch.setattr(app_module, "app", app)
    with pytest.raises(SystemExit) as caught:
        app_module.main()
    assert caught.value.code == (143 if terminated else 1)


def test_terminate_is_143_and_leaves_by_an_exception(signals: None) -> None:
    with pytest.raises(SystemExit) as caught:
        app_module._terminate(signal.SIGTERM, None)
    assert caught.value.code == 143


def test_a_reader_that_stops_early_hears_nothing(file: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run("similar", "king", "-m", file, stdout=writer, stderr=-1, capture_output=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_told(file: Path) -> None:
    with open("/dev/full", "w") as full:
        done = run("info", file, stdout=full, stderr=-1, capture_output=False)
    assert (done.returncode, done.stderr) == (1, "w2v: No space left on device\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_poor_terminal_does_not_crash(file: Path, encoding: str) -> None:
    environment = dict(os.environ, PYTHONIOENCODING=encoding)
    done = run("similar", "king", "-m", file, "--top", "50", env=environment, text=False)
    assert (done.returncode, done.stderr) == (0, b"")
    # Where only ASCII is promised, typer writes UTF-8 all the same.
    known = {"ascii": "größe".encode(), "latin-1": "größe".encode("latin-1")}
    assert known[encoding] in done.stdout
    assert encoding == "ascii" or rb"\u65e5\u672c" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("arguments", "closed", "printed"),
    [
        (("similar", "-"), "<&-", ""),
        (("similar", "--by-vector"), "<&-", "w2v: stdin: no valid JSON"),
        (("similar", "king"), ">&-", ""),
        (("similar", "king", "--json"), ">&-", ""),
        (("similar", "king"), "<&- >&-", ""),
        (("odd", "king", "queen", "nobody"), ">&- 2>&-", ""),
    ],
)
def test_closed_streams_are_empty_ones(
    file: Path, arguments: tuple[str, ...], closed: str, printed: str
) -> None:
    """No traceback; what cannot be printed is not, what is not there cannot be read."""
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *W2V, *arguments, "-m", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == ""
    assert done.stderr.startswith(printed)
    assert len(done.stderr.splitlines()) == bool(printed)
    assert done.returncode == int(bool(printed) or "nobody" in arguments)
