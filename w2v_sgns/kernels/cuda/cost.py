"""What a score costs and which way it pulls, for each objective: one float32 at a time.

The formulas are those of objectives/ in the stable forms of kernels/score.py. pull is −∂L/∂s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from w2v_sgns.kernels.cuda.warp import device, divide, exp, log

__all__ = ["COSTS"]

ONE, ZERO, LN2 = np.float32(1), np.float32(0), np.float32(0.6931471805599453)


@device
def logistic(score, is_true, shift):
    """SGNS and the standard form of NCE: shift is log2(e)·log(k·q), 0 for SGNS.

    With a = Δ of noise, −Δ of the true word: L = softplus(a), |pull| = σ(a).
    """
    a = score - LN2 * shift
    if is_true:
        a = -a
    e = exp(-abs(a))
    share = divide(ONE, ONE + e)
    if a < ZERO:
        share = e * share
    pull = share if is_true else -share
    return pull, max(a, ZERO) + log(ONE + e)


@device
def sigmoid_form(score, is_true, covered):
    """NCE with o = σ(s); covered is c = k·q.

    With e = exp(−|s|), w = (o + c)(1 + e): the true word costs log(w) + max(−s, 0), noise
    log(w / (c·(1 + e))).
    """
    e = exp(-abs(score))
    both = ONE + e
    rising = score >= ZERO
    w = covered * both + (ONE if rising else e)
    if is_true:
        pull = divide(covered * (e if rising else ONE), w)
        loss = log(w) + max(-score, ZERO)
    else:
        pull = -divide(e, both * w)
        loss = log(divide(w, covered * both))
    return pull, loss


COSTS: dict[str, Any] = {"sgns": logistic, "nce": logistic, "nce-sigmoid": sigmoid_form}
