"""From `--cluster ADDRESS` to a backend: what a cluster can train, and its nodes while it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from w2v_sgns.cluster.backend import ClusterBackend
from w2v_sgns.cluster.engine import Engine
from w2v_sgns.cluster.node import Settings
from w2v_sgns.config import RunOptions, TrainConfig
from w2v_sgns.errors import ConfigError, CorpusError
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.training.events import Progress
from w2v_sgns.training.schedule import Schedule

if TYPE_CHECKING:
    from w2v_sgns.corpus import Corpus
    from w2v_sgns.kernels.matrices import Matrix

__all__ = ["Nodes", "check_settings"]


def check_settings(config: TrainConfig) -> None:
    """Refuse what the merge was not made for: it knows how SGNS moves its rows.

    Raises:
        ConfigError: names the flag.
    """
    refused = {
        f"--objective {config.objective}": config.objective != "sgns",
        "--bias": config.bias,
        "--shared-noise batch": config.shared_noise != "window",
        "--window line": config.window == "line",
        "--holdout": config.holdout > 0,
        "--freeze": config.freeze is not None,
    }
    for flag in (flag for flag, is_given in refused.items() if is_given):
        raise ConfigError(
            f"--cluster merges skip-gram with negative sampling only, not {flag}; leave that out, "
            "or train on one machine"
        )


class Nodes:
    """The machines of one run; a context that lets go of them."""

    def __init__(self, options: RunOptions, config: TrainConfig) -> None:
        """Connect to options.cluster.

        Raises:
            ConfigError: settings that a cluster cannot train, or no cluster at the address.
            ResourceError: Ray is not installed, or the machines are taken.
        """
        from w2v_sgns.cluster.ray import RayEngine

        check_settings(config)
        assert options.cluster is not None
        self.options, self.config = options, config
        self.engine: Engine = RayEngine(options.cluster, threads=options.threads)

    def backend(
        self, E: Matrix, Ep: Matrix, corpus: Corpus, say: Progress
    ) -> tuple[ClusterBackend, Schedule]:
        """Return what trains on this corpus, and its learning rates.

        Raises:
            CorpusError: the text is too short to share.
        """
        config, tokens = self.config, np.asarray(corpus.store.tokens)
        chunks, size = -(-len(tokens) // CHUNK), self.engine.size
        if chunks < size:
            raise CorpusError(
                f"{len(tokens):,} tokens are too few for {size} machines: each needs {CHUNK:,}; "
                "train without --cluster"
            )
        counts = corpus.vocabulary.counts
        assert counts is not None  # a counted corpus
        schedule = Schedule(
            start=config.lr, end=config.final_lr, tokens=len(tokens), epochs=config.epochs
        )
        settings = Settings(
            config=config,
            counts=counts,
            tokens=len(tokens),
            chunks=chunks,
            threads=self.options.threads,
            int8=self.options.sync_type == "int8",
        )
        backend = ClusterBackend(
            E,
            Ep,
            engine=self.engine,
            settings=settings,
            shards=np.array_split(tokens, size),
            schedule=schedule,
            say=say,
            sync_words=self.options.sync_words,
        )
        return backend, schedule

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.engine.close()
