"""`w2v vocab`: what a corpus holds, and what a --min-count would leave of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from w2v_sgns.cli.corpus_options import (
    ColumnOption,
    CorpusArgument,
    EncodingErrorsOption,
    EncodingOption,
    LowercaseOption,
    MaxTokenBytesOption,
    MemoryOption,
    RecursiveOption,
    SplitOption,
    TextFieldOption,
    ThreadsOption,
    TokenizerOption,
)
from w2v_sgns.cli.options import DebugOption, JsonOption
from w2v_sgns.cli.output import align, shorten, shown, write_json
from w2v_sgns.config import RunOptions, TextOptions

if TYPE_CHECKING:
    from w2v_sgns.corpus import CorpusStats
    from w2v_sgns.corpus.survey import Survey

__all__ = ["vocab"]

WORD_WIDTH = 40  # columns


def vocab(
    corpus: CorpusArgument,
    top: Annotated[int, typer.Option("--top", metavar="N", help="Words to list.")] = 10,
    recursive: RecursiveOption = False,
    encoding: EncodingOption = TextOptions.encoding,
    encoding_errors: EncodingErrorsOption = TextOptions.encoding_errors,
    split: SplitOption = TextOptions.split,
    tokenizer: TokenizerOption = TextOptions.tokenizer,
    lowercase: LowercaseOption = False,
    max_token_bytes: MaxTokenBytesOption = None,
    text_field: TextFieldOption = None,
    column: ColumnOption = None,
    threads: ThreadsOption = 0,
    memory: MemoryOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Count a corpus: words, coverage at thresholds, the longest tokens, invalid text."""
    from w2v_sgns.corpus.inputs import open_paths
    from w2v_sgns.corpus.survey import survey
    from w2v_sgns.training.trainer import counted

    text = TextOptions(
        encoding=encoding,
        encoding_errors=encoding_errors,
        split=split,
        tokenizer=tokenizer,
        lowercase=lowercase,
        max_token_bytes=max_token_bytes,
        text_field=text_field,
        column=column,
        recursive=recursive,
    )
    options = RunOptions(threads=threads, memory=memory)
    with counted(open_paths(corpus, text), options, min_count=1, for_training=False) as loaded:
        found, stats = survey(loaded, top=max(0, top)), loaded.stats
    if as_json:
        write_json(_document(found, stats))
        return
    for line in _lines(found, stats):
        typer.echo(line)


def _document(found: Survey, stats: CorpusStats) -> dict[str, Any]:
    return {
        "files": list(stats.names),
        "lines": stats.lines,
        "longest_line": stats.longest_line,
        "tokens": stats.tokens_read,
        "types": stats.types_read,
        "least_count": stats.least_count,
        "invalid_tokens": stats.invalid_tokens,
        "invalid_first": stats.invalid_place,
        "long_tokens_dropped": stats.long_tokens,
        "coverage": [asdict(row) for row in found.coverage],
        "frequent": [{"word": word, "count": count} for word, count in found.frequent],
        "longest": [
            {"word": word, "bytes": size, "count": count} for word, size, count in found.longest
        ],
    }


def _lines(found: Survey, stats: CorpusStats) -> list[str]:
    from w2v_sgns.training.header import corpus_lines

    invalid = 100 * stats.invalid_tokens / stats.tokens_read
    lines = [*corpus_lines(stats), f"invalid     {invalid:.3g} % of tokens are no UTF-8"]
    lines.append(f"lines       the longest has {stats.longest_line:,} tokens")
    rows = [["--min-count", "types", "tokens", "share"]]
    for row in found.coverage:
        share = 100 * row.tokens / stats.tokens_read
        rows.append([f"{row.min_count:,}", f"{row.types:,}", f"{row.tokens:,}", f"{share:.2f} %"])
    lines += ["", *align(rows, right=(0, 1, 2, 3))]
    if found.frequent:
        rows = [["frequent", "count"]]
        rows += [[_word(word), f"{count:,}"] for word, count in found.frequent]
        lines += ["", *align(rows, right=(1,))]
        rows = [["longest", "bytes", "count"]]
        rows += [[_word(w), f"{size:,}", f"{count:,}"] for w, size, count in found.longest]
        lines += ["", *align(rows, right=(1, 2))]
    return lines


def _word(word: str) -> str:
    return shorten(shown(word), WORD_WIDTH)
