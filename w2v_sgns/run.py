"""`train`: a whole run, on this machine or on those of a cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from w2v_sgns.config import RunOptions, TrainConfig
from w2v_sgns.model import Model
from w2v_sgns.training.events import Progress
from w2v_sgns.training.resume import Plan, planned
from w2v_sgns.training.trainer import train_plan

if TYPE_CHECKING:
    from w2v_sgns.training.machines import Machines

__all__ = ["run_plan", "train"]


def train(corpus: Any = None, *, progress: Progress | None = None, **settings: Any) -> Model:
    """Train word vectors on a corpus and return the model.

    Args:
        corpus: the path of a text (words separated by blanks, a sentence or any context a line;
            compressed or not), a folder, a pattern, `-`, a list of paths, or an iterable of
            lines, each a list of str or int. May be left out with `resume`.
        progress: called with an :class:`Event` about ten times a second.
        **settings: fields of :class:`~w2v_sgns.TrainConfig` (dim=100, epochs=5, …) and of
            :class:`~w2v_sgns.config.RunOptions` (output, threads, memory, force, resume, …).
            Nothing is written unless `output` or `save_vocab` is given. With `resume`, only what
            is to differ from the checkpoint.

    In the main thread and with `output`, Ctrl-C and SIGTERM end the training after a checkpoint.

    Raises:
        ConfigError: a setting is out of range, or may not differ from the checkpoint's.
        CorpusError, VocabularyError: there is nothing to train on, or another text than before.
        StreamError: a compressed file is damaged or cut short.
        FormatError: `resume` names no checkpoint.
        OutputError: `output` cannot be written.
        ResourceError: the matrices do not fit into memory.
        DivergenceError: the loss or the vectors left the finite numbers.
        TypeError: an unknown setting, or what is no corpus (a string of text, for one).
        KeyboardInterrupt: Ctrl-C, once a checkpoint is written.
    """
    return run_plan(planned(corpus, settings), progress=progress)


def run_plan(plan: Plan, *, progress: Progress | None = None) -> Model:
    """Do what :func:`train` says, with the settings already sorted."""
    return train_plan(plan, _connected, progress=progress)


def _connected(options: RunOptions, config: TrainConfig) -> AbstractContextManager[Machines | None]:
    """Return the machines to train on; None in it for this one alone."""
    if not options.on_cluster:
        return nullcontext()
    from w2v_sgns.cluster.start import Nodes

    return Nodes(options, config)
