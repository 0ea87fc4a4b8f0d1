"""Checkpoints: one file that a run can go on from, as if it had never stopped.

A checkpoint is a model file with more in it: the place in the epochs, the sums of the epoch
under way, and what the run was asked. Random streams are keyed by chunk, so the next chunk says
all about them. When one is written is keeper.py's business, who goes on from it resume.py's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from w2v_sgns.errors import FormatError
from w2v_sgns.model import Model
from w2v_sgns.training.state import Best, Clock, Frozen, State, Sums

__all__ = ["ENDING", "Checkpoint", "checkpoint_path", "read_checkpoint", "write_checkpoint"]

ENDING = ".checkpoint.safetensors"
TENSORS = ("frozen", "best_input", "best_output", "best_bias")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What is read from a checkpoint file.

    Attributes:
        path: the file.
        model: matrices (mapped, read-only), words, settings, history, provenance.
        place: epoch, chunk, sums, seconds and cpu_seconds, as written.
        tensors: what else there is: rows that are frozen, vectors of the best epoch.
        asked: what the run was told beside its settings, and `corpus`: its paths as given,
            None for what cannot be read again (a pipe, a Python list).
    """

    path: Path
    model: Model
    place: dict[str, Any]
    tensors: dict[str, npt.NDArray[Any]]
    asked: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        """Of the corpus: see CorpusStats."""
        return str(self.model.provenance.get("fingerprint"))

    @property
    def selection(self) -> dict[str, Any]:
        """Which words of the text are kept: its own, as keywords of load_corpus."""
        return {"min_count": 0, "read_vocab": self.model.vocabulary}

    @property
    def progress(self) -> str:
        """How far the run was, for people."""
        epoch, tokens = self.place["epoch"], self.place["sums"]["tokens"]
        inside = f" and {tokens:,} tokens" if self.place["chunk"] else ""
        return f"{epoch} of {self.model.config.epochs} epochs{inside}"

    def state(self) -> State:
        """Return the state to go on from, in memory of its own."""
        from w2v_sgns.training.setup import matrices_for, output_bias

        model = self.model
        E, Ep = matrices_for(len(model.E), model.config)
        E[:], Ep[:] = model.E, model.Ep
        bias = output_bias(Ep, model.config)
        if bias is not None and model.output_bias is not None:
            bias[:] = model.output_bias
        place = self.place
        state = State(
            E=E,
            Ep=Ep,
            bias=bias,
            epoch=place["epoch"],
            chunk=place["chunk"],
            sums=Sums(**place["sums"]),
            history=list(self.model.history),
            clock=Clock(place["seconds"], place["cpu_seconds"]),
        )
        tensors = self.tensors
        if "frozen" in tensors:
            state.frozen = Frozen(state, tensors["frozen"], outputs=place["frozen_outputs"])
        if "best_input" in tensors:
            state.best = Best(
                place["best"]["epoch"],
                place["best"]["loss"],
                tensors["best_input"],
                tensors["best_output"],
                tensors.get("best_bias"),
            )
        return state


def checkpoint_path(output: Path | str) -> Path:
    """Return OUT.checkpoint.safetensors for OUT.safetensors, OUT.bin.checkpoint… for OUT.bin."""
    output = Path(output)
    return output.with_name(output.name.removesuffix(".safetensors") + ENDING)


def write_checkpoint(
    path: Path, model: Model, state: State, asked: dict[str, Any], *, force: bool
) -> None:
    """Write a checkpoint, whole or not at all.

    Raises:
        DivergenceError: a row is not finite; nothing is written.
        OutputError: the file cannot be written, or is there and `force` is off.
    """
    from w2v_sgns.formats.atomic import replacing
    from w2v_sgns.formats.native import UNFINISHED, write_model

    model.check_finite()
    place: dict[str, Any] = {
        "epoch": state.epoch,
        "chunk": state.chunk,
        "sums": asdict(state.sums),
        "seconds": state.clock.wall(),
        "cpu_seconds": state.clock.cpu(),
    }
    tensors: dict[str, npt.NDArray[Any] | None] = {}
    if state.frozen is not None:
        place["frozen_outputs"] = state.frozen.outputs
        tensors["frozen"] = state.frozen.rows
    if state.best is not None:
        place["best"] = {"epoch": state.best.epoch, "loss": state.best.loss}
        tensors |= {"best_input": state.best.E, "best_output": state.best.Ep}
        tensors["best_bias"] = state.best.bias
    extras: dict[str, Any] = {name: array for name, array in tensors.items() if array is not None}
    extras[UNFINISHED] = json.dumps({"place": place, "asked": asked}, default=str)
    whole = Model(
        state.E,
        state.Ep,
        vocabulary=model.vocabulary,
        config=model.config,
        history=state.history,
        provenance=model.provenance,
        extras=extras,
        output_bias=model.output_bias,
    )
    with replacing(path, force=force) as stream:
        write_model(stream, whole)


def read_checkpoint(path: Path | str) -> Checkpoint:
    """Open a checkpoint.

    Raises:
        FormatError: no such file, damaged, vectors only, or a finished model.
    """
    from w2v_sgns.formats import load_model
    from w2v_sgns.formats.native import UNFINISHED

    path = Path(path)
    if not path.exists():
        raise FormatError(
            f"--resume {path}: no such file; needed: the OUT{ENDING} that a stopped run has left"
        )
    with _advice(path):
        model: Model = load_model(path)
    text = model.extras.pop(UNFINISHED, None)
    if not isinstance(text, str):
        raise FormatError(
            f"{path}: is a finished model, no checkpoint; there is nothing to resume. To train on "
            f"from it: w2v train CORPUS --init {path}"
        )
    try:
        stored = json.loads(text)
        place, asked = stored["place"], dict(stored["asked"])
        Sums(**place["sums"])
        _check_numbers(place, model)
        _check_asked(asked)
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(f"{path}: the checkpoint's place is damaged: {error!r:.80}") from error
    model.check_finite()
    extras, tensors = model.extras, {}
    for name in TENSORS:
        if isinstance(tensor := extras.pop(name, None), np.ndarray):
            tensors[name] = tensor
    return Checkpoint(path=path, model=model, place=place, tensors=tensors, asked=asked)


def _check_numbers(place: dict[str, Any], model: Model) -> None:
    """Refuse numbers of other types than were written; ValueError, TypeError or KeyError."""
    sums, extras, history = place["sums"], model.extras, model.history
    whole = [place["epoch"], place["chunk"], sums["tokens"], sums["kept"], sums["pairs"]]
    real = [place["seconds"], place["cpu_seconds"], sums["loss"]]
    whole += [entry["pairs"] for entry in history]
    real += [entry["loss"] for entry in history if entry["loss"] is not None]
    if model.vocabulary.counts is None:
        raise ValueError("no counts")
    if "best" in place or "best_input" in extras:
        whole.append(place["best"]["epoch"])
        real.append(place["best"]["loss"])
        if any(np.shape(extras[name]) != model.E.shape for name in ("best_input", "best_output")):
            raise ValueError("a best epoch of other vectors")
    if not all(type(n) is int and n >= 0 for n in whole):
        raise ValueError("a place that is no whole number")
    if not all(type(n) in (int, float) for n in real):
        raise ValueError("a figure that is no number")
    if "frozen_outputs" in place or "frozen" in extras:
        rows = np.asarray(extras["frozen"])
        if type(place["frozen_outputs"]) is not bool or rows.dtype != np.int64:
            raise ValueError("frozen rows that are none")
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(model.E):
            raise ValueError("frozen rows that are not there")


def _check_asked(asked: dict[str, Any]) -> None:
    """Refuse paths that are no text."""
    paths = [asked.get(name) for name in ("output", "log_json", "plot")]
    corpus = asked.get("corpus") or []
    if not isinstance(corpus, list):
        raise ValueError("a corpus that is no list")
    if not all(path is None or isinstance(path, str) for path in paths):
        raise ValueError("a path that is no text")
    if not all(isinstance(path, str) for path in corpus):
        raise ValueError("a corpus that is no list of paths")


@contextmanager
def _advice(path: Path) -> Iterator[None]:
    """Say of a file of vectors what it can be used for."""
    try:
        yield
    except FormatError as error:
        if "vectors only" not in str(error):
            raise
        counts = " and no counts" if "no counts" in str(error) else ""
        raise FormatError(
            f"{path}: this file has no output matrix{counts}; resume needs a checkpoint; "
            f"use --init {path}"
        ) from error
