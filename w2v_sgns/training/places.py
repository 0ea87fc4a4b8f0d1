"""Which files a run reads and which it writes, as far as its plan says. Opens none of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from w2v_sgns.training.checkpoint import checkpoint_path
from w2v_sgns.training.log import is_stream
from w2v_sgns.training.needs import CHECKPOINT, MODEL_OUTPUT
from w2v_sgns.training.resume import Plan

if TYPE_CHECKING:
    from w2v_sgns.corpus.source import Source

__all__ = ["inputs_of", "locked_of", "ours_of", "outputs_of"]


def outputs_of(plan: Plan) -> dict[str, Path | str | None]:
    """Return every file that the run will write, under the flag that names it; a pipe is none."""
    options = plan.options
    outputs: dict[str, Path | str | None] = {
        MODEL_OUTPUT: options.output,
        "--save-vocab": options.save_vocab,
        "--log-json": None if is_stream(options.log_json) else options.log_json,
        "--plot": options.plot,
    }
    if options.output is not None and plan.checkpoint is None:
        outputs[CHECKPOINT] = checkpoint_path(options.output)
    return outputs


def locked_of(plan: Plan) -> list[Path | str | None]:
    """Return the files that no other run may write at the same time."""
    output = plan.options.output
    checkpoints = [] if output is None else [checkpoint_path(output)]
    if plan.checkpoint is not None:
        checkpoints.append(plan.checkpoint.path)
    return [output, *checkpoints]


def ours_of(plan: Plan) -> set[str]:
    """Return the flags of files that a resumed run goes on with, and of what it may replace."""
    if plan.checkpoint is None:
        return set()
    options, asked = plan.options, plan.checkpoint.asked
    same = {MODEL_OUTPUT} if plan.replaces else set()
    for flag, path, before in (
        ("--log-json", options.log_json, asked.get("log_json")),
        ("--plot", options.plot, asked.get("plot")),
    ):
        if path is not None and str(path) == before:
            same.add(flag)
    return same


def inputs_of(plan: Plan, source: Source) -> list[Path | str | None]:
    """Return every file that the run reads."""
    if plan.checkpoint is not None:  # which holds all else
        return [*source.paths, plan.checkpoint.path]
    config = plan.config
    named = (config.init, config.freeze, config.keep_words, plan.options.read_vocab)
    return [*source.paths, *named]
