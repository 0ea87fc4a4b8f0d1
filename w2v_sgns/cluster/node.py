"""One node: the rows of one rank, and the training of its share of the text.

Knows no other node: what it gives and takes goes through an engine.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from w2v_sgns.cluster.rows import Rows
from w2v_sgns.cluster.settings import Settings
from w2v_sgns.cluster.stretch import own_chunks
from w2v_sgns.machine import allowed_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from w2v_sgns.cluster.share import Kept, Order, Share, Words
    from w2v_sgns.corpus.sections import Section
    from w2v_sgns.training.backends import Totals

__all__ = ["Node", "node_seed"]

STREAM = 0x5C  # keeps the nodes' seeds apart from all others


class Node(Rows):
    """The work of one rank. Every public method is a task of an engine's call or exchange."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(rank, size)
        self._stop = False
        self._tokens: npt.NDArray[np.uint32] | None = None
        self._share: Share | None = None

    def stop(self) -> None:
        """End a training at the next chunk; called while another thread runs it."""
        self._stop = True

    # --- the share of the text

    def take(self, tokens: npt.NDArray[np.uint32]) -> None:
        """Take token ids that were counted elsewhere."""
        self._tokens = tokens

    def count(self, order: Order, sections: Sequence[Section]) -> Words:
        """Count this node's part of the text; see Share."""
        from w2v_sgns.cluster.share import Share

        self._share = Share(order, sections)
        return self._share.count()

    def keep(self, arguments: tuple[Any, ...]) -> Kept:
        """Turn what was counted into token ids; see Share."""
        assert self._share is not None
        kept = self._share.keep(*arguments)
        assert self._share.store is not None
        self._tokens = self._share.store.tokens
        return kept

    def end_line(self) -> None:
        """Have the last token end its line; see Share."""
        assert self._share is not None
        self._share.end_line()

    def holds(self) -> bool:
        """Tell whether the token ids are here."""
        return self._tokens is not None

    # --- before the first merge

    def begin(self, settings: Settings) -> float:
        """Make room, compile; return words a second on this node."""
        from w2v_sgns.training.setup import training_data

        self.make_room(settings)
        config = settings.config
        # kernels are compiled for read-only tokens, as a store's are
        assert self._tokens is not None
        tokens = self._tokens.view()
        tokens.flags.writeable = False
        self._data = training_data(tokens, settings.counts, config, tokens_in_all=settings.tokens)
        self._backend = self._made(config.lr, config.final_lr)
        self._backend.warm_up()
        return float(self._made(0.0, 0.0).tokens_per_second(0.2))

    def _made(self, start: float, end: float) -> Any:
        from w2v_sgns.training.schedule import Schedule
        from w2v_sgns.training.setup import backend_for

        settings = self.settings
        config = replace(settings.config, seed=node_seed(settings.config.seed, self.rank))
        schedule = Schedule(
            start=start, end=end, tokens=len(self._data.tokens), epochs=config.epochs
        )
        threads = settings.threads or allowed_threads()
        return backend_for(
            *self.replica, self._data, config, schedule, threads=threads, window=None
        )

    def train(self, epoch: int, first: int, end: int) -> Totals:
        """Train the share of this node that belongs to chunks first..end of the whole text."""
        self._stop = False
        first, end = own_chunks(first, end, self._backend.chunks, self.settings.chunks)
        totals: Totals = self._backend.run_epoch(
            epoch, lambda totals: self._stop, first=first, end=end
        )
        return totals

    def process(self) -> int:
        """Return the id of the process that this node is in."""
        return os.getpid()


def node_seed(seed: int, rank: int) -> int:
    """Return the seed of a node's draws: the first node has the run's."""
    if not rank:
        return seed
    state = np.random.SeedSequence([seed, STREAM, rank]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))
