"""scripts/check_kernels.py: a few of its rows, and that each kind of row can fail."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from w2v_sgns.kernels.simd import host_width


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "scripts" / "check_kernels.py"
    spec = importlib.util.spec_from_file_location("check_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_kernels"] = module  # its dataclass looks itself up
    spec.loader.exec_module(module)
    return module


def test_steps_pass(script: ModuleType) -> None:
    rows = list(script.step_rows([host_width()], [5], [17, 100], contexts=[1, 4]))
    assert len(rows) == 2
    assert all(row.passed for row in rows), rows
    assert "float32 NumPy" in str(rows[0])


def test_runs_pass(script: ModuleType) -> None:
    (row,) = script.run_rows([(20, 5, 3)])
    assert row.passed, row


def test_all_wrong_references_are_told_apart(script: ModuleType) -> None:
    rows = list(script.wrong_rows([host_width()]))
    assert len(rows) == len(script.WRONG) + 1 + len(script.WRONG_NCE)
    assert all(row.passed and str(row).endswith(" told apart") for row in rows)


def test_a_right_reference_is_not_told_apart(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from w2v_sgns.objectives.sgns import window_step

    monkeypatch.setattr(script, "WRONG", {"right": window_step})
    assert script.report(script.wrong_rows([host_width()])) == 1
    assert "NOT told apart" in capsys.readouterr().out


def test_a_wrong_kernel_fails_the_steps(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kernel_cases

    right: Callable[..., kernel_cases.StepResult] = kernel_cases.kernel_step

    def forgetful(tile, matrices, contexts, outputs, **options):
        return right(tile, matrices, contexts, outputs[:-1], **options)

    monkeypatch.setattr(kernel_cases, "kernel_step", forgetful)
    (row,) = script.step_rows([host_width()], [5], [20])
    assert not row.passed


@pytest.mark.parametrize("broken", [True, False])
def test_the_exit_code(script: ModuleType, monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    monkeypatch.setattr(script, "DIMS", (8,))
    monkeypatch.setattr(script, "step_rows", lambda *_: iter([script.Row("one", not broken)]))
    monkeypatch.setattr(script, "run_rows", lambda *_: iter([]))
    monkeypatch.setattr(script, "wrong_rows", lambda *_: iter([]))
    assert script.main(["--quick"]) == int(broken)
