"""The choice between a GPU and the processors, and how many streams the GPU trains at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns import sampling
from w2v_sgns.config import RunOptions, TrainConfig
from w2v_sgns.kernels.matrices import padded_dim
from w2v_sgns.training.cuda.needs import needs_of
from w2v_sgns.training.devices import Device

__all__ = ["Choice", "chosen"]

# For --device auto, from measurements of the CPU and an estimate of the GPU: window steps a
# second of a thread (dim 100, k 5, window 5) and of a stream, also those with noise shared by a
# batch (on the CPU one thread trains them), and what a GPU needs to begin.
STEPS_A_THREAD, BATCHED_ON_CPU = 600_000, 30_000
STEPS_A_STREAM, BATCHED_A_STREAM = 300_000, 300_000
BEGINNING = 15.0  # seconds to compile the kernels
LARGEST_VIEW = 10_000_000  # tokens whose windows are on the GPU at a time


class Choice(NamedTuple):
    """What trains a text; device None: the processors."""

    device: Device | None = None
    streams: int = 0
    note: str = ""  # what to say about the choice


def chosen(
    device: Device | None,
    options: RunOptions,
    config: TrainConfig,
    counts: npt.NDArray[np.int64],
    *,
    tokens: int,
    tokens_in_all: int,
    threads: int,
) -> Choice:
    """Return what trains so many tokens an epoch: `device`, or what --device auto prefers.

    device: see placement.asked_device. counts: of all words, (V,). tokens_in_all: of the text that
    the tokens are a part of.
    """
    if device is None:
        return Choice(note=_note_of_the_cpu(options))
    if options.device == "auto" and not _fits(device, config, len(counts), tokens):
        note = f"--device auto: the CPU, this does not fit into the memory of {device.name}"
        return Choice(note=note)
    sample = sampling.effective_sample(config.sample, tokens_in_all)
    streams = options.streams or _streams(device, config, counts, sample, tokens)
    kind = "batches" if config.in_batches else "windows"
    what = f"{device.name}, {streams:,} stream{'s' * (streams > 1)} of {kind} at once"
    slower = device.simulated or not _is_faster(config, tokens, threads, streams)
    if options.device == "auto" and slower:
        return Choice(note=f"--device auto: the CPU, faster here than {what}")
    return Choice(device, streams, f"on {what}; compiles first")


def _note_of_the_cpu(options: RunOptions) -> str:
    if options.device == "auto":
        return "--device auto: the CPU, no GPU can train this"
    if options.streams and options.resume is None:  # a checkpoint of a GPU's run has some
        return f"--streams {options.streams:,} is of no use on the CPU; it is for --device cuda"
    return ""


def _streams(
    device: Device,
    config: TrainConfig,
    counts: npt.NDArray[np.int64],
    sample: float,
    tokens: int,
) -> int:
    from w2v_sgns.training.batches import SharedNoiseBackend, batch_rows
    from w2v_sgns.training.cuda.streams import streams_for

    rows = batch_rows(len(counts), SharedNoiseBackend.MOST_ROWS) if config.in_batches else None
    return streams_for(
        multiprocessors=device.multiprocessors,
        tokens=tokens,
        epochs=config.epochs,
        kept=np.asarray(counts * sampling.keep_probabilities(counts, sample)),
        q=sampling.noise_distribution(counts, config.noise_exponent or 0.0),
        negatives=config.negative,
        batch=rows,
    )


def _fits(device: Device, config: TrainConfig, words: int, tokens: int) -> bool:
    """Tell whether E, Ep and the windows of some text fit; the streams' room is small beside."""
    needs = needs_of(
        words=words,
        floats=padded_dim(config.dim + config.bias),
        tokens=tokens,
        view=LARGEST_VIEW,
        scratch=0,
        shifted=config.objective != "sgns",
    )
    return needs.least <= device.free


def _is_faster(config: TrainConfig, tokens: int, threads: int, streams: int) -> bool:
    """Tell whether the GPU is expected to be done first, its beginning included."""
    steps = config.epochs * tokens
    here, there = STEPS_A_THREAD * threads, STEPS_A_STREAM * streams
    if config.in_batches:
        here, there = BATCHED_ON_CPU, BATCHED_A_STREAM * streams
    return BEGINNING + steps / there < steps / here
