#!/usr/bin/env python3
"""On a machine with an NVIDIA GPU: is training right there, how fast, and how good? One table.

    python scripts/gpu_check.py --text text8.txt --analogies questions-words.txt

1. one stream against the float64 twin, wrong references told apart, additions of many counted;
2. ceilings: copies, reads and additions of random rows;
3. training at several sizes and numbers of streams: device time by events, whole epoch by clock;
4. quality after 5 epochs on the GPU and on the CPU, with --text.

Meant to take less than five minutes on a card; parts that would begin after --seconds are left
out and named. Exit codes: 0 right, 1 something is wrong (the table has what was found before), 2 no
usable GPU or a bad argument (one sentence).
NUMBA_ENABLE_CUDASIM=1 runs a tiny version of it on Numba's simulator, whose times mean nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "contract")]

import numpy as np
from naive_steps import WRONG
from numba import cuda, float32
from test_backend_contract import CASES, Case, config, nothing, random_text

from w2v_sgns import train
from w2v_sgns.config import RunOptions, TrainConfig
from w2v_sgns.errors import ResourceError, W2VError
from w2v_sgns.evaluation.analogy import evaluate_analogies
from w2v_sgns.kernels.cuda.rows import rows_for
from w2v_sgns.kernels.cuda.shape import LANES, shape_for
from w2v_sgns.kernels.cuda.warp import SIMULATED, draw
from w2v_sgns.kernels.matrices import padded_dim
from w2v_sgns.kernels.windows import noise_slot
from w2v_sgns.machine import allowed_threads
from w2v_sgns.sampling import alias_table, keep_probabilities, keep_thresholds, pack_alias
from w2v_sgns.training.backends import Totals, TrainingData
from w2v_sgns.training.choice import chosen
from w2v_sgns.training.cuda.backend import CudaBackend
from w2v_sgns.training.devices import Device, compiling, cuda_device, device_errors
from w2v_sgns.training.schedule import Schedule
from w2v_sgns.training.setup import matrices_for

PACKAGES = ("numba", "numba-cuda", "numpy", "cuda-bindings", "nvidia-nvvm", "nvidia-nvjitlink")
CLOSE = 1e-5  # of max(1, largest value)
STEPS = (  # of the contract's cases: a kernel each, and some seconds to compile it
    "sgns",
    "many outputs",
    "wide rows",
    "nce, bias, drop",
    "nce-sigmoid",
    "shared noise",
    "shared noise, nce, bias, drop",
    "chunk borders",
)


class Size(NamedTuple):
    """A training to be measured."""

    dim: int
    words: int
    at_once: tuple[int, ...]  # streams of a multiprocessor, beside the rule's
    tokens: int = 20_000_000
    shared: str = "window"  # --shared-noise


SIZES = [
    Size(64, 70_000, (1, 2, 4, 8)),
    Size(128, 70_000, (1, 2, 4, 8)),
    Size(300, 70_000, (1, 2, 4, 8)),
    Size(128, 70_000, (1,), 5_000_000, "batch"),
    Size(128, 1_000_000, (4,)),
    Size(300, 1_000_000, (4,)),
]
SMALL = [Size(16, 30, (1,), 12), Size(16, 30, (1,), 12, "batch")]  # for the simulator
QUALITY: dict[str, Any] = {"epochs": 5}
if SIMULATED:
    QUALITY |= {"dim": 4, "min_count": 1, "sample": 0, "negative": 1, "window": 1, "epochs": 1}
SLOWEST = 500_000  # words/s of a processor, at least
WARPS_A_MULTIPROCESSOR = 16  # for the ceilings
ROWS = 4000  # read or added to by each warp


@dataclass
class Check:
    """What has been found, and how much time is left."""

    device: Device
    seconds: float
    begun: float = field(default_factory=time.monotonic)
    failures: int = 0
    lines: list[tuple[str, ...]] = field(default_factory=list)

    def tell(self, part: str, what: str, result: str, *, right: bool = True) -> None:
        """Keep a line of the table, and show it."""
        self.failures += not right
        self.lines.append((part, what, result if right else f"WRONG: {result}"))
        print(*self.lines[-1], sep=" | ", file=sys.stderr, flush=True)

    def is_time_for(self, what: str, seconds: float) -> bool:
        """Tell whether a part of so many seconds may begin."""
        if time.monotonic() - self.begun + seconds <= self.seconds:
            return True
        self.tell("time", what, "left out: the time is up")
        return False


# --- is it right?


def on(device: Device) -> Callable[..., CudaBackend]:
    """Return a factory of backends, as the contract's cases want it."""

    def make(*arguments: Any, workers: int = 1, **settings: Any) -> CudaBackend:
        return CudaBackend(*arguments, device=device, streams=workers, **settings)

    return make


def far(ours: Any, exact: Any) -> float:
    """Return max |ours − exact| / max(1, max |exact|); NaN where ours is."""
    size = max(1.0, *(float(np.abs(matrix).max()) for matrix in exact))
    return float(np.max([np.abs(a - b).max() for a, b in zip(ours, exact, strict=True)]) / size)


def check_steps(check: Check) -> None:
    """Train the contract's cases with one stream, beside float64."""
    for name in STEPS[:1] if SIMULATED else STEPS:
        case = CASES[name]
        backend, ours = case.backend(on(check.device))
        totals = backend.run_epoch(0, nothing)
        exact, sums = case.twin()
        error, loss = far(ours, exact), abs(totals.loss - sums.loss) / sums.loss
        right = error < CLOSE and loss < 1e-4 and totals.pairs == sums.pairs
        check.tell("right", f"one stream, {name}", f"{error:.1e} from float64", right=right)


def check_long(check: Check) -> None:
    """Train more steps than a simulator can; then tell wrong references apart."""
    lengths = [6] if SIMULATED else [400, 1, 90, 300, 7]
    case = Case(text=random_text(40, lengths), config=config(dim=100, window=5, negative=5))
    backend, ours = case.backend(on(check.device))
    backend.run_epoch(0, nothing)
    error = far(ours, case.twin()[0])
    check.tell("right", f"{sum(lengths)} tokens", f"{error:.1e} from float64", right=error < CLOSE)
    for name, step in list(WRONG.items())[: 2 if SIMULATED else None]:
        apart = far(ours, case.twin(step)[0])
        check.tell("right", f"not {name}", f"{apart:.1e} from it", right=apart > 10 * CLOSE)


def check_batches(check: Check) -> None:
    """Train batches of 31 windows and 64 noise words."""
    dim, lengths = (16, [6]) if SIMULATED else (100, [400, 1, 90, 300, 7])
    settings = config(dim=dim, window=5, negative=5, shared_noise="batch")
    case = Case(text=random_text(2000, lengths), config=settings)
    backend, ours = case.backend(on(check.device))
    backend.run_epoch(0, nothing)
    error = far(ours, case.twin()[0])
    what = f"{sum(lengths)} tokens, batches"
    check.tell("right", what, f"{error:.1e} from float64", right=error < CLOSE)


def check_many(check: Check) -> None:
    """Let many streams work on a handful of rows at a tiny rate: lost updates would show."""
    streams = 2 if SIMULATED else 4 * check.device.multiprocessors
    settings = config(dim=16, window=2, lr=1e-5, min_lr=1e-5, negative=3)
    case = Case(text=random_text(8, [5 * streams]), config=settings)
    backend, ours = case.backend(on(check.device), workers=streams)
    backend.run_epoch(0, nothing)
    exact, _ = case.twin()
    moved = max(float(np.abs(a - b).max()) for a, b in zip(exact, case.start, strict=True))
    error = far(ours, exact)
    what = f"{streams} streams on 8 rows"
    check.tell("right", what, f"{error:.1e} of a move of {moved:.1e}", right=error < 0.05 * moved)


# --- ceilings


def seconds_of(work: Callable[[], Any]) -> float:
    """Return the device's seconds of some launches, the better of two; the host's if simulated."""
    best = np.inf
    for _ in range(2):
        begin, end = cuda.event(), cuda.event()
        clock = time.perf_counter()
        begin.record()
        work()
        end.record()
        end.synchronize()
        taken = time.perf_counter() - clock
        best = min(best, taken if SIMULATED else cuda.event_elapsed_time(begin, end) / 1e3)
    return max(float(best), 1e-9)


def copy_ceiling(check: Check) -> None:
    """Copy device memory to device memory."""
    for megabytes in (1,) if SIMULATED else (8, 4096):
        a, b = (cuda.device_array(megabytes << 18, np.float32) for _ in range(2))
        taken = seconds_of(partial(b.copy_to_device, a))
        rate = 2 * (megabytes << 20) / taken / 1e9
        check.tell("ceiling", f"copy of {megabytes} MB", f"{rate:,.0f} GB/s read and written")


def rows_kernel(floats: int, *, add: bool, vectors: bool) -> Any:
    """Return a kernel in which every warp reads, or adds ones to, random rows."""
    shape = shape_for(floats, 5, 10)
    rows = rows_for(shape, vectors=vectors)
    take, give, held = rows.take, rows.give, shape.held

    @cuda.jit
    def random_rows(matrix: Any, words: int, count: int, out: Any) -> None:
        lane = cuda.threadIdx.x & (LANES - 1)
        warp = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // LANES
        x = cuda.local.array(held, float32)
        total = np.float32(0)
        for j in range(held):
            x[j] = np.float32(1)
        for n in range(count):
            bits = draw(np.uint64(1), warp * count + n)
            row = noise_slot(bits, words) * floats
            if add:
                give(matrix, row, x, 0, lane)
            else:
                take(x, 0, matrix, row, lane)
                for j in range(held):
                    total += x[j]
        if total == np.float32(12345.678):  # never: but the reads must not be left out
            out[0] = total

    return random_rows


def row_ceilings(check: Check) -> None:
    """Read and add to random rows, as training does, and count the additions."""
    warps = 1 if SIMULATED else WARPS_A_MULTIPROCESSOR * check.device.multiprocessors
    count = 3 if SIMULATED else ROWS
    out = cuda.to_device(np.zeros(1, np.float32))
    for dim, words in [(64, 20)] if SIMULATED else [(128, 70_000), (300, 1_000_000)]:
        floats = padded_dim(dim)
        matrix = cuda.to_device(np.zeros(words * floats, np.float32))
        for add in (False, True):
            with compiling():
                kernel = rows_kernel(floats, add=add, vectors=check.device.adds_vectors)
                kernel[1, LANES](matrix, words, 0, out)
            taken = seconds_of(partial(kernel[warps, LANES], matrix, words, count, out))
            rate = 4.0 * floats * count * warps / taken / 1e9
            what = f"{'additions to' if add else 'reads of'} random rows, {words:,} × {floats}"
            check.tell("ceiling", what, f"{rate:,.0f} GB/s")
        total = float(matrix.copy_to_host().sum(dtype=np.float64))
        right = total == 2.0 * floats * count * warps
        check.tell("right", f"additions by {warps} warps", f"{total:,.0f} arrived", right=right)


# --- speed


@lru_cache(maxsize=1)
def zipf_data(words: int, tokens: int, negatives: int) -> tuple[TrainingData, np.ndarray]:
    """Return a made text of Zipf-Mandelbrot words, and their expected counts."""
    share = 1 / (np.arange(words) + 2.7)
    share /= share.sum()
    rng = np.random.default_rng(1)
    ids = np.searchsorted(np.cumsum(share), rng.random(tokens)).clip(0, words - 1)
    kept = keep_probabilities(share * tokens, 1e-4)
    q = share**0.75 / (share**0.75).sum()
    data = TrainingData(
        tokens=ids.astype(np.uint32),
        keep=keep_thresholds(kept),
        noise=pack_alias(*alias_table(q)),
        kept_share=float((kept * share).sum()),
    )
    return data, share * tokens


def measure(check: Check) -> None:
    """Train made texts at several sizes and numbers of streams."""
    for size in SMALL if SIMULATED else SIZES:
        what = f"d={size.dim} V={size.words:,}{', batches' * (size.shared == 'batch')}"
        if not check.is_time_for(what, 25):
            continue
        settings = TrainConfig(dim=size.dim, min_count=1, epochs=1, shared_noise=size.shared)
        data, counts = zipf_data(size.words, size.tokens, settings.negative)
        options = RunOptions(device="cuda")
        choice = chosen(
            check.device,
            options,
            settings,
            counts.astype(np.int64).clip(1),
            tokens=size.tokens,
            tokens_in_all=size.tokens,
            threads=1,
        )
        multiprocessors = check.device.multiprocessors
        for streams in sorted({choice.streams, *(n * multiprocessors for n in size.at_once)}):
            line = measured(check.device, data, settings, size.words, streams)
            mark = " (the rule's)" if streams == choice.streams else ""
            check.tell("speed", f"{what}, {streams:,} streams{mark}", line)


def measured(
    device: Device, data: TrainingData, settings: TrainConfig, words: int, streams: int
) -> str:
    """Train an epoch; return words and windows a second, device and whole, and the loss."""
    tokens = len(data.tokens)
    E, Ep = matrices_for(words, settings)
    rng = np.random.default_rng(0)
    E[:] = (rng.random(E.shape, np.float32) - 0.5) / settings.dim
    schedule = Schedule(start=0.05, end=5e-6, tokens=tokens, epochs=1)
    backend = CudaBackend(
        E,
        Ep,
        data=data,
        config=settings,
        schedule=schedule,
        device=device,
        streams=streams,
    )
    backend.warm_up()
    begun = time.perf_counter()
    totals: Totals = backend.run_epoch(0, nothing)
    whole = time.perf_counter() - begun
    busy = backend.device_seconds or whole
    loss = totals.loss / max(1, totals.pairs)
    return (
        f"{tokens / busy / 1e6:.1f} M words/s, {totals.kept / busy / 1e6:.1f} M windows/s on the "
        f"device; {tokens / whole / 1e6:.1f} M words/s with copies; loss {loss:.3f}"
    )


# --- quality


def quality(check: Check, text: Path, analogies: Path | None) -> None:
    """Train 5 epochs on the GPU and on the CPU; compare loss and analogies."""
    words = QUALITY["epochs"] * text.stat().st_size / 6
    expected = {"cuda": 30.0, "cpu": 10 + words / (SLOWEST * allowed_threads())}
    found = {}
    for device, seconds in expected.items():
        if not check.is_time_for(f"quality on {device}", seconds):
            return
        found[device] = trained(check, text, analogies, device)
    loss = found["cuda"][0] / found["cpu"][0] - 1
    check.tell("quality", "loss of the GPU", f"{100 * loss:+.1f} %", right=abs(loss) < 0.03)
    if analogies is not None:
        points = 100 * (found["cuda"][1] - found["cpu"][1])
        right = points > -1.5
        check.tell("quality", "analogies of the GPU", f"{points:+.1f} points", right=right)


def trained(check: Check, text: Path, analogies: Path | None, device: str) -> tuple[float, float]:
    """Train on a device; return the last epoch's loss and the accuracy of analogies."""
    begun = time.perf_counter()
    model = train(text, device=device, **QUALITY)
    taken = time.perf_counter() - begun
    loss, accuracy = model.history[-1]["loss"], 0.0
    what = f"loss {loss:.3f} after {taken:.0f} s"
    if analogies is not None:
        accuracy = evaluate_analogies(model.vectors, analogies).total.accuracy or 0.0
        what += f", analogies {100 * accuracy:.1f} %"
    streams = model.provenance.get("streams")
    name = f"{device}, {f'{streams:,} streams' if streams else 'all threads'}"
    check.tell("quality", f"{name}, {len(model.history)} epochs", what)
    return loss, accuracy


def table(lines: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield all lines as one table."""
    widths = [max(len(cells[n]) for cells in lines) for n in range(2)]
    for part, what, result in lines:
        yield f"{part:{widths[0]}}  {what:{widths[1]}}  {result}"


PARTS = (
    check_steps,
    check_long,
    check_batches,
    check_many,
    copy_ceiling,
    row_ceilings,
    measure,
)


def installed(package: str) -> str:
    """Return a package's version."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "-"


def main() -> int:
    """Run all parts; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, help="compare quality on this text")
    parser.add_argument("--analogies", type=Path, help="questions-words.txt")
    parser.add_argument("--seconds", type=float, default=280)
    options = parser.parse_args()
    for path in (options.text, options.analogies):  # not after minutes of measuring
        if path and not path.is_file():
            parser.error(f"{path}: no such file")
    if options.analogies and not options.text:
        parser.error("--analogies needs --text to train on")
    try:
        check = Check(cuda_device(), options.seconds)
    except ResourceError as error:
        print(f"gpu_check.py: {error}", file=sys.stderr)
        return 2
    try:
        run_parts(check, options.text, options.analogies)
    except W2VError as error:
        check.tell("stopped", "", str(error), right=False)
    print(*table(check.lines), sep="\n")
    return int(check.failures > 0)


def run_parts(check: Check, text: Path | None, analogies: Path | None) -> None:
    """Say what there is, then run all parts."""
    device = check.device
    major, minor = device.capability
    check.tell("device", device.name, f"{major}.{minor}, {device.multiprocessors} SM")
    check.tell("versions", "", ", ".join(f"{name} {installed(name)}" for name in PACKAGES))
    with device_errors():
        for part in PARTS:
            part(check)
        if text:
            quality(check, text, analogies)


if __name__ == "__main__":
    sys.exit(main())
