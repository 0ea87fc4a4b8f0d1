"""Documents of a file, and the nearest of them to a query: exact, or by the index of `ann`.

Everything is held in memory: the texts and a vector each. Documents without a known word are
never found, queries without one find nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.source import Source
from w2v_sgns.corpus.vocabulary import Vocabulary, decode_word
from w2v_sgns.errors import CorpusError
from w2v_sgns.text.encoder import Encoder
from w2v_sgns.text.lines import whole_lines
from w2v_sgns.vectors import Vectors
from w2v_sgns.vectors.neighbours import Hits, check_counts, nearest

__all__ = ["Documents", "Found"]


class Found(NamedTuple):
    """One document that was found."""

    file: str
    line: int  # from 1
    text: str
    cosine: float


class Documents:
    """A document a line, of all files of a source.

    Attributes:
        rows: float32 (m, d), of length 1, or zero for a document without a known word.
        empty: how many of these there are, blank lines not counted.

    Raises:
        CorpusError: the source cannot be read, or no document has a known word.
        StreamError: a compressed file is damaged or cut short.
    """

    def __init__(self, source: Source, encoder: Encoder) -> None:
        self.encoder = encoder
        self._texts: list[bytes] = []
        self._places: list[tuple[str, int]] = []  # file and line
        blocks = []
        for lines in whole_lines(source):
            found = encoder.encode_tokens(encoder.tokenizer.lines(lines.data), tower="document")
            texts = [text.strip() for text in lines.data.split(b"\n")[:-1]]
            kept = np.array([bool(text) for text in texts])
            self._texts += [text for text in texts if text]
            numbers = (np.flatnonzero(kept) + lines.first).tolist()
            self._places += [(lines.name, number) for number in numbers]
            blocks.append(found.rows[kept])
        self.rows = np.concatenate(blocks or [np.empty((0, encoder.dim), np.float32)])
        self.empty = int((~self.rows.any(axis=1)).sum())
        if self.empty == len(self.rows):
            raise CorpusError(
                f"{', '.join(source.names[:3])}: no document has a word of the model; are both of "
                "one language and spelling? (try --lowercase or --tokenizer words)"
            )

    def __len__(self) -> int:
        return len(self._texts)

    def search(
        self,
        queries: Sequence[str],
        *,
        top: int = 10,
        index: Path | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> list[list[Found]]:
        """Return for each query the documents of largest cosine, best first, ties by place.

        Args:
            queries: texts.
            top: most documents a query.
            index: a file of documents beside which an approximate index is kept; None: exact.
            say: is told when an index is built.

        Raises:
            ConfigError: `top` is below 1, or the extra `ann` is not installed.
            OutputError: the index cannot be written.
        """
        check_counts(top, None)
        rows = self.encoder.encode(queries, tower="query").rows
        if index is None:
            hits = nearest(self.rows, rows, topn=top)
        else:
            hits = self._by_index(rows, top, index, say)
        return [self._named(some) for some in hits]

    def _by_index(
        self, queries: NDArray[np.float32], top: int, beside: Path, say: Callable[[str], None]
    ) -> list[Hits]:
        from w2v_sgns.vectors.ann import open_index

        vectors = Vectors(self.rows, Vocabulary.from_words(self._texts))
        index = open_index(vectors, beside, say=say, rows="documents")
        found = index.nearest(queries, topn=top, exclude=[[] for _ in queries])
        return [hits if row.any() else [] for hits, row in zip(found, queries, strict=True)]

    def _named(self, hits: Hits) -> list[Found]:
        return [
            Found(*self._places[row], decode_word(self._texts[row]), cosine) for row, cosine in hits
        ]
