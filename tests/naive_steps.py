"""Other steps with the signature of `objectives.sgns.window_step`: a control, a kin, wrong ones.

`float32` shows how much error rounding alone explains; `word2vec_c` is what another program
does; those in WRONG must be told apart from ours by every check that claims to check.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from w2v_sgns.objectives import nce, sgns
from w2v_sgns.objectives.stable import sigmoid


def float32(
    E: np.ndarray,
    Ep: np.ndarray,
    contexts: Sequence[int],
    outputs: Sequence[int],
    lr: float,
    *,
    collisions: str = "keep",
    tile: int = 6,
    form: str = "sgns",
    log_kq: np.ndarray | None = None,
) -> float:
    """Our step in float32 with the kernel's order of sums: one context, one tile at a time."""
    X, H = E[contexts], Ep[outputs]
    label = np.zeros(len(outputs))
    label[0] = 1
    counted = np.ones(len(outputs))
    if collisions == "drop":
        counted[1:] = np.asarray(outputs[1:]) != outputs[0]
    scores = X @ H.T
    cost = sgns.cost
    if form != "sgns":
        cost = functools.partial(nce.COSTS[form], log_kq=log_kq[outputs])
    terms, errors = cost(scores, label)
    G = (-lr * errors * counted).astype(np.float32)
    dH = np.zeros_like(H)
    for g, x in zip(G, X, strict=True):
        dH += g[:, None] * x
    for first in range(0, len(outputs), tile):
        np.add.at(E, contexts, G[:, first : first + tile] @ H[first : first + tile])
    np.add.at(Ep, outputs, dH)
    return float((terms * counted).sum())


def word2vec_c(
    E: np.ndarray, Ep: np.ndarray, center: int, target: int, negatives: Sequence[int], lr: float
) -> None:
    """One pair as word2vec.c orders it (without its clamp): outputs change one after another.

    A negative equal to the target is skipped; a repeated one sees the row already changed.
    """
    v = E[center].copy()
    moved = np.zeros_like(v)
    for n, word in enumerate([target, *negatives]):
        if n and word == target:
            continue
        g = lr * ((n == 0) - sigmoid(v @ Ep[word]))
        moved += g * Ep[word]
        Ep[word] += g * v
    E[center] += moved


def lost_repeats(E, Ep, contexts, outputs, lr, *, collisions="keep"):
    """Wrong: of a row that stands twice, only one share arrives."""
    step = sgns.evaluate(E, Ep, contexts, outputs, collisions=collisions)
    E[contexts] -= lr * step.dX
    Ep[outputs] -= lr * step.dH
    return step.loss


def new_inputs(E, Ep, contexts, outputs, lr, *, collisions="keep"):
    """Wrong: the outputs move by inputs that have moved already."""
    step = sgns.evaluate(E, Ep, contexts, outputs, collisions=collisions)
    np.subtract.at(E, contexts, lr * step.dX)
    np.subtract.at(Ep, outputs, lr * step.errors.T @ E[contexts])
    return step.loss


def new_outputs(E, Ep, contexts, outputs, lr, *, collisions="keep"):
    """Wrong: the inputs move by outputs that have moved already."""
    step = sgns.evaluate(E, Ep, contexts, outputs, collisions=collisions)
    np.subtract.at(Ep, outputs, lr * step.dH)
    np.subtract.at(E, contexts, lr * step.errors @ Ep[outputs])
    return step.loss


def one_by_one(E, Ep, contexts, outputs, lr, *, collisions="keep"):
    """Wrong: each context is a step of its own, from values the one before has changed."""
    return sum(
        sgns.window_step(E, Ep, [context], outputs, lr, collisions=collisions)
        for context in contexts
    )


def label_sign(E, Ep, contexts, outputs, lr, *, collisions="keep"):
    """Wrong: uphill, away from the target and towards the noise."""
    return sgns.window_step(E, Ep, contexts, outputs, -lr, collisions=collisions)


def no_label(E, Ep, contexts, outputs, lr, *, collisions="keep"):
    """Wrong: the target counts as noise."""
    step = sgns.evaluate(E, Ep, contexts, outputs, collisions=collisions)
    errors = sigmoid(step.scores)
    dX, dH = errors @ Ep[outputs], errors.T @ E[contexts]
    np.subtract.at(E, contexts, lr * dX)
    np.subtract.at(Ep, outputs, lr * dH)
    return step.loss


def dropped_context(E, Ep, contexts, outputs, lr, *, collisions="keep"):
    """Wrong: the last context of the window is forgotten."""
    if len(contexts) == 1:
        return 0.0
    return sgns.window_step(E, Ep, contexts[:-1], outputs, lr, collisions=collisions)


def dropped_negative(E, Ep, contexts, outputs, lr, *, collisions="keep"):
    """Wrong: the last negative of the window is forgotten."""
    return sgns.window_step(E, Ep, contexts, outputs[:-1], lr, collisions=collisions)


def other_collisions(E, Ep, contexts, outputs, lr, *, collisions="keep"):
    """Wrong: drops what should be kept, and the other way round."""
    other = "keep" if collisions == "drop" else "drop"
    return sgns.window_step(E, Ep, contexts, outputs, lr, collisions=other)


def swapped_sides(E, Ep, contexts, outputs, lr, *, collisions="keep"):
    """Wrong: input and output matrix in each other's place."""
    return sgns.window_step(Ep, E, contexts, outputs, lr, collisions=collisions)


def shift(form: str = "nce", factor: float = 1.0) -> Callable[..., float]:
    """Return a step of NCE whose log(k·q(w)) is multiplied by a factor: 1 is right."""

    def step(E, Ep, contexts, outputs, lr, *, collisions="keep", log_kq):
        return nce.window_step(
            E, Ep, contexts, outputs, lr, collisions=collisions, form=form, log_kq=factor * log_kq
        )

    return step


def mean_shift(E, Ep, contexts, outputs, lr, *, collisions="keep", log_kq):
    """Wrong: every word is shifted by the mean."""
    log_kq = np.full_like(log_kq, log_kq.mean())
    return nce.window_step(E, Ep, contexts, outputs, lr, collisions=collisions, log_kq=log_kq)


def true_word_unshifted(E, Ep, contexts, outputs, lr, *, collisions="keep", log_kq):
    """Wrong: the shift reaches the noise words only."""
    log_kq = log_kq.copy()
    log_kq[outputs[0]] = 0
    return nce.window_step(E, Ep, contexts, outputs, lr, collisions=collisions, log_kq=log_kq)


WRONG_NCE: dict[str, Callable[..., float]] = {
    "no_shift": shift(factor=0),
    "shift_sign": shift(factor=-1),
    "sigmoid_form": shift("nce-sigmoid"),
    "mean_shift": mean_shift,
    "true_word_unshifted": true_word_unshifted,
}


def last_row_never_drawn(bits: int, table: Sequence[int]) -> int:
    """Wrong as noise: an off-by-one that misses the last slot of the alias table."""
    slot = ((bits >> 32) * (len(table) - 1)) >> 32
    entry = int(table[slot])
    return slot if bits & 0xFFFFFFFF <= entry & 0xFFFFFFFF else entry >> 32


WRONG: dict[str, Callable[..., float]] = {
    step.__name__: step
    for step in (
        lost_repeats,
        new_inputs,
        new_outputs,
        one_by_one,
        label_sign,
        no_label,
        dropped_context,
        dropped_negative,
        other_collisions,
        swapped_sides,
    )
}


def float32_for(tile: int) -> Callable[..., float]:
    """The rounding control for a tile of so many outputs."""
    return functools.partial(float32, tile=tile)
