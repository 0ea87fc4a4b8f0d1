"""What the score s = E[c]·Ep[w] of a trained model says, in words: it depends on the objective.

P stands for P(w|c) as it is among the training's pairs, q for the noise distribution.
"""

from __future__ import annotations

__all__ = ["score_meaning"]

LOW_DIM = "Few dimensions only come near."


def score_meaning(
    objective: str, *, collisions: str = "keep", bias: bool = False, negative: int = 5
) -> str:
    """Return one or two sentences on what a score means at the optimum."""
    score = "s = E[c]·Ep[w]" + " + output_bias[w]" * bias
    dropped = collisions == "drop"
    aim = "log(P/(1 − P))" if dropped else "log P(w|c)"
    if objective == "nce":
        sums = "" if dropped else ": Σ e^s over the words is near 1 without being made 1"
        text = f"{score} tends to {aim}{sums}. σ(s) is no probability."
    elif objective == "nce-sigmoid":
        text = f"{score}; σ(s) tends to P(w|c), and need not sum to 1 over the words."
    elif objective == "softmax":
        text = (
            f"{score}; the softmax of s over all words is P(w|c), s alone is known up to a "
            "constant of each center word."
        )
    elif objective == "inbatch":
        text = (
            f"{score} tends to the pointwise mutual information log(P(w|c) / P(w)), up to a "
            "constant of each center word: P(w|c) is in proportion to P(w)·e^s, with P(w) as often "
            "as w stands among the pairs."
        )
    else:
        text = (
            f"{score} tends to {aim} − log(k·q(w)), k = {negative}. σ(s) is the chance that the "
            "pair is from the text and not from the noise, not P(w|c)."
        )
    return f"{text} {LOW_DIM}"
