"""A text of token ids, and what a run over several nodes needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np
import pytest

from w2v_sgns.cluster import slow
from w2v_sgns.cluster.backend import ClusterBackend
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.cluster.node import Node
from w2v_sgns.cluster.settings import Settings
from w2v_sgns.cluster.shares import SentShares
from w2v_sgns.config import TrainConfig
from w2v_sgns.training.schedule import Schedule
from w2v_sgns.training.setup import initial_matrices

CHUNK = 16_384
WORDS = 300

# needs Numba's simulator of a GPU
collect_ignore = [] if numba.config.ENABLE_CUDASIM else ["test_gpu_nodes.py"]


@dataclass
class Ran:
    """A finished run."""

    E: Any
    Ep: Any
    backend: ClusterBackend
    notes: list[str]
    totals: Any


class Runs:
    """Trains a small text on nodes in threads."""

    def __init__(self, chunks: int = 6) -> None:
        draw = np.random.default_rng(1)
        shares = 1 / np.arange(1, WORDS + 1)
        tokens = draw.choice(WORDS, chunks * CHUNK - 500, p=shares / shares.sum()).astype(np.uint32)
        self.counts = np.sort(np.bincount(tokens, minlength=WORDS))[::-1].copy()
        tokens[20::21] |= np.uint32(1 << 31)
        tokens.flags.writeable = False
        self.tokens = tokens
        self.config = TrainConfig(dim=8, epochs=2, lr=0.05, window=2, negative=2, sample=0)

    def backend(self, engine: Any, **options: Any) -> ClusterBackend:
        config = replace(self.config, **options.pop("config", {}))
        E, Ep = initial_matrices(len(self.counts), config)
        self.notes: list[str] = []
        return ClusterBackend(
            E,
            Ep,
            engine=engine,
            settings=Settings(
                config=config,
                counts=self.counts,
                tokens=len(self.tokens),
                chunks=-(-len(self.tokens) // CHUNK),
                threads=1,
                int8=options.pop("int8", True),
                device=options.pop("device", "cpu"),
                streams=options.pop("streams", 0),
            ),
            shares=self._shares(engine.size, options.pop("sizes", None)),
            schedule=Schedule(
                start=config.lr,
                end=config.final_lr,
                tokens=len(self.tokens),
                epochs=config.epochs,
            ),
            say=lambda event: self.notes.append(event.text),
            **options,
        )

    def _shares(self, nodes: int, sizes: list[int] | None) -> SentShares:
        """Return equal shares, or such of these sizes."""
        shares = SentShares(self.tokens, nodes)
        if sizes is not None:
            shares._parts = np.split(self.tokens, np.cumsum(sizes)[:-1])
            shares.sizes = sizes
        return shares

    def run(self, nodes: int = 2, make: Any = Node, **options: Any) -> Ran:
        engine = LocalEngine(nodes, make)
        try:
            backend = self.backend(engine, **{"sync_words": CHUNK} | options)
            backend.warm_up()
            for epoch in range(backend.schedule.epochs):
                totals = backend.run_epoch(epoch, lambda totals: None)
        finally:
            engine.close()
        E, Ep = backend.matrices
        return Ran(E, Ep, backend, self.notes, totals)


@pytest.fixture(scope="session", autouse=True)
def patient() -> Iterator[None]:
    """On a busy machine any thread may wait for seconds: no node is slow but where it is meant."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slow, "LEAST_PATIENCE", 600.0)
        yield


@pytest.fixture(scope="session")
def runs() -> Runs:
    return Runs()


@pytest.fixture(scope="session")
def undisturbed(runs: Runs) -> Ran:
    """Two nodes, nothing in their way."""
    return runs.run()
