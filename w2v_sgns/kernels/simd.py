"""Explicit vectors of W floats in LLVM IR, and the bridge that calls them from Numba code.

Explicit vectors keep their width whatever the auto-vectoriser prefers, and need no fast-math.
Addresses are 64-bit integers: nothing here keeps an array alive, the caller does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from w2v_sgns.kernels.prefetch import emit_prefetch

__all__ = ["FORMS", "MAX_OUTPUTS", "Lanes", "Tile", "host_width", "micro_kernel", "tile_for"]

F32, I8, I32, I64 = ir.FloatType(), *(ir.IntType(n) for n in (8, 32, 64))
FORMS = ("sgns", "nce", "nce-sigmoid")
MAX_OUTPUTS = {4: 6, 8: 6, 16: 8}  # output rows a register tile holds, by vector width


class Tile(NamedTuple):
    """What is decided at compile time: numbers, carried by the lengths of tuples of zeros.

    Numba compiles one kernel for each set of lengths and caches them side by side.
    """

    outputs: tuple[int, ...]  # S, output rows handled together
    lanes: tuple[int, ...]  # W, floats in a vector
    form: tuple[int, ...] = (0,)  # what a score costs: 1 + its place in FORMS
    bias: tuple[int, ...] = (0,)  # two: outputs have a bias


def host_width() -> int:
    """Return the floats in this processor's widest vector: 16, 8 or 4."""
    features = llvm.get_host_cpu_features()
    return 16 if features.get("avx512f") else 8 if features.get("avx2") else 4


def tile_for(
    outputs: int, *, width: int | None = None, form: str = "sgns", bias: bool = False
) -> Tile:
    """Return the tile that cuts `outputs` rows into equal parts of at most MAX_OUTPUTS."""
    width = width or host_width()
    parts = -(-outputs // MAX_OUTPUTS[width])
    size = max(2, -(-outputs // parts))
    return Tile((0,) * size, (0,) * width, (0,) * (1 + FORMS.index(form)), (0,) * (1 + bias))


class Lanes:
    """IR for vectors of W floats: what an emitter writes its micro-kernel with."""

    def __init__(self, builder: Any, width: int) -> None:
        self.b, self.width = builder, width
        self.type = ir.VectorType(F32, width)
        self.ints = ir.VectorType(I32, width)
        self.bytes = 4 * width
        self.undefined = ir.Constant(self.type, ir.Undefined)

    def vector(self, value: float) -> Any:
        """Return W copies of a float constant."""
        return ir.Constant(self.type, [ir.Constant(F32, float(value))] * self.width)

    def integers(self, values: Sequence[int] | int) -> Any:
        """Return W integer constants (one number: W copies)."""
        row = [values] * self.width if isinstance(values, int) else list(values)
        return ir.Constant(ir.VectorType(I32, len(row)), [ir.Constant(I32, v) for v in row])

    def address(self, base: Any, offset: Any) -> Any:
        """Return base + offset bytes (an int or an IR value)."""
        if isinstance(offset, int):
            offset = ir.Constant(I64, offset)
        return self.b.add(base, offset)

    def load(self, base: Any, offset: Any = 0, type_: Any = None) -> Any:
        """Load a vector (or a value of `type_`) from base + offset bytes."""
        type_ = type_ or self.type
        at = self.b.inttoptr(self.address(base, offset), type_.as_pointer())
        value = self.b.load(at)
        value.align = 8 if type_ is I64 else 4
        return value

    def pointer(self, base: Any, index: int) -> Any:
        """Load the index-th address of a list of addresses."""
        return self.load(base, 8 * index, I64)

    def store(self, value: Any, base: Any, offset: Any = 0) -> None:
        """Store a vector at base + offset bytes."""
        at = self.b.inttoptr(self.address(base, offset), value.type.as_pointer())
        self.b.store(value, at).align = 4

    def splat(self, base: Any, offset: Any = 0) -> Any:
        """Load one float and repeat it W times."""
        one = self.b.insert_element(
            self.undefined, self.load(base, offset, F32), ir.Constant(I32, 0)
        )
        return self.b.shuffle_vector(one, self.undefined, self.integers([0] * self.width))

    def repeat(self, whole: Any) -> Any:
        """Return W copies of a 64-bit integer that fits 32 bits."""
        undefined = ir.Constant(self.ints, ir.Undefined)
        one = self.b.insert_element(undefined, self.b.trunc(whole, I32), ir.Constant(I32, 0))
        return self.b.shuffle_vector(one, undefined, self.integers([0] * self.width))

    def variable(self, value: Any = None) -> Any:
        """Return a register variable (one vector), set to `value` or to zero."""
        slot = cgutils.alloca_once(self.b, self.type)
        self.b.store(self.vector(0) if value is None else value, slot)
        return slot

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        """Return x·y + z, fused where the processor can."""
        flags = ("contract",)
        return self.b.fadd(self.b.fmul(x, y, flags=flags), z, flags=flags)

    def sums(self, vectors: Sequence[Any]) -> list[Any]:
        """Sum the lanes of each vector: lane j of result i is the sum of vectors[i·W + j].

        None stands for a vector that is not needed; its lane holds some other sum.
        A tree of log2(W) levels halves the number of vectors at each: inside groups of four
        lanes first, where a shuffle is one instruction, then across the groups.
        """
        row = list(vectors) + [None] * (-len(vectors) % self.width)
        levels = [(1, 4)] * 2 + [(4, self.width)] * (self.width.bit_length() - 3)
        for group, span in levels:
            row = [self._fold(a, c, group, span) for a, c in zip(row[::2], row[1::2], strict=True)]
        return [self.vector(0) if v is None else v for v in row]

    def _fold(self, a: Any, c: Any, group: int, span: int) -> Any:
        """Add neighbouring groups of lanes: a's fill the lower half of a span, c's the upper."""
        if a is None and c is None:
            return None
        a, c = (c if a is None else a), (a if c is None else c)
        even = [
            start + lane + source
            for start in range(0, self.width, span)
            for source in (0, self.width)
            for first in range(0, span, 2 * group)
            for lane in range(first, first + group)
        ]
        odd = [lane + group for lane in even]
        return self.b.fadd(
            self.b.shuffle_vector(a, c, self.integers(even)),
            self.b.shuffle_vector(a, c, self.integers(odd)),
        )

    def prefetch(self, address: Any) -> None:
        """Ask for the cache line at an address, to be written soon."""
        emit_prefetch(self.b, address, write=True)


def micro_kernel(emit: Callable[..., None]) -> Any:
    """Return f(tile, (integers, …)) for Numba code, its body written by emit(lanes, S, …)."""

    @intrinsic
    def call(typing_context: Any, tile: Any, arguments: Any) -> Any:
        outputs, lanes = (part.count for part in tile.types[:2])

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            given = zip(cgutils.unpack_tuple(builder, values[1]), arguments.types, strict=True)
            whole = [context.cast(builder, value, kind, types.intp) for value, kind in given]
            emit(Lanes(builder, lanes), outputs, *whole)
            return context.get_dummy_value()

        return types.void(tile, arguments), codegen

    return call
