#!/usr/bin/env python3
"""The kernel's flop rate beside the sgemm rate of the same core, over dim, window and k.

    scripts/bench_kernels.py                      the whole table, one thread
    scripts/bench_kernels.py --dims 100 --ks 5 --windows 5
    scripts/bench_kernels.py --big                V = 1,000,000 at dim 300
    scripts/bench_kernels.py --threads 2          two threads against one, alternating

Counted are 6·dim operations (score, two updates) for each pair of context and output row, with
the dim the user asked for: padding is never counted. Tokens follow Zipf's law in lines of 1,000.
Rates are medians over rounds in which kernel and sgemm alternate, by the thread's CPU time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from itertools import product

for name in ("OPENBLAS", "OMP", "MKL"):  # one core's sgemm: before NumPy is loaded
    os.environ[f"{name}_NUM_THREADS"] = "1"

import numpy as np

from w2v_sgns import TrainConfig, sampling
from w2v_sgns.kernels.matrices import Matrix, aligned_matrix
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.training.backends import TrainingData
from w2v_sgns.training.hogwild import HogwildBackend
from w2v_sgns.training.schedule import Schedule

VOCABULARY = 70_000
LINE = 1_000  # tokens
SGEMM = 512  # rows and columns


def zipf_data(words: int, tokens: int) -> TrainingData:
    """Return tokens with frequencies ∝ 1 / (rank + 2.7)^1.05, and the tables for them."""
    counts = 1e9 / (np.arange(words) + 2.7) ** 1.05 + 1
    share = np.cumsum(counts / counts.sum())
    drawn = np.searchsorted(share, np.random.default_rng(1).random(tokens))
    ids = np.minimum(drawn, words - 1).astype(np.uint32)
    ids[LINE - 1 :: LINE] |= np.uint32(1 << 31)
    ids[-1] |= np.uint32(1 << 31)
    return TrainingData(
        tokens=ids,
        keep=sampling.keep_thresholds(sampling.keep_probabilities(counts, 1e-4)),
        noise=sampling.pack_alias(*sampling.alias_table(sampling.noise_distribution(counts, 0.75))),
    )


def matrices(words: int, dim: int) -> tuple[Matrix, Matrix]:
    """Return E and Ep with small random numbers: zeros would flatter the caches."""
    pair = aligned_matrix(words, dim), aligned_matrix(words, dim)
    random = np.random.default_rng(0)
    for matrix in pair:
        for start in range(0, words, 4096):
            rows = matrix[start : start + 4096]
            rows[:] = (random.random(rows.shape, np.float32) - 0.5) / dim
    return pair


def backend(
    pair: tuple[Matrix, Matrix], data: TrainingData, threads: int = 1, **settings: int
) -> HogwildBackend:
    """Return a backend that has been compiled and is ready to run epochs."""
    config = TrainConfig(lr=0.025, sample=1e-4, **settings)  # type: ignore[arg-type]
    schedule = Schedule(start=0.025, end=0.025, tokens=len(data.tokens), epochs=1)
    made = HogwildBackend(*pair, data=data, config=config, schedule=schedule, threads=threads)
    made.warm_up()
    return made


def sgemm_rate() -> float:
    """Return the GFLOP/s of one square float32 product on this core."""
    a = np.ones((SGEMM, SGEMM), np.float32)
    begun = time.process_time()
    for _ in range(4):
        a @ a
    return 4 * 2 * SGEMM**3 / (time.process_time() - begun) / 1e9


def kernel_rate(run: HogwildBackend) -> tuple[float, float, float]:
    """Run an epoch; return GFLOP/s, nanoseconds a kept token, raw words a CPU-second."""
    begun = time.process_time()
    totals = run.run_epoch(0, lambda totals: None)
    seconds = time.process_time() - begun
    flops = 6 * run.config.dim * totals.pairs * (run.config.negative + 1)
    return flops / seconds / 1e9, seconds / totals.kept * 1e9, totals.tokens / seconds


def one_setting(run: HogwildBackend, rounds: int) -> str:
    """Measure one setting beside sgemm and return its line."""
    kernel_rate(run)
    rows = [(*kernel_rate(run), sgemm_rate()) for _ in range(rounds)]
    rate, nanoseconds, words, peak = np.median(rows, axis=0)
    share = np.median([row[0] / row[3] for row in rows])
    config = run.config
    return (
        f"{config.dim:4} {config.window:6} {config.negative:3} {rate:8.1f} {peak:8.1f} "
        f"{share:7.1%} {nanoseconds:9.0f} {words / 1e6:9.2f}"
    )


def table(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the header and a line for each setting."""
    yield f"V {arguments.vocab:,}, {arguments.rounds} rounds, 1 thread"
    yield " dim window   k  GFLOP/s    sgemm   share  ns/token  M words/s"
    most = zipf_data(arguments.vocab, 60 * CHUNK)
    for dim in arguments.dims:
        pair = matrices(arguments.vocab, dim)
        for window, k in product(arguments.windows, arguments.ks):
            # about a quarter of a second a run, whatever the setting costs
            work = 6 * dim * (k + 1) * (window + 1) * 0.6 * CHUNK
            chunks = int(np.clip(0.25 * 35e9 / work, 2, 60))
            data = TrainingData(
                tokens=most.tokens[: chunks * CHUNK], keep=most.keep, noise=most.noise
            )
            run = backend(pair, data, dim=dim, window=window, negative=k)
            yield one_setting(run, arguments.rounds)


def scaling(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield wall-clock rates of one thread and of several, alternating."""
    data = zipf_data(arguments.vocab, 200 * CHUNK)
    dim, window, k = arguments.dims[0], arguments.windows[0], arguments.ks[0]
    pair = matrices(arguments.vocab, dim)
    counts = (1, arguments.threads)
    runs = [backend(pair, data, n, dim=dim, window=window, negative=k) for n in counts]
    rates = np.array([[wall_rate(run) for run in runs] for _ in range(arguments.rounds)])
    yield f"V {arguments.vocab:,}, dim {dim}, window {window}, k {k}, {arguments.rounds} rounds"
    for n, rate in zip(counts, np.median(rates, axis=0), strict=True):
        yield f"{n} thread{'s' * (n > 1)}: {rate / 1e6:.2f} M words/s (wall)"
    yield f"ratio {np.median(rates[:, 1] / rates[:, 0]):.2f}"


def wall_rate(run: HogwildBackend) -> float:
    """Run an epoch; return raw words a second of wall time."""
    begun = time.perf_counter()
    totals = run.run_epoch(0, lambda totals: None)
    return totals.tokens / (time.perf_counter() - begun)


def numbers(text: str) -> list[int]:
    """Parse 50,100,300."""
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Read the options, print lines as they are measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dims", type=numbers, default=numbers("50,100,200,300,500"))
    parser.add_argument("--windows", type=numbers, default=numbers("2,5,10"))
    parser.add_argument("--ks", type=numbers, default=numbers("1,5,10,15,20"))
    parser.add_argument("--vocab", type=int, default=VOCABULARY)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--big", action="store_true", help="V = 1,000,000, dim 300, k 5, window 5")
    parser.add_argument("--threads", type=int, default=1, help="compare this many with one")
    arguments = parser.parse_args()
    if arguments.big:
        arguments.vocab, arguments.dims = 1_000_000, [300]
        arguments.windows, arguments.ks = [5], [5]
    if arguments.threads > 1:
        arguments.dims, arguments.windows, arguments.ks = [100], [5], [5]
    lines: Callable[..., Iterator[str]] = scaling if arguments.threads > 1 else table
    for line in lines(arguments):
        print(line, flush=True)


if __name__ == "__main__":
    main()
