"""What is said about a corpus once it has been read: sources, figures, oddities, pairs.

Text only; decides nothing and prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from w2v_sgns.config import WHOLE_LINE, TrainConfig
from w2v_sgns.machine import human_bytes
from w2v_sgns.training.cost import batch_pairs
from w2v_sgns.training.needs import best_bytes, checkpoint_bytes, matrix_bytes, model_bytes

if TYPE_CHECKING:
    from w2v_sgns.corpus import CorpusStats

__all__ = ["corpus_lines", "header", "noise_text", "pairs_text"]

FILES_SHOWN = 5
LONG_WORDS = 40  # mean bytes of a word from which text looks unsegmented


def header(
    stats: CorpusStats,
    config: TrainConfig,
    threads: int,
    *,
    asked: int = 0,
    in_step: bool = False,
    streams: int = 0,
    nodes: int = 0,
) -> Iterator[str]:
    """Yield what was read, what is kept of it, and how it will be trained."""
    from w2v_sgns.sampling import effective_sample

    words = stats.types_kept
    where = "in a temporary file" if stats.spooled else "in memory"
    yield from corpus_lines(stats)
    yield f"vocabulary  {_many(stats.types_kept, 'type')} kept, of {stats.tokens_kept:,} tokens;"
    yield f"            {_dropped(stats, config)}"
    yield (
        f"memory      {human_bytes(matrix_bytes(words, config))} for E and Ep, "
        f"{human_bytes(4 * stats.tokens_kept)} for token ids {where}"
    )
    if config.patience is not None:
        best = human_bytes(best_bytes(words, config))
        yield f"            {best} more for the best epoch's vectors (--patience)"
    yield (
        f"disk        {human_bytes(model_bytes(words, config))} for the model, up to "
        f"{human_bytes(2 * checkpoint_bytes(words, config))} more for checkpoints"
    )
    yield f"pairs       {pairs_text(config)}"
    sample = effective_sample(config.sample, stats.tokens_kept)
    if sample != config.sample:
        yield f"            --sample {sample:.2g}: one token exceeds {config.sample:g} of this text"
    yield (
        f"training    {config.objective}{' with bias' * config.bias}, dim {config.dim}, "
        f"{noise_text(config, stats.types_kept)},"
    )
    yield (
        f"            lr {config.lr:g} → {config.final_lr:g}, "
        f"{config.epochs} epoch{'s' * (config.epochs > 1)}, seed {config.seed},"
    )
    if nodes:
        yield f"            {_many(nodes, 'node')} of a cluster: results vary a little between runs"
    elif streams:
        yield f"            {_streams(streams)}"
    else:
        yield f"            {_threads(threads, asked, in_step=in_step, same=config.in_batches)}"


def _streams(streams: int) -> str:
    """Say the same of a GPU."""
    text = _many(streams, "stream") + " on a GPU"
    return text + (": results vary a little between runs" if streams > 1 else "")


def _threads(threads: int, asked: int, *, in_step: bool, same: bool) -> str:
    """Say how many there are, and what that means for the vectors."""
    text = _many(threads, "thread")
    if in_step and not same and max(asked, threads) > 1:
        text += f" in step, the vectors of --threads {max(asked, threads):,}"
    elif threads > 1 and not same and asked <= threads:
        text += ": results vary a little between runs"
    if asked > threads:
        text += f": all that this process may use, {asked:,} asked for"
    return text


def noise_text(config: TrainConfig, words: int) -> str:
    """Say what true words are told from: k noise words, all words, or those of a batch."""
    if config.objective == "inbatch":
        return f"no noise: batches of {batch_pairs(words):,} pairs"
    if config.noise_exponent is None:
        return "no noise: exact sums"
    if config.noise_exponent == 0:
        drawn = f"uniform (k·q = {config.negative / words:.2g})"
    else:
        drawn = f"by count^{config.noise_exponent:g}"
    shared = " for a whole batch" if config.shared_noise == "batch" else ""
    return f"{config.negative} negatives {drawn}{shared}"


def pairs_text(config: TrainConfig) -> str:
    """Say which words become pairs."""
    if config.window == WHOLE_LINE:
        return "every word with every other of its line (--window line)"
    if config.fixed_window or config.window == 1:
        size = f"{config.window}"
    else:
        size = f"1–{config.window} (drawn)"
    return f"each word and the {size} nearest on either side in its line"


def corpus_lines(stats: CorpusStats) -> Iterator[str]:
    """Yield where the text came from, how much there is, and what is odd about it."""
    yield from _sources(stats)
    yield (
        f"corpus      {stats.tokens_read:,} tokens of {stats.types_read:,} types "
        f"in {_many(stats.lines, 'line')}"
    )
    for note in _notes(stats):
        yield f"note        {note}"


def _dropped(stats: CorpusStats, config: TrainConfig) -> str:
    dropped = stats.types_read - (stats.types_kept - stats.types_unseen)
    causes = [f"--min-count {config.min_count}"]
    if config.max_vocab is not None:
        causes.append(f"--max-vocab {config.max_vocab:,}")
    return f"{_many(dropped, 'type')} dropped by {' and '.join(causes)}"


def _sources(stats: CorpusStats) -> Iterator[str]:
    """Name several files in the order they were read, or what can be read only once."""
    if len(stats.names) > 1:
        named = ", ".join(stats.names[:FILES_SHOWN])
        more = len(stats.names) - FILES_SHOWN
        rest = f" and {more:,} more" if more > 0 else ""
        yield (
            f"files       {len(stats.names):,} in this order: {named}{rest} "
            f"({human_bytes(sum(stats.sizes))})"
        )
    elif stats.once:
        yield (
            f"source      {stats.names[0]}: {human_bytes(stats.sizes[0])}, read once and kept as "
            f"token ids {'in a temporary file' if stats.spooled else 'in memory'}"
        )


def _notes(stats: CorpusStats) -> Iterator[str]:
    """Yield what the user may not expect of this text."""
    if stats.empty and len(stats.names) > 1:
        yield f"{_many(len(stats.empty), 'file')} without text: {', '.join(stats.empty[:3])}"
    if stats.invalid_tokens:
        yield (
            f"{_many(stats.invalid_tokens, 'token')} of {_many(stats.invalid_types, 'type')} "
            f"held invalid UTF-8, first on {stats.invalid_place}; kept as they are "
            "(--encoding NAME decodes another encoding)"
        )
    if stats.marked_tokens:
        yield (
            f"{_many(stats.marked_tokens, 'token')} begin with a byte order mark (U+FEFF), such "
            f"as {stats.marked_word!a}: a word of its own; were files joined by cat?"
        )
    if stats.counted_on_disk:
        yield from _pruned(stats)
    if stats.long_tokens:
        yield f"{_many(stats.long_tokens, 'token')} dropped by --max-token-bytes"
    if stats.types_unseen:
        yield f"{_many(stats.types_unseen, 'word')} asked for by name are not in the corpus"
    if stats.bytes_read > LONG_WORDS * stats.tokens_read:
        yield (
            f"words have {stats.bytes_read // stats.tokens_read:,} bytes on average: text written "
            "without blanks must be segmented first"
        )


def _pruned(stats: CorpusStats) -> Iterator[str]:
    """Say what became of words that were too many for memory."""
    yield "the words outgrew a quarter of --memory and were counted on disk; every count is exact"
    if stats.least_count > 1:
        yield (
            f"words seen fewer than {stats.least_count:,} times were left out to fit --memory "
            f"({_many(stats.types_read - stats.types_counted, 'type')}, "
            f"{_many(stats.tokens_read - stats.tokens_counted, 'token')}): raise it to keep them"
        )


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
