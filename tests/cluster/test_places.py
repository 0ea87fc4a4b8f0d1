"""What is asked of a Ray cluster's machines."""

from __future__ import annotations

from typing import Any

import pytest

from w2v_sgns import ResourceError
from w2v_sgns.cluster.places import places


def machine(address: str, *, alive: bool = True, **resources: float) -> dict[str, Any]:
    return {
        "NodeID": f"id of {address}",
        "NodeManagerAddress": address,
        "Alive": alive,
        "Resources": {"memory": 1e9} | resources,
    }


MACHINES = [
    machine("10.0.0.3", CPU=16.0, GPU=3.0),
    machine("10.0.0.1", CPU=4.0),
    machine("10.0.0.2", CPU=2.0, GPU=1.0),
    machine("10.0.0.4", CPU=8.0, alive=False),
    machine("10.0.0.5", GPU=1.0),
]


def asked(device: str, threads: int = 0) -> list[tuple[str, int, int]]:
    found = places(MACHINES, address="here:1", device=device, threads=threads)
    assert {place.machine for place in found} == {f"id of {place.address}" for place in found}
    return [(place.address[-1], place.cpus, place.gpus) for place in found]


def test_one_actor_a_machine_in_the_order_of_addresses() -> None:
    assert asked("cpu") == [("1", 4, 0), ("2", 2, 0), ("3", 16, 0)]
    assert asked("cpu", 3) == [("1", 3, 0), ("2", 2, 0), ("3", 3, 0)]


def test_auto_asks_for_a_gpu_where_there_is_one() -> None:
    assert asked("auto") == [("1", 4, 0), ("2", 2, 1), ("3", 16, 1)]


def test_cuda_has_an_actor_a_gpu() -> None:
    assert asked("cuda") == [("2", 2, 1), ("3", 5, 1), ("3", 5, 1), ("3", 5, 1)]
    assert asked("cuda", 1) == [("2", 1, 1), ("3", 1, 1), ("3", 1, 1), ("3", 1, 1)]


def test_no_more_actors_than_processors() -> None:
    found = places([machine("a", CPU=2.0, GPU=8.0)], address="h:1", device="cuda", threads=0)
    assert [(place.cpus, place.gpus) for place in found] == [(1, 1), (1, 1)]


def test_what_no_machine_has_is_told() -> None:
    with pytest.raises(ResourceError, match=r"^--cluster h:1: no machine there offers a GPU \("):
        places([machine("a", CPU=2.0)], address="h:1", device="cuda", threads=0)
    with pytest.raises(ResourceError, match=r"^--cluster h:1: no machine there offers a processor"):
        places([machine("a", GPU=2.0)], address="h:1", device="auto", threads=0)


def test_a_place_says_what_it_has() -> None:
    found = places(MACHINES, address="here:1", device="cuda", threads=1)
    assert str(found[0]) == "1 processor and a GPU"
    assert str(places(MACHINES, address="h:1", device="cpu", threads=0)[0]) == "4 processors"
