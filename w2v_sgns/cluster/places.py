"""What the machines of a Ray cluster offer, and what each actor asks of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from w2v_sgns.errors import ResourceError

__all__ = ["Place", "places"]


@dataclass(frozen=True, kw_only=True)
class Place:
    """One actor's share of a machine."""

    machine: str  # Ray's id of it
    address: str
    cpus: int
    gpus: int  # none or one

    def __str__(self) -> str:
        """Say what there is, for people."""
        return f"{self.cpus} processor{'s' * (self.cpus > 1)}" + " and a GPU" * self.gpus


def places(
    machines: Iterable[dict[str, Any]], *, address: str, device: str, threads: int
) -> list[Place]:
    """Return the place of each rank: one a machine, with device cuda one a GPU.

    machines: as ray.nodes() says. threads: processors that an actor asks for, 0: all there are
    for it.

    Raises:
        ResourceError: no machine offers a processor, or the GPU that was asked for.
    """
    alive = [m for m in machines if m["Alive"] and m["Resources"].get("CPU", 0) >= 1]
    if not alive:
        raise ResourceError(f"--cluster {address}: no machine there offers a processor")
    alive.sort(key=lambda machine: str(machine["NodeManagerAddress"]))
    found = [place for machine in alive for place in _shares(machine, device, threads)]
    if not found:
        raise ResourceError(
            f"--cluster {address}: no machine there offers a GPU (`ray status` shows what they "
            "offer, `ray start --num-gpus` sets it); leave --device cuda out to train on processors"
        )
    return found


def _shares(machine: dict[str, Any], device: str, threads: int) -> Iterator[Place]:
    """Yield what each actor of one machine gets."""
    cpus = int(machine["Resources"]["CPU"])
    gpus = 0 if device == "cpu" else int(machine["Resources"].get("GPU", 0))
    actors = min(gpus, cpus) if device == "cuda" else 1
    for _ in range(actors):
        own = cpus // actors
        yield Place(
            machine=machine["NodeID"],
            address=str(machine["NodeManagerAddress"]),
            cpus=min(threads or own, own),
            gpus=min(gpus, 1),  # an actor that asks for none sees none
        )
