"""Compiled code on disk: never stale after an edit, and there is always a place, or none at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HELPER = """
from numba import njit

@njit(inline="always")
def number():
    return {number}
"""
MAIN = """
from w2v_sgns.kernels.compile import compiled
from tiny.helper import number

@compiled
def answer(x):
    return x + number()
"""
RUN = """
import sys, tempfile
if len(sys.argv) > 1:
    tempfile.tempdir = sys.argv[1]
from w2v_sgns.kernels.compile import when_compiling
from tiny.main import answer
compilations = []
with when_compiling(lambda: compilations.append(1)):
    first, second = answer(1), answer(2)
assert second == first + 1
answer(3.5)  # another signature, nobody listens
print(first, len(compilations))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "lib" / "tiny"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "main.py").write_text(MAIN)
    (folder / "helper.py").write_text(HELPER.format(number=41))
    return folder


def run(package: Path, *arguments: str, **environment: str) -> tuple[int, int]:
    """Return the package's answer for 1, and how many compilations were announced."""
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(package.parent), str(root)])
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, *arguments],
        env=clean | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer, compilations = done.stdout.split()
    return int(answer), int(compilations)


def cached(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.nb[ci]"))


def test_an_edited_helper_compiles_its_callers_again(package: Path) -> None:
    assert run(package) == (42, 1)
    assert cached(package / "__pycache__")
    assert run(package) == (42, 0), "from the disk, and nothing is announced"
    (package / "helper.py").write_text(HELPER.format(number=99))
    assert run(package) == (100, 1)
    assert run(package) == (100, 0)
    (package / "another.py").write_text("x = 1\n")
    assert run(package) == (100, 1), "a new module counts as an edit"


def blocked(place: Path) -> Path:
    """Make a file where a folder is wanted: unwritable for root as well."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("")
    return place / "below"


def test_without_a_writable_package_the_home_is_used(package: Path, tmp_path: Path) -> None:
    blocked(package / "__pycache__")
    home = tmp_path / "home"
    home.mkdir()
    assert run(package, HOME=str(home)) == (42, 1)
    assert cached(home / ".cache" / "w2v-sgns")
    assert run(package, HOME=str(home)) == (42, 0)


def test_without_a_home_the_temporary_folder_is_used(package: Path, tmp_path: Path) -> None:
    blocked(package / "__pycache__")
    home = blocked(tmp_path / "file")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    places = {"HOME": str(home), "TMPDIR": str(temporary)}
    assert run(package, **places) == (42, 1)
    assert cached(temporary)
    assert run(package, **places) == (42, 0)


def test_without_any_place_it_still_works(package: Path, tmp_path: Path) -> None:
    blocked(package / "__pycache__")
    nowhere = blocked(tmp_path / "file")
    for _ in range(2):
        assert run(package, str(nowhere), HOME=str(nowhere)) == (42, 1)
    assert not cached(tmp_path)


def test_the_users_choice_comes_first(package: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    assert run(package, NUMBA_CACHE_DIR=str(chosen)) == (42, 1)
    assert cached(chosen)
    assert not cached(package)


def test_without_compilation_the_function_is_python(package: Path) -> None:
    assert run(package, NUMBA_DISABLE_JIT="1") == (42, 0)
    assert not cached(package)
