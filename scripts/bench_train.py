#!/usr/bin/env python3
"""Compares `w2v train` with gensim's corpus_file mode on one corpus, same settings, in one run.

    scripts/bench_train.py CORPUS --analogies questions-words.txt --pairs WS-353.txt

Parts (all, or those named by --parts):
    speed    words per CPU-second of training, one pinned thread; vocabulary, compiling, saving
             left out; the sides alternate
    wall     seconds of the whole process: start, vocabulary, training, saving; sides alternate
    memory   peak of the same processes, beside the bound 2*V*D*4 + 4*tokens + 300 MB
    quality  both written as word2vec binary and judged by gensim's evaluators, a row a seed

Words are all words of the corpus, before subsampling. gensim gets the text cut into lines of
1,000 words. Needs the interop extra. Progress goes to stderr, the report to stdout.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench_sides import run_side

PARTS = ("speed", "wall", "memory", "quality")
LINE_WORDS = 1_000
ALLOWANCE = 300_000_000  # bytes beside matrices and ids: interpreter, libraries, compiled code
W2V = (sys.executable, "-m", "w2v_sgns")
WARM_UP_WORDS = 200_000

Result = dict[str, Any]


@dataclass
class Bench:
    """One comparison: what to train on, how, and where files may lie."""

    options: argparse.Namespace
    folder: Path
    words: int = 0
    report: Result = field(default_factory=dict)

    @property
    def corpus(self) -> Path:
        """The text as given."""
        return Path(self.options.corpus)

    @property
    def lines(self) -> Path:
        """The text cut into short lines, for gensim."""
        return self.folder / "lines.txt"

    @property
    def sides(self) -> tuple[str, ...]:
        """Who runs."""
        return ("ours",) if self.options.without_gensim else ("ours", "gensim")

    def settings(self, seed: int) -> Result:
        """Return the training settings of both sides."""
        names = ("dim", "window", "negative", "sample", "lr", "epochs", "min_count", "threads")
        return {name: getattr(self.options, name) for name in names} | {"seed": seed}


def say(message: str) -> None:
    """Tell how far the run is."""
    print(f"bench_train: {message}", file=sys.stderr, flush=True)


def short_lines(corpus: Path) -> Iterator[list[bytes]]:
    """Yield the words of each line, at most LINE_WORDS at a time."""
    with open(corpus, "rb") as file:
        for line in file:
            words = line.split()
            for start in range(0, len(words), LINE_WORDS):
                yield words[start : start + LINE_WORDS]


def prepare(bench: Bench) -> None:
    """Count the words, cut the lines, and compile everything once on the first of them."""
    warm = bench.folder / "warm.txt"
    with open(bench.lines, "wb") as lines, open(warm, "wb") as small:
        for words in short_lines(bench.corpus):
            line = b" ".join(words) + b"\n"
            lines.write(line)
            if bench.words < WARM_UP_WORDS:
                small.write(line)
            bench.words += len(words)
    say(f"{bench.words:,} words; compiling once")
    run_side("ours-epoch", warm, json.dumps(bench.settings(1)))
    run_side("watch", *ours_command(bench, warm, bench.folder / "warm.safetensors", 1))


def ours_command(bench: Bench, corpus: Path, out: Path, seed: int) -> list[str]:
    """Return the command line of a whole run of ours."""
    flags = [
        part
        for name, value in bench.settings(seed).items()
        for part in ("--" + name.replace("_", "-"), str(value))
    ]
    return [*W2V, "train", str(corpus), "--output", str(out), "--force", "--quiet", *flags]


def gensim_command(bench: Bench, out: Path, seed: int) -> list[str]:
    """Return the command line of a whole run of gensim."""
    script = str(Path(__file__).with_name("bench_sides.py"))
    settings = json.dumps(bench.settings(seed))
    return [sys.executable, script, "gensim-train", str(bench.lines), str(out), settings]


def speed(bench: Bench) -> None:
    """Alternate one epoch of each side; report medians of words per CPU-second."""
    seconds: dict[str, list[float]] = {side: [] for side in bench.sides}
    for turn in range(1, bench.options.alternations + 1):
        for side in bench.sides:
            text = bench.corpus if side == "ours" else bench.lines
            taken = run_side(f"{side}-epoch", text, json.dumps(bench.settings(turn)))
            seconds[side].append(taken["cpu_seconds"])
            say(f"speed {turn}: {side} {bench.words / taken['cpu_seconds']:,.0f} words/CPU-s")
    rates = {side: bench.words / statistics.median(times) for side, times in seconds.items()}
    bench.report["speed"] = {
        "cpu_seconds_an_epoch": seconds,
        "words_per_cpu_second": rates,
        "ratio": rates["ours"] / rates["gensim"] if "gensim" in rates else None,
    }


def whole_runs(bench: Bench, parts: Sequence[str]) -> None:
    """Run both sides whole, alternating; the seeds of --seeds come first and are judged."""
    seeds = bench.options.seeds
    turns = max(
        bench.options.alternations if "wall" in parts else 0,
        len(seeds) if "quality" in parts else 0,
        1,
    )
    used: dict[str, list[Result]] = {side: [] for side in bench.sides}
    for turn in range(turns):
        seed = seeds[turn % len(seeds)]
        for side in bench.sides:
            used[side].append(whole_run(bench, side, seed))
            if "quality" in parts and turn < len(seeds):
                used[side][-1] |= judged(bench, side)
            say(f"whole run {turn + 1} of {turns}, seed {seed}, {side}: {brief(used[side][-1])}")
    bench.report["runs"] = used


def whole_run(bench: Bench, side: str, seed: int) -> Result:
    """Train once in a process of its own; return what it used."""
    if side == "gensim":
        command = gensim_command(bench, bench.folder / "gensim.bin", seed)
        return {"seed": seed} | run_side("watch", *command)
    model = bench.folder / "ours.safetensors"
    used = run_side("watch", *ours_command(bench, bench.corpus, model, seed))
    shape = run_side("export", model, bench.folder / "ours.bin")
    return {"seed": seed, "memory_bound": memory_bound(bench, shape)} | used


def memory_bound(bench: Bench, shape: Result) -> int:
    """Return the bytes a run may take: two padded matrices, the ids, a fixed allowance."""
    padded = -(-shape["dim"] // 16) * 16
    bound: int = 2 * shape["types"] * padded * 4 + 4 * bench.words + ALLOWANCE
    return bound


def judged(bench: Bench, side: str) -> Result:
    """Return the quality of the vectors last written by a side."""
    questions, pairs = bench.options.analogies, bench.options.pairs
    lowered = bench.folder / "questions.txt"
    if questions:
        lowered.write_bytes(Path(questions).read_bytes().lower())
    vectors = bench.folder / f"{side}.bin"
    return run_side("judge", vectors, lowered if questions else "-", pairs or "-")


def brief(run: Result) -> str:
    """Return one run in a line."""
    parts = [f"{run['wall_seconds']:.1f} s wall", f"{run['peak_bytes'] / 1e6:.0f} MB"]
    if "analogies" in run:
        parts.append(f"analogies {100 * run['analogies']:.1f} %")
    if "pairs" in run:
        parts.append(f"pairs {run['pairs']:.3f}")
    return ", ".join(parts)


def print_report(bench: Bench) -> None:
    """Print what was measured, settings first: a speed without its settings says nothing."""
    shown = " ".join(
        f"{name}={value}" for name, value in bench.settings(0).items() if name != "seed"
    )
    print(f"{bench.words:,} words; {shown}; medians where runs repeat")
    if "speed" in bench.report:
        print_speed(bench.report["speed"])
    if "runs" in bench.report:
        print_runs(bench.report["runs"])


def print_speed(report: Result) -> None:
    """Print words per CPU-second and the ratio."""
    print("\nspeed, one pinned thread, training alone")
    for side, rate in report["words_per_cpu_second"].items():
        print(f"  {side:7s} {rate:12,.0f} words/CPU-s")
    if report["ratio"]:
        print(f"  ratio   {report['ratio']:12.1f}")


def print_runs(runs: dict[str, list[Result]]) -> None:
    """Print wall time, memory and quality of the whole runs."""
    print("\nwhole runs: vocabulary, training, saving")
    walls = {
        side: statistics.median(run["wall_seconds"] for run in rs) for side, rs in runs.items()
    }
    for side, side_runs in runs.items():
        peak = max(run["peak_bytes"] for run in side_runs)
        bound = side_runs[0].get("memory_bound")
        limit = f" (bound {bound / 1e6:,.0f} MB)" if bound else ""
        print(f"  {side:7s} {walls[side]:8.1f} s wall   peak {peak / 1e6:,.0f} MB{limit}")
        print_quality([run for run in side_runs if "analogies" in run or "pairs" in run])
    if "gensim" in walls:
        print(f"  ratio   {walls['gensim'] / walls['ours']:8.1f}")


def print_quality(runs: list[Result]) -> None:
    """Print a line a seed and the mean."""
    for run in runs:
        print(f"          seed {run['seed']}: {brief(run)}")
    for name, scale in (("analogies", 100), ("semantic", 100), ("syntactic", 100), ("pairs", 1)):
        values = [scale * run[name] for run in runs if run.get(name) is not None]
        if values:
            print(f"          mean {name} {statistics.mean(values):.3f}")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", help="plain text, words apart by blanks")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--alternations", type=int, default=5, metavar="N")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--analogies", metavar="FILE", help="questions-words.txt")
    parser.add_argument("--pairs", metavar="FILE", help="word, word, score; tabs between")
    parser.add_argument("--without-gensim", action="store_true", help="our side alone")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    for name, default in (("dim", 100), ("window", 5), ("negative", 5), ("epochs", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="of the whole runs")
    parser.add_argument("--sample", type=float, default=1e-4)
    parser.add_argument("--lr", type=float, default=0.025)
    options = parser.parse_args(arguments)
    if "quality" in options.parts and not (options.analogies or options.pairs):
        parser.error("quality needs --analogies FILE or --pairs FILE (or leave it out of --parts)")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts asked for and print the report."""
    options = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-train-") as folder:
        bench = Bench(options, Path(folder))
        prepare(bench)
        if "speed" in options.parts:
            speed(bench)
        if set(options.parts) - {"speed"}:
            whole_runs(bench, options.parts)
    if options.json:
        print(json.dumps({"words": bench.words, "settings": bench.settings(0)} | bench.report))
    else:
        print_report(bench)
    return 0


if __name__ == "__main__":
    sys.exit(main())
