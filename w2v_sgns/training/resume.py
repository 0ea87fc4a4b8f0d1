"""From a checkpoint back to a run: its settings, what may differ, and the corpus it read.

Decides and refuses; trains nothing and writes nothing.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from w2v_sgns.config import RunOptions, TrainConfig
from w2v_sgns.errors import ConfigError, CorpusError
from w2v_sgns.training.checkpoint import Checkpoint, read_checkpoint
from w2v_sgns.training.log import is_stream

if TYPE_CHECKING:
    from w2v_sgns.corpus.source import Source
    from w2v_sgns.corpus.stats import CorpusStats

__all__ = ["Plan", "asked_of", "check_corpus", "planned"]

# Settings that make the words, the shape or the meaning of the rows: a checkpoint keeps its own.
FIXED = (
    *("dim", "objective", "bias", "min_count", "max_vocab", "keep_words"),
    *("init", "grow_vocab", "freeze", "holdout"),
)
# Of RunOptions: asked anew each time.
MOMENTARY = ("resume", "stop_after", "save_vocab", "vocab_format", "read_vocab", "force")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to train, how, and from where."""

    corpus: Any
    config: TrainConfig
    options: RunOptions
    checkpoint: Checkpoint | None = None
    notes: tuple[str, ...] = ()
    replaces: bool = False  # the first run was let replace this output; says no more than that


ALONE = "none"  # as --cluster: on this machine, where a checkpoint says otherwise
OF_CLUSTERS = ("cluster", "engine", "sync_words", "sync_type")


def planned(corpus: Any, settings: dict[str, Any]) -> Plan:
    """Sort settings into what changes the vectors and what does not, and add a checkpoint's.

    Args:
        corpus: see `train`; may be None with `resume`.
        settings: the fields of TrainConfig and RunOptions that were given.

    Raises:
        TypeError: a setting that nobody knows, or no corpus.
        ConfigError: a value is out of range, or differs from the checkpoint's.
        FormatError: `resume` names no checkpoint.
        CorpusError: the checkpoint's corpus cannot be read again.
    """
    ours = {field.name for field in fields(TrainConfig)}
    theirs = {field.name for field in fields(RunOptions)}
    unknown = sorted(settings.keys() - ours - theirs)
    if unknown:
        raise TypeError(
            f"train() has no setting {unknown[0]!r}; it knows {', '.join(sorted(ours | theirs))}"
        )
    config = {name: value for name, value in settings.items() if name in ours}
    options = {name: value for name, value in settings.items() if name in theirs}
    if options.get("cluster") == ALONE:
        options["cluster"] = None
    if settings.get("resume") is None:
        if corpus is None:
            raise TypeError("train() needs a corpus, or resume=CHECKPOINT")
        return Plan(corpus=corpus, config=TrainConfig(**config), options=RunOptions(**options))
    return _resumed(corpus, config, options)


def asked_of(
    source: Source, options: RunOptions, threads: int, *, replaces: bool
) -> dict[str, Any]:
    """Return what a checkpoint remembers beside the settings; paths are as they were given.

    `replaces`: the run may replace its output.
    """
    told = {name: value for name, value in asdict(options).items() if name not in MOMENTARY}
    if is_stream(options.log_json):  # it will not be there any more
        told["log_json"] = None
    if options.deterministic and options.threads:  # what was asked, however few there are here
        threads = options.threads
    return {**told, "threads": threads, "corpus": source.arguments, "replaces": replaces}


def check_corpus(checkpoint: Checkpoint, stats: CorpusStats, *, force: bool) -> str | None:
    """Compare the text that was read with the checkpoint's; return a note if it may differ.

    Raises:
        CorpusError: another text, and `force` is off.
    """
    if stats.fingerprint == checkpoint.fingerprint:
        return None
    old = checkpoint.model.provenance
    change = ", ".join(
        f"{name} {old.get(key, 0):,} → {getattr(stats, key):,}"
        for name, key in (("tokens", "tokens_read"), ("types", "types_read"), ("lines", "lines"))
        if old.get(key) != getattr(stats, key)
    )
    what = f"the corpus has changed since ({change or 'as many tokens, but others'})"
    if not force:
        raise CorpusError(
            f"{checkpoint.path}: {what}: {', '.join(stats.names[:3])}; give the former text, or "
            "--force to go on with this one, or --init to start on it from these vectors"
        )
    return f"{what}; the epoch under way is begun anew (--force)"


def _resumed(corpus: Any, config: dict[str, Any], options: dict[str, Any]) -> Plan:
    checkpoint = read_checkpoint(options["resume"])
    asked = checkpoint.asked
    names = {field.name for field in fields(RunOptions)} - set(MOMENTARY)
    told = {name: asked[name] for name in names if name in asked}
    if options.get("cluster", "") is None:
        told = {name: value for name, value in told.items() if name not in OF_CLUSTERS}
    if told.get("output") is not None:
        told["output"] = Path(told["output"])
    same = options.get("output", told.get("output")) == told.get("output")
    merged = _merged(checkpoint, config, options)
    return Plan(
        corpus=_stored_corpus(checkpoint) if corpus is None else corpus,
        config=merged,
        options=RunOptions(**told | options),
        checkpoint=checkpoint,
        notes=_notes(checkpoint, merged),
        replaces=same and bool(asked.get("replaces")),
    )


def _merged(checkpoint: Checkpoint, given: dict[str, Any], options: dict[str, Any]) -> TrainConfig:
    """Return the checkpoint's settings with those given now, where these may differ.

    Raises:
        ConfigError: one that may not.
    """
    stored = checkpoint.model.config
    # before the mixture is judged: that would refuse what nobody gave here
    for name in (name for name in FIXED if name in given):
        value, old = stored.stored(name, given[name]), getattr(stored, name)
        if value != stored.stored(name, old):
            raise ConfigError(
                f"{_difference(checkpoint, name, value)}; it cannot change on the way: leave it "
                f"out, or start anew with --init {checkpoint.path}"
            )
    wanted = _mixture(checkpoint, given)
    for name, value in wanted.to_dict().items():
        if value == stored.to_dict()[name]:
            continue
        difference = _difference(checkpoint, name, value)
        if name == "epochs" and wanted.epochs < stored.epochs:
            raise ConfigError(f"{difference}; on resuming, epochs can only be added")
        if name != "epochs" and not options.get("force"):
            raise ConfigError(f"{difference}; leave it out, or --force to go on so")
    _check_options(checkpoint, options)
    return wanted


def _difference(checkpoint: Checkpoint, name: str, value: Any) -> str:
    old = checkpoint.model.config.to_dict()[name]
    flag = "--" + name.replace("_", "-")
    return f"{checkpoint.path}: {flag} is {value} here and {old} there"


def _mixture(checkpoint: Checkpoint, given: dict[str, Any]) -> TrainConfig:
    """Return the checkpoint's settings with the given ones in their places.

    Raises:
        ConfigError: one is out of range, or does not go with the checkpoint's.
    """
    try:
        return replace(checkpoint.model.config, **given)
    except ConfigError as error:
        raise ConfigError(f"with the settings of {checkpoint.path}: {error}") from error


def _check_options(checkpoint: Checkpoint, options: dict[str, Any]) -> None:
    """Refuse what a resumed run cannot be told."""
    path, done = checkpoint.path, checkpoint.place["epoch"]
    if options.get("read_vocab") is not None:
        raise ConfigError(f"--read-vocab: {path} has its words already; leave it out")
    _check_team(checkpoint, options)
    output, last = options.get("output"), options.get("stop_after")
    if output is not None and os.path.realpath(output) == os.path.realpath(path):
        raise ConfigError(f"-o {output}: is the checkpoint itself, which goes at the end")
    if last is not None and last <= done:
        raise ConfigError(f"--stop-after {last}: {path} holds {done} complete epochs already")


def _check_team(checkpoint: Checkpoint, options: dict[str, Any]) -> None:
    """Refuse what would train on other than in step, with other vectors than the file says."""
    asked, path = checkpoint.asked, checkpoint.path
    in_step = bool(asked.get("deterministic"))
    if options.get("deterministic", in_step) != in_step:
        how = "with" if in_step else "without"
        raise ConfigError(
            f"--deterministic: {path} was begun {how} it, and it cannot change on the way; start "
            f"anew with --init {path}"
        )
    if in_step and options.get("device") == "cuda":
        raise ConfigError(
            f"--device cuda: {path} was begun with --deterministic, which is about the processor's "
            f"threads and cannot change on the way; leave it out, or start anew with --init {path}"
        )
    threads = options.get("threads", asked.get("threads"))
    if in_step and threads != asked.get("threads"):
        raise ConfigError(
            f"--threads {threads}: {path} was begun with --deterministic --threads "
            f"{asked['threads']}, and its vectors depend on that; leave it out"
        )


def _stored_corpus(checkpoint: Checkpoint) -> list[str]:
    paths = checkpoint.asked.get("corpus")
    if not paths:
        raise CorpusError(
            f"{checkpoint.path}: was trained on a pipe or a Python list, which cannot be read "
            "again; give the same text: w2v train CORPUS --resume …"
        )
    missing = next((path for path in paths if "://" not in path and not os.path.exists(path)), None)
    if missing is not None:
        raise CorpusError(
            f"{checkpoint.path}: its corpus {missing} is not there (relative paths start from the "
            f"current folder, {Path.cwd()}); go to the folder where the run began, or name the "
            "text: w2v train CORPUS --resume …"
        )
    return [str(path) for path in paths]


def _notes(checkpoint: Checkpoint, now: TrainConfig) -> tuple[str, ...]:
    stored = checkpoint.model.config
    notes = [f"resumed from {checkpoint.path}: {checkpoint.progress} are done"]
    if now.epochs != stored.epochs:
        notes.append(
            f"--epochs {stored.epochs} → {now.epochs}: the learning rate goes on along the line "
            f"of {now.epochs} epochs, from {now.lr:g} at their start to {now.final_lr:g}"
        )
    return tuple(notes)
