#!/usr/bin/env python3
"""Mutates valid files of vectors and checks what reading them does.

    scripts/fuzz_formats.py --count 10000 --seed 1

Each mutation cuts, flips, splices or lies in the header; one file in five is packed after that.
Reading must give rows that fit their words, or a FormatError of one line that names the file (a
ResourceError where what is packed promises more than the disk has room for); any other exception,
and memory beyond what the bytes could hold, is a finding: printed with the seed that makes it, exit
code 1.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import lzma
import random
import struct
import sys
import tempfile
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import FormatError, ResourceError
from w2v_sgns.formats import load
from w2v_sgns.formats.export import format_named, write
from w2v_sgns.formats.rows import Loaded
from w2v_sgns.model import Model

WORDS = ["king", "queen", "größe", "naïve", "日本", "x" * 50, "7", "</s>"]
SLACK = 4 << 20  # bytes that reading anything may take
XZ_SLACK = 12 << 20  # ... where the dictionary of xz comes on top
LIES = [b"0", b"1", b"9", b"-1", b"3000000000", b"99999999999999", b"4294967297"]


def seeds(folder: Path) -> dict[str, bytes]:
    """Return valid files of every format that reads without an extra."""
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((len(WORDS), 6)).astype(np.float32)
    words = Vocabulary.from_words(WORDS, range(80, 0, -10))
    files = {}
    for name in ("text", "binary", "glove", "safetensors"):
        write(folder / "seed", matrix, words, kind=format_named(name, ""), force=True)
        files[name] = (folder / "seed").read_bytes()
    for dtype in ("float16", "int8"):
        kind = format_named("safetensors", "")
        write(folder / "seed", matrix, words, kind=kind, dtype=dtype, force=True)
        files[dtype] = (folder / "seed").read_bytes()
    write(folder / "file.npy", matrix, words)  # its words stay beside the mutated file
    files["npy"] = (folder / "file.npy").read_bytes()
    config = TrainConfig(dim=6)
    Model(matrix, matrix, vocabulary=words, config=config).save(folder / "m.safetensors")
    files["model"] = (folder / "m.safetensors").read_bytes()
    files["fasttext"] = fasttext(matrix, WORDS)
    files["text.gz"] = gzip.compress(files["text"], mtime=0)
    files["binary.bz2"] = bz2.compress(files["binary"])
    files["glove.xz"] = lzma.compress(files["glove"])
    return files


def fasttext(matrix: np.ndarray, words: list[str], buckets: int = 4) -> bytes:
    """Return a fastText model of these words and some subword rows."""
    dim = matrix.shape[1]
    settings = struct.pack("<12id", dim, 5, 5, 5, 5, 1, 1, 2, buckets, 3, 6, 100, 1e-4)
    entries = [w.encode() + struct.pack("<bqb", 0, 10 - i, 0) for i, w in enumerate(words)]
    counts = struct.pack("<3i2q", len(words), len(words), 0, 100, -1)
    rows = np.concatenate([matrix, np.ones((buckets, dim), np.float32)])
    parts = [struct.pack("<ii", 793712314, 12), settings, counts, *entries, b"\0"]
    output = b"\0" + struct.pack("<2q", *matrix.shape) + matrix.tobytes()
    return b"".join([*parts, struct.pack("<2q", *rows.shape), rows.tobytes(), output])


def mutated(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Return the file with one to three faults."""
    for _ in range(rng.randint(1, 3)):
        data = _mutated_once(data, other, rng)
    return data


def _mutated_once(data: bytes, other: bytes, rng: random.Random) -> bytes:
    kind, place = rng.randrange(7), rng.randint(0, len(data))
    if kind == 0:
        return data[:place]
    if kind == 1 and data:
        place = min(place, len(data) - 1)
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    if kind == 2:
        return data[:place] + other[rng.randint(0, len(other)) :]
    if kind == 3:
        return data[:place] + data[place + rng.randint(1, 40) :]
    if kind == 4:
        return data[:place] + rng.randbytes(rng.randint(1, 20)) + data[place:]
    if kind == 5:  # a number in the header, in digits
        digits = [i for i in range(min(200, len(data))) if data[i : i + 1].isdigit()]
        if digits:
            place = rng.choice(digits)
            return data[:place] + rng.choice(LIES) + data[place + 1 :]
    raw = struct.pack("<q", rng.choice([-1, 0, 1, 1 << 30, 1 << 40, (1 << 62) + 5]))
    place = rng.randint(0, min(len(data), 160))
    size = rng.choice((4, 8))
    return data[:place] + raw[:size] + data[place + size :]


def fault_of(path: Path, data: bytes, *, packed: bool) -> str | None:
    """Read the file, which holds `data`; return what is wrong with how that went."""
    slack = XZ_SLACK if b"7zXZ" in data else SLACK
    tracemalloc.start()
    try:
        fault = _fault_of(path, packed)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    most = 1.5 * 2 * len(data) + slack  # two bytes of text can hold the four of a float
    return fault or (None if peak <= most else f"peak {peak:,} bytes for {len(data):,}")


def _fault_of(path: Path, packed: bool) -> str | None:
    try:
        loaded = load(path)
    except (FormatError, ResourceError) as error:
        text = str(error)
        if isinstance(error, ResourceError) and not packed:
            return f"ResourceError: {text}"
        return None if text.startswith(str(path.parent)) and "\n" not in text else f"says {text!r}"
    except Exception as error:  # the point of it all
        return f"{type(error).__name__}: {error}"
    return _misfit(loaded)


def _misfit(loaded: Loaded) -> str | None:
    rows, words = loaded.matrix.shape[0], len(loaded.vocabulary)
    if rows != words or loaded.matrix.dtype != np.float32:
        return f"{rows} rows of {loaded.matrix.dtype} for {words} words"
    return None


def run(count: int, seed: int, folder: Path) -> Iterator[str]:
    """Yield the findings of so many mutations."""
    files = seeds(folder)
    names = sorted(files)
    warnings.simplefilter("ignore")
    for number in range(count):
        rng = random.Random(seed * 1_000_003 + number)
        name, other = rng.choice(names), rng.choice(names)
        data = mutated(files[name], files[other], rng)
        packed = rng.randrange(5) == 0
        file = folder / "file.npy"
        file.write_bytes(gzip.compress(data, 1) if packed else data)
        fault = fault_of(file, data, packed=packed)
        if fault is not None:
            yield f"seed {seed} number {number} ({name}): {fault}"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        findings = list(run(options.count, options.seed, Path(folder)))
    for finding in findings:
        print(finding)
    print(f"{options.count:,} mutations, {len(findings)} findings")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
