"""The scores that threads in step exchange: asked for early, summed, turned into gradients.

See :mod:`w2v_sgns.kernels.stripes`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import njit
from numba.core import cgutils

from w2v_sgns.kernels.prefetch import ask_for
from w2v_sgns.kernels.score import PARAMETERS, gradients
from w2v_sgns.kernels.simd import I64, Lanes, micro_kernel
from w2v_sgns.kernels.team import RING

__all__ = ["Plan", "ask_for_scores", "window_gradients"]

LINE = 64  # bytes of a cache line


def _emit_sum(v: Lanes, outputs: int, *arguments: Any) -> None:
    """f(tile, (z, floats, scores, bytes from stripe to stripe, stripes)): z = Σ over stripes."""
    z, floats, scores, stride, stripes = arguments
    whole = v.b.add(floats, ir.Constant(I64, v.width - 1))
    with cgutils.for_range(v.b, v.b.sdiv(whole, ir.Constant(I64, v.width))) as loop:
        offset = v.b.mul(loop.index, ir.Constant(I64, v.bytes))
        total = v.variable(v.load(scores, offset))
        with cgutils.for_range(v.b, stripes, start=ir.Constant(I64, 1)) as other:
            start = v.b.add(scores, v.b.mul(other.index, stride))
            v.b.store(v.b.fadd(v.b.load(total), v.load(start, offset)), total)
        v.store(v.b.load(total), z, offset)


sum_stripes = micro_kernel(_emit_sum)


def _emit_claim(v: Lanes, outputs: int, *arguments: Any) -> None:
    """f(tile, (address, bytes)): asks for memory that will be written."""
    start, size = arguments
    lines = v.b.lshr(v.b.add(size, ir.Constant(I64, LINE - 1)), ir.Constant(I64, 6))
    with cgutils.for_range(v.b, lines) as line:
        v.prefetch(v.b.add(start, v.b.shl(line.index, ir.Constant(I64, 6))))


claim = micro_kernel(_emit_claim)


class Plan(NamedTuple):
    """What stays the same through a chunk: plain numbers."""

    first: int  # stripe of this thread ...
    last: int  # ... up to this one, which is another's
    stripes: int
    far: int  # vectors from a row to the same row of the next stripe
    block: int  # windows of a block, at most
    most: int  # contexts of a window, at most
    negatives: int
    tiles: int
    slots: int  # rows listed for a window's outputs: tiles·S, and one to be asked for
    lanes: int  # floats that a context's scores take in a tile
    scores: int  # address of the team's scores
    ring_bytes: int  # of one block's scores in one stripe
    stripe_bytes: int  # of a ring's
    row_bytes: int  # of a row in one stripe


@njit(inline="always")
def ask_for_scores(tile, plan, offset, size, place):
    """Ask for what comes next: others' scores of the block before `place`, room for ours."""
    before = (place - 1) % RING
    for s in range(plan.stripes):
        start = plan.scores + plan.stripe_bytes * s + offset
        if plan.first <= s < plan.last:
            claim(tile, (start + plan.ring_bytes * place, size))
        else:
            for line in range(0, size, LINE):
                ask_for(start + plan.ring_bytes * before + line)


@njit(inline="always")
def window_gradients(tile, at, plan, z, count):
    """Put a window's gradients in at.scores: from all stripes' scores, which begin at `z`."""
    floats = plan.lanes * count
    for m in range(plan.tiles):
        part = 4 * floats * m
        sum_stripes(tile, (at.scores + part, floats, z + part, plan.stripe_bytes, plan.stripes))
        gradients(tile, at.scores + part, floats, at.parameters + 4 * PARAMETERS * m, at.loss)
