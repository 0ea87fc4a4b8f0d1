#!/usr/bin/env python3
"""Times reading and writing vectors against gensim, alternating, in one run.

    scripts/bench_formats.py --words 400000 --dim 300 --rounds 3 --folder DIR

Needs the interop extra. Prints the median of the rounds of each side (wall and processor time),
the quotients, and the peak memory of loading, each measured in a process of its own. "and index"
is reading binary and building the table of all words, which gensim always does. The first query of
our own file is timed in the library and as a whole command.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from w2v_sgns import Vectors
from w2v_sgns.corpus.vocabulary import Vocabulary

# What one process does: imports first, then a timed action; prints seconds and peak kilobytes.
TIMED = """
import time
{imports}
def memory(name):
    rows = open("/proc/self/status").read().split()
    return int(rows[rows.index(name + ":") + 1])
idle = memory("VmRSS")
start, cpu = time.perf_counter(), time.process_time()
{action}
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
print(seconds, cpu, memory("VmHWM") - idle)
"""
OURS = "from w2v_sgns import Vectors; import w2v_sgns.formats.export, w2v_sgns.vectors"
THEIRS = "from gensim.models import KeyedVectors"
ACTIONS: dict[str, tuple[str, str]] = {
    "read binary": (
        "v = Vectors.load(r'{folder}/v.bin')",
        "v = KeyedVectors.load_word2vec_format(r'{folder}/v.bin', binary=True)",
    ),
    "and index": (
        "v = Vectors.load(r'{folder}/v.bin'); v.key_to_index['word77']",
        "v = KeyedVectors.load_word2vec_format(r'{folder}/v.bin', binary=True)",
    ),
    "read text": (
        "v = Vectors.load(r'{folder}/v.txt')",
        "v = KeyedVectors.load_word2vec_format(r'{folder}/v.txt')",
    ),
    "write text": (
        "v.save(r'{folder}/ours.txt', force=True)",
        "v.save_word2vec_format(r'{folder}/theirs.txt')",
    ),
}
FILES = {
    "bin": {"read binary", "and index", "write text"},
    "txt": {"read text"},
    "safetensors": {"query"},
}
PREPARE = {
    "write text": (
        "; v = Vectors.load(r'{folder}/v.bin')",
        "; v = KeyedVectors.load_word2vec_format(r'{folder}/v.bin', binary=True)",
    )
}


def measured(imports: str, action: str) -> tuple[float, float, float]:
    """Return the seconds, processor seconds and megabytes an action took in a new process."""
    code = TIMED.format(imports=imports, action=action)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, cpu, kilobytes = map(float, done.stdout.split())
    return seconds, cpu, kilobytes * 1024 / 1e6


def compare(name: str, folder: Path, rounds: int) -> None:
    """Alternate both sides; print medians."""
    sides: list[Callable[[], tuple[float, float, float]]] = []
    for place, imports in enumerate((OURS, THEIRS)):
        before = imports + PREPARE.get(name, ("", ""))[place].format(folder=folder)
        action = ACTIONS[name][place].format(folder=folder)
        sides.append(lambda before=before, action=action: measured(before, action))
    results = [[side() for side in sides] for _ in range(rounds)]
    ours, theirs = (
        [statistics.median(result[side][what] for result in results) for what in range(3)]
        for side in (0, 1)
    )
    print(
        f"{name:12s} ours {ours[0]:6.2f} s ({ours[1]:.2f} CPU) {ours[2]:5.0f} MB   gensim "
        f"{theirs[0]:6.2f} s ({theirs[1]:.2f} CPU) {theirs[2]:5.0f} MB   "
        f"{theirs[0] / ours[0]:.2f} times as fast ({theirs[1] / ours[1]:.2f} by CPU)",
        flush=True,
    )


def first_query(folder: Path, rounds: int) -> None:
    """Time a query of our own file: the library's first answer, and the whole command."""
    action = f"Vectors.load(r'{folder}/v.safetensors').most_similar('word77')"
    library = statistics.median(measured(OURS, action)[0] for _ in range(rounds))
    command = [sys.executable, "-m", "w2v_sgns", "similar", "word77", "-m"]
    whole = f"subprocess.run({[*command, f'{folder}/v.safetensors']!r}, stdout=-3)"
    process = statistics.median(measured("import subprocess", whole)[0] for _ in range(rounds))
    print(f"first query of our own file: {library:.3f} s; `w2v similar` in all {process:.3f} s")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="for the files; else a temporary one")
    parser.add_argument("--only", choices=[*ACTIONS, "query"], action="append")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        rows = np.random.default_rng(1).standard_normal((options.words, options.dim), np.float32)
        words = Vocabulary.from_words(f"word{row}" for row in range(options.words))
        wanted = options.only or [*ACTIONS, "query"]
        rows /= 10
        for suffix, users in FILES.items():
            if users & set(wanted):
                Vectors(rows, words).save(folder / f"v.{suffix}")
        matrix = rows.nbytes / 1e6
        del rows
        print(f"{options.words:,} words x {options.dim}; the matrix takes {matrix:.0f} MB")
        for action in ACTIONS:
            if action in wanted:
                compare(action, folder, options.rounds)
        if "query" in wanted:
            first_query(folder, options.rounds)


if __name__ == "__main__":
    main()
