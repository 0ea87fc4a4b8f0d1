"""The backend that the suite runs on: the CPU's, or the GPU's with NUMBA_ENABLE_CUDASIM=1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import pytest

from w2v_sgns.training.setup import backend_for

Make = Callable[..., Any]  # f(E, Ep, …, workers=1): a backend with so many workers


def cpu(*arguments: Any, workers: int = 1, **settings: Any) -> Any:
    return backend_for(*arguments, threads=workers, **settings)


def cuda(*arguments: Any, workers: int = 1, **settings: Any) -> Any:
    from w2v_sgns.training.cuda.backend import CudaBackend
    from w2v_sgns.training.devices import cuda_device

    return CudaBackend(*arguments, streams=workers, device=cuda_device(), **settings)


@pytest.fixture(params=[cuda if numba.config.ENABLE_CUDASIM else cpu], ids=lambda f: f.__name__)
def make(request: pytest.FixtureRequest) -> Make:
    return request.param  # type: ignore[no-any-return]


# what only the GPU's backend has
collect_ignore = [] if numba.config.ENABLE_CUDASIM else ["test_simulated_gpu.py"]
