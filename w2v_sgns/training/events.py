"""What a run tells whoever watches it. Shows nothing: that is progress.py's business."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from w2v_sgns.corpus import Corpus

__all__ = ["Event", "Progress"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One message to whoever watches a run.

    Phases, in order: "count" (done, total: bytes of text), "corpus" (corpus is set), "compile",
    "train" (done, total: tokens over all epochs), "epoch" (one is over; so far its means),
    "merge" (of several machines: nodes, sent, merging),
    "save" (path is set), "done" (path: what was written). In between: "note" (text: what one
    should know), "checkpoint" (path: it was written), and as the last one "stopped" or
    "interrupted" (path: the checkpoint, None if it could not be written; piped; text: how far).
    """

    phase: str
    done: int = 0
    total: int = 0
    epoch: int = 0  # 1-based
    lr: float = math.nan
    loss: float = math.nan  # mean per positive pair of this epoch so far
    heldout: float = math.nan  # mean loss per pair of what is not trained on, at an epoch's end
    kept: int = 0  # tokens of this epoch after subsampling
    pairs: int = 0  # positive pairs of this epoch
    seconds: float = 0.0  # wall time of training so far, without compiling and counting
    cpu_seconds: float = 0.0  # ... and the processors' time of the same span
    streams: int = 0  # of windows on a GPU; 0: trains on the threads
    nodes: int = 0  # machines of a cluster
    sent: int = 0  # bytes that each of them has sent for merges so far
    merging: float = 0.0  # share of the time that merges have taken so far
    threads: int = 0
    asked: int = 0  # threads asked for; 0: all
    in_step: bool = False  # they do not race: --deterministic
    corpus: Corpus | None = None
    path: Path | None = None
    piped: bool = False  # the text can be read only once: going on needs it again
    text: str = ""


Progress = Callable[[Event], None]
