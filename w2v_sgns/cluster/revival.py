"""Lost nodes are replaced by new ones, which get their share of the text and the newest rows."""

from __future__ import annotations

from typing import NamedTuple

from w2v_sgns.cluster.engine import Engine, LostNodeError
from w2v_sgns.cluster.settings import Settings
from w2v_sgns.cluster.shares import Shares
from w2v_sgns.training.events import Event, Progress

__all__ = ["Back", "Revival"]

MOST_LOSSES = 5  # in one round: what kills nodes so often would go on


class Back(NamedTuple):
    """Nodes that were put back."""

    ranks: list[int]
    version: int  # of the rows that all nodes have now


class Revival:
    """Knows what a new node needs; measures how fast it is."""

    def __init__(self, engine: Engine, shares: Shares, settings: Settings, say: Progress) -> None:
        self._engine, self._shares, self._settings = engine, shares, settings
        self._say = say
        self.speeds: dict[int, float] = {}  # tokens a second of each rank
        self._losses = 0  # in the round under way

    def begin(self, ranks: list[int]) -> None:
        """Have these nodes hold their shares, make room and compile."""
        self._shares.give(self._engine, ranks)
        found = self._engine.call("begin", self._settings, ranks=ranks)
        self.speeds |= {rank: b.words_a_second for rank, b in zip(ranks, found, strict=True)}
        for note in dict.fromkeys(begun.note for begun in found if begun.note):
            whose = [str(rank) for rank, b in zip(ranks, found, strict=True) if b.note == note]
            self._say(Event(phase="note", text=f"node {', '.join(whose)}: {note}"))

    def round_done(self) -> None:
        """Begin to count anew how often nodes are lost."""
        self._losses = 0

    def empty(self, lost: LostNodeError) -> None:
        """Put empty nodes in the places of lost ones: nothing is trained yet."""
        self._note(lost, "another begins in its place")
        for rank in lost.ranks:
            self._engine.revive(rank)

    def put_back(self, lost: LostNodeError, merged: int) -> Back:
        """Put nodes that go on in the places of lost ones; all have the newest rows of any then.

        `merged`: the rows of the merge under way: of a node that stays, no others are replaced.

        Raises:
            LostNodeError: no node is left that has the rows, or too many are lost in one round.
        """
        gone: set[int] = set()
        while self._losses < MOST_LOSSES:
            self._losses += 1
            gone |= set(lost.ranks)
            others = [rank for rank in range(self._engine.size) if rank not in gone]
            if not others:
                break
            try:
                self._note(lost, "its share goes on from the last merge")
                return self._put_back(sorted(gone), others, merged)
            except LostNodeError as more:
                lost = more
        raise lost

    def _put_back(self, gone: list[int], others: list[int], merged: int) -> Back:
        engine = self._engine
        for rank in gone:
            engine.revive(rank)
        self.begin(gone)
        versions = dict(zip(others, engine.call("where", ranks=others), strict=True))
        best = max(others, key=lambda rank: versions[rank])
        behind = [rank for rank in others if versions[rank] != versions[best]]
        rows = engine.call("rows", ranks=[best])[0]
        engine.call("restore", *rows, versions[best], ranks=gone)
        if behind:
            part = [matrix[:merged] for matrix in rows]
            engine.call("restore", *part, versions[best], ranks=behind)
        return Back(gone, versions[best])

    def _note(self, lost: LostNodeError, what: str) -> None:
        names = ", ".join(map(str, lost.ranks))
        self._say(Event(phase="note", text=f"node {names} is lost ({lost.reason}); {what}"))
