"""Asking for memory ahead of need, from Numba code: one processor instruction, no result.

A loop that asks for what it will touch some rounds later does not wait for it. Addresses are
numbers; one that leads nowhere does no harm.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["ask_for", "emit_prefetch"]

I8, I32 = ir.IntType(8), ir.IntType(32)


def emit_prefetch(builder: Any, address: Any, *, write: bool) -> None:
    """Ask for the cache line at an integer address, to be read or written soon."""
    pointer = I8.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, I32, I32, I32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    hints = [ir.Constant(I32, hint) for hint in (int(write), 3, 1)]  # keep near, data
    builder.call(function, [builder.inttoptr(address, pointer), *hints])


def _ask_for(typing_context: Any, address: Any) -> Any:
    """Ask for the cache line at an address."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        emit_prefetch(builder, arguments[0], write=False)
        return context.get_dummy_value()

    return types.void(types.int64), emit


def _nothing(address: int) -> None:
    """Stand in for it where Python interprets the kernels."""


ask_for: Any = _nothing if config.DISABLE_JIT else intrinsic(_ask_for)  # type: ignore[attr-defined]
