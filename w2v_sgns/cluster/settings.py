"""What all nodes of a run are told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import TrainConfig

__all__ = ["Settings"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The training, and how much of it there is."""

    config: TrainConfig
    counts: npt.NDArray[np.int64]  # (V,)
    tokens: int  # of all nodes, an epoch
    chunks: int  # the same in chunks: the unit of progress
    threads: int  # of each node; 0: all that its process may use
    device: str = "cpu"  # of each node; cuda, or auto: see RunOptions
    streams: int = 0  # of each GPU; 0: by training/cuda/streams.py
    int8: bool = True
