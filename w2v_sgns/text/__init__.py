"""Texts as means of word vectors: encode, search, tune on pairs. Word order is ignored."""

from __future__ import annotations

from w2v_sgns.text.encoder import Encoded, Encoder

__all__ = ["Encoded", "Encoder"]
