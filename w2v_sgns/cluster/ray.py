"""Nodes as actors of a Ray cluster that is there already: one on each of its machines, or GPUs.

Connects and disconnects; starts no cluster, no dashboard and no telemetry. Rows go from actor to
actor through Ray's object store, pickled and unpickled by Ray alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any

from w2v_sgns.cluster.address import check_address
from w2v_sgns.cluster.connection import connect, first_line, imported, unheard
from w2v_sgns.cluster.engine import TICK, Each, LostNodeError, Watch
from w2v_sgns.cluster.node import Node
from w2v_sgns.cluster.places import Place, places
from w2v_sgns.cluster.pulse import Pulse
from w2v_sgns.errors import ResourceError, W2VError

__all__ = ["RayEngine"]

READY = 60.0  # seconds that an actor may take to start
STOPPED = 10.0  # seconds for the nodes to end their chunks after an interrupt


class _Actor:
    """What Ray runs: a node, told what to do by name."""

    def __init__(self, rank: int, size: int) -> None:
        from w2v_sgns.machine import single_threaded_blas

        self._end = ExitStack()
        self._end.enter_context(single_threaded_blas())  # as on threads: equal to the last bit
        self._node = Node(rank, size)

    def do(self, task: str, *arguments: Any) -> Any:
        return getattr(self._node, task)(*arguments)

    def pass_on(self, task: str, apart: bool, argument: Any, *received: Any) -> Any:
        """Do one stage of an exchange; `received`: of every rank, where it is not the first.

        apart: each item that is returned is to be an object of its own; Ray takes a list of one
        for the object.
        """
        given = [list(received)] if received else []
        items = getattr(self._node, task)(*given, argument)
        return items[0] if apart and len(items) == 1 else items


class RayEngine:
    """An :class:`~w2v_sgns.cluster.engine.Engine` on the machines of a Ray cluster."""

    def __init__(self, address: str, *, threads: int = 0, device: str = "cpu") -> None:
        """Connect and start an actor on each machine, or with device cuda on each GPU.

        threads: of each actor, 0: all of its machine. device: see RunOptions.

        Raises:
            ConfigError: there is no cluster at the address.
            ResourceError: Ray is not installed, no machine has what is asked for, or not free.
        """
        check_address(address)
        self._ray = imported()
        self._device, self._actors = device, dict[int, Any]()
        connect(self._ray, address)
        self._end = ExitStack()
        try:
            self._end.enter_context(unheard(self._ray))
            self._places = places(
                self._ray.nodes(), address=address, device=device, threads=threads
            )
            self.size = len(self._places)
            for rank, place in enumerate(self._places):
                self._actors[rank] = self._started(rank, place)
            self._check_started(address)
            self._pulse = Pulse(self._ray, self._actors)
        except BaseException:
            self.close()
            raise

    def _started(self, rank: int, place: Place | None) -> Any:
        """Start an actor in its place; None: anywhere, beside whatever runs there."""
        options: dict[str, Any] = {"max_concurrency": 2, "num_cpus": 0}  # so that stop is heard
        if place is not None:
            strategies = importlib.import_module("ray.util.scheduling_strategies")
            affinity = strategies.NodeAffinitySchedulingStrategy(place.machine, soft=False)
            options |= {
                "scheduling_strategy": affinity,
                "num_cpus": place.cpus,
                "num_gpus": place.gpus,
            }
        elif self._device == "cuda":
            options["num_gpus"] = 1
        return self._ray.remote(_Actor).options(**options).remote(rank, self.size)

    def _check_started(self, address: str) -> None:
        asked = {actor.do.remote("where"): rank for rank, actor in self._actors.items()}
        ready, waiting = self._ray.wait(list(asked), num_returns=self.size, timeout=READY)
        if waiting:
            place = self._places[asked[waiting[0]]]
            raise ResourceError(
                f"--cluster {address}: {place.address} has not started a node in {READY:.0f} s; "
                f"its {place} may be taken: see `ray status`, or give --threads"
            )
        try:
            self._ray.get(ready)
        except self._ray.exceptions.RayError as error:
            raise ResourceError(
                f"--cluster {address}: a node cannot start ({first_line(error)}); w2v-sgns must "
                "be installed on every machine, in the same version"
            ) from error

    def call(
        self,
        task: str,
        *arguments: Any,
        ranks: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> list[Any]:
        """See Engine."""
        ranks = range(self.size) if ranks is None else ranks
        # what all get is put into the object store once; a task sees the object itself
        shared = [value if isinstance(value, Each) else self._ray.put(value) for value in arguments]
        begun = {
            self._actors[rank].do.remote(task, *Each.told(shared, rank)): rank for rank in ranks
        }
        try:
            self._watched(begun, watch)
        except BaseException:
            for rank in ranks:
                self.stop(rank)
            self._ray.wait(list(begun), num_returns=len(begun), timeout=STOPPED)
            raise
        results, lost, reason = dict[int, Any](), list[int](), ""
        for reference, rank in begun.items():
            try:
                results[rank] = self._got(reference)
            except LostNodeError as error:
                lost.append(rank)
                reason = error.reason
        if lost:
            raise LostNodeError(lost, reason, results)
        return [results[rank] for rank in ranks]

    def _watched(self, begun: dict[Any, int], watch: Watch | None) -> None:
        waiting = list(begun)
        while waiting:
            _, waiting = self._ray.wait(
                waiting, num_returns=len(waiting), timeout=TICK, fetch_local=False
            )
            self._pulse.check()
            if watch is not None:
                watch(frozenset(rank for ref, rank in begun.items() if ref not in waiting))

    def _got(self, reference: Any) -> Any:
        """Return a result.

        Raises:
            LostNodeError: of rank −1: it never came.
        """
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, W2VError):
                raise cause from None
            if isinstance(cause, exceptions.RayError):  # what it was to be given is gone
                raise LostNodeError([-1], first_line(cause), {}) from error
            raise
        except exceptions.RayError as error:
            raise LostNodeError([-1], first_line(error), {}) from error

    def exchange(self, *stages: str, argument: Any = None) -> list[Any]:
        """See Engine."""
        shared = self._ray.put(argument)
        given: list[list[Any]] = [[] for _ in range(self.size)]  # by rank, what it is to get
        for stage in stages:
            last = stage == stages[-1]
            count = 1 if last else self.size
            made = [
                actor.pass_on.options(num_returns=count).remote(
                    stage, not last, shared, *given[rank]
                )
                for rank, actor in self._actors.items()
            ]
            if last:
                return self._all_of(made)
            rows = [[refs] if count == 1 else refs for refs in made]
            given = [list(column) for column in zip(*rows, strict=True)]
        raise AssertionError("an exchange without a stage")

    def _all_of(self, references: list[Any]) -> list[Any]:
        self._watched(dict.fromkeys(references, -1), None)
        try:
            return [self._got(reference) for reference in references]
        except LostNodeError as error:
            raise LostNodeError(self._lost(), error.reason, {}) from error

    def _lost(self) -> list[int]:
        """Return the ranks that do not answer."""
        lost = []
        for rank, actor in self._actors.items():
            try:
                self._got(actor.do.remote("where"))
            except LostNodeError:
                lost.append(rank)
        return lost

    def stop(self, rank: int) -> None:
        """See Engine."""
        self._actors[rank].do.remote("stop")

    def revive(self, rank: int) -> None:
        """See Engine. Where the machine is gone, another one does its work beside its own."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(self._actors[rank])
        there = {machine["NodeID"] for machine in self._ray.nodes() if machine["Alive"]}
        place = self._places[rank]
        self._actors[rank] = self._started(rank, place if place.machine in there else None)
        asked = self._actors[rank].do.remote("where")
        if not self._ray.wait([asked], timeout=READY)[0]:
            raise LostNodeError([rank], f"no machine has started it in {READY:.0f} s", {})
        try:
            self._got(asked)
        except LostNodeError as error:
            raise LostNodeError([rank], error.reason, {}) from error

    def close(self) -> None:
        """See Engine."""
        for actor in self._actors.values():
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)
        self._ray.shutdown()
        self._end.close()
