"""Actors that stand still are ended; those that are busy are not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from w2v_sgns.cluster import pulse
from w2v_sgns.cluster.pulse import BEAT, Pulse


class Ray:
    """Actors that answer, or do not, and a clock."""

    exceptions = SimpleNamespace(RayError=OSError)

    def __init__(self) -> None:
        self.now, self.mute, self.killed = 0.0, set[str](), list[str]()

    def actor(self, name: str) -> Any:
        return SimpleNamespace(name=name, do=SimpleNamespace(remote=lambda task: (name, self.now)))

    def wait(self, references: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        assert timeout == 0
        name, asked = references[0]
        answered = name not in self.mute and self.now > asked
        return (references, []) if answered else ([], references)

    def kill(self, actor: Any) -> None:
        self.killed.append(actor.name)
        raise OSError("it is gone already")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Ray:
    ray = Ray()
    monkeypatch.setattr(pulse, "time", SimpleNamespace(monotonic=lambda: ray.now))
    return ray


def test_one_that_stands_still_is_ended_in_two_beats(ray: Ray) -> None:
    actors = {0: ray.actor("a"), 1: ray.actor("b")}
    beats = Pulse(ray, actors)
    for ray.now in (0.1, BEAT / 2, BEAT, BEAT + 1, 2 * BEAT):
        beats.check()
    assert not ray.killed
    ray.mute.add("b")
    ray.now = 3 * BEAT  # its last answer was asked for before
    beats.check()
    assert ray.killed == ["b"]
    actors[1] = ray.actor("c")  # put back
    ray.mute.remove("b")
    ray.now += BEAT
    beats.check()
    assert ray.killed == ["b"]
    ray.mute.add("c")
    ray.now += BEAT
    beats.check()
    assert ray.killed == ["b", "c"]
