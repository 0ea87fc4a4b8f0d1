"""Where a node trains: on its processors or on its GPU, by the rule of a single machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from w2v_sgns.cluster.settings import Settings
from w2v_sgns.config import RunOptions
from w2v_sgns.machine import allowed_threads

if TYPE_CHECKING:
    from w2v_sgns.kernels.matrices import Matrix
    from w2v_sgns.training.backends import TrainingData
    from w2v_sgns.training.choice import Choice

__all__ = ["backend_on", "choice_for"]


def choice_for(settings: Settings, tokens: int) -> Choice:
    """Return what trains a share of so many tokens here.

    Raises:
        ResourceError: a GPU was asked for, and none is usable here.
    """
    from w2v_sgns.training.choice import chosen
    from w2v_sgns.training.placement import asked_device

    options = RunOptions(device=settings.device, streams=settings.streams)
    return chosen(
        asked_device(options, settings.config),
        options,
        settings.config,
        settings.counts,
        tokens=tokens,
        tokens_in_all=settings.tokens,
        threads=_threads(settings),
    )


def backend_on(
    choice: Choice,
    rows: tuple[Matrix, Matrix],
    data: TrainingData,
    settings: Settings,
    *,
    seed: int,
) -> Any:
    """Return the backend that trains E and Ep, with a node's own seed."""
    from w2v_sgns.training.schedule import Schedule
    from w2v_sgns.training.setup import backend_for

    config = replace(settings.config, seed=seed)
    schedule = Schedule(
        start=config.lr, end=config.final_lr, tokens=len(data.tokens), epochs=config.epochs
    )
    if choice.device is None:
        threads = _threads(settings)
        return backend_for(*rows, data, config, schedule, threads=threads, window=None)
    from w2v_sgns.training.cuda.backend import CudaBackend

    return CudaBackend(
        *rows,
        data=data,
        config=config,
        schedule=schedule,
        device=choice.device,
        streams=choice.streams,
    )


def _threads(settings: Settings) -> int:
    return settings.threads or allowed_threads()
