"""What `import w2v_sgns` offers, and what it must not load to offer it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import w2v_sgns
from w2v_sgns import config, errors


def loaded_after(code: str, *arguments: str | Path) -> set[str]:
    """Return the modules a fresh interpreter has loaded after running the code."""
    script = f"import sys\n{code}\nprint('\\n' + ' '.join(sys.modules))"
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.splitlines()[-1].split())


def test_the_list_is_sorted_and_each_name_once() -> None:
    assert list(w2v_sgns.__all__) == sorted(set(w2v_sgns.__all__))


def test_every_listed_name_exists() -> None:
    for name in w2v_sgns.__all__:
        assert getattr(w2v_sgns, name).__name__ == name


def test_the_list_is_complete() -> None:
    settings = {name for name in config.__all__ if isinstance(getattr(config, name), type)}
    settings.remove("TextOptions")  # what the others have in common
    expected = {"Model", "Vectors", "Vocabulary", "train", *errors.__all__, *settings}
    assert set(w2v_sgns.__all__) == expected


def test_an_unknown_name_is_an_attribute_error() -> None:
    unknown = "nonsense"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        getattr(w2v_sgns, unknown)


def test_every_error_is_a_w2v_error_and_nothing_else_is_public_there() -> None:
    raised = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert raised == set(errors.__all__)
    assert all(issubclass(getattr(errors, name), errors.W2VError) for name in raised)


def test_the_version_is_the_metadata_version() -> None:
    from importlib.metadata import version

    assert w2v_sgns.__version__ == version("w2v-sgns")


def test_importing_the_package_loads_no_numba() -> None:
    loaded = loaded_after("import w2v_sgns")
    assert not loaded & {"numba", "numpy", "typer", "tqdm"}


RUN_MAIN = """
from w2v_sgns.cli.app import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""


def test_help_loads_no_numba() -> None:
    assert "numba" not in loaded_after(RUN_MAIN, "--help")


@pytest.mark.parametrize(
    "verb",
    [("similar", "king", "--model"), ("info",), ("export", "-", "--limit", "1", "-m")],
    ids=lambda v: v[0],
)
def test_queries_load_no_numba(verb: tuple[str, ...], demo_model: Path) -> None:
    assert "numba" not in loaded_after(RUN_MAIN, *verb, demo_model)
