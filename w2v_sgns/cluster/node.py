"""One node: a replica of E and Ep, its share of the text, and its rows of every merge.

Knows no other node: what it gives and takes goes through an engine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.cluster.deltas import Block, pack, unpack_into
from w2v_sgns.cluster.merge import Spectrum, curvature, merged
from w2v_sgns.cluster.pace import FIRST_ROWS
from w2v_sgns.config import TrainConfig
from w2v_sgns.errors import ResourceError
from w2v_sgns.machine import allowed_threads, available_memory, human_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from w2v_sgns.cluster.share import Kept, Order, Share, Words
    from w2v_sgns.corpus.sections import Section
    from w2v_sgns.training.backends import Totals

__all__ = ["Merge", "Node", "Settings", "class_ends"]


STREAM = 0x5C  # keeps the nodes' seeds apart from all others

Matrix = npt.NDArray[np.float32]
Blocks = tuple[Block, Block]  # of E, of Ep


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What all nodes are told."""

    config: TrainConfig
    counts: npt.NDArray[np.int64]  # (V,)
    tokens: int  # of all nodes, an epoch
    chunks: int  # the same in chunks: the unit of progress
    threads: int  # of each node; 0: all that its process may use
    int8: bool = True


class Merge(NamedTuple):
    """One merge of the first `rows` rows of both matrices."""

    rows: int
    spectra: tuple[Spectrum, Spectrum] | None
    rate: float  # κ · learning rate · expected contexts
    kept: npt.NDArray[np.float64]  # (J,) kept tokens since a class of rows was merged, all nodes
    nodes: npt.NDArray[np.float64]  # (J,) ke: how many nodes shared them
    version: int  # of the rows after it: one merge, one more


def class_ends(words: int) -> npt.NDArray[np.int64]:
    """Return where the classes of rows end that are merged together: 1024·2^j, and V."""
    ends = [FIRST_ROWS]
    while ends[-1] < words:
        ends.append(2 * ends[-1])
    return np.asarray(np.minimum(np.array(ends), words))


class Node:
    """The work of one rank. Every public method is a task of an engine's call or exchange."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.version = 0  # of the rows: merges since the start
        self._stop = False
        self._tokens: npt.NDArray[np.uint32] | None = None
        self._share: Share | None = None
        self._before: tuple[slice, list[Matrix], list[Matrix]] | None = None

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
        from w2v_sgns.training.setup import matrices_for, training_data

        self.settings, config = settings, settings.config
        check_node_memory(len(settings.counts), config)
        self.replica = matrices_for(len(settings.counts), config)
        self.base = [np.zeros(m.shape, np.float32) for m in self.replica]
        # kernels are compiled for read-only tokens, as a store's are
        assert self._tokens is not None
        tokens = self._tokens.view()
        tokens.flags.writeable = False
        self._data = training_data(tokens, settings.counts, config, tokens_in_all=settings.tokens)
        self._backend = self._made(config.lr, config.final_lr)
        self._backend.warm_up()
        return float(self._made(0.0, 0.0).tokens_per_second(0.2))

    def _made(self, start: float, end: float) -> Any:
        from dataclasses import replace

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

    def restore(self, E: Matrix, Ep: Matrix, version: int) -> None:
        """Start from these rows, the same on all nodes."""
        for base, replica, rows in zip(self.base, self.replica, (E, Ep), strict=True):
            base[:] = replica[:] = rows
        self.version, self._before = version, None

    # --- between merges

    def train(self, epoch: int, first: int, end: int) -> Totals:
        """Train the share of this node that belongs to chunks first..end of the whole text."""
        self._stop = False
        mine, chunks = self._backend.chunks, self.settings.chunks
        totals: Totals = self._backend.run_epoch(
            epoch,
            lambda totals: self._stop,
            first=first * mine // chunks,
            end=end * mine // chunks,
        )
        return totals

    def curve(self, draw: tuple[int, ...]) -> tuple[Spectrum, Spectrum]:
        """Return the curvature of this node's replica; `draw`: start of the random numbers."""
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(draw)))
        p, q = self._shares
        negatives = self.settings.config.negative
        return curvature(*self.replica, p=p, q=q, negatives=negatives, generator=generator)

    @cached_property
    def _shares(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return each word's share of the kept tokens, and of the noise."""
        from w2v_sgns import sampling

        settings, config = self.settings, self.settings.config
        q = sampling.noise_distribution(settings.counts, config.noise_exponent or 0.0)
        sample = sampling.effective_sample(config.sample, settings.tokens)
        kept = settings.counts * sampling.keep_probabilities(settings.counts, sample)
        return kept / kept.sum(), q

    # --- a merge

    def moves(self, merge: Merge) -> list[Blocks]:
        """Return, for every owner, how far its rows have moved here."""
        return [self._packed(self._owned(rank, merge.rows)) for rank in range(self.size)]

    def _owned(self, rank: int, rows: int) -> slice:
        return slice(rows * rank // self.size, rows * (rank + 1) // self.size)

    def _packed(self, part: slice) -> Blocks:
        int8 = self.settings.int8
        E, Ep = (
            pack(replica[part], base[part], int8=int8)
            for replica, base in zip(self.replica, self.base, strict=True)
        )
        return E, Ep

    def merge(self, received: list[Blocks], merge: Merge) -> list[Blocks]:
        """Return, for every node, how far the rows that this node owns move."""
        part = self._owned(self.rank, merge.rows)
        sums = []
        for number, base in enumerate(self.base):
            total = np.zeros_like(base[part])
            with np.errstate(all="ignore"):  # told by Block.finite
                for blocks in received:
                    unpack_into(blocks[number], total)
            sums.append(total)
        self._before = part, sums, [base[part].copy() for base in self.base]
        int8 = self.settings.int8
        E, Ep = (pack(step, int8=int8) for step in self._steps(part, sums, merge))
        return [(E, Ep)] * self.size

    def _steps(self, part: slice, sums: list[Matrix], merge: Merge) -> list[Matrix]:
        """Return the merged moves of E's and of Ep's rows."""
        p, q = (weights[part] for weights in self._shares)
        places = np.searchsorted(
            class_ends(len(self.base[0])), np.arange(part.start, part.stop), side="right"
        )
        kept, nodes = merge.kept[places], merge.nodes[places]
        negatives, spectra = self.settings.config.negative, merge.spectra
        if spectra is None or self.size == 1:
            return sums
        with np.errstate(all="ignore"):
            return [
                merged(sums[0], kept * p, nodes, spectra[0], rate=merge.rate),
                merged(sums[1], kept * (p + negatives * q), nodes, spectra[1], rate=merge.rate),
            ]

    def apply(self, received: list[Blocks], merge: Merge) -> bool:
        """Move all rows as their owners say; tell whether that was finite.

        Where it was not, nothing moves on any node.
        """
        if not all(block.finite for blocks in received for block in blocks):
            return False
        if self.size == 1:  # nothing to merge, and nothing to round
            for base, replica in zip(self.base, self.replica, strict=True):
                base[:] = replica
        else:
            self._put(received, merge, add=True)
        self.version = merge.version
        return True

    def _put(self, received: list[Blocks], merge: Merge, *, add: bool) -> None:
        for rank, blocks in enumerate(received):
            part = self._owned(rank, merge.rows)
            for block, base, replica in zip(blocks, self.base, self.replica, strict=True):
                unpack_into(block, base[part], add=add)
                replica[part] = base[part]

    # --- a merge that went wrong

    def remerge(self, merge: Merge) -> list[Blocks]:
        """Return, for every node, the rows of this one after the last merge done anew."""
        part = self._owned(self.rank, merge.rows)
        rows = [base[part] for base in self.base]
        if self._before is not None and self._before[0] == part:
            part, sums, before = self._before
            steps = self._steps(part, sums, merge)
            rows = [old + step for old, step in zip(before, steps, strict=True)]
        E, Ep = (pack(whole, int8=False) for whole in rows)
        return [(E, Ep)] * self.size

    def replace(self, received: list[Blocks], merge: Merge) -> bool:
        """Put these rows in the place of the last merge's; what was trained since is gone."""
        if not all(block.finite for blocks in received for block in blocks):
            return False
        self._put(received, merge, add=False)
        for base, replica in zip(self.base, self.replica, strict=True):
            replica[:] = base
        self.version = merge.version
        return True

    # --- at the end

    def rows(self) -> tuple[Matrix, Matrix]:
        """Return E and Ep as last merged, (V, d)."""
        return self.base[0], self.base[1]

    def process(self) -> int:
        """Return the id of the process that this node is in."""
        return os.getpid()

    def where(self) -> int:
        """Return the version."""
        return self.version


def check_node_memory(words: int, config: TrainConfig) -> None:
    """Refuse a model that does not fit beside its copy of the last merge.

    Raises:
        ResourceError: names the bytes needed and there.
    """
    from w2v_sgns.training.needs import matrix_bytes

    # the replica, the base, and a merge's rows
    needed, there = 3 * matrix_bytes(words, config), available_memory()
    if needed > there:
        raise ResourceError(
            f"a machine of the cluster has {human_bytes(there)} of memory free and needs "
            f"{human_bytes(needed)}, three times E and Ep for {words:,} words of dim {config.dim}; "
            "try a smaller --dim or a higher --min-count"
        )


def node_seed(seed: int, rank: int) -> int:
    """Return the seed of a node's draws: the first node has the run's."""
    if not rank:
        return seed
    state = np.random.SeedSequence([seed, STREAM, rank]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))
