"""The training kernels as the backend sees them: what memory they take, how they are launched."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numba import cuda

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.cuda.batch import batch_kernel
from w2v_sgns.kernels.cuda.shape import LANES, shape_for
from w2v_sgns.kernels.cuda.tiles import batch_shape
from w2v_sgns.kernels.cuda.train import train_kernel
from w2v_sgns.training.batches import SharedNoiseBackend, batch_rows, shared_words

__all__ = ["WARPS", "BatchWork", "WindowWork", "Work", "work_for"]

WARPS = 4  # of a block: one for each scheduler of a multiprocessor


class Work(Protocol):
    """Some streams of one kind of training."""

    bytes: int  # of the device's memory, for all streams
    shared: int  # bytes of a block's shared memory

    def kernel(self) -> Any:
        """Return the kernel, which compiles at its first launch."""

    def take_memory(self) -> None:
        """Take memory on the device."""

    def launch(self, stream: Any, *arguments: Any, totals: Any) -> None:
        """Train a part of the text; arguments: the kernel's, up to the matrices."""


class WindowWork:
    """A stream is a warp; it trains a window at a time."""

    def __init__(
        self, config: TrainConfig, floats: int, contexts: int, streams: int, *, vectors: bool
    ) -> None:
        """Take the row's floats, the largest window's contexts, and how the GPU adds."""
        self._config, self._streams, self._vectors = config, streams, vectors
        self.shape = shape = shape_for(floats, config.negative, contexts)
        self.warps = min(WARPS, streams)
        self.bytes, self.shared = 4 * shape.scratch * streams, 4 * self.warps * shape.shared

    def kernel(self) -> Any:
        """Return the kernel (see :class:`Work`)."""
        return train_kernel(self.shape, *kind_of(self._config), self._vectors)

    def take_memory(self) -> None:
        """Take room for gradients that do not fit into shared memory."""
        self._scratch = cuda.device_array(max(1, self.bytes // 4), np.float32)

    def launch(self, stream: Any, *arguments: Any, totals: Any) -> None:
        """Train a part of the text (see :class:`Work`)."""
        blocks = -(-self._streams // self.warps)
        self.kernel()[blocks, LANES * self.warps, stream, self.shared](
            *arguments, self._streams, self._scratch, totals
        )


class BatchWork:
    """A stream is a block; it trains a batch at a time, whose noise words are shared."""

    def __init__(
        self,
        config: TrainConfig,
        floats: int,
        contexts: int,
        streams: int,
        *,
        words: int,
        vectors: bool,
    ) -> None:
        """Take the row's floats, the largest window's contexts, and how the GPU adds."""
        self._config, self._streams, self._vectors = config, streams, vectors
        noise = shared_words(config.negative)
        rows = batch_rows(words, SharedNoiseBackend.MOST_ROWS)
        self.shape = shape = batch_shape(floats, rows, noise, contexts)
        self.bytes, self.shared = 4 * (shape.scratch + shape.ids) * streams, 4 * shape.shared

    def kernel(self) -> Any:
        """Return the kernel (see :class:`Work`)."""
        weight = self._config.negative / self.shape.noise
        return batch_kernel(self.shape, *kind_of(self._config), self._vectors, weight)

    def take_memory(self) -> None:
        """Take room for each stream's batch."""
        self._scratch = cuda.device_array(self.shape.scratch * self._streams, np.float32)
        self._ids = cuda.device_array(self.shape.ids * self._streams, np.int32)

    def launch(self, stream: Any, *arguments: Any, totals: Any) -> None:
        """Train a part of the text (see :class:`Work`)."""
        self.kernel()[self._streams, self.shape.threads, stream, self.shared](
            *arguments, self._streams, self._scratch, self._ids, totals
        )


def kind_of(config: TrainConfig) -> tuple[str, int | None, bool]:
    """Return the objective, the column of the biases, if any, and whether collisions count not."""
    return config.objective, config.dim if config.bias else None, config.collisions == "drop"


def work_for(
    config: TrainConfig,
    *,
    words: int,
    floats: int,
    tokens: int,
    window: int,
    line: bool,
    streams: int,
    vectors: bool,
) -> WindowWork | BatchWork:
    """Return what trains so many words and tokens; line: the window is the token's whole line."""
    reach = max(1, min(window, tokens - 1))
    contexts = reach if line else min(2 * reach, max(1, tokens - 1))
    if not config.in_batches:
        return WindowWork(config, floats, contexts, streams, vectors=vectors)
    return BatchWork(config, floats, contexts, streams, words=words, vectors=vectors)
