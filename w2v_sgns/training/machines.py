"""The seam to several machines: what a run asks of them. They are made above, in `cluster`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from w2v_sgns.config import RunOptions, TrainConfig

if TYPE_CHECKING:
    from w2v_sgns.corpus import Corpus
    from w2v_sgns.corpus.source import Source
    from w2v_sgns.kernels.matrices import Matrix
    from w2v_sgns.training.backends import Backend
    from w2v_sgns.training.events import Progress
    from w2v_sgns.training.schedule import Schedule

__all__ = ["Connect", "Machines"]


class Machines(Protocol):
    """Several machines that count a text together, and then train on it."""

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def device(self) -> str:
        """What each was asked to train on: see RunOptions."""

    def counted(
        self, source: Source, options: RunOptions, say: Progress, **selection: Any
    ) -> Corpus:
        """Count a text that can be read on each of them; `selection`: see load_corpus."""

    def backend(
        self, E: Matrix, Ep: Matrix, corpus: Corpus, say: Progress
    ) -> tuple[Backend, Schedule]:
        """Return what trains the rows on this corpus, and its learning rates."""


# None in the context: this machine alone
Connect = Callable[[RunOptions, TrainConfig], AbstractContextManager[Machines | None]]
