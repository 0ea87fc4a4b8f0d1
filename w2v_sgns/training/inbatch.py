"""The backend of the in-batch softmax on windows: each pair's wrong answers are the other pairs'.

The pairs of a chunk are shuffled before they are cut into batches: words that stand side by side in
the text would be wrong answers far more often than by chance, and the optimum would not be PMI.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from w2v_sgns.kernels.inbatch import in_batch_step
from w2v_sgns.training.batches import BatchBackend, Ids, Windows
from w2v_sgns.training.cost import batch_pairs

__all__ = ["InBatchBackend"]

SHUFFLED = 1 << 18  # pairs that are shuffled at a time, about: 2 MB for each of a few arrays


class InBatchBackend(BatchBackend):
    """Each pair's context picks its token among the tokens of the batch's pairs.

    No copy is masked: equal tokens are wrong answers of each other, as the optimum wants it.
    """

    def pieces(self, first: int, last: int, state: np.uint64) -> Iterator[tuple[Windows, int]]:
        """Yield shuffled pairs, in batches of one size but for one pair."""
        draw = np.random.Generator(np.random.PCG64(int(state)))
        low, high = (np.asarray(edge[first:last], np.int64) for edge in self.room[1:])
        for begin, end in stretches(high - low - 1, SHUFFLED):
            windows = self.windows(first + begin, first + end)
            parts = max(1, -(-len(windows.rows) // batch_pairs(len(self.E))))
            for done, some in enumerate(np.array_split(draw.permutation(len(windows.rows)), parts)):
                kept = begin + (end - begin) * (done + 1) // parts
                yield Windows(windows.words, windows.rows[some], windows.contexts[some]), kept

    @np.errstate(over="ignore", invalid="ignore")  # of a training that diverges: the loss tells
    def step(self, windows: Windows, lr: float, batch: int, seed: np.uint64) -> float:
        """Train one batch (see :func:`~w2v_sgns.kernels.inbatch.in_batch_step`)."""
        tokens = windows.words[windows.rows]
        loss = in_batch_step(self.E, self.Ep, windows.contexts, tokens, lr)
        if self.config.bias:
            self.E[windows.contexts, self.config.dim] = 1
        return loss


def stretches(sizes: npt.NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of stretches of about equal sums of sizes, near `most` and seldom above.

    One size may be larger than `most`.
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    parts = max(1, -(-total // most))
    cuts = np.searchsorted(ends, total * np.arange(1, parts) / parts) + 1
    borders: Ids = np.unique([0, *cuts, len(sizes)])
    yield from zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
