"""Which GPU there is to train on, and what its driver's errors mean, in a sentence each.

numba.cuda is imported when it is asked for something: nothing else needs it.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from w2v_sgns.errors import ResourceError, W2VError
from w2v_sgns.machine import allowed_threads

__all__ = [
    "VECTOR_ADDS",
    "Device",
    "compiling",
    "cuda_device",
    "device_errors",
    "devices",
    "needs_numba_cuda",
]

LEAST = (7, 0)  # compute capability: lanes of a warp that wait for each other
VECTOR_ADDS = (9, 0)  # several floats added in one instruction
INSTALL = "pip install 'w2v-sgns[cuda]' (a CUDA 12 driver: 'w2v-sgns[cuda12]')"


@dataclass(frozen=True, kw_only=True)
class Device:
    """A GPU that can be used, or Numba's simulator of one."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    free: float  # bytes of memory not taken now; infinite on the simulator
    total: float
    simulated: bool = False

    @property
    def adds_vectors(self) -> bool:
        """Whether it adds several floats in one instruction."""
        return self.capability >= VECTOR_ADDS


def is_simulated() -> bool:
    """Tell whether Numba was told to simulate CUDA."""
    from numba import config

    return bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]


def needs_numba_cuda() -> None:
    """Refuse to go on with the target that Numba itself has: it is no longer kept.

    Raises:
        ResourceError: numba-cuda is not installed.
    """
    if importlib.util.find_spec("numba_cuda") is None:
        raise ResourceError(f"--device cuda: numba-cuda is not installed; {INSTALL}")


def cuda_device() -> Device:
    """Return the GPU that --device cuda uses: the first visible one.

    Raises:
        ResourceError: there is none, in one sentence that says what is missing.
    """
    if is_simulated():
        infinite = float("inf")
        return Device(
            name="Numba's CUDA simulator",
            capability=VECTOR_ADDS,
            multiprocessors=1,
            free=infinite,
            total=infinite,
            simulated=True,
        )
    needs_numba_cuda()
    from numba import cuda

    with device_errors():
        free, total = cuda.current_context().get_memory_info()
        found: Any = cuda.get_current_device()
        name = found.name.decode() if isinstance(found.name, bytes) else str(found.name)
        device = Device(
            name=name,
            capability=tuple(found.compute_capability),
            multiprocessors=found.MULTIPROCESSOR_COUNT,
            free=free,
            total=total,
        )
    if device.capability < LEAST:
        have, need = (".".join(map(str, pair)) for pair in (device.capability, LEAST))
        raise ResourceError(
            f"--device cuda: {name} has compute capability {have}, needed: {need} or newer; use "
            "--device cpu"
        )
    return device


def devices() -> dict[str, dict[str, Any]]:
    """Return what --device can name, with its figures, or with what is missing."""
    found: dict[str, dict[str, Any]] = {"cpu": {"usable": True, "threads": allowed_threads()}}
    try:
        device = cuda_device()
    except ResourceError as error:
        missing = str(error).removeprefix("--device cuda: ")
        return found | {"cuda": {"usable": False, "missing": missing}}
    figures = {"usable": True} | asdict(device)
    if device.simulated:
        figures |= {"free": None, "total": None}
    return found | {"cuda": figures}


@contextmanager
def compiling() -> Iterator[None]:
    """Lend NumPy a name that numba-cuda up to 0.30 uses while it compiles; NumPy 2.5 has none."""
    lacks = "row_stack" not in vars(np)
    if lacks:
        np.row_stack = np.vstack  # noqa: NPY201
    try:
        yield
    finally:
        if lacks:
            del np.row_stack  # noqa: NPY201


@contextmanager
def device_errors() -> Iterator[None]:
    """Say what numba.cuda raises in one sentence.

    Raises:
        ResourceError: instead of an error of the driver, the device or the compiler.
    """
    try:
        yield
    except W2VError:
        raise
    except Exception as error:
        sentence = meaning(error)
        if sentence is None:
            raise
        raise ResourceError(f"--device cuda: {sentence}") from error


def meaning(error: Exception) -> str | None:
    """Return what an error of numba.cuda means; None for any other."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    modules = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    text = " ".join(str(error).split())[:200]
    if "OUT_OF_MEMORY" in text:
        return (
            "the GPU's memory does not suffice; try fewer --streams, a smaller --dim or "
            "--max-vocab, or --device cpu"
        )
    if "CudaSupportError" in kinds:
        return _no_driver(text)
    if kinds & {"DynamicLibNotFoundError", "NvvmSupportError", "NvrtcSupportError"}:
        return f"no CUDA compiler library was found ({text}); {INSTALL}, or set CUDA_HOME"
    if "LinkerError" in kinds or "NvvmError" in kinds:
        return f"the kernel could not be compiled for this GPU: {text}"
    if kinds & {"CudaDriverError", "CudaAPIError"} or "cuda" in modules:
        return (
            f"the GPU failed ({text}); the last checkpoint is as it was: go on with --resume, or "
            "use --device cpu"
        )
    return None


def _no_driver(text: str) -> str:
    if "cannot be found" in text:
        return "no NVIDIA driver is installed; needed: a driver for CUDA 12 or 13; use --device cpu"
    if "NO_DEVICE" in text:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        why = "" if visible is None else f" (CUDA_VISIBLE_DEVICES is {visible!r})"
        return f"there is an NVIDIA driver, but no GPU is visible{why}; use --device cpu"
    return f"the NVIDIA driver does not start: {text}; use --device cpu"
