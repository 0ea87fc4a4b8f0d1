"""The direction of imports, who may print, and one name for a flag, a field and a keyword."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "w2v_sgns"
# From the top down; a part may import its own layer and those below.
LAYERS = (
    {"cli"},
    {"run"},
    {"cluster"},
    {"training", "evaluation", "text", "plots"},
    {"formats", "vectors"},
    {"corpus", "model", "kernels", "objectives", "sampling"},
    {"config", "errors", "escape", "machine", "streams"},
)
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
# A model saves itself and finds neighbours, vectors judge themselves: they call those layers when
# asked, not on import.
CALLED_LATE = {
    ("model", "formats"),
    ("model", "vectors"),
    ("vectors", "evaluation"),
}
ONLY_CLI = {"typer", "rich", "click"}
FILES = sorted(PACKAGE.rglob("*.py"))


@dataclass(frozen=True)
class Import:
    """One imported module and where the import stands."""

    name: str
    line: int
    late: bool  # inside a function, or for type checkers only

    @property
    def top(self) -> str:
        return self.name.split(".")[0]


def part_of(path: Path) -> str:
    """The part of the house a file belongs to: a folder's or a single module's name."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> list[Import]:
    return list(_imports(ast.parse(path.read_text(encoding="utf-8")), late=False))


def _imports(node: ast.AST, *, late: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, late) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"line {child.lineno}: imports name the package in full"
            yield from _imported_from(child, late=late)
        else:
            inner = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            yield from _imports(child, late=late or inner or typing)


def _imported_from(node: ast.ImportFrom, *, late: bool) -> Iterator[Import]:
    """`from w2v_sgns import errors` names a part, `from w2v_sgns.errors import …` does too."""
    if node.module == "w2v_sgns":
        yield from (Import(f"w2v_sgns.{alias.name}", node.lineno, late) for alias in node.names)
    else:
        yield Import(node.module or "", node.lineno, late)


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(PACKAGE.parent)}:{line}"


def test_every_part_has_a_layer() -> None:
    parts = {part_of(path) for path in FILES} - {"__init__", "__main__"}
    assert parts <= RANK.keys(), "name the new part's layer in LAYERS and in the architecture"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    part = part_of(path)
    if part in ("__init__", "__main__"):
        return  # the package's face hands out every layer's names, when asked for them
    for found in imports(path):
        if found.top != "w2v_sgns" or found.name == "w2v_sgns.__version__":
            continue
        target = found.name.split(".")[1]
        if found.late and (part, target) in CALLED_LATE:
            continue
        assert target in RANK, f"{place(path, found.line)} imports the unknown part {target}"
        assert RANK[target] >= RANK[part], (
            f"{place(path, found.line)}: {part} imports {target}, which lies above it"
        )


@pytest.mark.parametrize("path", [path for path in FILES if part_of(path) == "kernels"], ids=str)
def test_kernels_import_numpy_numba_and_each_other_only(path: Path) -> None:
    for found in imports(path):
        allowed = (
            found.top in {"numpy", "numba", "llvmlite"}
            or found.top in sys.stdlib_module_names
            or found.name.startswith("w2v_sgns.kernels")
        )
        assert allowed, f"{place(path, found.line)}: a kernel imports {found.name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_line_prints(path: Path) -> None:
    if part_of(path) == "cli":
        return
    for found in imports(path):
        assert found.top not in ONLY_CLI, f"{place(path, found.line)} imports {found.name}"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "print", f"{place(path, node.lineno)} prints"


def test_tqdm_lives_in_one_module() -> None:
    users = [path for path in FILES if any(found.top == "tqdm" for found in imports(path))]
    assert users == [PACKAGE / "training" / "progress.py"]


def test_no_module_is_called_utils() -> None:
    assert not [path for path in FILES if path.stem in ("utils", "util", "helpers", "misc")]


def test_train_flags_are_the_fields() -> None:
    """A flag, a field, a Python keyword and a JSON key share one name, both ways."""
    from typer.main import get_command

    from w2v_sgns.cli.app import app
    from w2v_sgns.config import RunOptions, TrainConfig

    command = get_command(app).commands["train"]
    options = [parameter for parameter in command.params if parameter.opts[0].startswith("-")]
    flags = {longest(parameter.opts) for parameter in options}
    names = {field.name for cls in (TrainConfig, RunOptions) for field in fields(cls)}
    assert flags - {"quiet", "debug", "help", "dry_run"} == names


def longest(opts: list[str]) -> str:
    """Return the first long spelling as a name: --min-count is min_count."""
    return next(opt for opt in opts if opt.startswith("--"))[2:].replace("-", "_")


def test_no_name_means_two_things() -> None:
    """A setting changes the vectors or it does not: no field stands in both classes."""
    from w2v_sgns.config import RunOptions, TrainConfig

    both = {field.name for field in fields(TrainConfig)} & {f.name for f in fields(RunOptions)}
    assert not both
