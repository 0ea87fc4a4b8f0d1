"""What each objective says about P(w|c): scores of one center with all words, normalised over V.

At the optimum of SGNS e^s = P / (k·q), of NCE e^s = P, of its sigmoid form σ(s) = P; of the softmax
e^s ∝ P, of the in-batch softmax e^s ∝ P / q with q the words of the pairs. So the same quantity can
be read out of all of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from w2v_sgns.objectives.stable import log_softmax, softplus

__all__ = ["log_probabilities"]


def log_probabilities(
    objective: str, scores: npt.ArrayLike, log_q: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return log P(w|c), shape (…, V), summing to 1 over the last axis.

    scores (…, V); log_q (V,), the logarithm of the noise distribution, which SGNS needs, or of how
    often a word is the target of a pair, which the in-batch softmax needs (up to a constant).
    """
    scores = np.asarray(scores, np.float64)
    if objective in ("sgns", "inbatch"):
        scores = scores + np.asarray(log_q)
    elif objective == "nce-sigmoid":
        scores = -softplus(-scores)
    return log_softmax(scores)
