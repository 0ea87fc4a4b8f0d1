"""The loss of what is kept out of training, and when it has stopped falling.

The text itself is split by corpus/holdout.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from w2v_sgns.errors import ConfigError

if TYPE_CHECKING:
    from w2v_sgns.config import TrainConfig
    from w2v_sgns.corpus import Corpus, TokenStore
    from w2v_sgns.training.backends import Backend
    from w2v_sgns.training.state import State

__all__ = ["HeldOut", "held_note", "hold_out_lines"]

DRAWS = 1 << 31  # an epoch that no training has: the same windows and noise words every time


def hold_out_lines(corpus: Corpus, config: TrainConfig) -> TokenStore | None:
    """Take what is held out from the corpus, which keeps the rest; None without --holdout.

    Raises:
        ConfigError: nothing that has a pair is held out.
    """
    from w2v_sgns.corpus.holdout import hold_out
    from w2v_sgns.corpus.remap import longest_line

    if not config.holdout:
        return None
    corpus.store, held = hold_out(corpus.store, config.holdout, config.seed)
    if longest_line(held.tokens) < 2 or not len(corpus.store.tokens):
        raise ConfigError(
            f"--holdout {config.holdout:g} holds out {len(held.tokens):,} tokens of this text and "
            "no pair; try a larger share"
        )
    return held


def held_note(held: TokenStore | None, config: TrainConfig) -> list[str]:
    """Say how much is held out."""
    if held is None:
        return []
    return [f"--holdout {config.holdout:g}: {len(held.tokens):,} tokens are not trained on"]


class HeldOut:
    """Asks a backend whose learning rate is zero for the loss of the text it holds."""

    def __init__(self, backend: Backend, patience: int | None) -> None:
        self._backend, self.patience = backend, patience

    def loss(self) -> float:
        """Return the mean loss per positive pair; NaN if subsampling leaves none."""
        totals = self._backend.run_epoch(DRAWS, lambda totals: None)
        return round(totals.loss / totals.pairs, 8) if totals.pairs else math.nan

    def is_over(self, state: State) -> bool:
        """Tell whether the loss has not become better for so many epochs."""
        if self.patience is None or state.best is None:
            return False
        return state.epoch - state.best.epoch >= self.patience
