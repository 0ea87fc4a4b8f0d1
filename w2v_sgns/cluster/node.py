"""One node: the rows of one rank, and the training of its share of the text.

Knows no other node: what it gives and takes goes through an engine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.cluster.device import backend_on, choice_for
from w2v_sgns.cluster.rows import Rows
from w2v_sgns.cluster.settings import Settings
from w2v_sgns.cluster.stretch import own_chunks
from w2v_sgns.errors import ResourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from w2v_sgns.cluster.share import Kept, Order, Share, Words
    from w2v_sgns.corpus.sections import Section
    from w2v_sgns.training.backends import Totals

__all__ = ["Begun", "Node", "node_seed"]

STREAM = 0x5C  # keeps the nodes' seeds apart from all others
MEASURED = 0.2  # seconds of training before the first round


class Begun(NamedTuple):
    """What a node says before its first round."""

    words_a_second: float
    note: str  # on what it trains, where that was a choice


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

    # --- the training

    def begin(self, settings: Settings) -> Begun:
        """Make room, compile; tell what trains here, and how fast.

        Raises:
            ResourceError: there is too little memory, or no GPU where one was asked for.
        """
        from w2v_sgns.training.setup import training_data

        self.make_room(settings)
        # kernels are compiled for read-only tokens, as a store's are
        assert self._tokens is not None
        tokens = self._tokens.view()
        tokens.flags.writeable = False
        data = training_data(
            tokens, settings.counts, settings.config, tokens_in_all=settings.tokens
        )
        with self._told_whose():
            choice = choice_for(settings, len(tokens))
            self._backend = backend_on(
                choice,
                self.replica,
                data,
                settings,
                seed=node_seed(settings.config.seed, self.rank),
            )
            self._backend.warm_up()
        return Begun(self._words_a_second(), choice.note)

    @contextmanager
    def _told_whose(self) -> Iterator[None]:
        """Say which node lacks what it needs."""
        try:
            yield
        except ResourceError as error:
            raise ResourceError(f"node {self.rank}: {error}") from error

    def _words_a_second(self) -> float:
        """Train a little; the rows are zeros still, and training leaves such ones as they are."""
        begun = time.perf_counter()
        totals = self._backend.run_epoch(0, lambda _: time.perf_counter() - begun > MEASURED)
        return float(totals.tokens / (time.perf_counter() - begun))

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
