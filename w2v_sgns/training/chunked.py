"""What all backends of one machine share: a text cut into chunks, each with its streams."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.matrices import padded
from w2v_sgns.kernels.rng import stream_seeds
from w2v_sgns.kernels.windows import CHUNK, count_pairs
from w2v_sgns.training.backends import Matrix, TrainingData
from w2v_sgns.training.schedule import Schedule

if TYPE_CHECKING:
    from w2v_sgns.training.state import Frozen

__all__ = ["ChunkedBackend", "Given", "halo_chunks"]

SPARE = 20  # kept tokens; see halo_chunks
MOST_HALO = 64  # chunks: a million tokens on either side


class Given(TypedDict):
    """What each of these backends is given beside the matrices: see ChunkedBackend."""

    data: TrainingData
    config: TrainConfig
    schedule: Schedule
    window: NotRequired[int | None]


class ChunkedBackend:
    """A :class:`~.backends.Backend` but for the training itself."""

    cut = "the rest of the chunks under way was left out"

    def __init__(
        self,
        E: Matrix,
        Ep: Matrix,
        *,
        data: TrainingData,
        config: TrainConfig,
        schedule: Schedule,
        window: int | None = None,
    ) -> None:
        """Take what is trained; `window`: how far a whole-line window reaches."""
        self.matrices = padded(E, config.bias), padded(Ep, config.bias)
        if config.bias:  # the input whose weights are the biases
            self.matrices[0][:, config.dim] = 1
        self.data, self.config, self.schedule = data, config, schedule
        self.window = int(config.window) if window is None else window
        self.fixed = config.fixed_window or window is not None
        # a whole-line window holds its line however few of its tokens are kept
        self.halo = halo_chunks(self.window, data.kept_share if window is None else 1.0)
        self.chunks = -(-len(data.tokens) // CHUNK)
        self.seeds = lru_cache(maxsize=1024)(stream_seeds)
        # called by whoever has trained a chunk, and at the very end
        self.after_chunk: Callable[[], None] = lambda: None

    def freeze(self, frozen: Frozen) -> None:
        """Put these rows back after each chunk."""
        self.after_chunk = frozen.restore

    @property
    def output_bias(self) -> Matrix | None:
        """A view of the output biases, float32 (V,); None where there are none."""
        return self.matrices[1][:, self.config.dim] if self.config.bias else None

    def chunk_seeds(self, epoch: int, chunk: int) -> npt.NDArray[np.uint64]:
        """Return uint64[2h + 2]: what train_chunk draws from."""
        near = range(chunk - self.halo, chunk + self.halo + 1)
        windows = [self.seeds(self.config.seed, epoch, n)[0] if n >= 0 else 0 for n in near]
        return np.array([*windows, self.seeds(self.config.seed, epoch, chunk)[1]], np.uint64)

    def chunk_tokens(self, chunk: int) -> int:
        """Return the tokens of a chunk, before subsampling."""
        return min(CHUNK, len(self.data.tokens) - chunk * CHUNK)

    def count_pairs(self, chunk: int) -> int:
        """Return the pairs that the first epoch forms in a chunk."""
        start = chunk * CHUNK
        room = np.zeros((3, CHUNK + 2 * self.window + 1), np.int32)
        seeds = self.chunk_seeds(0, chunk)
        end = start + self.chunk_tokens(chunk)
        keep, window = self.data.keep, self.window
        return int(
            count_pairs(self.data.tokens, start, end, window, self.fixed, seeds, keep, *room)
        )


def halo_chunks(window: int, share: float) -> int:
    """Return h, how many chunks on either side a chunk's windows may look into.

    Where a share below 1 is kept, h chunks are expected to keep twice what a window needs, and
    `SPARE` more, so that one that keeps less is rare; never more than `MOST_HALO`.
    """
    tokens = window if share >= 1 else (2 * window + SPARE) / max(share, 1e-9)
    return max(-(-window // CHUNK), min(math.ceil(tokens / CHUNK), MOST_HALO))
