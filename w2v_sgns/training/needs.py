"""What a run needs, checked before the work: threads, outputs, memory, disk, a window that fits.

Takes and changes nothing.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from w2v_sgns.config import WHOLE_LINE, RunOptions, TrainConfig
from w2v_sgns.errors import ConfigError, CorpusError, OutputError, ResourceError
from w2v_sgns.machine import allowed_threads, available_memory, human_bytes

if TYPE_CHECKING:
    from w2v_sgns.corpus.source import Source

__all__ = [
    "CHECKPOINT",
    "MODEL_OUTPUT",
    "OVERHEAD",
    "check_compiler",
    "check_disk",
    "check_memory",
    "check_outputs",
    "model_bytes",
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


def check_outputs(source: Source, outputs: dict[str, Any], *, force: bool) -> None:
    """Refuse outputs (flag → path or None) that could not be written, hours before they are.

    Raises:
        OutputError: a path cannot be written, or exists and `force` is off.
        ConfigError: an output would replace the corpus or another output.
    """
    from w2v_sgns.formats.atomic import SUFFIXES, check_writable

    corpus = {Path(os.path.realpath(path)) for path in source.paths}
    targets: dict[Path, str] = {}
    for flag, path in outputs.items():
        if path is None:
            continue
        suffixes = SUFFIXES if flag == MODEL_OUTPUT else None  # else any name will do
        with _explained(flag, path):
            target = check_writable(path, force=force, suffixes=suffixes)
        if target in corpus:
            raise ConfigError(f"{path}: the output would replace the corpus; choose another")
        if target in targets:
            raise ConfigError(f"{path}: {targets[target]} and {flag} name the same file")
        targets[target] = flag


@contextmanager
def _explained(flag: str, path: Path | str) -> Iterator[None]:
    """Say of a checkpoint in the way what it is."""
    try:
        yield
    except OutputError as error:
        if flag != CHECKPOINT or not os.path.exists(path):
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


def check_memory(words: int, dim: int) -> None:
    """Refuse matrices that do not fit, before a byte of them is taken.

    Raises:
        ResourceError: with the bytes needed and there.
    """
    from w2v_sgns.kernels.matrices import padded_dim

    needed = 2 * words * padded_dim(dim) * 4
    there = available_memory()
    if needed + OVERHEAD > there:
        raise ResourceError(
            f"E and Ep for {words:,} words of dim {dim} need {human_bytes(needed)} and "
            f"{human_bytes(OVERHEAD)} for the rest, but {human_bytes(there)} of memory are free; "
            "try a smaller --dim or a higher --min-count"
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


def model_bytes(words: int, dim: int) -> int:
    """Return the bytes of a model file's matrices."""
    return 2 * int(words) * int(dim) * 4


def check_disk(output: Path | str | None, words: int, dim: int) -> None:
    """Refuse a model file that would not fit its disk, before the training.

    Raises:
        ResourceError: with the bytes needed and free.
    """
    if output is None:
        return
    needed = model_bytes(words, dim)
    free = shutil.disk_usage(Path(os.path.realpath(output)).parent).free
    if needed > free:
        raise ResourceError(
            f"{output}: E and Ep for {words:,} words of dim {dim} need {human_bytes(needed)} on "
            f"disk, {human_bytes(free)} are free there; choose another place with -o"
        )
