"""From `--cluster ADDRESS` to a backend: what a cluster can train, and its nodes while it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from w2v_sgns.cluster.backend import ClusterBackend
from w2v_sgns.cluster.engine import Engine
from w2v_sgns.cluster.settings import Settings
from w2v_sgns.cluster.shares import SentShares, Shares, count_on_nodes
from w2v_sgns.config import RunOptions, TrainConfig, parse_size
from w2v_sgns.corpus.load import wanted_words
from w2v_sgns.errors import ConfigError, CorpusError
from w2v_sgns.kernels.windows import CHUNK
from w2v_sgns.training.events import Event, Progress
from w2v_sgns.training.schedule import Schedule

if TYPE_CHECKING:
    from w2v_sgns.corpus import Corpus
    from w2v_sgns.corpus.source import Source
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
        check_settings(config)
        self.options, self.config = options, config
        self.engine = _engine(options)
        self._shares: Shares | None = None

    @property
    def size(self) -> int:
        """How many machines there are."""
        return self.engine.size

    @property
    def device(self) -> str:
        """What each trains on: `cpu`, `cuda`, or `auto`, what it expects to be faster."""
        return self.options.device

    def counted(
        self, source: Source, options: RunOptions, say: Progress, **selection: Any
    ) -> Corpus:
        """Have the nodes count a text, each a part.

        Raises:
            CorpusError, StreamError, VocabularyError: see load_corpus.
        """
        say(Event(phase="note", text=_who_counts(self.size)))
        corpus, self._shares = count_on_nodes(
            source,
            self.engine,
            wanted_words(**({"read_vocab": options.read_vocab} | selection)),
            threads=options.threads,
            memory_bytes=None if options.memory is None else parse_size(options.memory),
        )
        return corpus

    def backend(
        self, E: Matrix, Ep: Matrix, corpus: Corpus, say: Progress
    ) -> tuple[ClusterBackend, Schedule]:
        """Return what trains on this corpus, and its learning rates.

        Raises:
            CorpusError: the text is too short to share.
        """
        config = self.config
        tokens = corpus.stats.tokens_kept
        shares = self._shares or SentShares(np.asarray(corpus.store.tokens), self.size)
        if min(shares.sizes) < CHUNK:
            raise _too_few(shares.sizes)
        counts = corpus.vocabulary.counts
        assert counts is not None  # a counted corpus
        schedule = Schedule(
            start=config.lr, end=config.final_lr, tokens=tokens, epochs=config.epochs
        )
        settings = Settings(
            config=config,
            counts=counts,
            tokens=tokens,
            chunks=-(-tokens // CHUNK),
            threads=self.options.threads,
            device=self.options.device,
            streams=self.options.streams,
            int8=self.options.sync_type == "int8",
        )
        backend = ClusterBackend(
            E,
            Ep,
            engine=self.engine,
            settings=settings,
            shares=shares,
            schedule=schedule,
            say=say,
            sync_words=self.options.sync_words,
        )
        return backend, schedule

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.engine.close()


def _who_counts(size: int) -> str:
    if size == 1:
        return "the cluster has one machine, which counts the text"
    return f"{size} machines count the text, each a part"


def _engine(options: RunOptions) -> Engine:
    if options.engine == "mpi":
        from w2v_sgns.cluster.mpi import MPIEngine

        return MPIEngine()
    from w2v_sgns.cluster.ray import RayEngine

    assert options.cluster is not None
    return RayEngine(options.cluster, threads=options.threads, device=options.device)


def _too_few(sizes: list[int]) -> CorpusError:
    shown = ", ".join(f"{size:,}" for size in sizes[:4]) + (", …" if len(sizes) > 4 else "")
    return CorpusError(
        f"{len(sizes)} machines have {shown} tokens, each needs {CHUNK:,}; give a longer text, or "
        "fewer machines; compressed files, addresses and columns go whole to one machine: give "
        "at least as many of them, of about the same size"
    )
