"""`w2v info`: what a file of vectors is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption, JsonOption, ModelOption
from w2v_sgns.cli.output import align, shown, write_json
from w2v_sgns.machine import human_bytes
from w2v_sgns.objectives.meaning import score_meaning

if TYPE_CHECKING:
    from w2v_sgns.formats import Description

__all__ = ["info"]

COLUMNS = 80
INDENT = 12  # columns of the names at the left
TEXT_NAMES = ("split", "tokenizer", "lowercase", "max_token_bytes")  # how texts become words
MOST_EPOCHS = 20  # lines of the history; --json has all


def info(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="The file to look at, else the model.", show_default=False
        ),
    ] = None,
    model: ModelOption = DEFAULT_MODEL,
    digest: Annotated[
        bool,
        typer.Option("--digest", help="Hash the tensors (blake2b): equal only for equal vectors."),
    ] = False,
    devices: Annotated[
        bool, typer.Option("--devices", help="Say what there is to train on, instead.")
    ] = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print what a file is: format, words, dimensions, settings, and how it came about."""
    from w2v_sgns.formats import describe

    if devices:
        _print_devices(json)
        return

    description = describe(file or model)
    checksum = description.digest() if digest else None
    if json:
        more = {"digest": checksum, "score": _score(description)}
        write_json(description.to_dict() | {name: text for name, text in more.items() if text})
        return
    for line in _lines(description, checksum):
        typer.echo(line)


def _print_devices(as_json: bool) -> None:
    from w2v_sgns.training.devices import devices

    found = devices()
    if as_json:
        write_json(found)
        return
    cpu, cuda = found["cpu"], found["cuda"]
    several = "s" if cpu["threads"] > 1 else ""
    lines = [*_field("cpu", f"{cpu['threads']} thread{several}")]
    if not cuda["usable"]:
        lines += _field("cuda", f"not usable: {cuda['missing']}")
    elif cuda["simulated"]:
        lines += _field("cuda", f"{cuda['name']} (NUMBA_ENABLE_CUDASIM is set): for tests alone")
    else:
        major, minor = cuda["capability"]
        lines += _field(
            "cuda",
            f"{shown(cuda['name'])}, compute capability {major}.{minor}, "
            f"{cuda['multiprocessors']} multiprocessors, {human_bytes(cuda['free'])} of "
            f"{human_bytes(cuda['total'])} of memory free",
        )
    for line in lines:
        typer.echo(line)


def _lines(description: Description, checksum: str | None) -> Iterator[str]:
    yield from _field("file", shown(str(description.path)))
    packed = f", {description.packed}" if description.packed else ""
    yield from _field("format", description.format + packed)
    yield from _field("words", f"{description.words:,}")
    yield from _field("dimensions", f"{description.dimensions:,}")
    yield from _field("dtype", description.dtype)
    yield from _field("size", f"{human_bytes(description.bytes)} ({description.bytes:,} bytes)")
    if description.tokens is not None:
        yield from _field("tokens", f"{description.tokens:,} (sum of the words' counts)")
    for note in description.notes:
        yield from _field("note", shown(note))
    if checksum:
        yield from _field("digest", checksum)
    yield from _block("tensors", align(_tensors(description)))
    yield from _field("settings", _pairs(_known_settings(description)))
    yield from _field("score", _score(description))
    yield from _field("provenance", _pairs(_flat(description.provenance)))
    yield from _history(description.history)


def _tuned(description: Description) -> dict[str, Any]:
    """Return what a tuning on pairs of texts noted; nothing where there was none."""
    pairs = description.provenance.get("pairs")
    return pairs if isinstance(pairs, dict) else {}


def _known_settings(description: Description) -> dict[str, Any]:
    """Return the settings of the training; of vectors from elsewhere only how texts are split."""
    config = description.config
    if not _tuned(description) or description.history:
        return config
    return {name: config[name] for name in TEXT_NAMES if name in config}


def _score(description: Description) -> str:
    """Say what a score means in a model of ours; nothing of vectors alone."""
    config, tuned = description.config, _tuned(description)
    if tuned.get("towers") == 2:
        return "none of words: input holds the queries' rows, output the documents'"
    if tuned and not description.history:
        return "none of words: the rows were tuned on pairs of texts, output is all zeros"
    if not config or "output" not in description.tensors:
        return ""
    known = {name: config[name] for name in ("collisions", "bias", "negative") if name in config}
    return score_meaning(str(config.get("objective", "sgns")), **known)


def _field(name: str, text: str) -> Iterator[str]:
    """Return a name and its text, wrapped beside it; nothing where there is no text."""
    return _block(name, wrap(text, COLUMNS - INDENT, break_on_hyphens=False))


def _block(name: str, lines: list[str]) -> Iterator[str]:
    """Yield a name and lines that keep their shape."""
    for place, line in enumerate(lines):
        yield ("" if place else name).ljust(INDENT) + line


def _tensors(description: Description) -> list[tuple[str, str, str]]:
    return [
        (shown(name), str(array.dtype), " × ".join(f"{n:,}" for n in array.shape) or "one number")
        for name, array in sorted(description.tensors.items())
    ]


def _pairs(table: dict[str, Any]) -> str:
    return ", ".join(f"{shown(name)} {_value(value)}" for name, value in table.items())


def _flat(table: dict[str, Any], ahead: str = "") -> dict[str, Any]:
    """Return nested tables as one, the names joined with dots."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= (
            _flat(value, f"{ahead}{name}.") if isinstance(value, dict) else {ahead + name: value}
        )
    return flat


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return f"({_pairs(value)})"
    return " ".join(map(_value, value)) if isinstance(value, list) else shown(str(value))


def _history(history: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a table with one line an epoch; the middle of a long one is left out."""
    if not history:
        return
    names = list(dict.fromkeys(name for entry in history for name in entry))
    rows = [names, *([_value(entry.get(name, "")) for name in names] for entry in history)]
    lines = align([list(map(shown, row)) for row in rows], right=range(len(names)))
    if len(lines) > MOST_EPOCHS + 1:
        left_out = len(lines) - 1 - MOST_EPOCHS
        half = MOST_EPOCHS // 2
        lines[half + 1 : -half] = [f"… {left_out:,} epochs more in --json"]
    yield from _block("history", lines)
