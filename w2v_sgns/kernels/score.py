"""The first half of a window step: scores, then gradients and loss from them.

Scores z = x·h of C context rows x and S output rows h are written as rows of P floats (P = 4
or 8, S ≤ P), a context a row. `gradients` replaces them in place by G = lr·(y − σ(z)).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils

from w2v_sgns.kernels.simd import I64, Lanes, micro_kernel

__all__ = ["MASKED", "PARAMETERS", "context_lanes", "gradients", "score_rows"]

LOG2E = 1.4426950408889634
MASKED = -1e30  # as logit·log2(e): sigmoid and loss term are zero
PARAMETERS = 48  # floats: sign·log2(e), bias and ±lr of 16 lanes each


def lanes_of(outputs: int) -> int:
    """Return P, the floats that one context's scores take."""
    return 4 if outputs <= 4 else 8


context_lanes = njit(inline="always")(lanes_of)


def _score(contexts: int) -> Any:
    """Return the micro-kernel for a tile of `contexts` × S dot products."""

    def emit(v: Lanes, outputs: int, *arguments: Any) -> None:
        """f(tile, (context addresses, output addresses, vectors a row, z))."""
        rows, outs, vectors, z = arguments
        stride = lanes_of(outputs)
        x_rows = [v.pointer(rows, r) for r in range(contexts)]
        h_rows = [v.pointer(outs, s) for s in range(outputs)]
        totals = [[v.variable() for _ in range(outputs)] for _ in range(contexts)]
        with cgutils.for_range(v.b, vectors) as loop:
            offset = v.b.mul(loop.index, ir.Constant(I64, v.bytes))
            xs = [v.load(x, offset) for x in x_rows]
            for s, row in enumerate(h_rows):
                h = v.load(row, offset)
                for x, total in zip(xs, totals, strict=True):
                    v.b.store(v.fma(x, h, v.b.load(total[s])), total[s])
        accumulators: list[Any] = [None] * (contexts * stride)
        for r, total in enumerate(totals):
            accumulators[r * stride : r * stride + outputs] = [v.b.load(t) for t in total]
        _store_sums(v, accumulators, z)

    return micro_kernel(emit)


def _store_sums(v: Lanes, accumulators: list[Any], z: Any) -> None:
    """Write the lane sums one after another, and not one float more."""
    count = len(accumulators)
    for n, sums in enumerate(v.sums(accumulators)):
        keep = min(v.width, count - n * v.width)
        if keep < v.width:
            sums = v.b.shuffle_vector(sums, sums, v.integers(range(keep)))
        v.store(sums, z, n * v.bytes)


_score4, _score2, _score1 = _score(4), _score(2), _score(1)


@njit(inline="always")
def score_rows(tile, rows, count, outs, vectors, z):
    """Write the scores of `count` contexts with the S outputs at `outs`."""
    stride = 4 * context_lanes(len(tile.outputs))
    i = 0
    if len(tile.outputs) <= 2:
        while i + 4 <= count:
            _score4(tile, (rows + 8 * i, outs, vectors, z + stride * i))
            i += 4
    while i + 2 <= count:
        _score2(tile, (rows + 8 * i, outs, vectors, z + stride * i))
        i += 2
    if i < count:
        _score1(tile, (rows + 8 * i, outs, vectors, z + stride * i))


def _sigmoid(v: Lanes, a: Any) -> tuple[Any, Any]:
    """Return (num, den) with σ(x) = num / den and den = 1 + exp(−|x|), for a = log2(e)·x.

    exp2 by a polynomial on [−½, ½] and the exponent bits; absolute error of σ 1e-7.
    """
    b = v.b
    negative = b.bitcast(b.or_(b.bitcast(a, v.ints), v.integers(-(1 << 31))), v.type)
    t = b.select(b.fcmp_ordered(">", negative, v.vector(-60)), negative, v.vector(-60))
    whole = b.fptosi(b.fsub(t, v.vector(0.5)), v.ints)
    r = b.fsub(t, b.sitofp(whole, v.type))
    p = v.vector(1.326470176e-03)
    for c in (9.671504604e-03, 5.550733731e-02, 2.402224221e-01, 6.931469777e-01, 1.0):
        p = v.fma(p, r, v.vector(c))
    e = b.bitcast(b.add(b.bitcast(p, v.ints), b.shl(whole, v.integers(23))), v.type)
    return b.select(b.fcmp_ordered(">", a, v.vector(0)), v.vector(1), e), b.fadd(e, v.vector(1))


def _emit_gradients(v: Lanes, outputs: int, *arguments: Any) -> None:
    """f(tile, (z, floats, parameters, loss)): z becomes ±lr·σ(∓z), the loss is added up.

    Each loss term is softplus(x) = max(x, 0) + log(den): `loss` holds, for each of 16 lanes,
    the product of den as a mantissa, the sum of max(a, 0), and the product's exponent, so that
    one logarithm a lane and batch is enough (see :func:`w2v_sgns.kernels.step.drain_loss`).
    """
    z, floats, parameters, loss = arguments
    step = max(v.width, lanes_of(outputs))
    blocks = v.b.sdiv(v.b.add(floats, ir.Constant(I64, step - 1)), ir.Constant(I64, step))
    parts = range(0, 4 * step, v.bytes)
    state = [[v.variable(v.load(loss, part + 64 * n)) for n in range(3)] for part in parts]
    several = v.width > lanes_of(outputs)  # contexts in a vector: the last one may be half full
    with cgutils.for_range(v.b, blocks) as loop:
        first = v.b.mul(loop.index, ir.Constant(I64, step))
        start = v.b.add(z, v.b.mul(first, ir.Constant(I64, 4)))
        left = v.repeat(v.b.sub(floats, first)) if several else None
        for part, sums in zip(parts, state, strict=True):
            _gradient_vector(v, start, part, parameters, left, sums)
    for part, sums in zip(parts, state, strict=True):
        for n, total in enumerate(sums):
            v.store(v.b.load(total), loss, part + 64 * n)


def _gradient_vector(
    v: Lanes, start: Any, part: int, parameters: Any, left: Any, sums: list[Any]
) -> None:
    """Turn one vector of scores into gradients; lanes past the last score count nothing."""
    b = v.b
    a = v.fma(v.load(start, part), v.load(parameters, part), v.load(parameters, part + 64))
    if left is not None:
        a = v.b.select(v.b.icmp_signed("<", v.integers(range(v.width)), left), a, v.vector(MASKED))
    num, den = _sigmoid(v, a)
    v.store(b.fmul(v.load(parameters, part + 128), b.fdiv(num, den)), start, part)
    product, positive, exponent = sums
    bits = b.bitcast(b.fmul(b.load(product), den), v.ints)
    mantissa = b.or_(b.and_(bits, v.integers(0x7FFFFF)), v.integers(0x3F800000))
    b.store(b.bitcast(mantissa, v.type), product)
    raised = b.sub(b.lshr(bits, v.integers(23)), v.integers(127))
    counted = b.add(b.bitcast(b.load(exponent), v.ints), raised)
    b.store(b.bitcast(counted, v.type), exponent)
    # unordered: a NaN is above 0 too, and makes the loss NaN, which ends the training
    above = b.select(b.fcmp_unordered(">", a, v.vector(0)), a, v.vector(0))
    b.store(b.fadd(b.load(positive), above), positive)


gradients = micro_kernel(_emit_gradients)
