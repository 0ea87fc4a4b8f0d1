#!/usr/bin/env python3
"""Holds the compiled kernels against float64, for every vector width, and shows the errors.

    scripts/check_kernels.py [--quick]

1. single steps over tiny vocabularies with many repeats, every width, k and dim: the largest
   error beside that of float32 NumPy with the same order of sums;
2. the same for both forms of NCE, with output biases;
3. runs over lines, chunk by chunk, against the twin that replays the same draws;
4. deliberately wrong references: how far each is from the kernel, and whether it is told apart.

Exit code 1 if an error is too large or a wrong reference is not told apart. The first run
compiles about 30 kernels.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from kernel_cases import (
    TOLERANCE,
    StepCase,
    aligned_copy,
    distance,
    kernel_epoch,
    random_matrices,
    random_text,
    run_errors,
    step_difference,
    step_errors,
)
from naive import replay
from naive_steps import WRONG, WRONG_NCE, last_row_never_drawn

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.simd import FORMS, host_width

WIDTHS = (16, 8, 4)
DIMS = (1, 17, 50, 100, 112, 300, 500)
NEGATIVES = (1, 2, 3, 4, 5, 6, 7, 10, 15, 20)
CONTEXTS = (1, 2, 3, 10, 20)
APART = 100 * TOLERANCE  # a wrong reference must be this far away


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    text: str
    passed: bool

    def __str__(self) -> str:
        return f"{'ok  ' if self.passed else 'FAIL'}  {self.text}"


def step_rows(
    widths: Sequence[int] = WIDTHS,
    negatives: Sequence[int] = NEGATIVES,
    dims: Sequence[int] = DIMS,
    *,
    contexts: Sequence[int] = CONTEXTS,
) -> Iterator[Row]:
    """Check single steps: one row for each width, k and dim, over all windows."""
    for width in widths:
        for k in negatives:
            for dim in dims:
                yield step_row(width, k, dim, contexts)


def step_row(width: int, k: int, dim: int, contexts: Sequence[int]) -> Row:
    """Return the worst of several windows, vocabularies and both ways with collisions."""
    cases = [
        StepCase(dim=dim, negatives=k, contexts=count, words=words, collisions=way, scale=0.1)
        for count in contexts
        for words, way in ((3, "keep"), (3, "drop"), (12, "keep"))
    ]
    results = [step_errors(case, width=width, seed=seed) for seed, case in enumerate(cases)]
    error, control, loss = (max(column) for column in list(zip(*results, strict=True))[:3])
    passed = error <= TOLERANCE and loss <= TOLERANCE and all(r.clean for r in results)
    return Row(
        f"step  width {width:2}  k {k:2}  dim {dim:3}   error {error:.1e}   "
        f"float32 NumPy {control:.1e}   loss {loss:.1e}",
        passed,
    )


def form_rows(widths: Sequence[int] = WIDTHS, *, k: int = 5) -> Iterator[Row]:
    """Check single steps of both forms of NCE with output biases, a row for each width."""
    for form in FORMS[1:]:
        for width in widths:
            cases = [
                StepCase(
                    dim=dim,
                    negatives=k,
                    contexts=count,
                    words=words,
                    scale=0.1,
                    objective=form,
                    bias=True,
                )
                for dim in (16, 50, 100)
                for count in (1, 3, 10)
                for words in (3, 12)
            ]
            results = [step_errors(case, width=width, seed=n) for n, case in enumerate(cases)]
            error, control, loss = (max(column) for column in list(zip(*results, strict=True))[:3])
            yield Row(
                f"step  {form:11}  width {width:2}  k {k:2}   error {error:.1e}   "
                f"float32 NumPy {control:.1e}   loss {loss:.1e}",
                error <= TOLERANCE and loss <= TOLERANCE and all(r.clean for r in results),
            )


def run_rows(shapes: Sequence[tuple[int, int, int]], *, width: int | None = None) -> Iterator[Row]:
    """Check runs of two epochs; a shape is (dim, k, window)."""
    for dim, k, window in shapes:
        config = TrainConfig(dim=dim, negative=k, window=window, epochs=2, lr=0.025)
        text = random_text(30, [9, 1, 2, 170, 5, 17, 40] * 2)
        errors = run_errors(text, config, width=width)
        bound = max(TOLERANCE, 2 * errors.float32)
        yield Row(
            f"run   k {k:2}  dim {dim:3}  window {window:2}   error {errors.kernel:.1e}   "
            f"float32 NumPy {errors.float32:.1e}   loss {errors.loss:.1e}",
            errors.kernel <= bound and errors.loss <= 1e-5 and errors.counts and errors.clean,
        )


def wrong_rows(widths: Sequence[int] = WIDTHS) -> Iterator[Row]:
    """Tell wrong steps apart at every width, and wrong noise on a short text."""
    case = StepCase(dim=50, negatives=5, contexts=9, words=3, lr=0.1)
    for name, step in WRONG.items():
        nearest = min(
            step_difference(step, case, width=width, seed=seed)
            for width in widths
            for seed in range(3)
        )
        yield wrong_row(name, nearest)
    yield wrong_row(last_row_never_drawn.__name__, noise_difference())
    case = StepCase(dim=50, negatives=5, contexts=9, words=6, lr=0.1, objective="nce")
    for name, step in WRONG_NCE.items():
        wrong = partial(step, log_kq=case.log_kq)
        yield wrong_row(
            f"nce {name}",
            min(step_difference(wrong, case, width=None, seed=seed) for seed in range(3)),
        )


def wrong_row(name: str, apart: float) -> Row:
    """Return how far a wrong reference is from the kernel."""
    told = apart > APART
    verdict = "told apart" if told else "NOT told apart"
    return Row(f"wrong {name:24} difference {apart:.1e}   {verdict}", told)


def noise_difference() -> float:
    """Return how far a run whose noise misses the last row of the alias table ends."""
    config = TrainConfig(dim=16, epochs=1, lr=0.025)
    text = random_text(6, [30, 20, 9])
    start = random_matrices(6, 16, scale=0.3)
    exact = start[0].astype(float), start[1].astype(float)
    settings = {"keep": text.keep, "noise": text.noise, "config": config}
    replay(text.tokens, *exact, **settings, draw=last_row_never_drawn)
    E, Ep = map(aligned_copy, start)
    kernel_epoch(text, E, Ep, config=config)
    return distance((E, Ep), exact)


def report(rows: Iterator[Row]) -> int:
    """Print rows as they come; return how many did not pass."""
    failed = 0
    for row in rows:
        print(row, flush=True)
        failed += not row.passed
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all parts; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="this machine's width, k 5 only")
    quick = parser.parse_args(arguments).quick
    print(f"this machine's width is {host_width()}; a step may be off by {TOLERANCE:.0e}")
    widths, negatives = ([host_width()], [5]) if quick else (WIDTHS, NEGATIVES)
    failed = report(step_rows(widths, negatives))
    shapes = [(100, 5, 5)] if quick else [(25, 1, 2), (100, 5, 5), (33, 3, 5), (300, 20, 10)]
    failed += report(form_rows(widths))
    failed += report(run_rows(shapes))
    failed += report(wrong_rows(widths))
    print("FAIL" if failed else "PASS", f"{failed} rows failed", sep=": ")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
