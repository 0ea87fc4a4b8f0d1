"""Threads that wait for each other inside compiled code: posted counts, looked at until reached.

Each thread posts how far it is on a cache line of its own; what it wrote before is seen by
whoever has seen the count. Waiting is busy for some microseconds, then offers the processor to
others. Nothing here knows what is counted.
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from w2v_sgns.kernels.simd import I64

__all__ = ["COUNTS", "ENDED", "all_posted", "post"]

COUNTS = 8  # int64 between two threads' counts: a cache line
ENDED = 1 << 62  # added to a count: no more will come
LOOKS = 20_000  # at one count, before the processor is offered to others


def _post(typing_context: Any, address: Any, count: Any) -> Any:
    """Write a count (int64) to an address, after all that was written before."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], I64.as_pointer())
        builder.store_atomic(arguments[1], place, "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


def _look(typing_context: Any, address: Any) -> Any:
    """Return the count at an address, and see all that was written before it was posted."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.PointerType(I64))
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(types.int64), emit


post: Any = intrinsic(_post)
look: Any = intrinsic(_look)

if hasattr(os, "sched_yield"):
    give_way: Any = types.ExternalFunction("sched_yield", types.int32())
else:  # a system without it waits busily

    @njit(inline="always")
    def give_way():
        """Do nothing."""
        return 0


@njit(inline="always")
def all_posted(counts, threads, target):
    """Wait until every thread has posted `target`; False if one has ended before."""
    for thread in range(threads):
        place = counts + 8 * COUNTS * thread
        looks = 0
        count = look(place)
        while count < target:
            looks += 1
            if looks > LOOKS:
                give_way()
            count = look(place)
        if count >= ENDED and count - ENDED < target:
            return False
    return True
