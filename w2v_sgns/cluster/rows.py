"""A node's replica of E and Ep, and its part of every merge.

Trains nothing, and knows no other node: what it gives and takes goes through an engine.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from w2v_sgns.cluster.deltas import Block, pack, unpack_into
from w2v_sgns.cluster.merge import Spectrum, curvature, merged
from w2v_sgns.cluster.pace import class_ends
from w2v_sgns.cluster.settings import Settings
from w2v_sgns.config import TrainConfig
from w2v_sgns.errors import ResourceError
from w2v_sgns.machine import available_memory, human_bytes

__all__ = ["Merge", "Rows"]

Matrix = npt.NDArray[np.float32]
Blocks = tuple[Block, Block]  # of E, of Ep


class Merge(NamedTuple):
    """One merge of the first `rows` rows of both matrices."""

    rows: int
    spectra: tuple[Spectrum, Spectrum] | None
    rate: float  # κ · learning rate · expected contexts
    kept: npt.NDArray[np.float64]  # (J,) kept tokens since a class of rows was merged, all nodes
    nodes: npt.NDArray[np.float64]  # (J,) ke: how many nodes shared them
    version: int  # of the rows after it: one merge, one more


class Rows:
    """The matrices of one rank: as trained (`replica`) and as last merged (`base`).

    Every public method but the first is a task of an engine's call or exchange.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.version = 0  # of the rows: merges since the start
        self._before: tuple[slice, list[Matrix], list[Matrix]] | None = None
        self._waiting: tuple[int, list[Matrix]] | None = None  # see _hold

    def make_room(self, settings: Settings) -> None:
        """Take memory for both.

        Raises:
            ResourceError: see check_node_memory.
        """
        from w2v_sgns.training.setup import matrices_for

        self.settings, words = settings, len(settings.counts)
        check_node_memory(words, settings.config)
        self.replica = matrices_for(words, settings.config)
        self.base = [np.zeros(m.shape, np.float32) for m in self.replica]

    def restore(self, E: Matrix, Ep: Matrix, version: int) -> None:
        """Go on from these first rows, the same on all nodes."""
        for base, replica, rows in zip(self.base, self.replica, (E, Ep), strict=True):
            base[: len(rows)] = replica[: len(rows)] = rows
        self.version, self._before = version, None
        self._hold(len(E))

    def _hold(self, rows: int) -> None:
        """Keep the rows behind the first ones, which wait for their merge, as they are now."""
        self._waiting = rows, [replica[rows:].copy() for replica in self.replica]

    def rows(self) -> tuple[Matrix, Matrix]:
        """Return E and Ep as last merged, (V, d)."""
        return self.base[0], self.base[1]

    def where(self) -> int:
        """Return the version."""
        return self.version

    def curve(self, draw: tuple[int, ...]) -> tuple[Spectrum, Spectrum]:
        """Return the curvature of this node's replica; `draw`: start of the random numbers."""
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(draw)))
        p, q = self._distributions
        negatives = self.settings.config.negative
        return curvature(*self.replica, p=p, q=q, negatives=negatives, generator=generator)

    @cached_property
    def _distributions(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
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
        self._waiting = None  # its memory is free for the merge
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
        p, q = (weights[part] for weights in self._distributions)
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
        self._hold(len(self.base[0]) if self.size == 1 else merge.rows)
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
        """Return, for every node, the rows of this one after the last merge done anew.

        What was trained since the last merge is gone.
        """
        self._take_back()
        part = self._owned(self.rank, merge.rows)
        rows = [base[part] for base in self.base]
        if self._before is not None and self._before[0] == part:
            part, sums, before = self._before
            steps = self._steps(part, sums, merge)
            rows = [old + step for old, step in zip(before, steps, strict=True)]
        E, Ep = (pack(whole, int8=False) for whole in rows)
        return [(E, Ep)] * self.size

    def _take_back(self) -> None:
        """Make the replica what it was right after the last merge."""
        assert self._waiting is not None
        rows, waiting = self._waiting
        for base, replica, held in zip(self.base, self.replica, waiting, strict=True):
            replica[:rows], replica[rows:] = base[:rows], held

    def replace(self, received: list[Blocks], merge: Merge) -> bool:
        """Put these rows in the place of the last merge's."""
        if not all(block.finite for blocks in received for block in blocks):
            return False
        self._put(received, merge, add=False)
        self.version = merge.version
        return True


def check_node_memory(words: int, config: TrainConfig) -> None:
    """Refuse a model that does not fit beside its copy of the last merge.

    Raises:
        ResourceError: names the bytes needed and there.
    """
    from w2v_sgns.training.needs import matrix_bytes

    # the replica, the base, and a merge's rows or those that wait for one
    needed, there = 3 * matrix_bytes(words, config), available_memory()
    if needed > there:
        raise ResourceError(
            f"a machine of the cluster has {human_bytes(there)} of memory free and needs "
            f"{human_bytes(needed)}, three times E and Ep for {words:,} words of dim {config.dim}; "
            "try a smaller --dim or a higher --min-count"
        )
