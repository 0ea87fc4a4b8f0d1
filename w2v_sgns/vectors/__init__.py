"""Word vectors and exact questions to them. Imports NumPy and nothing heavier."""

from __future__ import annotations

from w2v_sgns.vectors.neighbours import nearest
from w2v_sgns.vectors.vectors import Vectors

__all__ = ["Vectors", "nearest"]
