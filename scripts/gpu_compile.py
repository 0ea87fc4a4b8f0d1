#!/usr/bin/env python3
"""Compile the GPU's kernels without a GPU; print registers, spills and memory of each.

Needs numba-cuda with NVIDIA's compiler libraries (the extra cuda), no driver. Exit codes: 0 all
compiled; 1 a kernel keeps registers in memory (spills); 2 the libraries are not
there, one sentence says which.

    python scripts/gpu_compile.py
    python scripts/gpu_compile.py --dim 512 --negative 15 --window 10 --keep folder
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from w2v_sgns.config import TrainConfig
from w2v_sgns.errors import ResourceError
from w2v_sgns.kernels.matrices import padded_dim
from w2v_sgns.training.devices import VECTOR_ADDS, compiling, device_errors, needs_numba_cuda

TARGETS = ((8, 0), (9, 0))


class Case(NamedTuple):
    """A training."""

    dim: int
    negatives: int
    window: int
    objective: str = "sgns"
    bias: bool = False
    shared_noise: bool = False  # by a batch

    @property
    def name(self) -> str:
        """What the table calls it."""
        kind = f"{self.objective}{'+bias' * self.bias}{', batch' * self.shared_noise}"
        return f"{kind} d={self.dim} k={self.negatives} window={self.window}"


CASES = (
    Case(128, 5, 5),
    Case(300, 5, 5),
    Case(128, 5, 5, shared_noise=True),
    Case(300, 15, 10, "nce", bias=True, shared_noise=True),
    Case(64, 5, 5),
    Case(128, 15, 10),
    Case(300, 15, 10, "nce", bias=True),
    Case(128, 5, 5, "nce-sigmoid"),
    Case(300, 5, 5, "nce-sigmoid", shared_noise=True),
)
QUICK = 4  # cases
WORDS = 70_000


class Figures(NamedTuple):
    """What a kernel takes."""

    registers: int
    stack: int  # bytes a thread
    spills: int  # bytes stored and loaded
    seconds: float  # to compile


def signatures() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return the kernels beside the training, with the types of their arguments."""
    from numba import types

    from w2v_sgns.kernels.cuda import frozen, select

    u32, u64, i32, i64, f32 = (
        types.Array(kind, 1, "C")
        for kind in (types.uint32, types.uint64, types.int32, types.int64, types.float32)
    )
    n, on = types.int64, types.boolean
    return {
        "count_kept": (select.count_kept, (u32, u64, u32, i64)),
        "add_up": (select.add_up, (i64, n, n, i64, i64)),
        "list_kept": (select.list_kept, (u32, u64, u32, n, on, i64, i64, i32, i32, i32)),
        "set_windows": (select.set_windows, (i32, i32, i64, n, n, n, i32, i32)),
        "put_back": (frozen.put_back, (f32, i64, f32)),
    }


def train_signature(*, batch: bool) -> tuple[Any, ...]:
    """Return the types of a training kernel's arguments; that of batches takes one more."""
    from numba import types

    f32, f64, u64, i32, i64 = (
        types.Array(kind, 1, "C")
        for kind in (types.float32, types.float64, types.uint64, types.int32, types.int64)
    )
    n, ids = types.int64, (i32,) * batch
    return (i32, i32, i32, i64, n, n, f32, u64, u64, f32, f32, f32, n, f32, *ids, f64)


def compile_kernel(
    kernel: Any, arguments: tuple[Any, ...], target: tuple[int, int]
) -> tuple[Figures, str, bytes]:
    """Return the figures, the PTX and the machine code, made as Numba makes them for a card.

    The assembler sees the whole program then (LTO-IR, not PTX), and needs half the registers
    below 9.0; from 9.0 on, code is made for that architecture alone.
    """
    from numba import cuda, types

    begun = time.perf_counter()
    code, _ = cuda.compile(
        kernel.py_func,
        types.void(*arguments),
        cc=(*target, "a" if target >= VECTOR_ADDS else ""),
        device=False,
        abi="numba",
        output="ltoir",
    )
    cubin, log = link(code, f"-arch={architecture(target)}", "-verbose", "-Xptxas=-v")
    found = figures(log, time.perf_counter() - begun)
    ptx, _ = link(code, f"-arch={architecture(target)}", "-ptx")
    return found, ptx.decode().rstrip("\0"), cubin


def architecture(target: tuple[int, int]) -> str:
    """Return the assembler's name of it."""
    return f"sm_{target[0]}{target[1]}{'a' if target >= VECTOR_ADDS else ''}"


def link(code: bytes, *options: str) -> tuple[bytes, str]:
    """Return PTX or machine code by nvJitLink, and the assembler's report."""
    from cuda.bindings import nvjitlink

    handle = nvjitlink.create(len(options) + 1, ["-lto", *options])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.LTOIR, code, len(code), "kernel")
        nvjitlink.complete(handle)
        kind = "ptx" if "-ptx" in options else "cubin"
        size, read = (getattr(nvjitlink, f"get_linked_{kind}{end}") for end in ("_size", ""))
        linked = bytearray(size(handle))
        read(handle, linked)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
        return bytes(linked), log.decode(errors="replace")
    finally:
        nvjitlink.destroy(handle)


def figures(log: str, seconds: float) -> Figures:
    """Read the assembler's report."""
    numbers = {
        name: re.search(pattern, log)
        for name, pattern in (
            ("registers", r"Used (\d+) registers"),
            ("stack", r"(\d+) bytes stack frame"),
            ("stores", r"(\d+) bytes spill stores"),
            ("loads", r"(\d+) bytes spill loads"),
        )
    }
    missing = [name for name, found in numbers.items() if found is None]
    if missing:
        raise SystemExit(f"the assembler's report names no {', '.join(missing)}:\n{log}")
    registers, stack, stores, loads = (int(found.group(1)) for found in numbers.values() if found)
    return Figures(registers, stack, stores + loads, seconds)


def main() -> int:
    """Compile everything; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dim", type=int, help="this training instead of the usual ones")
    parser.add_argument("--negative", type=int, default=5)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--objective", default="sgns")
    parser.add_argument("--bias", action="store_true")
    parser.add_argument("--shared-noise", action="store_true", help="by a batch")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write PTX and cubins here")
    parser.add_argument("--quick", action="store_true", help="some cases only")
    options = parser.parse_args()
    cases = CASES[:QUICK] if options.quick else CASES
    if options.dim:
        given = (options.objective, options.bias, options.shared_noise)
        cases = (Case(options.dim, options.negative, options.window, *given),)
    try:
        needs_numba_cuda()
        with device_errors(), compiling():
            return report(cases, options.keep)
    except ResourceError as error:
        print(f"gpu_compile.py: {error}", file=sys.stderr)
        return 2


def report(cases: tuple[Case, ...], keep: Path | None) -> int:
    """Print a line for each kernel and target; return 1 where one spills."""
    print(f"{'kernel':38} target   registers  stack  spills  shared/block  seconds")
    spilled = False
    for target in TARGETS:
        for name, kernel, arguments, shared in kernels(cases, target):
            found, ptx, cubin = compile_kernel(kernel, arguments, target)
            arch = architecture(target)
            print(
                f"{name:38} {arch:7} {found.registers:10} {found.stack:6} {found.spills:7} "
                f"{shared:13} {found.seconds:8.1f}",
                flush=True,
            )
            spilled |= bool(found.spills or found.stack)
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{name} {arch}.ptx".replace(" ", "_")).write_text(ptx)
                (keep / f"{name} {arch}.cubin".replace(" ", "_")).write_bytes(cubin)
    if spilled:
        print("a kernel keeps registers in memory", file=sys.stderr)
    return int(spilled)


def kernels(cases: tuple[Case, ...], target: tuple[int, int]) -> Iterator[tuple[Any, ...]]:
    """Yield name, kernel, argument types, shared bytes a block."""
    for name, (kernel, arguments) in signatures().items():
        yield name, kernel, arguments, 0
    for case in cases:
        kernel, shared = training_kernel(case, vectors=target >= VECTOR_ADDS)
        yield case.name, kernel, train_signature(batch=case.shared_noise), shared


def training_kernel(case: Case, *, vectors: bool) -> tuple[Any, int]:
    """Return a case's kernel and the shared bytes of its block."""
    from w2v_sgns.training.cuda.work import WARPS, work_for

    config = TrainConfig(
        dim=case.dim,
        window=case.window,
        negative=case.negatives,
        objective=case.objective,
        bias=case.bias,
        shared_noise="batch" if case.shared_noise else "window",
    )
    work = work_for(
        config,
        words=WORDS,
        floats=padded_dim(case.dim + case.bias),
        tokens=10**9,
        window=case.window,
        line=False,
        streams=WARPS,
        vectors=vectors,
    )
    return work.kernel(), work.shared


if __name__ == "__main__":
    sys.exit(main())
