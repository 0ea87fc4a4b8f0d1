"""Options of every verb that reads a corpus: where the text lies and how it is split.

Values are parsed here, never judged: the library knows the ranges.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = [
    "ColumnOption",
    "CorpusArgument",
    "EncodingErrorsOption",
    "EncodingOption",
    "LowercaseOption",
    "MaxTokenBytesOption",
    "MemoryOption",
    "OptionalCorpusArgument",
    "RecursiveOption",
    "SplitOption",
    "TextFieldOption",
    "ThreadsOption",
    "TokenizerOption",
    "option",
]

CORPUS, TEXT, RUN = "Corpus and vocabulary", "Text", "Output and machine"


def option(name: str, text: str, *, panel: str = TEXT, metavar: str | None = None) -> Any:
    """Return an option with its help."""
    return typer.Option(name, help=text, rich_help_panel=panel, metavar=metavar)


_CORPUS = typer.Argument(
    metavar="CORPUS…",
    help="Texts, plain or compressed: files, folders, quoted patterns, addresses, - for a "
    "pipe. Words between blanks, a context a line.",
    show_default=False,
)
CorpusArgument = Annotated[list[str], _CORPUS]
OptionalCorpusArgument = Annotated[list[str] | None, _CORPUS]
EncodingOption = Annotated[
    str, option("--encoding", "The text's encoding: latin-1, utf-16-le, …", metavar="NAME")
]
EncodingErrorsOption = Annotated[
    str,
    option(
        "--encoding-errors",
        "Bytes that are no text: keep them and say how many, or strict: refuse.",
        metavar="keep|strict",
    ),
]
SplitOption = Annotated[str, option("--split", "Blanks that end a word.", metavar="ascii|unicode")]
TokenizerOption = Annotated[
    str,
    option(
        "--tokenizer",
        "whitespace: as the text is; words: lower-cased letters and digits of raw prose.",
        metavar="whitespace|words",
    ),
]
LowercaseOption = Annotated[bool, option("--lowercase", "Lower-case the text.")]
MaxTokenBytesOption = Annotated[
    int | None,
    option("--max-token-bytes", "Drop words of more bytes, whole, and say how many.", metavar="N"),
]
TextFieldOption = Annotated[
    str | None,
    option("--text-field", "The files are JSON lines; take this field.", metavar="NAME"),
]
ColumnOption = Annotated[
    str | None,
    option("--column", "The files are Parquet or Arrow; take this column.", metavar="NAME"),
]
RecursiveOption = Annotated[
    bool, option("--recursive", "Read the folders inside folders too.", panel=CORPUS)
]
ThreadsOption = Annotated[
    int, option("--threads", "0: all this process may use.", panel=RUN, metavar="N")
]
MemoryOption = Annotated[
    str | None,
    option(
        "--memory",
        "Room for the text (512M, 4G): half for token ids, a quarter for words; beyond that, "
        "temporary files. A quarter of the machine's unless given.",
        panel=RUN,
        metavar="SIZE",
    ),
]
