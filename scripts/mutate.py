#!/usr/bin/env python3
"""Break the program on purpose, one fault at a time: a named test must notice each of them.

    scripts/mutate.py [NAME…]

Works on a copy of the checkout. First the tests named below must pass there as it is; then every
mutation is made alone, and its test must fail. Exit code 1 if one goes unnoticed. Every mutation of
a kernel compiles it anew: some minutes in all.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("w2v_sgns", "tests", "data", "pyproject.toml", "README.md", "scripts")
STEP = "tests/kernels/test_window_step.py"


@dataclass(frozen=True)
class Mutation:
    """In `file`, `old` (which stands there once) becomes `new`; `test` must fail."""

    name: str
    file: str
    old: str
    new: str
    test: str


MUTATIONS = (
    Mutation(
        "sign of the label",
        "w2v_sgns/kernels/step.py",
        "lr if output == 0 else -lr",
        "-lr if output == 0 else -lr",
        f"{STEP}::test_a_step_is_the_references",
    ),
    Mutation(
        "dropped context",
        "w2v_sgns/kernels/hogwild.py",
        "count += int(j != t)",
        "count += int(j != t and j != high - 1)",
        "tests/kernels/test_train_chunk.py",
    ),
    Mutation(
        "update from new values",
        "w2v_sgns/kernels/update.py",
        """        for n in range(tiles):
            deltas(tile, (rows, contexts, offset, g + n * g_tile, dh + n * dh_tile))
        for n in range(tiles):
            inputs(tile, (rows, contexts, offset, g + n * g_tile, outs + 8 * size * n))
""",
        """        for n in range(tiles):
            inputs(tile, (rows, contexts, offset, g + n * g_tile, outs + 8 * size * n))
        for n in range(tiles):
            deltas(tile, (rows, contexts, offset, g + n * g_tile, dh + n * dh_tile))
""",
        f"{STEP}::test_a_step_is_the_references",
    ),
    Mutation(
        "lost repeat",
        "w2v_sgns/kernels/update.py",
        """        for s in range(outputs):
            row = v.b.add(v.pointer(outs, s), offset)
            for n in range(block):
                delta = v.load(dh, v.bytes * (s * block + n))
                v.store(v.b.fadd(v.load(row, v.bytes * n), delta), row, v.bytes * n)
""",
        """        places = [v.b.add(v.pointer(outs, s), offset) for s in range(outputs)]
        old = [[v.load(row, v.bytes * n) for n in range(block)] for row in places]
        for s, row in enumerate(places):
            for n in range(block):
                delta = v.load(dh, v.bytes * (s * block + n))
                v.store(v.b.fadd(old[s][n], delta), row, v.bytes * n)
""",
        f"{STEP}::test_every_output_is_the_target",
    ),
    Mutation(
        "NCE without log kq",
        "w2v_sgns/kernels/step.py",
        "return (LOG2E * log_kq).astype(np.float32)",
        "return (0 * log_kq).astype(np.float32)",
        "tests/kernels/test_forms.py",
    ),
    Mutation(
        "last alias row",
        "w2v_sgns/kernels/windows.py",
        "return np.int64(below(high(bits), np.uint64(count)))",
        "return np.int64(below(high(bits), np.uint64(count - 1)))",
        "tests/test_sampling.py::test_draws_follow_q",
    ),
    Mutation(
        "correlated streams",
        "w2v_sgns/kernels/rng.py",
        "spawn_key=(epoch, chunk)",
        "spawn_key=(epoch, chunk // 2)",
        "tests/test_sampling.py::test_no_two_chunks_share_negatives",
    ),
    Mutation(
        "a chunk is trained twice after a stop",
        "w2v_sgns/training/workers.py",
        "self.next, self._end, self._step = first, end, step",
        "self.next, self._end, self._step = max(0, first - 1), end, step",
        "tests/training/test_resume.py::test_resumed_is_straight",
    ),
    Mutation(
        "two threads share a stripe",
        "w2v_sgns/training/stripes.py",
        "firsts[n], firsts[n + 1])",
        "max(0, firsts[n] - 1), firsts[n + 1])",
        "tests/kernels/test_stripes.py::test_any_number_of_threads_gives_the_same_bits",
    ),
    Mutation(
        "threads in step never see old scores",
        "w2v_sgns/kernels/blocks.py",
        "early = block > 1 and count_word(words, before, low) < REPEATS",
        "early = False",
        "tests/kernels/test_stripes.py::test_the_twin",
    ),
    Mutation(
        "a checkpoint forgets Ep",
        "w2v_sgns/training/checkpoint.py",
        "E[:], Ep[:] = ",
        "E[:], _ = ",
        "tests/training/test_resume.py::test_resumed_is_straight",
    ),
)


def main() -> None:
    """Run the chosen mutations, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a mutation's name")
    wanted = parser.parse_args().names
    chosen = [m for m in MUTATIONS if not wanted or any(name in m.name for name in wanted)]
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)
        for name in NEEDED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        if outcome(copy, *dict.fromkeys(mutation.test for mutation in chosen)) != 0:
            sys.exit("the tests fail without any mutation")
        unnoticed = [mutation.name for mutation in chosen if not noticed(copy, mutation)]
    if unnoticed:
        sys.exit(f"unnoticed: {', '.join(unnoticed)}")


def noticed(copy: Path, mutation: Mutation) -> bool:
    """Make a mutation, run its test, take it back; tell whether the test failed."""
    path = copy / mutation.file
    text = path.read_text()
    if text.count(mutation.old) != 1:
        sys.exit(
            f"{mutation.name}: {mutation.file} holds the text {text.count(mutation.old)} times"
        )
    path.write_text(text.replace(mutation.old, mutation.new))
    code = outcome(copy, mutation.test)
    path.write_text(text)
    print(f"{mutation.name:<40} {'noticed by' if code == 1 else 'UNNOTICED by'} {mutation.test}")
    return code == 1


def outcome(copy: Path, *tests: str) -> int:
    """Run tests in the copy; return pytest's exit code: 0 all pass, 1 some fail."""
    for stale in (copy / "tests").rglob("*.nb?"):  # code of tests that calls kernels: inlined there
        stale.unlink()
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", *tests]
    environment = os.environ | {"PYTHONPATH": str(copy)}
    return subprocess.run(command, cwd=copy, env=environment, stdout=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    main()
