"""`w2v phrases`: a corpus in, the same text with frequent pairs joined out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

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
from w2v_sgns.cli.options import DebugOption
from w2v_sgns.config import RunOptions, TextOptions

__all__ = ["phrases"]

STDOUT = Path("-")


def phrases(
    corpus: CorpusArgument,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Text to write; - is stdout.")
    ],
    threshold: Annotated[
        float | None,
        typer.Option(metavar="X", help="Join pairs that score more; 100, or 0.5 for npmi."),
    ] = None,
    min_count: Annotated[
        int, typer.Option(metavar="N", help="Never join what is seen less often.")
    ] = 5,
    passes: Annotated[
        int, typer.Option(metavar="N", help="Go over the text so often: longer phrases.")
    ] = 1,
    scorer: Annotated[
        str, typer.Option(metavar="word2phrase|npmi", help="How pairs are scored.")
    ] = "word2phrase",
    save_scores: Annotated[
        Path | None,
        typer.Option(metavar="TSV", help="Write phrase, score and count of every joined pair."),
    ] = None,
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
    force: Annotated[bool, typer.Option("--force", help="Replace existing outputs.")] = False,
    debug: DebugOption = False,
) -> None:
    """Join frequent pairs of words with _, from the left, none overlapping."""
    from w2v_sgns.corpus.inputs import open_paths
    from w2v_sgns.corpus.phrases import find_phrases
    from w2v_sgns.training.needs import check_outputs
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
    options = RunOptions(threads=threads, memory=memory, force=force)
    source = open_paths(corpus, text)
    outputs = {"--output": output if output != STDOUT else None, "--save-scores": save_scores}
    check_outputs(outputs, force=force, inputs=source.paths)
    with counted(source, options, min_count=1, for_training=False) as loaded:
        found = find_phrases(
            loaded, threshold=threshold, min_count=min_count, passes=passes, scorer=scorer
        )
        with _stream(output, force) as stream:
            for block in found.blocks():
                stream.write(block)
        stats = loaded.stats
        joined = stats.tokens_read - found.tokens.size
    if save_scores is not None:
        with _stream(save_scores, force) as stream:
            for phrase in found.phrases:
                word = phrase.word.encode("utf-8", "surrogateescape")
                stream.write(b"%s\t%.17g\t%d\n" % (word, phrase.score, phrase.count))
    typer.echo(
        f"{stats.tokens_read:,} tokens in {stats.lines:,} lines read; "
        f"{len(found.phrases):,} phrases, joined {joined:,} times",
        err=True,
    )


@contextmanager
def _stream(path: Path, force: bool) -> Iterator[BinaryIO]:
    """Give a stream that becomes the file, or standard output."""
    from w2v_sgns.formats.atomic import replacing

    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    with replacing(path, force=force, suffixes=None) as stream:
        yield stream
