"""What a warp can do that Python cannot say: exchange registers, move vectors, add in L2.

On Numba's simulator, which has none of it, simulated.py stands in. Places are (array, index)
pairs; `local` is a lane's local array, whose indices must become constants when loops unroll.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import config, cuda

SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]

if SIMULATED:
    from w2v_sgns.kernels.cuda import simulated as _s

    device, draw, portable = _s.device, _s.draw, _s.portable
    exp, log, divide = _s.exp, _s.log, _s.divide
    shuffle, shuffle_xor = _s.shuffle, _s.shuffle_xor
    sync_warp, leave_warp, sync_block = _s.sync_warp, _s.leave_warp, _s.sync_block
    shared_floats = _s.shared_floats
    row_access, load4, prefetch = _s.row_access, _s.copy4, _s.prefetch
else:
    from numba.cuda import libdevice, types
    from numba.cuda.extending import intrinsic

    from w2v_sgns.kernels.windows import draw

    # launches of one block are meant: without this, Numba warns the user of each
    config.CUDA_LOW_OCCUPANCY_WARNINGS = False  # type: ignore[attr-defined]

    F32, I64 = ir.FloatType(), ir.IntType(64)
    GLOBAL = 1  # address space
    EVERYONE = 0xFFFFFFFF

    device = cuda.jit(device=True, inline="always")
    exp, log, divide = libdevice.fast_expf, libdevice.fast_logf, libdevice.fast_fdividef

    def portable(function: Any) -> Any:
        """Return an njit function that takes arrays as kernels can call it."""
        return function

    @device
    def shuffle(value, lane):
        """Return another lane's value."""
        return cuda.shfl_sync(EVERYONE, value, lane)

    @device
    def shuffle_xor(value, mask):
        """Return the value of the lane whose number differs in these bits."""
        return cuda.shfl_xor_sync(EVERYONE, value, mask)

    @device
    def sync_warp():
        """Wait for all lanes; what they wrote to shared and global memory is seen."""
        cuda.syncwarp()

    @device
    def sync_block():
        """Wait for all threads of the block; what they wrote is seen."""
        cuda.syncthreads()

    @device
    def shared_floats():
        """Return the block's shared memory."""
        return cuda.shared.array(0, types.float32, alignment=16)

    @device
    def leave_warp():
        """Do nothing: a lane that has ended holds up nobody, but on the simulator."""

    class _Emitter:
        """Writes the IR of one primitive."""

        def __init__(self, builder: Any) -> None:
            self.b = builder

        def at(self, place: Any, index: int = 0, space: int = 0) -> Any:
            """Return a pointer to the index-th float from a place on."""
            pointer = self.b.gep(place, [ir.Constant(I64, index)])
            return self.b.addrspacecast(pointer, F32.as_pointer(space)) if space else pointer

        def address(self, place: Any) -> Any:
            """Return a place in global memory as a number."""
            return self.b.ptrtoint(self.at(place, space=GLOBAL), I64)

        def asm(self, text: str, constraints: str, arguments: list[Any], result: Any) -> Any:
            kind = ir.FunctionType(result, [a.type for a in arguments])
            code = ir.InlineAsm(kind, text, constraints, side_effect=True)
            return self.b.call(code, arguments)

    def _primitive(emit: Callable[[_Emitter, Any, Any], None]) -> Any:
        """Return f(a, i, c, j) for kernels; emit gets pointers to a[i] and c[j]."""

        @intrinsic  # type: ignore[untyped-decorator]
        def call(typing_context: Any, a: Any, i: Any, c: Any, j: Any) -> Any:
            def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                places = []
                for n in (0, 2):
                    array = context.make_array(signature.args[n])(context, builder, values[n])
                    kind = signature.args[n + 1]
                    index = context.cast(builder, values[n + 1], kind, types.int64)
                    places.append(builder.gep(array.data, [index]))
                emit(_Emitter(builder), *places)
                return context.get_dummy_value()

            return types.void(a, i, c, j), codegen

        return call

    def _emit_load(width: int) -> Any:
        """f(local, j, matrix, i): `width` floats from L2, never from L1: others change them."""

        def emit(e: _Emitter, local: Any, place: Any) -> None:
            registers = ", ".join(f"${n}" for n in range(width))
            text = f"ld.global.cg.v{width}.f32 {{{registers}}}, [${width}];"
            kind = ir.LiteralStructType([F32] * width)
            got = e.asm(text, "=f," * width + "l,~{memory}", [e.address(place)], kind)
            for n in range(width):
                e.b.store(e.b.extract_value(got, n), e.at(local, n))

        return emit

    def _emit_store(width: int) -> Any:
        """f(matrix, i, local, j): `width` floats to L2."""

        def emit(e: _Emitter, place: Any, local: Any) -> None:
            values = [e.b.load(e.at(local, n)) for n in range(width)]
            registers = ", ".join(f"${n + 1}" for n in range(width))
            text = f"st.global.cg.v{width}.f32 [$0], {{{registers}}};"
            e.asm(text, "l" + ",f" * width + ",~{memory}", [e.address(place), *values], VOID)

        return emit

    def _emit_add(width: int, *, vectors: bool) -> Any:
        """f(matrix, i, local, j): adds atomically, all in one where the GPU can (9.0 and up)."""

        def emit(e: _Emitter, place: Any, local: Any) -> None:
            values = [e.b.load(e.at(local, n)) for n in range(width)]
            at = e.address(place)
            if vectors:
                registers = ", ".join(f"${n + 1}" for n in range(width))
                text = f"red.global.add.v{width}.f32 [$0], {{{registers}}};"
                e.asm(text, "l" + ",f" * width + ",~{memory}", [at, *values], VOID)
                return
            for n, value in enumerate(values):
                text = f"red.global.add.f32 [$0 + {4 * n}], $1;"
                e.asm(text, "l,f,~{memory}", [at, value], VOID)

        return emit

    def _emit_load4(e: _Emitter, local: Any, place: Any) -> None:
        """f(local, j, array, i): four floats that lie at a multiple of 16 bytes, any memory."""
        four = ir.VectorType(F32, 4)
        value = e.b.load(e.b.bitcast(place, four.as_pointer()))
        value.align = 16
        for n in range(4):
            part = e.b.extract_element(value, ir.Constant(ir.IntType(32), n))
            e.b.store(part, e.at(local, n))

    def _emit_prefetch(e: _Emitter, unused: Any, place: Any) -> None:
        """f(any, 0, matrix, i): asks for a line to be brought to L2."""
        e.asm("prefetch.global.L2 [$0];", "l", [e.address(place)], VOID)

    VOID = ir.VoidType()
    load4, prefetch = _primitive(_emit_load4), _primitive(_emit_prefetch)

    def row_access(width: int, *, vectors: bool) -> tuple[Any, Any, Any]:
        """Return load(local, j, matrix, i), store and add(matrix, i, local, j) of so many floats.

        vectors: the GPU adds several floats in one instruction.
        """
        emitters = (_emit_load(width), _emit_store(width), _emit_add(width, vectors=vectors))
        load, store, add = map(_primitive, emitters)
        return load, store, add


__all__ = [
    "SIMULATED",
    "device",
    "divide",
    "draw",
    "exp",
    "leave_warp",
    "load4",
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
