"""Where a run trains: on this machine's processors, or on a GPU and with how many streams.

What the GPU cannot train is refused here, before the text is read; nothing falls back silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from w2v_sgns.config import RunOptions, TrainConfig
from w2v_sgns.errors import ConfigError, ResourceError
from w2v_sgns.training.choice import chosen
from w2v_sgns.training.devices import Device, cuda_device
from w2v_sgns.training.needs import stripe_count
from w2v_sgns.training.setup import cpu_backend, settled

if TYPE_CHECKING:
    from w2v_sgns.corpus import Corpus
    from w2v_sgns.training.backends import Backend, Matrix
    from w2v_sgns.training.batches import BatchBackend
    from w2v_sgns.training.cuda.backend import CudaBackend
    from w2v_sgns.training.events import Progress
    from w2v_sgns.training.hogwild import HogwildBackend
    from w2v_sgns.training.machines import Machines
    from w2v_sgns.training.schedule import Schedule
    from w2v_sgns.training.state import State

__all__ = ["Placement", "asked_device", "placed"]

MOST_DIM = 2048  # a lane's part of a row lies in registers: beyond, compiling takes minutes


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A device and what it is to do; device None: the CPU."""

    threads: int
    stripes: int | None = None  # see needs.stripe_count
    device: Device | None = None
    streams: int = 0
    machines: Machines | None = None  # of a cluster
    note: str = ""  # what to say about the choice

    def backend(
        self,
        state: State,
        corpus: Corpus,
        config: TrainConfig,
        *,
        window: int | None,
        say: Progress,
    ) -> tuple[Backend, Schedule]:
        """Return what trains the state on this corpus, and its learning rates."""
        if self.machines is not None:
            return self.machines.backend(state.E, state.Ep, corpus, say)
        backend, schedule = self.here(state.E, state.Ep, corpus, config, window)
        if state.frozen is not None:
            backend.freeze(state.frozen)
        return backend, schedule

    def here(
        self, E: Matrix, Ep: Matrix, corpus: Corpus, config: TrainConfig, window: int | None
    ) -> tuple[HogwildBackend | BatchBackend | CudaBackend, Schedule]:
        """Return what trains on this machine."""
        if self.device is None:
            return cpu_backend(
                E,
                Ep,
                corpus,
                config,
                threads=self.threads,
                window=window,
                stripes=self.stripes,
            )
        from w2v_sgns.training.cuda.backend import CudaBackend

        data, schedule = settled(corpus, config)
        backend = CudaBackend(
            E,
            Ep,
            data=data,
            config=config,
            schedule=schedule,
            window=window,
            device=self.device,
            streams=self.streams,
        )
        return backend, schedule

    def added_to(self, provenance: dict[str, Any]) -> dict[str, Any]:
        """Return what a model remembers, with this device; of a resumed run with both."""
        name = "cpu" if self.device is None else "cuda"
        if self.machines is not None:
            name = self.machines.device
        before = provenance.get("device")
        names = [name] if before is None else dict.fromkeys([*before.split(", "), name])
        found = provenance | {"device": ", ".join(names)}
        if self.machines is not None:
            return found | {"nodes": self.machines.size, "deterministic": False}
        if self.device is not None:
            alone = self.streams == 1 and (before is None or provenance.get("deterministic", False))
            return found | {"streams": self.streams, "deterministic": alone}
        return found


def asked_device(options: RunOptions, config: TrainConfig) -> Device | None:
    """Return the GPU that --device asks for or, with auto, that could be used; None: the CPU.

    Raises:
        ConfigError: --device cuda for what only the CPU trains.
        ResourceError: --device cuda, and none is usable: one sentence says what is missing.
    """
    if options.device == "cpu" or options.deterministic:
        return None
    refusal = _refusal(config)
    if refusal and options.device == "auto":
        return None
    if refusal:
        raise ConfigError(refusal)
    if options.on_cluster:  # its machines look for theirs
        return None
    try:
        return cuda_device()
    except ResourceError:
        if options.device == "auto":
            return None
        raise


def _refusal(config: TrainConfig) -> str:
    """Return why a GPU cannot train this; nothing if it can."""
    if config.without_noise:
        return (
            f"--objective {config.objective} trains on the CPU alone: give --device cpu, or "
            "--objective sgns or nce"
        )
    if config.dim > MOST_DIM and not config.in_batches:
        return (
            f"--device cuda: at most {MOST_DIM:,} dimensions, not {config.dim}; use --device cpu, "
            "or --shared-noise batch"
        )
    return ""


def placed(
    device: Device | None,
    options: RunOptions,
    corpus: Corpus,
    config: TrainConfig,
    threads: int,
    machines: Machines | None = None,
) -> Placement:
    """Return where a counted corpus is trained: see :func:`asked_device` for `device`."""
    if machines is not None:
        return Placement(threads=threads, machines=machines)
    counts, tokens = corpus.vocabulary.counts, len(corpus.store.tokens)
    assert counts is not None  # a counted corpus
    choice = chosen(
        device, options, config, counts, tokens=tokens, tokens_in_all=tokens, threads=threads
    )
    return Placement(
        threads=threads,
        stripes=stripe_count(options, config),
        device=choice.device,
        streams=choice.streams,
        note=choice.note,
    )
