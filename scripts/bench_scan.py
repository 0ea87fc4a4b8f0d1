#!/usr/bin/env python
"""How fast a text becomes token ids, and in how much memory.

    python scripts/bench_scan.py CORPUS [--rounds 5] [--min-count 5] [--types 10000000]

Prints medians over rounds that alternate between one thread and two: tokens per second of
processor time (all threads together) and of wall time, for counting alone (split, hash, count,
provisional ids) and for all of load_corpus; for w2v phrases, reading and writing included; then
the peak memory of load_corpus in a fresh process. With --types the same for two made texts of so
many types: four tokens a type, Zipf-like, and every token a type of its own. It trains nothing
and compares with no other program.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from w2v_sgns.corpus import CorpusStats, load_corpus
from w2v_sgns.corpus.counting import count_source
from w2v_sgns.corpus.inputs import open_source
from w2v_sgns.corpus.phrases import find_phrases
from w2v_sgns.corpus.pieces import Pieces

ENOUGH = 1 << 40  # bytes: the ids stay in memory
LETTERS, LINE, AT_ONCE = 6, 1000, 1_000_000  # of a made word; tokens of a line, and made at once
SPREAD = 123_456_791  # without a common factor with 26: rank · SPREAD mod 26^6 has no twins


def count(path: Path, threads: int) -> None:
    """Count with provisional ids, nothing else."""
    pieces = Pieces(ENOUGH)
    count_source(open_source(path), pieces, threads=threads)
    pieces.close()


def load(path: Path, threads: int, min_count: int) -> CorpusStats:
    """Make the vocabulary and the final ids."""
    with load_corpus(path, min_count=min_count, threads=threads, memory_bytes=ENOUGH) as corpus:
        return corpus.stats


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return (processor, wall) seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - processor, time.perf_counter() - wall


def peak_bytes() -> int:
    """Return the largest memory this process has had (Linux)."""
    # Not getrusage: its figure begins with the parent's.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def report_memory(path: Path, min_count: int) -> None:
    """Print what loading adds to the peak of a process that has loaded a tiny text before."""
    tiny = Path(__file__).resolve().parent.parent / "LICENSE"
    load(tiny, 2, 1)
    before = peak_bytes()
    stats = load(path, 2, min_count)
    added = peak_bytes() - before
    rest = added - 4 * stats.tokens_read
    print(
        f"memory     base {before / 1e6:.0f} MB, load_corpus adds {added / 1e6:.0f} MB: "
        f"4 bytes a token ({4 * stats.tokens_read / 1e6:.0f} MB) and {rest / 1e6:.0f} MB, "
        f"{rest / stats.types_read:.0f} bytes a type"
    )


def report_speed(path: Path, min_count: int, rounds: int) -> None:
    """Print medians of alternating rounds."""
    stats = load(path, 2, min_count)  # compiles, and reads the text into the page cache
    print(
        f"{path}: {stats.bytes_read:,} bytes, {stats.lines:,} lines, {stats.tokens_read:,} tokens, "
        f"{stats.types_read:,} types, {stats.types_kept:,} kept"
    )
    seconds: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for _ in range(rounds):
        for threads in (1, 2):
            seconds["counting", threads].append(timed(lambda n=threads: count(path, n)))
            whole = timed(lambda n=threads: load(path, n, min_count))
            seconds["whole load", threads].append(whole)
    for (what, threads), pairs in sorted(seconds.items()):
        processor, wall = (median(times) for times in zip(*pairs, strict=True))
        print(
            f"{what:10} {threads} thread(s): {stats.tokens_read / processor / 1e6:5.1f} million "
            f"tokens per CPU-second, {stats.tokens_read / wall / 1e6:5.1f} per second "
            f"({processor:.3f} s CPU, {wall:.3f} s wall)"
        )
    for what in ("counting", "whole load"):
        ratios = zip(seconds[what, 1], seconds[what, 2], strict=True)
        speedup = median(one[1] / two[1] for one, two in ratios)
        print(f"{what:10} 2 threads are {speedup:.2f} × as fast as one (wall, median of rounds)")


def make_text(path: Path, types: int, repeated: int) -> None:
    """Write every type once, in random order, and 1/rank draws so many times as often among it."""
    generator = np.random.default_rng(1)
    order = generator.permutation(types)
    with path.open("wb") as stream:
        for start in range(0, types, AT_ONCE):
            once = order[start : start + AT_ONCE]
            drawn = types ** generator.random(repeated * once.size)
            ranks = np.concatenate([once, drawn.astype(np.int64) - 1])
            stream.write(made_words(generator.permutation(ranks)))


def made_words(ranks: np.ndarray) -> bytes:
    """Return a word of six letters for each rank, in lines."""
    codes = ranks.astype(np.uint64) * np.uint64(SPREAD) % np.uint64(26**LETTERS)
    text = np.full((ranks.size, LETTERS + 1), ord(" "), np.uint8)
    for place in range(LETTERS):
        text[:, place] = ord("a") + codes % np.uint64(26)
        codes //= np.uint64(26)
    text[LINE - 1 :: LINE, LETTERS] = text[-1, LETTERS] = ord("\n")
    return text.tobytes()


def report_many_types(types: int, rounds: int) -> None:
    """Print speed and memory on texts of many types."""
    with tempfile.TemporaryDirectory() as folder:
        for repeated in (3, 0):
            path = Path(folder) / f"{1 + repeated}-tokens-a-type.txt"
            make_text(path, types, repeated)
            report_speed(path, 1, rounds)
            measure_memory(path, 1)


def measure_memory(path: Path, min_count: int) -> None:
    """Report memory in a process of its own."""
    again = [sys.executable, __file__, str(path), "--memory-only", "--min-count", str(min_count)]
    subprocess.run(again, check=True)


def report_phrases(path: Path, rounds: int) -> None:
    """Print the median speed of reading, joining phrases and writing, on one thread."""

    def work() -> int:
        with load_corpus(path, min_count=1, threads=1, memory_bytes=ENOUGH) as corpus:
            text = find_phrases(corpus)
            for block in text.blocks():
                len(block)
            return corpus.stats.tokens_read

    tokens = work()
    seconds = median(timed(work)[0] for _ in range(rounds))
    print(f"phrases    {tokens / seconds / 1e6:.1f} million tokens per CPU-second, one pass")


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("--types", type=int, default=0, help="of made texts as well")
    parser.add_argument("--memory-only", action="store_true", help="in this process, no speed")
    options = parser.parse_args()
    if options.memory_only:
        report_memory(options.corpus, options.min_count)
        return
    report_speed(options.corpus, options.min_count, options.rounds)
    report_phrases(options.corpus, options.rounds)
    measure_memory(options.corpus, options.min_count)
    if options.types:
        report_many_types(options.types, options.rounds)


if __name__ == "__main__":
    main()
