#!/usr/bin/env python3
"""Words per second of every objective on one text, and the softmax beside sgemm.

    scripts/bench_objectives.py TEXT              all objectives, alternating, on all threads
    scripts/bench_objectives.py --sgemm           the softmax's flop rate, V = 18,000, d = 100

The text is counted once; each round trains every objective for a few seconds from fresh matrices
(batch: noise shared by a batch). Rates are medians over the rounds, of words before subsampling a
second of processor time. The softmax's operations are 6·V·d for each row of a batch, by the
thread's processor time, and so are those of the square float32 products between them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from w2v_sgns import TrainConfig
from w2v_sgns.corpus import load_corpus
from w2v_sgns.kernels.softmax import softmax_step
from w2v_sgns.machine import allowed_threads, single_threaded_blas
from w2v_sgns.training.batches import SoftmaxBackend, true_words
from w2v_sgns.training.setup import cpu_backend, initial_matrices, matrices_for

SETTINGS: dict[str, dict[str, Any]] = {
    "sgns": {},
    "sgns, uniform": {"noise_exponent": 0.0},
    "nce, 0.75": {"objective": "nce", "noise_exponent": 0.75},
    "nce": {"objective": "nce"},
    "nce-sigmoid": {"objective": "nce-sigmoid"},
    "sgns, batch": {"shared_noise": "batch"},
    "nce, batch": {"objective": "nce", "shared_noise": "batch"},
    "softmax": {"objective": "softmax"},
    "inbatch": {"objective": "inbatch"},
}
SQUARE = 1024  # rows and columns of the product beside the softmax


def rates(text: str, rounds: int, seconds: float, threads: int) -> Iterator[str]:
    """Yield a line for each objective."""
    with load_corpus(text, threads=threads, memory_bytes=1 << 32) as corpus:
        words, found = len(corpus.vocabulary), {name: [] for name in SETTINGS}
        yield f"{text}: V {words:,}, {rounds} rounds of {seconds:g} s, {threads} threads"
        for turn in range(rounds + 1):
            for name, settings in SETTINGS.items():
                config = TrainConfig(**settings)
                matrices = initial_matrices(words, config)
                backend, _ = cpu_backend(*matrices, corpus, config, threads=threads, window=None)
                backend.warm_up()
                rate = words_per_second(backend, seconds)
                if turn:  # the first one warms up
                    found[name].append(rate)
    yield "objective     k words/CPU-s   beside sgns"
    for name, values in found.items():
        share = np.median(np.array(values) / np.array(found["sgns"]))
        yield f"{name:13} {np.median(values) / 1000:13,.1f} {share:13.3f}"


def words_per_second(backend: object, seconds: float) -> float:
    """Train for about so long; return words per CPU-second."""
    begun, used, tokens, epoch = time.perf_counter(), time.process_time(), 0, 0
    end = begun + seconds
    while time.perf_counter() < end:
        totals = backend.run_epoch(epoch, lambda totals: time.perf_counter() > end)  # type: ignore[attr-defined]
        tokens, epoch = tokens + totals.tokens, epoch + 1
    return tokens / (time.process_time() - used)


def beside_sgemm(rounds: int, words: int = 18_000, dim: int = 100) -> Iterator[str]:
    """Yield the softmax's share of the product's rate, on one thread."""
    rng, rows = np.random.default_rng(1), SoftmaxBackend.MOST_ROWS
    config = TrainConfig(dim=dim)
    E, Ep = matrices_for(words, config)
    E[:], Ep[:] = rng.normal(0, 0.1, (2, words, dim))
    pairs = np.repeat(np.arange(rows), 6), rng.integers(0, words, 6 * rows)
    positives, square = true_words(*pairs, rows), np.ones((SQUARE, SQUARE), np.float32)
    X, shares = E[:rows].copy(), []
    with single_threaded_blas():
        for _ in range(rounds):
            begun = time.process_time()
            softmax_step(X, Ep, positives, 1e-6)
            ours = 6 * rows * words * dim / (time.process_time() - begun)
            begun = time.process_time()
            square @ square
            square @ square
            theirs = 4 * SQUARE**3 / (time.process_time() - begun)
            shares.append((ours, theirs))
    ours, theirs = np.median(shares, axis=0) / 1e9
    share = np.median([a / b for a, b in shares])
    yield f"softmax V {words:,}, d {dim}, {rows} rows: {ours:.1f} GFLOP/s"
    yield f"sgemm {SQUARE} × {SQUARE}: {theirs:.1f} GFLOP/s; share {share:.0%} (median)"


def main() -> None:
    """Read the options, print lines as they are measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("text", nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--threads", type=int, default=allowed_threads())
    parser.add_argument("--sgemm", action="store_true")
    arguments = parser.parse_args()
    if not arguments.sgemm and arguments.text is None:
        parser.error("name a text, or give --sgemm")
    lines = (
        beside_sgemm(10 * arguments.rounds)
        if arguments.sgemm
        else rates(arguments.text, arguments.rounds, arguments.seconds, arguments.threads)
    )
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
