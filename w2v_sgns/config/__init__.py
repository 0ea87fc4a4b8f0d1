"""The settings: what changes the vectors, what changes the run, what tunes on pairs.

:class:`TrainConfig` is stored with the model; :class:`RunOptions` (threads, output, memory)
is not. A command-line flag, a field here, a Python keyword and a JSON key share one name.
Ranges are checked here and nowhere else.
"""

from w2v_sgns.config.pairs import MOST_SCALE, PairConfig
from w2v_sgns.config.run import DEFAULT_MODEL, RunOptions, parse_size
from w2v_sgns.config.text import TextOptions
from w2v_sgns.config.train import COMPARED, OBJECTIVES, WHOLE_LINE, TrainConfig

__all__ = [
    "COMPARED",
    "DEFAULT_MODEL",
    "MOST_SCALE",
    "OBJECTIVES",
    "WHOLE_LINE",
    "PairConfig",
    "RunOptions",
    "TextOptions",
    "TrainConfig",
    "parse_size",
]
