"""Small inputs for the kernels, and how far their results are from float64.

Used by the tests of kernels/ and by scripts/check_kernels.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from naive import Sums, replay
from naive_steps import float32_for

from w2v_sgns.config import TrainConfig
from w2v_sgns.kernels.hogwild import train_chunk
from w2v_sgns.kernels.matrices import aligned_matrix, padded
from w2v_sgns.kernels.rng import stream_seeds
from w2v_sgns.kernels.simd import FORMS, Tile, tile_for
from w2v_sgns.kernels.step import shift_table, window_step
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.kernels.workspace import workspace
from w2v_sgns.objectives import nce, sgns
from w2v_sgns.sampling import alias_table, keep_thresholds, pack_alias
from w2v_sgns.training.schedule import Schedule

TOLERANCE = 1e-6  # of one step, relative to max(1, largest value)
LINE_END = 1 << 31

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class StepCase:
    """One window step over a vocabulary so small that rows repeat."""

    dim: int
    negatives: int
    contexts: int
    words: int = 4
    collisions: str = "keep"
    lr: float = 0.05
    scale: float = 0.3  # standard deviation of all values
    objective: str = "sgns"
    bias: bool = False

    def inputs(self, seed: int) -> tuple[Pair, np.ndarray, np.ndarray]:
        """Return (E, Ep) as float32 (V, d), the context ids and the output ids.

        With a bias there is a column more: 1 in E, the biases in Ep.
        """
        rng = np.random.default_rng((seed, self.dim, self.negatives, self.contexts))
        width = self.dim + self.bias
        E, Ep = rng.normal(0, self.scale, (2, self.words, width)).astype(np.float32)
        if self.bias:
            E[:, -1] = 1
        contexts = rng.integers(0, self.words, self.contexts)
        return (E, Ep), contexts, rng.integers(0, self.words, self.negatives + 1)

    @property
    def log_kq(self) -> np.ndarray:
        """log(k·q(w)) of a noise that is far from uniform."""
        q = 1.0 / np.arange(1, self.words + 1)
        return np.log(self.negatives * q / q.sum())

    def tile(self, width: int | None) -> Tile:
        return tile_for(self.negatives + 1, width=width, form=self.objective, bias=self.bias)

    def step(self) -> Callable[..., float]:
        """The float64 reference of one step."""
        return reference_of(self.objective, self.log_kq, bias=self.bias)


def reference_of(objective: str, log_kq: np.ndarray, *, bias: bool) -> Callable[..., float]:
    """Return the float64 step of an objective, with the signature of `sgns.window_step`."""
    plain: Callable[..., float] = sgns.window_step
    if objective != "sgns":
        plain = partial(nce.window_step, log_kq=log_kq, form=objective)
    return with_bias(plain) if bias else plain


def with_bias(step: Callable[..., float]) -> Callable[..., float]:
    """Let a step take the biases from the last column of Ep."""

    def biased(E, Ep, contexts, outputs, lr, *, collisions="keep"):
        bias = Ep[:, -1].copy()
        loss = step(E[:, :-1], Ep[:, :-1], contexts, outputs, lr, collisions=collisions, bias=bias)
        Ep[:, -1] = bias
        return loss

    return biased


def control_of(
    objective: str, log_kq: np.ndarray, tile: int, *, bias: bool
) -> Callable[..., float]:
    """Return the float32 step with the kernel's order of sums."""
    step = partial(float32_for(tile), log_kq=None if objective == "sgns" else log_kq)
    step = partial(step, form=objective) if objective != "sgns" else step

    def biased(E, Ep, *arguments, **options):
        loss = step(E, Ep, *arguments, **options)
        E[:, -1] = 1
        return loss

    return biased if bias else step


class StepResult(NamedTuple):
    matrices: Pair  # as the kernel left them, without padding
    loss: float
    pairs: int
    padding_is_zero: bool


def aligned_copy(matrix: np.ndarray) -> np.ndarray:
    """Return a copy in the kernels' memory layout."""
    copy = aligned_matrix(*matrix.shape)
    copy[:] = matrix
    return copy


def padding_is_zero(*matrices: np.ndarray) -> bool:
    return not any(padded(matrix)[:, matrix.shape[1] :].any() for matrix in matrices)


def kernel_step(
    tile: Tile,
    matrices: Pair,
    contexts: np.ndarray,
    outputs: np.ndarray,
    *,
    lr: float,
    collisions: str = "keep",
    log_kq: np.ndarray | None = None,
) -> StepResult:
    """Run the compiled step on copies."""
    E, Ep = map(aligned_copy, matrices)
    room = workspace(tile, window=max(1, len(contexts)), outputs=len(outputs), dim=E.shape[1])
    form = FORMS[len(tile.form) - 1]
    totals = np.zeros(3)
    window_step(
        tile,
        padded(E),
        padded(Ep),
        E.shape[1] - (len(tile.bias) - 1),
        contexts.astype(np.int64),
        outputs.astype(np.int64),
        shift_table(form, np.zeros(1) if log_kq is None else log_kq),
        collisions == "drop",
        np.float32(lr),
        room,
        totals,
    )
    return StepResult((E, Ep), float(totals[2]), int(totals[1]), padding_is_zero(E, Ep))


def reference_step(
    step: Callable[..., float],
    matrices: Pair,
    contexts: np.ndarray,
    outputs: np.ndarray,
    *,
    lr: float,
    collisions: str = "keep",
    dtype: type = np.float64,
) -> tuple[Pair, float]:
    """Run a step of NumPy on copies of another type; the rate is the kernel's float32."""
    E, Ep = (matrix.astype(dtype) for matrix in matrices)
    loss = step(E, Ep, contexts, outputs, float(np.float32(lr)), collisions=collisions)
    return (E, Ep), loss


def distance(ours: Pair, exact: Pair) -> float:
    """Return max |ours − exact| / max(1, max |exact|) over both matrices."""
    size = max(1.0, *(float(np.abs(matrix).max()) for matrix in exact))
    apart = [float(np.abs(a - b).max()) for a, b in zip(ours, exact, strict=True)]
    return max(apart) / size


class StepErrors(NamedTuple):
    kernel: float  # against float64
    float32: float  # of float32 NumPy with the same order of sums
    loss: float  # relative to max(1, loss)
    clean: bool  # padding zero, pairs counted


def step_errors(case: StepCase, *, width: int | None, seed: int) -> StepErrors:
    """Compare one step of the kernel with the float64 reference."""
    tile = case.tile(width)
    matrices, contexts, outputs = case.inputs(seed)
    settings = {"lr": case.lr, "collisions": case.collisions}
    ours = kernel_step(tile, matrices, contexts, outputs, **settings, log_kq=case.log_kq)
    exact, loss = reference_step(case.step(), matrices, contexts, outputs, **settings)
    control = control_of(case.objective, case.log_kq, len(tile.outputs), bias=case.bias)
    rounded, _ = reference_step(control, matrices, contexts, outputs, **settings, dtype=np.float32)
    return StepErrors(
        distance(ours.matrices, exact),
        distance(rounded, exact),
        abs(ours.loss - loss) / max(1, loss),
        ours.padding_is_zero and ours.pairs == case.contexts,
    )


def step_difference(
    wrong: Callable[..., float], case: StepCase, *, width: int | None, seed: int
) -> float:
    """Return how far the kernel is from a wrong reference."""
    matrices, contexts, outputs = case.inputs(seed)
    settings = {"lr": case.lr, "collisions": case.collisions}
    ours = kernel_step(
        case.tile(width), matrices, contexts, outputs, **settings, log_kq=case.log_kq
    )
    return distance(
        ours.matrices, reference_step(wrong, matrices, contexts, outputs, **settings)[0]
    )


@dataclass(frozen=True, kw_only=True)
class Text:
    """Token ids of a made-up text, and how its words are sampled."""

    tokens: np.ndarray  # uint32, the high bit ends a line
    keep: np.ndarray  # uint32[V]
    noise: np.ndarray  # uint64[V]
    q: np.ndarray  # float64[V], what noise draws from

    @property
    def words(self) -> int:
        return len(self.noise)


def random_text(words: int, lengths: Sequence[int], *, seed: int = 1, keep: float = 1.0) -> Text:
    """Return lines of Zipf words; a word is kept with a probability in keep/2..keep, or 1."""
    rng = np.random.default_rng(seed)
    tokens = np.minimum(rng.zipf(1.3, sum(lengths)) - 1, words - 1).astype(np.uint32)
    tokens[np.cumsum(lengths) - 1] |= np.uint32(LINE_END)
    q = rng.uniform(0.2, 3, words)
    kept = np.ones(words) if keep == 1 else rng.uniform(keep / 2, keep, words)
    q /= q.sum()
    return Text(tokens=tokens, keep=keep_thresholds(kept), noise=pack_alias(*alias_table(q)), q=q)


def random_matrices(words: int, dim: int, *, scale: float = 0.05, seed: int = 1) -> Pair:
    E, Ep = np.random.default_rng(seed).normal(0, scale, (2, words, dim)).astype(np.float32)
    return E, Ep


def kernel_epoch(
    text: Text,
    E: np.ndarray,
    Ep: np.ndarray,
    *,
    config: TrainConfig,
    epoch: int = 0,
    width: int | None = None,
    stop: bool = False,
) -> Sums:
    """Train aligned matrices on every chunk in turn, as one thread would."""
    tokens = text.tokens
    tile = tile_for(config.negative + 1, width=width, form=config.objective, bias=config.bias)
    room = workspace(tile, window=config.window, outputs=config.negative + 1, dim=E.shape[1])
    shift = shift_table(config.objective, np.log(config.negative * text.q))
    schedule = Schedule(
        start=config.lr, end=config.final_lr, tokens=len(tokens), epochs=config.epochs
    )
    totals = np.zeros(3)
    for chunk in range(-(-len(tokens) // CHUNK)):
        before, here, after = (
            stream_seeds(config.seed, epoch, max(0, chunk + n)) for n in (-1, 0, 1)
        )
        train_chunk(
            tile,
            tokens,
            chunk,
            text.keep,
            text.noise,
            shift,
            padded(E),
            padded(Ep),
            config.dim,
            config.window,
            config.fixed_window,
            config.negative,
            config.collisions == "drop",
            np.float32(schedule.at(epoch, chunk * CHUNK)),
            np.array([before[0], here[0], after[0], here[1]], np.uint64),
            np.array([stop], np.uint8),
            room,
            totals,
        )
    return Sums(int(totals[0]), int(totals[1]), float(totals[2]))


class RunErrors(NamedTuple):
    kernel: float
    float32: float
    loss: float  # the kernel's, relative
    float32_loss: float  # the control's
    counts: bool  # kept tokens and pairs are the twin's
    clean: bool  # padding zero


def run_errors(text: Text, config: TrainConfig, *, width: int | None = None) -> RunErrors:
    """Train all epochs with the kernel, the float64 twin and its float32 control."""
    start = random_matrices(text.words, config.dim + config.bias)
    if config.bias:
        start[0][:, -1] = 1
    log_kq = np.log(config.negative * text.q)
    E, Ep = map(aligned_copy, start)
    exact = tuple(matrix.astype(np.float64) for matrix in start)
    rounded = tuple(matrix.copy() for matrix in start)
    tile = tile_for(config.negative + 1, width=width)
    control = control_of(config.objective, log_kq, len(tile.outputs), bias=config.bias)
    reference = reference_of(config.objective, log_kq, bias=config.bias)
    settings = {"keep": text.keep, "noise": text.noise, "config": config}
    ours, twins, controls = [], [], []
    for epoch in range(config.epochs):
        ours.append(kernel_epoch(text, E, Ep, config=config, epoch=epoch, width=width))
        twins.append(replay(text.tokens, *exact, **settings, epoch=epoch, step=reference))
        controls.append(replay(text.tokens, *rounded, **settings, epoch=epoch, step=control))
    counts = [(a.kept, a.pairs) == (b.kept, b.pairs) for a, b in zip(ours, twins, strict=True)]
    return RunErrors(
        distance((E, Ep), exact),
        distance(rounded, exact),
        _loss_error(ours, twins),
        _loss_error(controls, twins),
        all(counts),
        padding_is_zero(E, Ep),
    )


def _loss_error(ours: list[Sums], exact: list[Sums]) -> float:
    return max(abs(a.loss - b.loss) / b.loss for a, b in zip(ours, exact, strict=True))
