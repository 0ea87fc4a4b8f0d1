"""Judging vectors: analogy questions, scored word pairs, and models against each other."""

from __future__ import annotations

from w2v_sgns.evaluation.analogy import AnalogyResult, evaluate_analogies
from w2v_sgns.evaluation.similarity import SimilarityResult, evaluate_similarity

__all__ = ["AnalogyResult", "SimilarityResult", "evaluate_analogies", "evaluate_similarity"]
