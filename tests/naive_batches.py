"""The twin of training with noise shared by a batch: plain loops, float64, one batch at a time.

A batch is the next `rows` kept tokens of a chunk, fewer at its end. Its `count` noise words are
the draws number·count.. of the chunk's stream, whether the batch has pairs or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby, islice
from typing import Any

import numpy as np
from naive import CHUNK, Sums, Window, chunk_seeds, learning_rate, noise_word, nth_draw, windows

from w2v_sgns.config import TrainConfig
from w2v_sgns.objectives import nce, sgns, shared


def batches(
    tokens: np.ndarray, keep: np.ndarray, config: TrainConfig, rows: int, epoch: int = 0
) -> Iterator[tuple[int, list[Window]]]:
    """Every batch with its number within its chunk."""
    found = windows(tokens, keep, config, epoch)
    for _, chunk in groupby(found, lambda window: window.position // CHUNK):
        number = 0
        while batch := list(islice(chunk, rows)):
            yield number, batch
            number += 1


def pairs_of(batch: list[Window]) -> tuple[np.ndarray, np.ndarray]:
    """Each pair's place in the batch and its context."""
    rows = [n for n, window in enumerate(batch) for _ in window.contexts]
    return np.array(rows, int), np.array([c for window in batch for c in window.contexts], int)


def replay_batches(
    tokens: np.ndarray,
    E: np.ndarray,
    Ep: np.ndarray,
    *,
    keep: np.ndarray,
    noise: np.ndarray,
    log_kq: np.ndarray,
    config: TrainConfig,
    rows: int,
    count: int,
) -> Sums:
    """Train the first epoch in place; with biases, they are the last column of Ep."""
    sums = Sums()
    dim, bias = config.dim, Ep[:, -1] if config.bias else None
    for number, batch in batches(tokens, keep, config, rows):
        places, contexts = pairs_of(batch)
        sums.kept += len(batch)
        sums.pairs += len(places)
        if not len(places):
            continue
        seed = chunk_seeds(config.seed, 0, batch[0].position // CHUNK)[1]
        counters = range(number * count, (number + 1) * count)
        drawn = [noise_word(nth_draw(seed, n), noise.tolist()) for n in counters]
        targets = np.array([window.center for window in batch])[places]
        costs: tuple[Any, Any] = (sgns.cost, sgns.cost)
        if config.objective != "sgns":
            cost = nce.COSTS[config.objective]
            costs = partial(cost, log_kq=log_kq[targets]), partial(cost, log_kq=log_kq[drawn])
        lr = float(learning_rate(config, 0, batch[0].position, len(tokens)))
        sums.loss += shared.batch_step(
            E[:, :dim],
            Ep[:, :dim],
            contexts,
            targets,
            drawn,
            lr,
            *costs,
            weight=config.negative / count,
            collisions=config.collisions,
            bias=bias,
        )
    return sums
