"""The seam between the training and what connects the machines.

An engine keeps one :class:`~w2v_sgns.cluster.node.Node` a rank, in a thread, in an actor or in a
process, and has it do things by name. It knows no vectors and no merging.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from w2v_sgns.errors import W2VError

__all__ = ["TICK", "Each", "Engine", "LostNodeError", "Watch", "first_answer"]

TICK = 0.1  # seconds between two looks at the nodes

Watch = Callable[[frozenset[int]], None]  # told the ranks that are done


class Each:
    """An argument of a call that differs: one a rank."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def of(self, rank: int) -> Any:
        """Return a rank's."""
        return self._values[rank]

    @staticmethod
    def told(arguments: Sequence[Any], rank: int) -> list[Any]:
        """Return the arguments of a call as this rank is to see them."""
        return [value.of(rank) if isinstance(value, Each) else value for value in arguments]


class LostNodeError(W2VError):
    """Nodes do not answer any more."""

    def __init__(self, ranks: Sequence[int], reason: str, results: dict[int, Any]) -> None:
        """`results`: what the other ranks returned."""
        names = ", ".join(map(str, ranks))
        super().__init__(
            f"--cluster: node {names} is lost ({reason}); go on from the last checkpoint, if there "
            "is one: --resume OUT.checkpoint.safetensors"
        )
        self.ranks, self.reason, self.results = tuple(ranks), reason, results


class Engine(Protocol):
    """Four verbs, and an end."""

    size: int  # nodes; their ranks are 0..size − 1

    def call(
        self,
        task: str,
        *arguments: Any,
        ranks: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[Any]:
        """Have these nodes (all, if not given) do `task` at once; return what each returned.

        Every node gets the same arguments but for those in :class:`Each`: this is the broadcast,
        and waiting for all of them the barrier. `watch` is called about ten times a second; what
        it raises stops the nodes.

        Raises:
            LostNodeError: of those that are gone; the others have finished.
        """

    def exchange(self, *stages: str, argument: Any = None) -> list[Any]:
        """Pass rows from node to node, without the caller's seeing them.

        Every node does the first stage with `argument`: it returns a list, an item a rank. Each
        next one gets the items meant for it, in the order of ranks, and `argument`. Returns what
        the last stage returned, of every node.

        Raises:
            LostNodeError: of those that are gone; the others have finished or not begun a stage.
        """

    def stop(self, rank: int) -> None:
        """Ask a node to end what it does as soon as it can."""

    def revive(self, rank: int) -> None:
        """Put a new, empty node in the place of a lost one.

        Raises:
            LostNodeError: there is no place for it.
        """

    def close(self) -> None:
        """End all nodes."""


def first_answer(engine: Engine, task: str, *arguments: Any) -> Any:
    """Return what the first node says that is there.

    Raises:
        LostNodeError: none is.
    """
    reasons: list[str] = []
    for rank in range(engine.size):
        try:
            return engine.call(task, *arguments, ranks=[rank])[0]
        except LostNodeError as lost:
            reasons.append(lost.reason)
    raise LostNodeError(range(engine.size), reasons[0], {})
