"""The built wheel, alone in an empty environment, runs the quickstart's commands."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def run(
    *command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    text = [str(part) for part in command]
    return subprocess.run(text, capture_output=True, text=True, timeout=300, cwd=cwd, env=env)


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout; needs the package registry for the build backend."""
    folder = tmp_path_factory.mktemp("wheel")
    probe = run(sys.executable, *PIP, "download", "--no-deps", "-d", folder / "x", "hatchling")
    if probe.returncode != 0:
        pytest.skip(f"no package registry: {probe.stderr.strip().splitlines()[-1]}")
    built = run(sys.executable, *PIP, "wheel", "--no-deps", "-w", folder, root)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path, root: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    code = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    source = {
        str(path.relative_to(root))
        for path in (root / "w2v_sgns").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert code == source
    assert "w2v_sgns/py.typed" in code
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_quickstart_commands_run_from_the_wheel(
    wheel: Path, demo_corpus: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    bin_folder = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    installed = run(bin_folder / "python", *PIP, "install", wheel)
    assert installed.returncode == 0, installed.stderr

    home = tmp_path / "home"
    home.mkdir()
    clean = {"PATH": os.environ["PATH"], "HOME": str(home)}
    for command in (("train", demo_corpus), ("similar", "king"), ("info", "model.safetensors")):
        done = run(bin_folder / "w2v", *command, cwd=home, env=clean)
        assert done.returncode == 0, done.stderr
    done = run(bin_folder / "w2v", "similar", "king", "--json", cwd=home, env=clean)
    assert "queen" in done.stdout
    assert [path.name for path in home.iterdir() if not path.name.startswith(".")] == [
        "model.safetensors"
    ]
