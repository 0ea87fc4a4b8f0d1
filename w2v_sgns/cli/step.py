"""`w2v step`: one training step written out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption, JsonOption, ModelOption
from w2v_sgns.cli.output import align, shorten, shown, write_json

if TYPE_CHECKING:
    from w2v_sgns.evaluation.one_step import OneStep

__all__ = ["step"]

COLUMNS = 80
WIDEST_WORD = 24
NUMBERS = 6  # of a vector are printed; --json has all


def step(
    center: Annotated[str, typer.Argument(help="Its input vector takes the step.")],
    target: Annotated[str, typer.Argument(help="The true word beside it.")],
    negatives: Annotated[
        str | None,
        typer.Option(
            "--negatives", metavar="W,...", help="Noise words, by commas; else drawn by the seed."
        ),
    ] = None,
    lr: Annotated[
        float | None, typer.Option("--lr", metavar="X", help="Learning rate; else the model's.")
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            "--objective",
            metavar="NAME",
            help="sgns, nce, nce-sigmoid or softmax; else the model's.",
        ),
    ] = None,
    toy: Annotated[
        bool, typer.Option("--toy", help="Five words of three numbers instead of a model.")
    ] = False,
    model: ModelOption = DEFAULT_MODEL,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Write out one training step: scores, losses, gradients, and the loss after it.

    The model stays as it is. Try: w2v step sat on --toy
    """
    from w2v_sgns.evaluation.one_step import of_model, one_step
    from w2v_sgns.evaluation.one_step import toy as toy_example
    from w2v_sgns.model import Model

    example = toy_example() if toy else of_model(Model.load(model), str(model))
    named = None if negatives is None else [word for word in negatives.split(",") if word]
    taken = one_step(example, center, target, negatives=named, lr=lr, objective=objective)
    if json:
        write_json(_plain(asdict(taken)))
        return
    for line in _lines(taken):
        typer.echo(line)


def _plain(value: Any) -> Any:
    """Turn arrays inside tables and lists into lists."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _lines(taken: OneStep) -> Iterator[str]:
    center, target = _word(taken.center), _word(taken.target)
    yield f"step        {center} → {target}: {taken.objective}, lr {taken.lr:g}"
    yield f"            on {shown(taken.example)}"
    for note in taken.notes:
        yield from _wrapped("note", note)
    yield ""
    yield from align([_head(taken), *_scores(taken)], right=range(1, 7))
    if taken.objective == "softmax":
        yield "(the target and the likeliest words; --json has them in full)"
    yield ""
    yield from align(list(_vectors(taken)))
    yield ""
    yield f"loss        {taken.loss:.4f} before"
    yield f"            {taken.loss_center_only:.4f} with the new E[{center}] alone"
    yield f"            {taken.loss_all:.4f} with all new vectors"


def _wrapped(name: str, text: str) -> Iterator[str]:
    for n, line in enumerate(wrap(text, COLUMNS - 12)):
        yield ("" if n else name).ljust(12) + line


def _head(taken: OneStep) -> list[str]:
    shift = ["log k·q"] if taken.objective.startswith("nce") else []
    share = "softmax" if taken.objective == "softmax" else "σ(s)"
    return ["word", "label", "score s", share, *shift, "loss", "∂L/∂s"]


def _scores(taken: OneStep) -> Iterator[list[str]]:
    for row in taken.rows:
        shift = [] if row.log_kq is None else [f"{row.log_kq:.4f}"]
        numbers = (row.score, row.probability)
        yield [
            _word(row.word),
            f"{row.label:g}",
            *(f"{number:.4f}" for number in numbers),
            *shift,
            f"{row.term:.4f}",
            f"{row.error:.4f}",
        ]


def _vectors(taken: OneStep) -> Iterator[list[str]]:
    """Yield gradients and new vectors, a word that stands several times once."""
    center = _word(taken.center)
    yield [f"E[{center}]", _numbers(taken.vector)]
    yield ["  gradient", _numbers(taken.gradient)]
    yield ["  new", _numbers(taken.updated)]
    for word, row in {row.word: row for row in taken.rows}.items():
        yield [f"Ep[{_word(word)}]", ""]
        yield ["  gradient", _numbers(row.gradient)]
        yield ["  new", _numbers(row.updated)]
        if row.bias is not None:
            yield [
                "  bias",
                f"{row.bias:8.4f}, gradient {row.bias_gradient:.4f}, new {row.updated_bias:.4f}",
            ]


def _numbers(vector: Any) -> str:
    more = " …" if len(vector) > NUMBERS else ""
    return " ".join(f"{number:8.4f}" for number in vector[:NUMBERS]) + more


def _word(word: str) -> str:
    return shorten(shown(word), WIDEST_WORD)
