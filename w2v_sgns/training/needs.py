"""What a run needs, checked before the work: threads, outputs, memory, disk, a window that fits.

Takes and changes nothing.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from w2v_sgns.config import WHOLE_LINE, RunOptions, TrainConfig
from w2v_sgns.errors import ConfigError, CorpusError, OutputError, ResourceError
from w2v_sgns.machine import allowed_threads, available_memory, human_bytes

__all__ = [
    "CHECKPOINT",
    "MODEL_OUTPUT",
    "OVERHEAD",
    "best_bytes",
    "check_compiler",
    "check_disk",
    "check_memory",
    "check_outputs",
    "checkpoint_bytes",
    "matrix_bytes",
    "model_bytes",
    "stripe_bytes",
    "stripe_count",
    "thread_count",
    "window_reach",
]

# NumPy, Numba and the tables, roughly: what a run needs beside its matrices
OVERHEAD = 200_000_000
MODEL_OUTPUT = "-o"
CHECKPOINT = "the checkpoint"
LONGEST_LINE = 100_000  # tokens that --window line takes: a line of n has n·(n − 1) pairs


def thread_count(options: RunOptions) -> int:
    """Return how many threads the run has."""
    return min(options.threads or allowed_threads(), allowed_threads())


def stripe_count(options: RunOptions, config: TrainConfig) -> int | None:
    """Return what the vectors of threads in step depend on: the threads that were asked for.

    So many stripes of columns there are, however few processors there are to share them. None
    where threads race, or where their number does not matter anyhow.
    """
    if not options.deterministic or config.in_batches:
        return None
    return options.threads or allowed_threads()


def check_outputs(
    outputs: dict[str, Any],
    *,
    force: bool,
    inputs: Iterable[Path | str | None],
    ours: Container[str] = (),
) -> None:
    """Refuse outputs (flag → path or None) that could not be written, hours before they are.

    `inputs`: every file that is read; `ours`: flags whose existing file the run may go on with.

    Raises:
        OutputError: a path cannot be written, would replace an input, or exists and `force` is
            off.
        ConfigError: two outputs are one file.
    """
    from w2v_sgns.formats.atomic import SUFFIXES, check_writable

    inputs = list(inputs)
    targets: dict[Path, str] = {}
    for flag, path in outputs.items():
        if path is None:
            continue
        suffixes = SUFFIXES if flag == MODEL_OUTPUT else None  # else any name will do
        with _explained(flag, path):
            target = check_writable(
                path, force=force or flag in ours, suffixes=suffixes, inputs=inputs
            )
        if target in targets:
            raise ConfigError(f"{path}: {targets[target]} and {flag} name the same file")
        targets[target] = flag


@contextmanager
def _explained(flag: str, path: Path | str) -> Iterator[None]:
    """Say of a checkpoint in the way what it is."""
    try:
        yield
    except OutputError as error:
        if flag != CHECKPOINT or "exists; use --force" not in str(error):
            raise
        raise OutputError(
            f"{path}: exists, from a run that was not finished; go on with it (w2v train --resume "
            f"{shlex.quote(str(path))}), or --force to begin anew"
        ) from error


def window_reach(config: TrainConfig, longest_line: int) -> int | None:
    """Return how far a whole-line window reaches, None for any other window.

    Raises:
        CorpusError: a line is longer than such a window may be.
    """
    if config.window != WHOLE_LINE:
        return None
    if longest_line > LONGEST_LINE:
        raise CorpusError(
            f"--window line: the longest line has {longest_line:,} tokens, at most "
            f"{LONGEST_LINE:,} can be one window; cut the lines, raise --min-count, or give "
            "--window N --fixed-window"
        )
    return max(1, longest_line - 1)


def matrix_bytes(words: int, config: TrainConfig) -> int:
    """Return the bytes of E and Ep in memory, padded."""
    from w2v_sgns.kernels.matrices import padded_dim

    return 2 * int(words) * padded_dim(config.dim + config.bias) * 4


def best_bytes(words: int, config: TrainConfig) -> int:
    """Return the bytes of the best epoch's vectors, which --patience keeps beside the newest."""
    return 0 if config.patience is None else model_bytes(words, config)


def stripe_bytes(words: int, config: TrainConfig, stripes: int | None) -> int:
    """Return the bytes of the matrices cut into stripes, which threads in step train on."""
    return matrix_bytes(words, config) if stripes is not None and stripes > 1 else 0


def check_memory(words: int, config: TrainConfig, *, stripes: int | None = None) -> None:
    """Refuse matrices that do not fit, before a byte of them is taken.

    Raises:
        ResourceError: with the bytes needed and there.
    """
    cut = stripe_bytes(words, config, stripes)
    needed = matrix_bytes(words, config) + best_bytes(words, config) + cut
    there = available_memory()
    if needed + OVERHEAD > there:
        best = "" if config.patience is None else ", twice for --patience,"
        best += ", twice for --deterministic," if cut else ""
        raise ResourceError(
            f"E and Ep for {words:,} words of dim {config.dim}{best} need {human_bytes(needed)} "
            f"and {human_bytes(OVERHEAD)} for the rest, but {human_bytes(there)} of memory are "
            "free; try a smaller --dim or a higher --min-count"
        )


def check_compiler() -> None:
    """Refuse to train where Numba is told to compile nothing.

    Raises:
        ConfigError: NUMBA_DISABLE_JIT is set.
    """
    from numba import config

    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise ConfigError(
            "NUMBA_DISABLE_JIT is set, but the training itself runs compiled only; unset it"
        )


def model_bytes(words: int, config: TrainConfig) -> int:
    """Return the bytes of a model file's matrices."""
    return (2 * config.dim + config.bias) * int(words) * 4


def checkpoint_bytes(words: int, config: TrainConfig) -> int:
    """Return the bytes of a checkpoint's matrices."""
    return model_bytes(words, config) + best_bytes(words, config)


def check_disk(output: Path | str | None, words: int, config: TrainConfig) -> None:
    """Refuse a model file that would not fit its disk, before the training.

    Checkpoints that do not fit end no training, and are not asked for here.

    Raises:
        ResourceError: with the bytes needed and free.
    """
    if output is None:
        return
    needed = model_bytes(words, config)
    free = shutil.disk_usage(Path(os.path.realpath(output)).parent).free
    if needed > free:
        raise ResourceError(
            f"{output}: E and Ep for {words:,} words of dim {config.dim} need "
            f"{human_bytes(needed)} on disk, {human_bytes(free)} are free there; choose another "
            "place with -o"
        )
