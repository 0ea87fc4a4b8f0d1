"""Nodes in threads of this process: for tests, benchmarks, and a look at what merging does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import Any

from w2v_sgns.cluster.engine import TICK, Each, LostNodeError, Watch
from w2v_sgns.cluster.node import Node
from w2v_sgns.machine import single_threaded_blas

__all__ = ["LocalEngine"]


class LocalEngine:
    """An :class:`~w2v_sgns.cluster.engine.Engine` without a network."""

    def __init__(self, size: int, make: Callable[[int, int], Node] = Node) -> None:
        """`make(rank, size)`: another kind of node."""
        self.size, self._make = size, make
        self.nodes = [make(rank, size) for rank in range(size)]
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="w2v-node")
        self._end = ExitStack()
        self._end.enter_context(single_threaded_blas())  # the nodes are threads already

    def call(
        self,
        task: str,
        *arguments: Any,
        ranks: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[Any]:
        """See Engine."""
        ranks = range(self.size) if ranks is None else ranks
        begun = {
            self._pool.submit(getattr(self.nodes[rank], task), *Each.told(arguments, rank)): rank
            for rank in ranks
        }
        try:
            self._watched(begun, watch)
        except BaseException:
            for rank in ranks:
                self.stop(rank)
            while wait(begun, TICK).not_done:
                for rank in ranks:  # again and again: one may not have begun yet
                    self.stop(rank)
            raise
        return _results(begun)

    @staticmethod
    def _watched(begun: dict[Future[Any], int], watch: Watch | None) -> None:
        waiting: set[Future[Any]] = set(begun)
        while waiting:
            waiting = wait(waiting, TICK)[1]
            if watch is not None:
                watch(frozenset(begun[future] for future in begun if future not in waiting))

    def exchange(self, *stages: str, argument: Any = None) -> list[Any]:
        """See Engine."""
        given = self.call(stages[0], argument)
        for stage in stages[1:]:
            given = self.call(stage, Each(list(zip(*given, strict=True))), argument)
        return given

    def stop(self, rank: int) -> None:
        """See Engine."""
        self.nodes[rank].stop()

    def revive(self, rank: int) -> None:
        """See Engine."""
        self.nodes[rank] = self._make(rank, self.size)

    def close(self) -> None:
        """See Engine."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._end.close()


def _results(done: dict[Future[Any], int]) -> list[Any]:
    """Return what each returned; a node that raised LostNodeError is lost."""
    lost = [future for future in done if isinstance(future.exception(), LostNodeError)]
    results = {rank: future.result() for future, rank in done.items() if future not in lost}
    if lost:
        ranks = [done[future] for future in lost]
        error = lost[0].exception()
        assert isinstance(error, LostNodeError)
        raise LostNodeError(ranks, error.reason, results)
    return list(results.values())
