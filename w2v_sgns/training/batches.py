"""Backends that train batch after batch with dense products: the softmax, and shared noise.

A batch is some kept tokens of one chunk with their windows, fewer at the chunk's end. Gradients
of a batch are taken at the old values and summed, so a run does not depend on the threads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from w2v_sgns.kernels.shared import shared_step
from w2v_sgns.kernels.softmax import Positives, softmax_step
from w2v_sgns.kernels.windows import CHUNK, list_noise, list_windows
from w2v_sgns.machine import single_threaded_blas
from w2v_sgns.training.backends import TICK, Matrix, Tick, Totals
from w2v_sgns.training.chunked import ChunkedBackend, Given

__all__ = [
    "BatchBackend",
    "SharedNoiseBackend",
    "SoftmaxBackend",
    "batch_rows",
    "shared_words",
]

WORDS_A_ROW = 64  # of the vocabulary, at least, for each row of a batch
SHARED = 64  # noise words of a batch, where --negative is not larger

Ids = npt.NDArray[np.int64]


class Windows(NamedTuple):
    """Some kept tokens and their windows, as pairs."""

    words: Ids  # (B,) the kept tokens
    rows: Ids  # (P,) 0..B−1: whose window a pair belongs to
    contexts: Ids  # (P,) the other word of each pair


def batch_rows(words: int, most: int) -> int:
    """Return the kept tokens of a batch: fewer with a small vocabulary.

    Gradients are summed: with many rows for few words, each word would move by too much at once.
    """
    return max(1, min(most, words // WORDS_A_ROW))


def shared_words(negatives: int) -> int:
    """Return how many noise words a batch draws: the counters n·count.. of its chunk's stream."""
    return max(SHARED, negatives)


class BatchBackend(ChunkedBackend):
    """Trains chunk after chunk, each batch after batch, in the order of the text."""

    MOST_ROWS = 128  # kept tokens of a batch

    def __init__(self, E: Matrix, Ep: Matrix, *, threads: int, **given: Unpack[Given]) -> None:
        """Take what is trained."""
        super().__init__(E, Ep, **given)
        self.rows = batch_rows(len(E), self.MOST_ROWS)
        self.threads, self._pool = threads, ThreadPoolExecutor(threads)
        width = self.config.dim + self.config.bias
        self.E, self.Ep = (matrix[:, :width] for matrix in self.matrices)
        self.room = np.zeros((3, CHUNK + 2 * self.window + 1), np.int32)

    def warm_up(self) -> None:
        """Compile what forms the pairs."""
        next(self._batches(0, 0), None)

    def run_epoch(
        self, epoch: int, tick: Tick, *, first: int = 0, end: int | None = None
    ) -> Totals:
        """Train on the chunks from `first` on (see :class:`~.backends.Backend`)."""
        sums, told, chunk = np.zeros(4), time.monotonic(), first
        stopped = False
        with single_threaded_blas():
            while chunk < (self.chunks if end is None else end) and not stopped:
                try:
                    for batch in self._train(epoch, chunk):
                        sums += batch
                        if time.monotonic() - told > TICK:
                            stopped |= bool(tick(_totals(sums, chunk + 1)))
                            told = time.monotonic()
                finally:  # tick may raise in the middle of a chunk
                    self.after_chunk()
                chunk += 1
        return _totals(sums, chunk)

    def tokens_per_second(self, seconds: float) -> float:
        """Train chunks spread over the text for about so long; return the rate.

        Changes E and Ep, unless the learning rate is zero: meant for estimates.
        """
        begun, tokens = time.perf_counter(), 0
        with single_threaded_blas():
            for chunk in range(0, self.chunks, max(1, self.chunks // 64)):
                for sums in self._train(0, chunk):
                    tokens += int(sums[0])
                    if tokens and time.perf_counter() - begun > seconds:
                        return tokens / (time.perf_counter() - begun)
        return tokens / (time.perf_counter() - begun)

    def pairs(self) -> tuple[Ids, Ids]:
        """Return the first epoch's pairs: kept tokens, and words of their windows, (P,) both."""
        batches = [b for chunk in range(self.chunks) for b in self._batches(0, chunk)]
        kept = [batch.words[batch.rows] for batch in batches]
        others = [batch.contexts for batch in batches]
        nothing = np.zeros(0, np.int64)
        return np.concatenate([nothing, *kept]), np.concatenate([nothing, *others])

    def _train(self, epoch: int, chunk: int) -> Iterator[npt.NDArray[np.float64]]:
        """Train one chunk; yield tokens, kept tokens, pairs and loss of each batch."""
        lr = float(np.float32(self.schedule.at(epoch, chunk * CHUNK)))
        state = self.chunk_seeds(epoch, chunk)[-1]
        first, last = self._list(epoch, chunk)
        tokens, told, counted = self.chunk_tokens(chunk), 0, 0
        for batch, (windows, kept) in enumerate(self.pieces(first, last, state)):
            loss = self.step(windows, lr, batch, state) if len(windows.rows) else 0.0
            done = tokens * kept // (last - first)
            yield np.array([done - told, kept - counted, len(windows.rows), loss])
            told, counted = done, kept
        if first == last:
            yield np.array([tokens, 0, 0, 0.0])

    def _batches(self, epoch: int, chunk: int) -> Iterator[Windows]:
        """Yield a chunk's kept tokens with their windows, so many at a time."""
        first, last = self._list(epoch, chunk)
        for windows, _ in self.pieces(first, last, self.chunk_seeds(epoch, chunk)[-1]):
            yield windows

    def pieces(self, first: int, last: int, state: np.uint64) -> Iterator[tuple[Windows, int]]:
        """Yield the batches of the words first..last − 1 of the room, and kept tokens so far."""
        for begin in range(first, last, self.rows):
            end = min(begin + self.rows, last)
            yield self.windows(begin, end), end - first

    def _list(self, epoch: int, chunk: int) -> tuple[int, int]:
        """Put a chunk's kept tokens and the ends of their windows into the room: first, last."""
        start = chunk * CHUNK
        seeds = self.chunk_seeds(epoch, chunk)
        end = start + self.chunk_tokens(chunk)
        first, last = list_windows(
            self.data.tokens,
            start,
            end,
            self.window,
            self.fixed,
            seeds,
            self.data.keep,
            *self.room,
        )
        return int(first), int(last)

    def windows(self, begin: int, end: int) -> Windows:
        """Return the pairs of the words begin..end − 1 of the room."""
        words, low, high = self.room
        t = np.arange(begin, end)
        return _windows(words, t, low[t].astype(np.int64), high[t].astype(np.int64))

    def step(self, windows: Windows, lr: float, batch: int, seed: np.uint64) -> float:
        """Train the chunk's batch of this number; return its loss. seed: the chunk's noise."""
        raise NotImplementedError


def _windows(words: npt.NDArray[np.int32], t: Ids, low: Ids, high: Ids) -> Windows:
    """Return the pairs of words[t] with words[low:high], without themselves."""
    sizes = high - low - 1
    rows = np.repeat(np.arange(len(t)), sizes)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + low[rows]
    place += place >= t[rows]
    return Windows(words[t].astype(np.int64), rows, words[place].astype(np.int64))


def _totals(sums: npt.NDArray[np.float64], next_chunk: int) -> Totals:
    tokens, kept, pairs, loss = sums
    return Totals(int(tokens), int(kept), int(pairs), float(loss), next_chunk)


class SoftmaxBackend(BatchBackend):
    """The exact softmax: each kept token is an input row, the words of its window are true.

    A word that stands several times in a batch is one row with all its true words.
    """

    MOST_ROWS = 256  # the more, the better the products' rate, and the older the last one's values

    @np.errstate(over="ignore", invalid="ignore")  # of a training that diverges: the loss tells
    def step(self, windows: Windows, lr: float, batch: int, seed: np.uint64) -> float:
        """Train one batch (see :func:`~w2v_sgns.kernels.softmax.softmax_step`)."""
        centers, inverse = np.unique(windows.words, return_inverse=True)
        positives = true_words(inverse[windows.rows], windows.contexts, len(centers))
        X = self.E[centers]
        run = map if self.threads == 1 else self._pool.map
        loss, dX = softmax_step(X, self.Ep, positives, lr, run=run)
        dim = self.config.dim  # beyond it lies the input of the biases, a constant
        self.E[centers, :dim] = X[:, :dim] - np.float32(lr) * dX[:, :dim]
        return loss


def true_words(rows: Ids, words: Ids, count: int) -> Positives:
    """Return the pairs (row, word) in the order of the words, equal ones counted together."""
    keys, times = np.unique(words * count + rows, return_counts=True)
    total = np.bincount(rows, minlength=count)
    return Positives(
        keys % count, keys // count, times.astype(np.float32), total.astype(np.float32)
    )


class SharedNoiseBackend(BatchBackend):
    """One set of noise words for all pairs of a batch, each weighted to stand for k a pair."""

    @cached_property
    def _noise(self) -> Ids:
        """Room for the noise words of a batch."""
        return np.zeros(shared_words(self.config.negative), np.int64)

    @cached_property
    def _log_kq(self) -> npt.NDArray[np.float32] | None:
        """The shift of NCE's scores, (V,); None for SGNS, which has none."""
        log_kq = self.data.log_kq
        if self.config.objective == "sgns" or log_kq is None:
            return None
        return log_kq.astype(np.float32)

    def step(self, windows: Windows, lr: float, batch: int, seed: np.uint64) -> float:
        """Train one batch (see :func:`~w2v_sgns.kernels.shared.shared_step`)."""
        list_noise(self.data.noise, seed, batch * len(self._noise), self._noise)
        config = self.config
        loss = shared_step(
            self.E,
            self.Ep,
            windows.contexts,
            windows.words[windows.rows],
            self._noise,
            self._log_kq,
            lr,
            sigmoid_form=config.objective == "nce-sigmoid",
            weight=config.negative / len(self._noise),
            drop=config.collisions == "drop",
        )
        if config.bias:
            self.E[windows.contexts, config.dim] = 1
        return loss
