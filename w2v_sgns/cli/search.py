"""`w2v search`: the documents nearest to a query."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption, JsonOption, ModelOption
from w2v_sgns.cli.output import shorten, shown, warn, write_json
from w2v_sgns.cli.text_options import (
    EncodingErrorsOption,
    EncodingOption,
    LowercaseOption,
    TokenizerOption,
)
from w2v_sgns.config import TextOptions
from w2v_sgns.errors import CorpusError

if TYPE_CHECKING:
    from w2v_sgns.text.search import Found

__all__ = ["search"]

STDIN = "-"
COLUMNS = 80


def search(
    queries: Annotated[
        list[str],
        typer.Argument(metavar="QUERY…", help="Texts, each a query; - reads one a line."),
    ],
    documents: Annotated[
        list[str],
        typer.Option(
            "--documents", metavar="FILE", help="A document a line; again for more files."
        ),
    ],
    model: ModelOption = DEFAULT_MODEL,
    top: Annotated[
        int, typer.Option("--top", metavar="N", help="How many documents to show.")
    ] = 10,
    index: Annotated[
        bool,
        typer.Option("--index", help="Approximate search, for millions of documents (extra: ann)."),
    ] = False,
    encoding: EncodingOption = TextOptions.encoding,
    encoding_errors: EncodingErrorsOption = TextOptions.encoding_errors,
    tokenizer: TokenizerOption = TextOptions.tokenizer,
    lowercase: LowercaseOption = TextOptions.lowercase,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the documents nearest to each QUERY, by cosine of mean word vectors.

    Word order is ignored. The search is exact unless --index is given.
    """
    if index and (len(documents) > 1 or not Path(documents[0]).is_file()):
        raise typer.BadParameter("--index keeps a file beside the documents: name one file")
    from w2v_sgns.corpus.inputs import open_paths
    from w2v_sgns.text import Encoder
    from w2v_sgns.text.search import Documents
    from w2v_sgns.vectors.neighbours import check_counts

    check_counts(top, None)
    text = TextOptions(
        encoding=encoding,
        encoding_errors=encoding_errors,
        tokenizer=tokenizer,
        lowercase=lowercase,
    )
    if STDIN in queries and STDIN in documents:
        raise typer.BadParameter("- is read once: as queries, or as --documents")
    asked = [query for one in queries for query in (_read() if one == STDIN else [one])]
    if not asked:
        raise CorpusError("-: no query on standard input; needed: one a line")
    found = Documents(open_paths(documents, text), Encoder.load(model, text=text))
    if found.empty:
        warn(f"{found.empty:,} of {len(found):,} documents have no known word, and are never found")
    beside = Path(documents[0]) if index else None
    answers = found.search(asked, top=top, index=beside, say=warn)
    if json:
        write_json(
            [
                {
                    "query": query,
                    "documents": [hit._asdict() | {"cosine": round(hit.cosine, 6)} for hit in hits],
                }
                for query, hits in zip(asked, answers, strict=True)
            ]
        )
        return
    for place, (query, hits) in enumerate(zip(asked, answers, strict=True)):
        typer.echo("\n" * (place > 0) + "\n".join(_lines(query, hits, many=len(documents) > 1)))


def _read() -> list[str]:
    """Return the lines of stdin; bytes that are no UTF-8 stay what they are."""
    from w2v_sgns.corpus.vocabulary import decode_word

    return [decode_word(line.strip()) for line in sys.stdin.buffer if line.strip()]


def _lines(query: str, hits: list[Found], *, many: bool) -> Iterator[str]:
    yield shorten(shown(query), COLUMNS)
    if not hits:
        yield "  nothing: the query has no known word"
    for hit in hits:
        place = f"{hit.file}:{hit.line}" if many else f"{hit.line}"
        yield shorten(f"  {hit.cosine:.4f}  {shown(place)}: {shown(hit.text)}", COLUMNS)
