"""What tests share: where things lie, the demo corpus, one trained model, and who may skip."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# Shared machines are slow at times: an example that takes long is no failure. The build machine
# tries the same examples each time; everybody else's tests go on looking for new ones.
settings.register_profile("patient", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("patient")


# Folders and modules of tests whose subject is Python as well as machine code: the second pass
# (scripts/test) runs them without compiling. Other tests join by the marker `interpreted`.
PYTHON_TOO = ("corpus", "objectives", "sampling")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the second pass; skip, with the reason, what needs a missing program."""
    missing = importlib.util.find_spec("gensim") is None
    skip = pytest.mark.skip(reason="needs gensim: pip install -e '.[interop]' (.ci/run does)")
    for item in items:
        subject = item.path.relative_to(ROOT / "tests").parts[0]
        if subject.removeprefix("test_").removesuffix(".py").startswith(PYTHON_TOO):
            item.add_marker("interpreted")
        if missing and item.get_closest_marker("interop"):
            item.add_marker(skip)


def pytest_report_header() -> str:
    """Say which of the three passes this is."""
    for variable, name in (("DISABLE_JIT", "interpreted"), ("ENABLE_CUDASIM", "simulated GPU")):
        if os.environ.get(f"NUMBA_{variable}", "0") not in ("", "0"):
            return f"pass: {name} (NUMBA_{variable})"
    return "pass: compiled"


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> Iterator[None]:
    """Let Ctrl-C mean what it means on a terminal: a job in the background ignores it."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def demo_corpus() -> Path:
    """The demo corpus: 180,000 words, a sentence a line."""
    return ROOT / "data" / "demo-corpus.txt"


@pytest.fixture(scope="session")
def demo_model(demo_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file trained on the demo corpus with the defaults."""
    from w2v_sgns import train

    path = tmp_path_factory.mktemp("demo") / "model.safetensors"
    train(demo_corpus, output=path)
    return path
