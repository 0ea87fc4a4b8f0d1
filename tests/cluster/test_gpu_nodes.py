"""Nodes that train on a GPU: on Numba's simulator, with NUMBA_ENABLE_CUDASIM=1."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_cases import distance

from w2v_sgns import ResourceError
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.cluster.node import Node
from w2v_sgns.training.cuda.backend import CudaBackend
from w2v_sgns.training.devices import cuda_device

pytestmark = pytest.mark.simulated
EXACT = 3e-6  # of max(1, largest value): as tests/contract
WORDS = 4


class Alone(Node):
    """The simulator runs one kernel at a time."""

    turn = threading.Lock()

    def begin(self, *arguments: Any) -> Any:
        with self.turn:
            begun = super().begin(*arguments)
        assert begun.words_a_second > 0
        assert not any(matrix.any() for matrix in self.replica)  # measuring leaves them alone
        return begun

    def train(self, *arguments: Any) -> Any:
        with self.turn:
            return super().train(*arguments)


@pytest.fixture
def few(runs: Any) -> Any:
    """Eight tokens, four of them on each node, and a round an epoch."""
    draw = np.random.default_rng(2)
    few = type(runs)(chunks=1)
    tokens = draw.permutation(np.repeat(np.arange(WORDS), 2)).astype(np.uint32)
    few.counts = np.full(WORDS, 2)
    tokens[3::4] |= np.uint32(1 << 31)
    tokens.flags.writeable = False
    few.tokens = tokens
    few.config = replace(few.config, negative=1, lr=0.5)
    return few


def test_nodes_with_a_gpu_and_one_stream_do_what_processors_do(few: Any) -> None:
    found = {}
    for device in ("cpu", "cuda"):
        found[device] = few.run(make=Alone, int8=False, device=device, streams=1)
    there, here = found["cuda"], found["cpu"]
    assert np.abs(here.Ep).max() > 0.01
    assert distance((there.E, there.Ep), (here.E, here.Ep)) < EXACT
    assert (there.totals.kept, there.totals.pairs) == (here.totals.kept, here.totals.pairs)
    assert there.totals.loss == pytest.approx(here.totals.loss, rel=1e-5)
    told = "node 0, 1: on Numba's CUDA simulator, 1 stream of windows at once; compiles first"
    assert told in there.notes
    assert not any("simulator" in note for note in here.notes)


def test_auto_takes_what_is_expected_to_be_faster(
    few: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = LocalEngine(1, Alone)
    try:
        backend = few.backend(engine, device="auto", streams=1, sync_words=100)
        backend.warm_up()
        assert not isinstance(engine.nodes[0]._backend, CudaBackend)
        assert any("node 0: --device auto: the CPU, faster here" in note for note in few.notes)
        real = replace(cuda_device(), simulated=False)  # the simulator is never faster
        monkeypatch.setattr("w2v_sgns.training.placement.cuda_device", lambda: real)
        monkeypatch.setattr("w2v_sgns.training.choice.BEGINNING", -1.0)
        backend.warm_up()
        assert isinstance(engine.nodes[0]._backend, CudaBackend)
    finally:
        engine.close()


def test_a_node_without_a_gpu_says_which_one_it_is(
    few: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise ResourceError("--device cuda: no NVIDIA driver is installed")

    monkeypatch.setattr("w2v_sgns.training.placement.cuda_device", none)
    with pytest.raises(ResourceError, match=r"^node \d: --device cuda: no NVIDIA driver is inst"):
        few.run(make=Alone, device="cuda")
