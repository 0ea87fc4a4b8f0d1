#!/usr/bin/env python3
"""Measure tuning on pairs: a batch of 32,768 (rate, memory), encoding, and an epoch.

    OPENBLAS_NUM_THREADS=1 scripts/bench_pairs.py
    scripts/bench_pairs.py --pairs pairs.tsv -m model.safetensors

The rate of a batch is compared with bare sgemm of the same shapes in the same number: four products
a tile (scores twice, and both gradients). Memory is the peak of a process of its own that tunes
one batch of synthetic pairs, vectors, optimiser and libraries included. Encoding is counted from
text bytes to float32 rows in memory, on one thread, in processor and in wall time.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from w2v_sgns.config import PairConfig, TextOptions
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.kernels.inbatch import COLUMNS, ROWS, in_batch_blocked
from w2v_sgns.text.batches import Examples
from w2v_sgns.text.encoder import Encoder
from w2v_sgns.text.pairing import tune_pairs
from w2v_sgns.text.tokens import Tokens
from w2v_sgns.text.tuning import Tables, Tuned, tune

WORDS, QUERY, DOCUMENT = 50_000, 15, 60  # of the synthetic pairs
BLOCK = 1 << 20  # bytes of text encoded at a time
COLD = 10_000  # bytes encoded first, so that nothing has to be compiled


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Return wall and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def unit_rows(count: int, dim: int, seed: int) -> np.ndarray:
    """Return random directions, float32."""
    rows = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def bare_products(X: np.ndarray, Y: np.ndarray) -> None:
    """Do the same sgemm calls as the blocked softmax, and nothing else."""
    for r in range(0, len(X), ROWS):
        rows = X[r : r + ROWS]
        for c in range(0, len(Y), COLUMNS):
            columns = Y[c : c + COLUMNS]
            scores = rows @ columns.T
            scores = rows @ columns.T
            scores @ columns
            scores.T @ rows


def batch_rate(count: int, dim: int, repeats: int) -> dict[str, float]:
    """Return the share of the bare products' rate, the best of some alternations."""
    X, Y = unit_rows(count, dim, 1), unit_rows(count, dim, 2)
    ours, bare = [], []
    for _ in range(repeats):
        bare.append(timed(lambda: bare_products(X, Y)))
        ours.append(timed(lambda: in_batch_blocked(X, Y, log_scale=math.log(14), columns=True)))
    flops = 8 * count**2 * dim
    wall, cpu = (min(one[i] for one in bare) / min(one[i] for one in ours) for i in (0, 1))
    return {
        "pairs": count,
        "dim": dim,
        "seconds": min(one[0] for one in ours),
        "bare_gflops": flops / min(one[0] for one in bare) / 1e9,
        "share_wall": wall,
        "share_cpu": cpu,
    }


def synthetic(count: int) -> Examples:
    """Return pairs of random words, frequent ones more often."""
    rng = np.random.default_rng(3)

    def texts(length: int) -> Tokens:
        ids = (WORDS * rng.random(count * length) ** 3).astype(np.uint32)
        return Tokens(ids, np.arange(count + 1, dtype=np.int64) * length)

    numbers = np.arange(count)
    return Examples(
        texts(QUERY), numbers, texts(DOCUMENT), numbers, np.zeros((count, 0), np.int64), 0
    )


def peak(count: int, dim: int) -> None:
    """Tune one batch of `count` pairs; print seconds and the peak of this process as JSON."""
    config = PairConfig(batch=count, epochs=1, weights=True)
    rows = np.random.default_rng(1).standard_normal((WORDS, dim)).astype(np.float32)
    start = np.array([-math.log(config.first_temperature)], np.float32)
    tables = Tables([rows], np.ones(WORDS, np.float32), start)
    some = synthetic(count)
    wall, cpu = timed(lambda: tune(tables, some, config))
    bytes_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": wall, "cpu_seconds": cpu, "peak_bytes": bytes_peak}))


def peak_elsewhere(count: int, dim: int) -> dict[str, float]:
    """Run :func:`peak` in a process of its own."""
    command = [sys.executable, __file__, "--peak", "--batch", str(count), "--dim", str(dim)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def encoding_rate(encoder: Encoder, texts: int, words: int) -> dict[str, float]:
    """Return texts a second; their words are drawn by the model's counts, 1 % are unknown."""
    rng = np.random.default_rng(4)
    vocabulary: Vocabulary = encoder.vocabulary
    known = list(vocabulary.iter_bytes())
    counts = vocabulary.counts
    shares = None if counts is None else counts / counts.sum()
    drawn = rng.choice(len(known), texts * words, p=shares)
    tokens = [known[row] for row in drawn]
    for place in rng.integers(0, len(tokens), len(tokens) // 100):
        tokens[place] = b"unknown-%d" % place
    data = b"".join(b" ".join(tokens[i : i + words]) + b"\n" for i in range(0, len(tokens), words))

    def encode() -> None:
        start = 0
        while start < len(data):
            end = data.rfind(b"\n", start, start + BLOCK) + 1
            encoder.encode_tokens(encoder.tokenizer.lines(data[start:end]))
            start = end

    encoder.encode_tokens(encoder.tokenizer.lines(data[: data.rfind(b"\n", 0, COLD) + 1]))
    best = [min(values) for values in zip(*(timed(encode) for _ in range(3)), strict=True)]
    return {
        "dim": encoder.dim,
        "texts_per_second": texts / best[0],
        "texts_per_cpu_second": texts / best[1],
    }


def epoch_seconds(pairs: Path, model: Path) -> dict[str, float]:
    """Return the seconds of an epoch with the default settings, reading and writing left out."""
    stamps: list[float] = []

    def tell(state: Tuned) -> None:
        if state.done == state.pairs:
            stamps.append(time.perf_counter())

    found = tune_pairs(
        pairs,
        model=model,
        epochs=2,
        weights=True,
        loaded=lambda _: stamps.append(time.perf_counter()),
        tell=tell,
    )
    return {"pairs": found.provenance["pairs"]["pairs"], "seconds": stamps[-1] - stamps[-2]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=32_768)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--pairs", type=Path, help="for an epoch; needs -m")
    parser.add_argument("-m", "--model", type=Path, help="for encoding and the epoch")
    parser.add_argument("--peak", action="store_true", help="only tune one batch, tell the peak")
    parser.add_argument("--only", nargs="*", default=["batch", "peak", "encode", "epoch"])
    options = parser.parse_args()
    if options.peak:
        peak(options.batch, options.dim)
        return
    report: dict[str, Any] = {}
    if "batch" in options.only:
        report["batch"] = batch_rate(options.batch, options.dim, options.repeats)
    if "peak" in options.only:
        report["peak"] = peak_elsewhere(options.batch, options.dim)
    if options.model is not None and "encode" in options.only:
        encoder = Encoder.load(options.model, text=TextOptions())
        report["encode"] = encoding_rate(encoder, options.texts, 20)
    if options.model is not None and options.pairs is not None and "epoch" in options.only:
        report["epoch"] = epoch_seconds(options.pairs, options.model)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
