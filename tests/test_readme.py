"""The README's commands run as shown, its Python runs, and its tables name the true defaults.

Output is compared by shape: numbers and the words of a table may differ, `…` stands for any lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path

import pytest

from w2v_sgns.config import RunOptions, TrainConfig

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
ELSEWHERE = ("./scripts/", "source ")  # a fresh machine's set-up; test_wheel and CI run it


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@dataclass
class Shown:
    """A command of the README and the output shown under it."""

    command: str
    output: list[str] = field(default_factory=list)


def shown_commands() -> list[Shown]:
    shown: list[Shown] = []
    for line in "".join(blocks("console")).splitlines():
        if line.startswith("$ "):
            shown.append(Shown(line[2:]))
        else:
            shown[-1].output.append(line)
    return shown


def run_here(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of shell with this environment's commands, as a terminal would show it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    environment.pop("W2V_MODEL", None)
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )


@pytest.fixture
def folder(tmp_path: Path, demo_corpus: Path) -> Path:
    """A folder that looks like the checkout to the README's commands."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / demo_corpus.name).write_bytes(demo_corpus.read_bytes())
    return tmp_path


def any_numbers(line: str) -> str:
    """Return a regular expression for the line with other numbers in it, aligned anew."""
    words = [re.escape(word) for word in re.sub(r"\b\d[\d.,]*", "0", line).split(" ")]
    indent = " +" * line.startswith(" ")
    return indent + re.sub(r"(?<!\w)0", r"[\\d.,]+", " +".join(word for word in words if word))


def pattern(lines: list[str]) -> str:
    """Return a regular expression for output of the shown shape."""
    parts = []
    for line in lines:
        if line == "…":
            parts.append(r"(?:.*\n)*?")
            continue
        entry = re.fullmatch(r"  \S+ +-?[\d.]+", line)  # a word and its cosine
        parts.append((r"  \S+ +-?[\d.]+" if entry else any_numbers(line)) + r"\n")
    return "".join(parts)


def test_the_pattern_tells_right_from_wrong() -> None:
    shown = ["king", "  queen     0.9905", "…", "words       1,736"]
    assert re.fullmatch(pattern(shown), "king\n  man  0.1\nwhat\never\nwords       9\n")
    assert not re.fullmatch(pattern(shown), "king\n  man  none\nwords       9\n")
    assert not re.fullmatch(pattern(shown), "king\n  man  0.1\ndims        9\n")


def test_the_commands_run_as_shown(folder: Path) -> None:
    commands = [shown for shown in shown_commands() if not shown.command.startswith(ELSEWHERE)]
    assert len(commands) >= 3
    for shown in commands:
        done = run_here(shown.command, folder)
        assert done.returncode == 0, f"{shown.command}\n{done.stdout}"
        if shown.output:  # on a machine whose kernels are compiled
            said = re.sub(r"(?m)^compiling: .*\n", "", done.stdout)
            assert re.fullmatch(pattern(shown.output), said), f"{shown.command}\n{done.stdout}"


def test_scripts_that_are_named_exist() -> None:
    named = set(re.findall(r"\bscripts/[\w.]+", README))
    assert "scripts/quickstart" in named
    assert not [name for name in named if not os.access(ROOT / name, os.X_OK)]


def test_the_python_runs(folder: Path) -> None:
    (code,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    *neighbours, shape = done.stdout.splitlines()
    assert shape == "(100,)"
    assert [re.fullmatch(r"\w+ \d\.\d\d", line) is not None for line in neighbours] == [True] * 3


def option_rows() -> dict[str, list[str]]:
    """Return the cells of the options tables by the field's name."""
    rows = [line.strip("|").split("|") for line in README.splitlines() if line.startswith("| `-")]
    options = [cells for cells in rows if len(cells) == 4]  # option, default, older tools, meaning
    return {name_of(cells[0]): [cell.strip() for cell in cells[1:]] for cells in options}


def name_of(cell: str) -> str:
    """`-o`, `--output` is the field output."""
    return re.findall(r"--([\w-]+)", cell)[0].replace("-", "_")


def default(setting: Field[object]) -> object:
    assert setting.default is not MISSING
    return setting.default


def test_the_tables_list_every_option() -> None:
    names = {setting.name for cls in (TrainConfig, RunOptions) for setting in fields(cls)}
    assert option_rows().keys() == names | {"quiet", "debug", "dry_run"}


@pytest.mark.parametrize("setting", fields(TrainConfig), ids=lambda setting: setting.name)
def test_the_table_names_the_default(setting: Field[object]) -> None:
    shown, value = option_rows()[setting.name][0], default(setting)
    if isinstance(value, bool):
        assert shown == ("on" if value else "off")
    elif isinstance(value, (int, float)):
        assert float(shown) == value
    else:
        derived = {"min_lr": "lr / 10,000", "noise_exponent": "0.75 or 0"}
        assert shown == (value or derived.get(setting.name, "none"))


def test_the_older_names_are_understood() -> None:
    from w2v_sgns.cli.train import ALIASES

    older_names = {
        name: re.findall(r"`(-[\w-]+)`", cells[1]) for name, cells in option_rows().items()
    }
    shown = {
        older: "--" + name.replace("_", "-")
        for name, olders in older_names.items()
        for older in olders
    }
    assert shown == ALIASES


def test_nothing_is_left_to_measure() -> None:
    assert "MEASURE" not in README
