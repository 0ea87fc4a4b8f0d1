"""The trainer's slow, obvious twin: plain Python integers, float64 NumPy, one token at a time.

No chunks, halos, batches or tiles: a chunk is only the range of positions that shares a random
stream and a learning rate. The step itself is a function with the signature of
`objectives.sgns.window_step`; naive_steps.py has others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from w2v_sgns.config import TrainConfig
from w2v_sgns.objectives import sgns

CHUNK = 16_384  # tokens that share a stream; part of the definition of a run
BITS64 = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15

Draw = Callable[[int, Sequence[int]], int]
Step = Callable[..., float]


def splitmix(counter: int) -> int:
    """64 random bits for a counter."""
    z = ((counter ^ (counter >> 30)) * 0xBF58476D1CE4E5B9) & BITS64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS64
    return z ^ (z >> 31)


def nth_draw(seed: int, n: int) -> int:
    """The n-th 64 bits of a stream, from 0."""
    return splitmix((seed + (n + 1) * GOLDEN) & BITS64)


def chunk_seeds(seed: int, epoch: int, chunk: int) -> tuple[int, int]:
    """The two streams of a chunk: keep and window; noise."""
    state = np.random.SeedSequence(seed, spawn_key=(epoch, chunk)).generate_state(2, np.uint64)
    return int(state[0]), int(state[1])


def noise_word(bits: int, table: Sequence[int]) -> int:
    """A word from a packed alias table, by 64 random bits."""
    slot = ((bits >> 32) * len(table)) >> 32
    entry = int(table[slot])
    return slot if bits & 0xFFFFFFFF <= entry & 0xFFFFFFFF else entry >> 32


class Window(NamedTuple):
    """A kept token in the middle of its contexts, from left to right."""

    position: int  # in the corpus, before subsampling
    center: int
    contexts: list[int]
    context_positions: list[int]


class Kept(NamedTuple):
    position: int
    word: int
    size: int  # of its window


def kept_lines(
    tokens: np.ndarray, keep: np.ndarray, config: TrainConfig, epoch: int
) -> Iterator[list[Kept]]:
    """Every line's kept tokens. tokens: uint32 ids, the high bit ends a line."""
    seeds = [chunk_seeds(config.seed, epoch, chunk)[0] for chunk in range(-(-len(tokens) // CHUNK))]
    line: list[Kept] = []
    for position, token in enumerate(tokens.tolist()):
        word = token & 0x7FFFFFFF
        bits = nth_draw(seeds[position // CHUNK], position % CHUNK)
        drawn = 1 + (((bits & 0xFFFFFFFF) * config.window) >> 32)
        if bits >> 32 <= int(keep[min(word, len(keep) - 1)]):
            line.append(Kept(position, word, config.window if config.fixed_window else drawn))
        if token >> 31:
            yield line
            line = []
    yield line


def windows(
    tokens: np.ndarray, keep: np.ndarray, config: TrainConfig, epoch: int
) -> Iterator[Window]:
    """Every kept token with its contexts, in the order of the text; some have none."""
    for line in kept_lines(tokens, keep, config, epoch):
        for i, (position, word, size) in enumerate(line):
            around = line[max(0, i - size) : i] + line[i + 1 : i + 1 + size]
            contexts, where = [c.word for c in around], [c.position for c in around]
            yield Window(position, word, contexts, where)


@dataclass
class Negatives:
    """The noise of an epoch: k draws for every kept token, one counter for each chunk."""

    config: TrainConfig
    epoch: int
    table: Sequence[int]
    draw: Draw = noise_word
    drawn: dict[int, int] = field(default_factory=dict)  # chunk: draws so far

    def of(self, position: int) -> list[int]:
        """The next k negatives of the chunk that holds a position."""
        chunk = position // CHUNK
        seed = chunk_seeds(self.config.seed, self.epoch, chunk)[1]
        first = self.drawn.get(chunk, 0)
        self.drawn[chunk] = first + self.config.negative
        counters = range(first, first + self.config.negative)
        return [self.draw(nth_draw(seed, n), self.table) for n in counters]


@dataclass
class Sums:
    """What an epoch added up."""

    kept: int = 0
    pairs: int = 0
    loss: float = 0.0


def learning_rate(config: TrainConfig, epoch: int, position: int, tokens: int) -> np.float32:
    """On the line from lr to final_lr, at the first token of the position's chunk."""
    done = epoch * tokens + position // CHUNK * CHUNK
    share = done / (config.epochs * tokens)
    return np.float32(config.lr + (config.final_lr - config.lr) * share)


@dataclass
class InStep:
    """The windows of one chunk as threads in step do them: scores of a block are old ones.

    A block has at most `most` windows. Its scores are taken before the block before it is added,
    unless a word would then stand more than twice among the windows not added, or blocks are of
    one window.
    """

    E: np.ndarray
    Ep: np.ndarray
    most: int
    lr: float
    collisions: str = "keep"
    loss: float = 0.0

    def train(self, windows: Sequence[tuple[list[int], list[int]]]) -> None:
        """windows: contexts and outputs of each, the true word first."""
        waiting: list[list[tuple]] = []  # blocks that are scored, and not added
        for block, early in self.blocks(windows):
            if not early:
                self.add_all(waiting)
            waiting.append([(*window, self.errors(*window)) for window in block])
            if len(waiting) == 2:
                self.add(waiting.pop(0))
        self.add_all(waiting)

    def blocks(self, windows: Sequence[tuple]) -> Iterator[tuple[list, bool]]:
        """Blocks, and whether each may be scored before the block before it is added."""
        before: list[tuple] = []
        rest = list(windows)
        while rest:
            early = self.most > 1 and [w[1][0] for w in before].count(rest[0][1][0]) < 2
            seen = [w[1][0] for w in before] if early else []
            block: list[tuple] = []
            while rest and len(block) < self.most:
                if block and seen.count(rest[0][1][0]) >= 2:
                    break
                seen.append(rest[0][1][0])
                block.append(rest.pop(0))
            yield block, early
            before = block

    def errors(self, contexts: list[int], outputs: list[int]) -> np.ndarray:
        if not contexts:
            return np.zeros((0, len(outputs)))
        step = sgns.evaluate(self.E, self.Ep, contexts, outputs, collisions=self.collisions)
        self.loss += step.loss
        return step.errors

    def add(self, block: list[tuple]) -> None:
        for contexts, outputs, errors in block:
            dX, dH = errors @ self.Ep[outputs], errors.T @ self.E[contexts]
            np.subtract.at(self.E, contexts, self.lr * dX)
            np.subtract.at(self.Ep, outputs, self.lr * dH)

    def add_all(self, waiting: list[list[tuple]]) -> None:
        while waiting:
            self.add(waiting.pop(0))


def replay_in_step(
    tokens: np.ndarray,
    E: np.ndarray,
    Ep: np.ndarray,
    *,
    keep: np.ndarray,
    noise: np.ndarray,
    config: TrainConfig,
    most: int,
    epoch: int = 0,
) -> Sums:
    """Train one epoch in place as threads in step do."""
    sums = Sums()
    negatives = Negatives(config, epoch, noise.tolist())
    chunks: dict[int, list[tuple[list[int], list[int]]]] = {}
    for window in windows(tokens, keep, config, epoch):
        outputs = [window.center, *negatives.of(window.position)]
        chunks.setdefault(window.position // CHUNK, []).append((window.contexts, outputs))
        sums.kept += 1
        sums.pairs += len(window.contexts)
    for chunk, listed in chunks.items():
        lr = float(learning_rate(config, epoch, chunk * CHUNK, len(tokens)))
        run = InStep(E, Ep, most, lr, config.collisions)
        run.train(listed)
        sums.loss += run.loss
    return sums


def replay(
    tokens: np.ndarray,
    E: np.ndarray,
    Ep: np.ndarray,
    *,
    keep: np.ndarray,
    noise: np.ndarray,
    config: TrainConfig,
    epoch: int = 0,
    step: Step = sgns.window_step,
    draw: Draw = noise_word,
) -> Sums:
    """Train one epoch in place on one thread; E and Ep are (V, d) of whatever type `step` takes."""
    sums = Sums()
    negatives = Negatives(config, epoch, noise.tolist(), draw)
    for window in windows(tokens, keep, config, epoch):
        outputs = [window.center, *negatives.of(window.position)]
        sums.kept += 1
        sums.pairs += len(window.contexts)
        if window.contexts:
            lr = learning_rate(config, epoch, window.position, len(tokens))
            options: dict[str, Any] = {"collisions": config.collisions}
            sums.loss += step(E, Ep, window.contexts, outputs, float(lr), **options)
    return sums
