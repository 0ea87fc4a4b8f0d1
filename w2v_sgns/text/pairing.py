"""`w2v pairs` as a call: pairs and vectors in, a tuned model out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.config import PairConfig, TextOptions, TrainConfig
from w2v_sgns.corpus.inputs import open_paths
from w2v_sgns.corpus.load import load_corpus
from w2v_sgns.corpus.source import Source
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError, CorpusError, FormatError
from w2v_sgns.evaluation.questions import Malformed
from w2v_sgns.formats import describe, load_model
from w2v_sgns.formats.atomic import check_writable
from w2v_sgns.formats.source import refuse_pipe
from w2v_sgns.machine import allowed_threads
from w2v_sgns.model import Model
from w2v_sgns.text.batches import Examples, read_examples
from w2v_sgns.text.encoder import TEXT_NAMES, Encoder, smooth_inverse_frequency, text_options
from w2v_sgns.text.pairs import PairTexts, TextsMember, read_pairs, read_texts
from w2v_sgns.text.tokens import Tokenizer
from w2v_sgns.text.tuning import Tables, Tell, check_memory, tune

__all__ = ["Loaded", "tune_pairs"]

MODEL = (".safetensors",)  # weights and scale have no place in other formats
BLOCK_ROWS = 1 << 14
MEMORY = 1 << 30  # bytes of token ids while words are counted

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Loaded:
    """What was read before the tuning begins."""

    texts: PairTexts
    examples: Examples
    words: int
    dim: int
    notes: tuple[str, ...]

    @property
    def malformed(self) -> list[Malformed]:
        """Lines that are no pairs."""
        return self.texts.malformed


def tune_pairs(
    pairs: Path | str | Sequence[Path | str],
    *,
    model: Path | str | None = None,
    output: Path | str | None = None,
    config: PairConfig | None = None,
    force: bool = False,
    loaded: Callable[[Loaded], None] | None = None,
    tell: Tell | None = None,
    **settings: Any,
) -> Model:
    """Tune word vectors on text pairs; return the tuned model, and write it where `output` says.

    The model keeps the words and their counts. With one tower its output matrix stays what it
    was; with two, `E` are the queries' rows and `Ep` the documents'.

    Args:
        pairs: paths of lines `query<TAB>document[<TAB>hard negative]`, or of a sentence a line
            for the loss simcse-unsup.
        model: the vectors to begin with, any readable file; None with `from_scratch`.
        output: a .safetensors file to write.
        config: the settings; or give them as keywords.
        force: replace an existing output.
        loaded: called once with what was read.
        tell: called after every batch.
        settings: fields of :class:`PairConfig`.

    Raises:
        ConfigError: a setting is out of range, or a batch holds no wrong answer.
        CorpusError, StreamError: the pairs cannot be read, or none can be used.
        FormatError: the vectors cannot be read, or none are given.
        OutputError: the output cannot be written, or would replace an input.
        ResourceError: not enough memory.
        DivergenceError: the tuning left the finite numbers.
    """
    config = config or PairConfig(**settings)
    if (model is None) != config.from_scratch:
        raise FormatError("give either vectors to begin with (-m MODEL), or --from-scratch")
    source = open_paths([pairs] if isinstance(pairs, (str, Path)) else pairs, config)
    if output is not None:
        check_writable(output, force=force, suffixes=MODEL, inputs=(model, *source.paths))
    texts = read_texts(source) if config.unsupervised else read_pairs(source)
    if config.batch == 1 and not (texts.hard or config.mine):
        raise ConfigError(
            "--batch 1 leaves a query without a wrong answer: nothing can be learned; give 2 at "
            "least, or hard negatives (a third column, or --mine 1)"
        )
    start = _from_scratch(texts, source, config) if model is None else _opened(model, config)
    tokenizer = Tokenizer(start.vocabulary, start.text)
    examples = read_examples(texts, tokenizer)
    _refuse_one_query(examples, config)
    if loaded is not None:
        notes = tuple(_notes(texts, config))
        loaded(Loaded(texts, examples, len(start.vocabulary), start.rows[0].shape[1], notes))
    tables = start.tables(config, examples)
    losses = tune(tables, examples, config, tell)
    made = start.finished(tables, config, _story(source, texts, examples, config, losses))
    made.check_finite()
    if output is not None:
        made.save(output, force=force)
    return made


def _refuse_one_query(examples: Examples, config: PairConfig) -> None:
    """Refuse pairs of a single query: where its documents are all right, none is wrong."""
    hard = examples.wrong.size or config.mine
    several = (examples.asked != examples.asked[0]).any()
    if config.duplicates == "mask" and not (several or hard or config.unsupervised):
        raise CorpusError(
            f"all {len(examples):,} pairs have the same query, so every document is a right one; "
            "give pairs of other queries or hard negatives (a third column), or --duplicates keep"
        )


def _notes(texts: PairTexts, config: PairConfig) -> list[str]:
    notes = []
    if config.loss == "simcse" and not texts.hard and not config.mine:
        notes.append(
            "no line has a hard negative: simcse is then dpr by cosine, over the batch alone"
        )
    return notes


@dataclass
class _Start:
    """The vectors before tuning, and what goes with them into the file."""

    rows: list[Matrix]  # one table, or two
    vocabulary: Vocabulary
    text: TextOptions
    weights: NDArray[np.float32] | None = None  # of an earlier tuning, as is the scale
    log_scale: float | None = None
    model: Model | None = None  # of which all else is kept

    def tables(self, config: PairConfig, examples: Examples) -> Tables:
        """Return writable copies."""
        words, dim = self.rows[0].shape
        check_memory(words, dim, config)
        rows = [np.array(table, np.float32, order="C") for table in self.rows]
        if config.towers == 2 and len(rows) == 1:
            rows.append(rows[0].copy())
        weights = self.weights
        if weights is None and config.weights:
            weights = smooth_inverse_frequency(self._counts(examples))
        if weights is None:
            weights = np.ones(words, np.float32)
        t = -math.log(config.first_temperature)
        if config.loss == "clip" and config.temperature is None and self.log_scale is not None:
            t = self.log_scale  # where an earlier tuning left it
        return Tables(rows, np.array(weights, np.float32), np.array([t], np.float32))

    def _counts(self, examples: Examples) -> NDArray[np.int64]:
        """Return the words' counts; those in the pairs where the file has none."""
        if self.vocabulary.counts is not None:
            return self.vocabulary.counts
        ids = np.concatenate([examples.queries.ids, examples.documents.ids])
        known = ids[ids < len(self.vocabulary)]
        return np.bincount(known, minlength=len(self.vocabulary))

    def finished(self, tables: Tables, config: PairConfig, story: dict[str, Any]) -> Model:
        """Return the tuned model, with all that the one before it had."""
        rows, old = tables.rows, self.model
        extras = dict(old.extras) if old else {}
        extras["log_scale"] = tables.log_scale.reshape(())
        if config.weights or self.weights is not None:
            extras["word_weights"] = tables.weights
        text = {name: getattr(self.text, name) for name in TEXT_NAMES}
        base = old.config if old else TrainConfig(dim=rows[0].shape[1])
        untrained = np.zeros_like(rows[0]) if old is None else old.Ep
        return Model(
            rows[0],
            rows[1] if len(rows) == 2 else untrained,
            vocabulary=self.vocabulary,
            config=replace(base, **text),
            history=old.history if old else (),
            provenance={**(old.provenance if old else {}), "pairs": story},
            extras=extras,
        )


def _refuse_rows(path: Path | str, table: Matrix, vocabulary: Vocabulary) -> None:
    """Refuse rows that are not finite: no loss of a batch with such a word is."""
    for first in range(0, len(table), BLOCK_ROWS):
        bad = np.flatnonzero(~np.isfinite(table[first : first + BLOCK_ROWS]).all(axis=1))
        if len(bad):
            row = first + int(bad[0])
            raise FormatError(
                f"{path}: row {row + 1:,}, of the word {vocabulary.word(row)!a:.80}, is not "
                "finite; needed: finite numbers; leave the word out: w2v export --words FILE"
            )


def _opened(path: Path | str, config: PairConfig) -> _Start:
    """Open the vectors to begin with; a tuned model goes on from its weights and towers."""
    refuse_pipe(path)
    about = describe(path)
    text = text_options(about.config, config)
    encoder = Encoder.load(path, text=text)
    if encoder.towers > config.towers:
        raise FormatError(f"{path}: has two towers; give --towers 2 to go on with both")
    rows = [encoder.query] if encoder.towers == 1 else [encoder.query, encoder.document]
    start = _Start(
        rows,
        encoder.vocabulary,
        text,
        log_scale=encoder.log_scale,
    )
    if "word_weights" in about.tensors:
        start.weights = encoder.weights
    if {"input", "output"} <= set(about.tensors):
        start.model = load_model(path)
    for table in (*rows, *([start.model.Ep] if start.model else [])):
        _refuse_rows(path, table, start.vocabulary)
    return start


def _from_scratch(texts: PairTexts, source: Source, config: PairConfig) -> _Start:
    """Count the words of the pairs and draw rows at random, of about length 1."""
    member = TextsMember(texts, ", ".join(source.names[:3]))
    corpus = load_corpus(
        Source([member], config),
        min_count=config.min_count,
        threads=allowed_threads(),
        memory_bytes=MEMORY,
    )
    corpus.store.close()
    words = len(corpus.vocabulary)
    check_memory(words, config.dim, config)
    rng = np.random.default_rng((config.seed, 0))
    rows = rng.standard_normal((words, config.dim), np.float32)
    rows /= np.float32(math.sqrt(config.dim))
    return _Start([rows], corpus.vocabulary, text_options({}, config))


def _story(
    source: Source,
    texts: PairTexts,
    examples: Examples,
    config: PairConfig,
    losses: list[float],
) -> dict[str, Any]:
    """Return what the file tells about the tuning; no folder of this machine."""
    return {
        "names": list(source.labels),
        "pairs": len(examples),
        "left_out": examples.left_out,
        "malformed": len(texts.malformed),
        "losses": losses,
        **config.to_dict(),
    }
