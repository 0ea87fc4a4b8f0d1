"""Word vectors by skip-gram with negative sampling.

    from w2v_sgns import train
    model = train("corpus.txt", dim=100, epochs=5)
    model.vectors.most_similar("king")

Names are loaded when first used: importing the package imports neither NumPy nor Numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from w2v_sgns.config import PairConfig, RunOptions, TrainConfig
    from w2v_sgns.corpus.vocabulary import Vocabulary
    from w2v_sgns.errors import (
        ConfigError,
        CorpusError,
        DivergenceError,
        FormatError,
        OutputError,
        ResourceError,
        StreamError,
        UnknownWordError,
        VocabularyError,
        W2VError,
    )
    from w2v_sgns.model import Model
    from w2v_sgns.run import train
    from w2v_sgns.vectors import Vectors

__all__ = [
    "ConfigError",
    "CorpusError",
    "DivergenceError",
    "FormatError",
    "Model",
    "OutputError",
    "PairConfig",
    "ResourceError",
    "RunOptions",
    "StreamError",
    "TrainConfig",
    "UnknownWordError",
    "Vectors",
    "Vocabulary",
    "VocabularyError",
    "W2VError",
    "train",
]

__version__ = "0.1.0"

# Where a public name lives; every other one is an exception.
_MODULES = {
    "Model": "model",
    "PairConfig": "config",
    "RunOptions": "config",
    "TrainConfig": "config",
    "Vectors": "vectors",
    "Vocabulary": "corpus.vocabulary",
    "train": "run",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES.get(name, 'errors')}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
