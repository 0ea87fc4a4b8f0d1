"""`w2v compare`: objectives side by side on the same corpus."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from w2v_sgns.cli.corpus_options import (
    RUN,
    CorpusArgument,
    EncodingOption,
    LowercaseOption,
    ThreadsOption,
    TokenizerOption,
    option,
)
from w2v_sgns.cli.options import DebugOption, JsonOption
from w2v_sgns.cli.output import align, shorten, shown, warn, write_json
from w2v_sgns.cli.train_options import Bias, Dim, MinCount, Negative, Sample, Seed, SharedNoise
from w2v_sgns.cli.train_options import Window as WindowOption
from w2v_sgns.config import COMPARED, RunOptions, TrainConfig

if TYPE_CHECKING:
    from w2v_sgns.evaluation.objectives import Comparison, Leg

__all__ = ["compare"]

COMPARISON = "Comparison"
DECIMALS = 4


def _option(name: str, text: str, metavar: str) -> Any:
    return option(name, text, panel=COMPARISON, metavar=metavar)


def compare(
    corpus: CorpusArgument,
    objectives: Annotated[
        str, _option("--objectives", "Which ones, by commas.", "NAME,...")
    ] = ",".join(COMPARED),
    epochs: Annotated[int, _option("--epochs", "Passes over the corpus for each.", "N")] = 3,
    seconds: Annotated[
        float | None,
        _option("--seconds", "Train each for so long instead of --epochs.", "S"),
    ] = None,
    holdout: Annotated[
        float, _option("--holdout", "Share of the tokens, from the end, to judge by.", "X")
    ] = 0.02,
    eval_: Annotated[
        list[Path] | None,
        _option("--eval", "Analogies or word pairs to ask as well; may be repeated.", "FILE"),
    ] = None,
    plot: Annotated[
        Path | None,
        _option("--plot", "Draw quality against time (.png, .svg; extra plot).", "FILE"),
    ] = None,
    min_count: MinCount = TrainConfig.min_count,
    sample: Sample = TrainConfig.sample,
    dim: Dim = TrainConfig.dim,
    window: WindowOption = TrainConfig.window,
    negative: Negative = TrainConfig.negative,
    bias: Bias = TrainConfig.bias,
    shared_noise: SharedNoise = TrainConfig.shared_noise,
    seed: Seed = TrainConfig.seed,
    encoding: EncodingOption = TrainConfig.encoding,
    tokenizer: TokenizerOption = TrainConfig.tokenizer,
    lowercase: LowercaseOption = TrainConfig.lowercase,
    threads: ThreadsOption = RunOptions.threads,
    force: Annotated[bool, option("--force", "Replace an existing picture.", panel=RUN)] = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Train several objectives on one corpus and judge them by one yardstick.

    Each runs at three learning rates on a tenth of the text, and up to two
    more where the highest is the best; the best by the held-out end is used,
    or a lower one if that diverges on all of the text. The yardstick is the
    mean of log P(target | center) over held-out pairs, normalised over all
    words. Nothing but the picture is written.
    """
    from w2v_sgns.corpus.inputs import open_paths
    from w2v_sgns.evaluation.files import read_questions
    from w2v_sgns.evaluation.objectives import compare_objectives
    from w2v_sgns.evaluation.retrieval import refuse_texts
    from w2v_sgns.plots.figure import check_figure

    config = TrainConfig(
        dim=dim,
        window=window,
        negative=negative,
        bias=bias,
        shared_noise=shared_noise,
        sample=sample,
        min_count=min_count,
        epochs=epochs,
        seed=seed,
        encoding=encoding,
        tokenizer=tokenizer,
        lowercase=lowercase,
    )
    for file in eval_ or ():
        refuse_texts(file)
    source = open_paths(corpus, config)
    if plot is not None:
        check_figure(plot, force=force, inputs=(*source.paths, *(eval_ or ())))
    found = compare_objectives(
        source,
        config,
        objectives=objectives.split(","),
        seconds=seconds,
        holdout=holdout,
        questions=[read_questions(file) for file in eval_ or ()],
        threads=threads,
        say=warn,
    )
    if plot is not None:
        from w2v_sgns.plots.objectives import draw_comparison

        draw_comparison(found, plot, force=force)
    if json:
        write_json(_document(found))
        return
    for line in _lines(found):
        typer.echo(line)


def _document(found: Comparison) -> dict[str, Any]:
    document = asdict(found) | {"config": found.config.to_dict()}
    for name in ("objective", "lr", "noise_exponent"):  # each leg has its own
        del document["config"][name]
    return _finite(document)  # type: ignore[no-any-return]


def _finite(value: Any) -> Any:
    """Return tables and lists with null where a number is none: JSON has no NaN."""
    if isinstance(value, dict):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lines(found: Comparison) -> Iterator[str]:
    names = list(found.legs[0].scores)
    heads = [shorten(shown(Path(name).name), 14) for name in names]
    head = ["objective", "lr", "k words/s", "seconds", "own loss", "log P", *heads]
    rows = [head, *([*_figures(leg), *_scores(leg, names)] for leg in found.legs)]
    yield from align(rows, right=range(1, len(head)))
    length = f"{found.seconds:g} s each" if found.seconds else f"{found.epochs} epochs each"
    yield (f"log P       held-out mean of log P(target | center), {found.pairs:,} pairs,")
    yield f"            over {found.words:,} words; word frequencies alone: {found.unigram:.4f}"
    yield f"trained     {length} on {found.tokens:,} tokens; with the search {found.took:.0f} s"
    for leg in found.legs:
        if len(leg.tried) > 1 and leg.lr in (min(leg.tried), max(leg.tried)):
            yield f"note        {leg.objective}: lr {leg.lr:g} is the end of what was tried"


def _figures(leg: Leg) -> list[str]:
    return [
        leg.objective,
        f"{leg.lr:g}",
        f"{leg.words_per_second / 1000:,.0f}",
        f"{leg.seconds:.1f}",
        f"{leg.loss:.4f}",
        "diverged" if math.isnan(leg.likelihood) else f"{leg.likelihood:.4f}",
    ]


def _scores(leg: Leg, names: list[str]) -> list[str]:
    scores = (leg.scores[name] for name in names)
    return ["n/a" if score is None else f"{score:.3f}" for score in scores]
