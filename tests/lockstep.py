"""What many streams do to a text: S of them step in turn, all reads first, then all additions.

The harshest order that a GPU's streams can have. Windows of one word on either side, in NumPy.
"""

from __future__ import annotations

import numpy as np

from w2v_sgns.objectives.sgns import cost


def final_loss(
    tokens: np.ndarray,
    words: int,
    *,
    streams: int,
    dim: int = 16,
    negatives: int = 4,
    lr: float = 0.05,
) -> float:
    """Return the mean loss of a pair over the last fifth of one epoch."""
    rng = np.random.default_rng(1)
    E, Ep = (rng.random((words, dim)) - 0.5) / dim, np.zeros((words, dim))
    places = np.arange(1, len(tokens) - 1)
    rounds = len(places) // streams
    order = places[: rounds * streams].reshape(streams, rounds).T  # a stream: a run of the text
    label = np.zeros((1, 1, negatives + 1))
    label[..., 0] = 1
    losses = []
    for t in order:
        contexts = tokens[np.stack([t - 1, t + 1], axis=1)]  # (S, 2)
        noise = rng.integers(0, words, (streams, negatives))
        outputs = np.concatenate([tokens[t][:, None], noise], axis=1)  # (S, k + 1)
        X, H = E[contexts], Ep[outputs]
        terms, errors = cost(X @ H.transpose(0, 2, 1), label)
        np.add.at(E, contexts, -lr * errors @ H)
        np.add.at(Ep, outputs, -lr * errors.transpose(0, 2, 1) @ X)
        losses.append(terms.sum() / contexts.size)
    return float(np.mean(losses[-max(1, len(losses) // 5) :]))
