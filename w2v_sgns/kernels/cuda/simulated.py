"""Stand-ins for a warp on Numba's simulator, which has no shuffles, vectors or inline PTX.

There every CUDA thread is a thread of the system. Used with NUMBA_ENABLE_CUDASIM=1 only.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba.cuda.simulator.kernel import BlockThread, _get_kernel_context

from w2v_sgns.kernels import windows

__all__ = [
    "copy4",
    "device",
    "divide",
    "draw",
    "exp",
    "leave_warp",
    "log",
    "portable",
    "prefetch",
    "row_access",
    "shared_floats",
    "shuffle",
    "shuffle_xor",
    "sync_block",
    "sync_warp",
]

LANES = 32
PATIENCE = 300.0  # seconds: a lane that died must not hold the others for ever
REST = 1e-4  # seconds between two looks of the simulator at a thread
_lock = threading.Lock()
# the simulator makes a manager for each block
_warps: WeakKeyDictionary[Any, dict[int, _Warp]] = WeakKeyDictionary()
_barriers: WeakKeyDictionary[Any, threading.Barrier] = WeakKeyDictionary()


def _is_alive(thread: Any) -> bool:
    """Tell whether a thread of a block lives; asked without rest, which took half the time."""
    time.sleep(REST)
    return threading.Thread.is_alive(thread)


BlockThread.is_alive = _is_alive


def device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as it is."""
    return function


def portable(function: Any) -> Any:
    """Return the Python of an njit function: it would not take the simulator's arrays."""
    return function.py_func


def draw(seed: Any, position: Any) -> np.uint64:
    """Return the draw of kernels/windows.py as the type it has in a kernel."""
    return np.uint64(windows.draw(np.uint64(seed), np.int64(position)))


class _Warp:
    """32 threads that take turns: a lane runs until it exchanges something, then the next one.

    One thread at a time is far faster than 32 that meet at a barrier.
    """

    def __init__(self) -> None:
        self.turns = [threading.Lock() for _ in range(LANES)]  # held: it is not the lane's turn
        for turn in self.turns[1:]:
            turn.acquire()
        self.values: list[Any] = [None] * LANES
        self.running: set[int] = set()

    def take_turn(self, lane: int) -> None:
        """Wait until the lane before has had its turn."""
        if not self.turns[lane].acquire(timeout=PATIENCE):
            raise RuntimeError("a lane of the simulated warp has died")

    def pass_turn(self, lane: int) -> None:
        """Let the next lane run."""
        self.turns[(lane + 1) % LANES].release()

    def exchange(self, lane: int, value: Any) -> list[Any]:
        """Give a value; return those of all lanes, once all have given theirs."""
        if lane not in self.running:
            self.running.add(lane)
            self.take_turn(lane)
        if lane == 0:
            self.values = [None] * LANES  # the other lanes have taken the old ones
        values = self.values
        values[lane] = value
        self.pass_turn(lane)
        self.take_turn(lane)
        return values


def _here() -> tuple[_Warp, int]:
    """Return the warp and the lane of the running thread."""
    thread: Any = threading.current_thread()
    if not hasattr(thread, "w2v_place"):
        number, lane = divmod(int(thread.threadIdx.x), LANES)
        with _lock:
            block = _warps.setdefault(thread._manager, {})
            if number not in block:
                block[number] = _Warp()
            thread.w2v_place = block[number], lane
    return thread.w2v_place


def sync_warp() -> None:
    """Wait for all lanes."""
    _exchange(None)


def sync_block() -> None:
    """Wait for all threads of the block; the simulator's own barrier waits for its looks."""
    manager: Any = threading.current_thread()._manager  # type: ignore[attr-defined]
    with _lock:
        if manager not in _barriers:
            _barriers[manager] = threading.Barrier(math.prod(manager._block_dim))
    _barriers[manager].wait(PATIENCE)


def shared_floats() -> Any:
    """Return the block's shared memory."""
    return _get_kernel_context().shared.array(0, np.dtype(np.float32))


def leave_warp() -> None:
    """Let the other lanes go on to their ends."""
    warp, lane = _here()
    warp.pass_turn(lane)


def _exchange(value: Any) -> tuple[list[Any], int]:
    warp, lane = _here()
    return warp.exchange(lane, value), lane


def shuffle(value: Any, source: int) -> Any:
    """Return another lane's value."""
    return _exchange(value)[0][source]


def shuffle_xor(value: Any, mask: int) -> Any:
    """Return the value of the lane whose number differs in these bits."""
    values, lane = _exchange(value)
    return values[lane ^ mask]


def copy4(a: Any, i: int, c: Any, j: int) -> None:
    """Copy four floats."""
    a[i : i + 4] = c[j : j + 4]


def prefetch(a: Any, i: int, c: Any, j: int) -> None:
    """Change nothing."""


def row_access(width: int, *, vectors: bool) -> tuple[Any, Any, Any]:
    """Return load, store and add of so many floats."""

    def copy(a: Any, i: int, c: Any, j: int) -> None:
        a[i : i + width] = c[j : j + width]

    def add(a: Any, i: int, c: Any, j: int) -> None:
        with _lock:  # a warp's lanes are threads: an addition must not be lost
            a[i : i + width] = a[i : i + width] + c[j : j + width]

    return copy, copy, add


def exp(x: Any) -> Any:
    """Return e^x in float32."""
    return np.float32(math.exp(x))


def log(x: Any) -> Any:
    """Return log x in float32."""
    return np.float32(math.log(x))


def divide(x: Any, y: Any) -> Any:
    """Return x / y in float32."""
    return np.float32(x) / np.float32(y)
