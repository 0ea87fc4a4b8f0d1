"""Text pairs from files: `query<TAB>document[<TAB>hard negative]` a line, or single sentences.

The same openers as for corpora. A line that is no pair is kept with its number and never stops
the reading. Knows no vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.source import Source
from w2v_sgns.errors import CorpusError
from w2v_sgns.evaluation.questions import Malformed
from w2v_sgns.text.lines import whole_lines

__all__ = ["PairTexts", "TextsMember", "numbered", "read_pairs", "read_texts"]

BLANKS = b" \t\r\v\f"
SHAPE = "needed: query<TAB>document, or a hard negative behind another tab"


@dataclass
class PairTexts:
    """Texts as bytes, blanks at their ends removed; of single sentences only `queries`.

    Attributes:
        queries: n texts.
        documents: the right one of each query; empty where the file holds single sentences.
        negatives: a wrong one for each query, b"" where the line has none.
        malformed: lines left out.
    """

    queries: list[bytes] = field(default_factory=list)
    documents: list[bytes] = field(default_factory=list)
    negatives: list[bytes] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def hard(self) -> int:
        """Lines with a hard negative."""
        return sum(map(bool, self.negatives))

    def all_texts(self) -> Iterator[bytes]:
        """Yield every text."""
        return chain(self.queries, self.documents, filter(None, self.negatives))


def read_pairs(source: Source) -> PairTexts:
    """Read pairs, and hard negatives where a line has them.

    Raises:
        CorpusError: the source cannot be read, or holds no pair.
        StreamError: a compressed file is damaged or cut short.
    """
    found = PairTexts()
    for name, number, line in _lines(source):
        fields = [part.strip(BLANKS) for part in line.split(b"\t")]
        fault = _fault(fields)
        if fault:
            found.malformed.append(Malformed(name, number, fault))
        elif any(fields):
            found.queries.append(fields[0])
            found.documents.append(fields[1])
            found.negatives.append(fields[2] if len(fields) > 2 else b"")
    if not found.queries:
        first = next(iter(found.malformed), None)
        where = f"{first.file}: line {first.line:,}" if first else ", ".join(source.names[:3])
        what = first.message if first else SHAPE
        raise CorpusError(f"{where}: no line is a pair of texts ({what})")
    return found


def read_texts(source: Source) -> PairTexts:
    """Read a single text a line; blank lines are left out.

    Raises:
        CorpusError: the source cannot be read, or holds no text.
        StreamError: a compressed file is damaged or cut short.
    """
    lines = (line.strip(BLANKS) for _, _, line in _lines(source))
    found = PairTexts(queries=[line for line in lines if line])
    if not found.queries:
        raise CorpusError(f"{', '.join(source.names[:3])}: no line holds a text")
    return found


def _lines(source: Source) -> Iterator[tuple[str, int, bytes]]:
    for lines in whole_lines(source):
        texts = lines.data.split(b"\n")
        for number, line in enumerate(texts[:-1], start=lines.first):
            yield lines.name, number, line


def _fault(fields: Sequence[bytes]) -> str | None:
    """Return what is wrong with a line; blank lines are no fault."""
    if not any(fields):
        return None
    if not 2 <= len(fields) <= 3:
        return f"{len(fields)} field{'s' * (len(fields) != 1)}, {SHAPE}"
    if not fields[0] or not fields[1]:
        return f"the {'document' if fields[0] else 'query'} is empty"
    return None


def numbered(*columns: Sequence[bytes]) -> list[NDArray[np.int64]]:
    """Return a number for each text of each column, equal for equal texts."""
    numbers: dict[bytes, int] = {}
    return [
        np.array([numbers.setdefault(text, len(numbers)) for text in column], np.int64)
        for column in columns
    ]


class TextsMember:
    """Texts in memory as a member of a corpus, a line each: for counting their words."""

    ready = once = False
    ends_line = True
    size: int | None = None
    position = 0

    def __init__(self, texts: PairTexts, name: str) -> None:
        self.texts, self.name, self.label = texts, name, name

    def pieces(self, piece_bytes: int) -> Iterator[bytes]:
        """Yield the texts in pieces of about this size."""
        waiting, size = [], 0
        for text in self.texts.all_texts():
            waiting += [text, b"\n"]
            size += len(text) + 1
            if size >= piece_bytes:
                yield b"".join(waiting)
                waiting, size = [], 0
        yield b"".join(waiting)
