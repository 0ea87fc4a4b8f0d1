"""The first half of a window step: scores, then gradients and loss from them.

Scores z = x·h of C context rows x and S output rows h are written as rows of P floats (P = 4
or 8, S ≤ P), a context a row. `gradients` replaces them in place by G = −lr·∂L/∂z, which for
SGNS is lr·(y − σ(z)); for NCE a shift of each output comes into the score, and for its sigmoid
form another function takes over.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils

from w2v_sgns.kernels.simd import I64, Lanes, micro_kernel

__all__ = [
    "COVERED",
    "MASKED",
    "PARAMETERS",
    "SIGMOID_FORM",
    "context_lanes",
    "gradients",
    "score_rows",
]

LOG2E = 1.4426950408889634
MASKED = -1e30  # as logit·log2(e): sigmoid and loss term are zero
COVERED = 2.0**100  # as k·q of the sigmoid form: the noise explains all, the loss term is zero
SIGMOID_FORM = 3  # length of Tile.form
PARAMETERS = 48  # floats: sign·log2(e), bias and ±lr of 16 lanes each


def lanes_of(outputs: int) -> int:
    """Return P, the floats that one context's scores take."""
    return 4 if outputs <= 4 else 8


context_lanes = njit(inline="always")(lanes_of)


def _score(contexts: int) -> Any:
    """Return the micro-kernel for a tile of `contexts` × S dot products."""

    def emit(v: Lanes, outputs: int, *arguments: Any) -> None:
        """f(tile, (context addresses, output addresses, first vector of a row, end, z))."""
        rows, outs, first, end, z = arguments
        stride = lanes_of(outputs)
        x_rows = [v.pointer(rows, r) for r in range(contexts)]
        h_rows = [v.pointer(outs, s) for s in range(outputs)]
        totals = [[v.variable() for _ in range(outputs)] for _ in range(contexts)]
        with cgutils.for_range(v.b, end, start=first) as loop:
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
def score_rows(tile, rows, count, outs, first, end, z):
    """Write the scores of `count` contexts with the S outputs at `outs`, over vectors first:end."""
    stride = 4 * context_lanes(len(tile.outputs))
    i = 0
    if len(tile.outputs) <= 2:
        while i + 4 <= count:
            _score4(tile, (rows + 8 * i, outs, first, end, z + stride * i))
            i += 4
    while i + 2 <= count:
        _score2(tile, (rows + 8 * i, outs, first, end, z + stride * i))
        i += 2
    if i < count:
        _score1(tile, (rows + 8 * i, outs, first, end, z + stride * i))


def _decay(v: Lanes, a: Any, least: float) -> Any:
    """Return 2^−|a|, not below 2^least, with a relative error of 1e-7.

    exp2 by a polynomial on [−½, ½] and the exponent bits.
    """
    b = v.b
    negative = b.bitcast(b.or_(b.bitcast(a, v.ints), v.integers(-(1 << 31))), v.type)
    t = b.select(b.fcmp_ordered(">", negative, v.vector(least)), negative, v.vector(least))
    whole = b.fptosi(b.fsub(t, v.vector(0.5)), v.ints)
    r = b.fsub(t, b.sitofp(whole, v.type))
    p = v.vector(1.326470176e-03)
    for c in (9.671504604e-03, 5.550733731e-02, 2.402224221e-01, 6.931469777e-01, 1.0):
        p = v.fma(p, r, v.vector(c))
    return b.bitcast(b.add(b.bitcast(p, v.ints), b.shl(whole, v.integers(23))), v.type)


def _gradients(vector: Any) -> Any:
    """Return f(tile, (z, floats, parameters, loss)): z becomes −lr·∂L/∂z, the loss is added up.

    `vector` emits the work on one vector of scores. Each loss term is split into a part ≥ 0
    and the logarithm of a factor: `loss` holds, for each of 16 lanes, the product of the
    factors as a mantissa, the sum of the parts in units of log 2, and the product's exponent, so
    that one logarithm a lane and batch is enough (see
    :func:`w2v_sgns.kernels.step.drain_loss`).
    """

    def emit(v: Lanes, outputs: int, *arguments: Any) -> None:
        z, floats, parameters, loss = arguments
        step = max(v.width, lanes_of(outputs))
        blocks = v.b.sdiv(v.b.add(floats, ir.Constant(I64, step - 1)), ir.Constant(I64, step))
        parts = range(0, 4 * step, v.bytes)
        state = [[v.variable(v.load(loss, part + 64 * n)) for n in range(3)] for part in parts]
        several = v.width > lanes_of(outputs)  # contexts in a vector: the last may be half full
        with cgutils.for_range(v.b, blocks) as loop:
            first = v.b.mul(loop.index, ir.Constant(I64, step))
            start = v.b.add(z, v.b.mul(first, ir.Constant(I64, 4)))
            left = v.repeat(v.b.sub(floats, first)) if several else None
            for part, sums in zip(parts, state, strict=True):
                vector(v, start, part, parameters, left, sums)
        for part, sums in zip(parts, state, strict=True):
            for n, total in enumerate(sums):
                v.store(v.b.load(total), loss, part + 64 * n)

    return micro_kernel(emit)


def _inside(v: Lanes, left: Any, value: Any, outside: float) -> Any:
    """Return `value`, with a constant in the lanes past the last score."""
    if left is None:
        return value
    return v.b.select(
        v.b.icmp_signed("<", v.integers(range(v.width)), left), value, v.vector(outside)
    )


def _logistic_vector(
    v: Lanes, start: Any, part: int, parameters: Any, left: Any, sums: list[Any]
) -> None:
    """Turn one vector of scores into gradients ±lr·σ(x), L = softplus(x).

    x = ∓(z − shift), as log2(e)·x; L = max(x, 0) + log(1 + e^−|x|).
    """
    b = v.b
    a = v.fma(v.load(start, part), v.load(parameters, part), v.load(parameters, part + 64))
    a = _inside(v, left, a, MASKED)
    e = _decay(v, a, -60)
    num, den = b.select(b.fcmp_ordered(">", a, v.vector(0)), v.vector(1), e), b.fadd(e, v.vector(1))
    v.store(b.fmul(v.load(parameters, part + 128), b.fdiv(num, den)), start, part)
    # unordered: a NaN is above 0 too, and makes the loss NaN, which ends the training
    above = b.select(b.fcmp_unordered(">", a, v.vector(0)), a, v.vector(0))
    _add_loss(v, sums, den, above)


def _sigmoid_vector(
    v: Lanes, start: Any, part: int, parameters: Any, left: Any, sums: list[Any]
) -> None:
    """Turn one vector of scores into gradients of the form with o = σ(z), c = k·q.

    With e = exp(−|z|) and w = c·(1 + e) + (1 if z ≥ 0 else e), which is (o + c)(1 + e):
    true word: L = log(w) + max(−z, 0), −∂L/∂z = c·(e if z ≥ 0 else 1) / w;
    noise:     L = log(w / (c·(1 + e))), ∂L/∂z = e / ((1 + e)·w).
    """
    b = v.b
    one = v.vector(1)
    scale, c = v.load(parameters, part), v.load(parameters, part + 64)
    a = b.fmul(v.load(start, part), scale)  # log2(e)·z of noise, −log2(e)·z of the true word
    e = _decay(v, a, -120)
    is_true = b.fcmp_ordered("<", scale, v.vector(0))
    rising = b.fcmp_ordered(">=", b.fmul(a, scale), v.vector(0))  # z ≥ 0
    both = b.fadd(e, one)
    covered = b.fmul(c, both)
    w = b.fadd(covered, b.select(rising, one, e))
    num = b.select(is_true, b.fmul(c, b.select(rising, e, one)), e)
    den = b.select(is_true, w, b.fmul(both, w))
    v.store(b.fmul(v.load(parameters, part + 128), b.fdiv(num, den)), start, part)
    factor = _inside(v, left, b.select(is_true, w, b.fdiv(w, covered)), 1)
    floor = b.select(is_true, v.vector(0), v.vector(float("inf")))
    above = b.select(b.fcmp_unordered(">", a, floor), a, v.vector(0))  # a NaN stays one
    _add_loss(v, sums, factor, _inside(v, left, above, 0))


def _add_loss(v: Lanes, sums: list[Any], factor: Any, above: Any) -> None:
    """Add log(factor) + log(2)·above to each lane's loss; factor > 0."""
    b = v.b
    product, positive, exponent = sums
    bits = b.bitcast(b.fmul(b.load(product), factor), v.ints)
    mantissa = b.or_(b.and_(bits, v.integers(0x7FFFFF)), v.integers(0x3F800000))
    b.store(b.bitcast(mantissa, v.type), product)
    raised = b.sub(b.lshr(bits, v.integers(23)), v.integers(127))
    counted = b.add(b.bitcast(b.load(exponent), v.ints), raised)
    b.store(b.bitcast(counted, v.type), exponent)
    b.store(b.fadd(b.load(positive), above), positive)


_logistic_gradients, _sigmoid_gradients = _gradients(_logistic_vector), _gradients(_sigmoid_vector)


@njit(inline="always")
def gradients(tile, z, floats, parameters, loss):
    """Turn scores into gradients −lr·∂L/∂z of the tile's form, and add up the loss."""
    if len(tile.form) == SIGMOID_FORM:
        _sigmoid_gradients(tile, (z, floats, parameters, loss))
    else:
        _logistic_gradients(tile, (z, floats, parameters, loss))
