"""The scripts start, refuse bad input in one line, and run their small parts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SHELL = ("scripts/quickstart", "scripts/test", "scripts/check", "scripts/venv.sh", ".ci/run")


@pytest.mark.parametrize("script", SHELL)
def test_shell_scripts_parse(script: str, root: Path) -> None:
    assert subprocess.run(["bash", "-n", root / script]).returncode == 0


@pytest.mark.parametrize("script", [name for name in SHELL if not name.endswith(".sh")])
def test_scripts_can_be_run(script: str, root: Path) -> None:
    assert os.access(root / script, os.X_OK)


def run_quickstart(root: Path, folder: Path, **environment: str) -> str:
    """Run the script where it must fail before it installs anything; return its messages."""
    done = subprocess.run(
        [root / "scripts" / "quickstart"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr


def test_a_wrong_python_is_named(root: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "no-python")
    message = run_quickstart(root, tmp_path, PYTHON=missing, VENV=str(tmp_path / "env"))
    assert f"PYTHON={missing} is no Python 3.11 or newer" in message
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_environment_is_left_alone(root: Path, tmp_path: Path) -> None:
    (tmp_path / "keep.txt").write_text("mine")
    message = run_quickstart(root, tmp_path, PYTHON=sys.executable, VENV=str(tmp_path))
    assert "is no virtual environment" in message
    assert (tmp_path / "keep.txt").read_text() == "mine"


def bench(root: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, root / "scripts" / "bench_train.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_bench_train_wants_a_question_file_for_quality(root: Path, demo_corpus: Path) -> None:
    done = bench(root, demo_corpus, "--parts", "quality")
    assert done.returncode == 2
    assert "--analogies FILE" in done.stderr


def test_bench_train_measures_our_side(root: Path, demo_corpus: Path) -> None:
    parts = ("--parts", "speed", "memory", "--without-gensim", "--alternations", "1")
    done = bench(root, demo_corpus, *parts, "--seeds", "1", "--epochs", "1", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["words"] == len(demo_corpus.read_bytes().split())
    assert report["speed"]["words_per_cpu_second"]["ours"] > 0
    (run,) = report["runs"]["ours"]
    assert 0 < run["peak_bytes"] <= run["memory_bound"]


@pytest.mark.interop
def test_bench_train_judges_both_sides(root: Path, demo_corpus: Path) -> None:
    questions = root / "data" / "demo-analogies.txt"
    arguments = ("--parts", "quality", "--seeds", "1", "--analogies", questions, "--json")
    done = bench(root, demo_corpus, *arguments)
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    for side in ("ours", "gensim"):
        assert runs[side][0]["analogies"] > 0.2, side


@pytest.mark.parametrize("script", ["bench_map.py", "make_map_picture.py"])
def test_scripts_of_the_map_say_what_they_take(script: str, root: Path) -> None:
    command = [sys.executable, root / "scripts" / script, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "--model" in done.stdout) == (0, True)


def test_the_picture_of_the_map_is_a_small_png(root: Path) -> None:
    picture = (root / "data" / "map.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 300_000


def test_gpu_compile_without_its_libraries_is_one_sentence(root: Path, tmp_path: Path) -> None:
    """Whatever is installed: an import hook hides numba-cuda."""
    hide = "import importlib.util as u; f = u.find_spec\n"
    hide += "u.find_spec = lambda n, p=None: None if n == 'numba_cuda' else f(n, p)\n"
    (tmp_path / "sitecustomize.py").write_text(hide)
    done = subprocess.run(
        [sys.executable, root / "scripts" / "gpu_compile.py"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "numba-cuda is not installed; pip install 'w2v-sgns[cuda]'" in done.stderr
