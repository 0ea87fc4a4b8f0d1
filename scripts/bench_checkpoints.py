#!/usr/bin/env python3
"""What checkpoints cost: the time that training stands still for one, at 70,000 words.

Trains on a random text of so many words and times each checkpoint from the moment it is due to the
moment training goes on: the wait for running chunks, the check for NaN, the writing and flushing.

    scripts/bench_checkpoints.py --words 70000 --dim 100
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from w2v_sgns import train
from w2v_sgns.training.events import Event
from w2v_sgns.training.keeper import Keeper
from w2v_sgns.training.run import Run


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=70_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=4_000_000)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3.0, help="between checkpoints")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        corpus = Path(place) / "corpus.txt"
        write_text(corpus, arguments.words, arguments.tokens)
        halts = standstills(corpus, arguments)
    for name, seconds in (("longest", max(halts)), ("median", median(halts))):
        print(
            f"{name:<8} standstill {seconds:.3f} s: {100 * seconds / (60 + seconds):.2f} % of the "
            "time with a checkpoint a minute"
        )


def write_text(path: Path, words: int, tokens: int) -> None:
    """Write every word five times, and others by Zipf's law, twenty a line."""
    rng = np.random.default_rng(1)
    ids = np.concatenate([np.repeat(np.arange(words), 5), rng.zipf(1.2, tokens) % words])
    rng.shuffle(ids)
    with path.open("w") as stream:
        for start in range(0, len(ids), 20):
            stream.write(" ".join(f"w{n}" for n in ids[start : start + 20]) + "\n")


def standstills(corpus: Path, arguments: argparse.Namespace) -> list[float]:
    """Return for each checkpoint the seconds from the end of one piece to the next one's start.

    The wait for the chunks under way counts: from the request on.
    """
    halts: list[float] = []
    asked = 0.0
    right_due, right_piece = Keeper.is_due, Run._piece

    def is_due(keeper: Keeper) -> bool:
        nonlocal asked
        due = time.monotonic() - keeper._last > arguments.seconds
        asked = asked or due * time.monotonic()
        return due

    def piece(run: Run, tick: object) -> object:
        nonlocal asked
        if asked:
            halts.append(time.monotonic() - asked)
            asked = 0.0
        return right_piece(run, tick)

    def watch(event: Event) -> None:
        if event.phase == "checkpoint":
            assert event.path is not None
            print(f"checkpoint of {event.path.stat().st_size / 1e6:.0f} MB", file=sys.stderr)

    Keeper.is_due, Run._piece = is_due, piece
    try:
        train(
            corpus,
            dim=arguments.dim,
            epochs=3,
            threads=arguments.threads,
            sample=0,
            output=corpus.with_name("m.safetensors"),
            progress=watch,
        )
    finally:
        Keeper.is_due, Run._piece = right_due, right_piece
    return halts


if __name__ == "__main__":
    main()
