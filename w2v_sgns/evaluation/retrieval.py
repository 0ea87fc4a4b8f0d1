"""Texts judged: does a query find its document among a pool, and do cosines follow people's scores.

Files of texts are told from files of words by their lines: tabs, and blanks inside the fields. A
document of the pool with the very text of the right one counts as right. Where a query stands in
several lines, the right documents of its other lines are left out of a line's ranking: they are not
wrong. Ties count against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.vocabulary import decode_word
from w2v_sgns.errors import FormatError, StreamError
from w2v_sgns.evaluation.questions import Malformed, Pair, Pairs, Questions
from w2v_sgns.evaluation.similarity import SimilarityResult
from w2v_sgns.evaluation.statistics import Interval, bootstrap_mean, wilson
from w2v_sgns.streams import open_decompressed

if TYPE_CHECKING:
    from w2v_sgns.text import Encoder

__all__ = [
    "QueryDocuments",
    "RetrievalResult",
    "ScoredTexts",
    "ask_documents",
    "ask_scored",
    "holds_texts",
    "read_text_questions",
    "refuse_texts",
]

DEPTHS = (1, 5, 10, 100)  # of recall
CUT = 10  # of MRR and nDCG: documents behind it count nothing
HEAD_BYTES = 1 << 16
LINES_LOOKED_AT = 200
BLOCK_BYTES = 1 << 26  # of scores
TIE_DIGITS = 6  # cosines equal to so many digits are a tie: rows are float32
TIE = 10.0**-TIE_DIGITS
SCORED, PAIRED = "scored", "paired"


@dataclass(frozen=True)
class QueryDocuments(Questions):
    """Queries, each with its right document, and the texts that are searched."""

    queries: Sequence[bytes] = field(default=(), kw_only=True)
    documents: Sequence[bytes] = field(default=(), kw_only=True)
    pool: Sequence[bytes] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class ScoredTexts(Pairs):
    """Pairs of texts with people's scores of their similarity."""


@dataclass(frozen=True)
class RetrievalResult:
    """What one model finds.

    Attributes:
        ranks: int64 (n,), the place of the right document, from 1; 0: it cannot be found.
        words: V of the model.
        absent: questions whose right document is not in the pool.
        without_direction: questions whose query or document has no known word.
        empty: documents of the pool without a known word, which are never found.
    """

    questions: QueryDocuments
    ranks: NDArray[np.int64]
    words: int
    absent: int
    without_direction: int
    empty: int

    @property
    def asked(self) -> int:
        """All questions."""
        return len(self.ranks)

    def found(self, depth: int) -> NDArray[np.bool_]:
        """Return which right documents stand among the first `depth`, (n,)."""
        return (self.ranks > 0) & (self.ranks <= depth)

    @cached_property
    def reciprocal(self) -> NDArray[np.float64]:
        """1 / rank within the first ten, else 0, (n,)."""
        return np.where(self.found(CUT), 1 / np.maximum(self.ranks, 1), 0.0)

    @cached_property
    def gain(self) -> NDArray[np.float64]:
        """1 / log2(1 + rank) within the first ten, else 0, (n,): nDCG of one right document."""
        return np.where(self.found(CUT), 1 / np.log2(1 + np.maximum(self.ranks, 1)), 0.0)

    def figures(self) -> list[tuple[str, float, Interval | None]]:
        """Return each measure's name, value and 95 % interval."""
        shares: list[tuple[str, float, Interval | None]] = []
        for depth in DEPTHS:
            right = int(self.found(depth).sum())
            shares.append((f"recall@{depth}", right / self.asked, wilson(right, self.asked)))
        for name, values in ((f"MRR@{CUT}", self.reciprocal), (f"nDCG@{CUT}", self.gain)):
            shares.append((name, float(values.mean()), bootstrap_mean(values)))
        return shares


def holds_texts(path: Path | str, encoding: str = TextOptions.encoding) -> str | None:
    """Return "scored" or "paired" for a file of texts with tabs between, None for any other.

    What is no regular file is not looked at: a pipe can be read only once.

    Raises:
        FormatError: the file cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        return None
    try:
        with open_decompressed(path) as stream:
            head = stream.read(HEAD_BYTES)
    except (OSError, StreamError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"{path}: cannot be read: {reason}") from error
    if encoding != TextOptions.encoding:
        head = head.decode(encoding, "replace").encode()
    lines = head.split(b"\n")[: LINES_LOOKED_AT + 1]
    lines = lines[:-1] if len(lines) > 1 else lines
    votes = Counter(_line_kind(line) for line in lines if line.strip())
    texts = votes[SCORED] + votes[PAIRED]
    if texts * 2 <= sum(votes.values()):
        return None
    return SCORED if votes[SCORED] > votes[PAIRED] else PAIRED


def refuse_texts(path: Path | str) -> None:
    """Refuse a file of texts where words are asked.

    Raises:
        FormatError: it holds texts, or cannot be read.
    """
    if holds_texts(path):
        raise FormatError(f"{path}: holds texts; needed: analogies, or word pairs with scores")


def _line_kind(line: bytes) -> str | None:
    """Return what a line looks like; of words no field has a blank inside."""
    fields = [part.strip() for part in line.split(b"\t")]
    if not len(fields) >= 2 or not any(b" " in part for part in fields[:2]):
        return None
    return SCORED if len(fields) > 2 and _score(fields[2]) is not None else PAIRED


def read_text_questions(
    path: Path | str, pool: Sequence[Path | str] = (), *, text: TextOptions | None = None
) -> Questions:
    """Read scored pairs of texts, or queries with their documents.

    Args:
        path: the file; compressed or not.
        pool: files of a document a line that are searched; none: the file's own documents.
        text: how the files are encoded.

    Raises:
        CorpusError, StreamError: a file cannot be read.
        FormatError: no line can be asked.
    """
    text = text or TextOptions()
    if holds_texts(path, text.encoding) == SCORED and not pool:
        return _read_scored(Path(path), text)
    from w2v_sgns.corpus.inputs import open_paths
    from w2v_sgns.text.pairs import read_pairs, read_texts

    texts = read_pairs(open_paths([path], text))
    found = read_texts(open_paths(pool, text)).queries if pool else texts.documents
    return QueryDocuments(
        str(path),
        "queries and documents",
        texts.malformed,
        queries=texts.queries,
        documents=texts.documents,
        pool=found if pool else list(dict.fromkeys(found)),
    )


def _read_scored(path: Path, text: TextOptions) -> ScoredTexts:
    from w2v_sgns.corpus.inputs import open_paths
    from w2v_sgns.text.lines import whole_lines

    pairs: list[Pair] = []
    malformed: list[Malformed] = []
    header = None
    for lines in whole_lines(open_paths([path], text)):
        for number, line in enumerate(lines.data.split(b"\n")[:-1], start=lines.first):
            fields = [part.strip() for part in line.split(b"\t")]
            score = _score(fields[2]) if len(fields) > 2 else None
            if score is not None and np.isfinite(score) and fields[0] and fields[1]:
                pairs.append(Pair(decode_word(fields[0]), decode_word(fields[1]), score))
            elif number == 1 and len(fields) > 2 and score is None:
                header = f"{path}:1"
            elif line.strip():
                message = "needed: two texts and a finite score, tabs between"
                malformed.append(Malformed(str(path), number, message))
    if not pairs:
        raise FormatError(f"{path}: no line holds two texts and a finite score, tabs between")
    return ScoredTexts(str(path), "text pairs", malformed, header, pairs=pairs)


def _score(field: bytes) -> float | None:
    """Return a number, which may be NaN or infinite; None where there is none."""
    try:
        return float(field)
    except ValueError:
        return None


def ask_scored(
    encoder: Encoder, questions: ScoredTexts, *, count_skipped: bool = False
) -> SimilarityResult:
    """Compare the cosines of texts, both as queries, with people's scores.

    Pairs with a text without a direction are left out, or count with cosine 0. Cosines are rounded
    to six decimals: what is beyond is the rows' rounding, which must not be ranked.
    """
    first = encoder.encode([pair.first for pair in questions.pairs]).rows
    second = encoder.encode([pair.second for pair in questions.pairs]).rows
    cosines = np.einsum("ij,ij->i", first, second, dtype=np.float64).clip(-1, 1)
    cosines = cosines.round(TIE_DIGITS)
    directed = first.any(axis=1) & second.any(axis=1)
    cosines[~directed] = 0.0 if count_skipped else np.nan
    words = len(encoder.vocabulary)
    return SimilarityResult(
        questions,
        scores=np.array([pair.score for pair in questions.pairs]),
        cosines=cosines,
        unknown=int((~directed).sum()),
        without_direction=0,
        folded=0,
        missing=(),
        words=words,
        restrict=words,
        case="exact",
        count_skipped=count_skipped,
    )


def ask_documents(encoder: Encoder, questions: QueryDocuments) -> RetrievalResult:
    """Return where the right documents stand among the pool, by cosine."""
    queries = encoder.encode(questions.queries, tower="query").rows
    pool = encoder.encode(questions.pool, tower="document").rows
    places: dict[bytes, list[int]] = {}
    for place, text in enumerate(questions.pool):
        places.setdefault(text, []).append(place)
    own = [places.get(text, []) for text in questions.documents]
    right: dict[bytes, set[int]] = {}
    for query, some in zip(questions.queries, own, strict=True):
        right.setdefault(query, set()).update(some)
    ranks = _ranks(queries, pool, own, [list(right[query]) for query in questions.queries])
    absent = sum(not some for some in own)
    return RetrievalResult(
        questions,
        ranks,
        words=len(encoder.vocabulary),
        absent=absent,
        without_direction=int((ranks == 0).sum()) - absent,
        empty=int((~pool.any(axis=1)).sum()),
    )


def _ranks(
    queries: NDArray[np.float32],
    pool: NDArray[np.float32],
    own: Sequence[Sequence[int]],
    right: Sequence[Sequence[int]],
) -> NDArray[np.int64]:
    """Return the rank of the best of each query's own documents; 0 where it has none.

    `right` are the own ones and others that do not count against it.
    """
    ranks = np.zeros(len(queries), np.int64)
    height = max(1, BLOCK_BYTES // (4 * max(1, len(pool))))
    zero = ~pool.any(axis=1)
    for start in range(0, len(queries), height):
        block = queries[start : start + height]
        scores = block @ pool.T
        scores[:, zero] = -np.inf
        for place, row in enumerate(scores, start=start):
            mine = list(own[place])
            best = row[mine].max() if mine else -np.inf
            if np.isfinite(best) and block[place - start].any():
                row[list(right[place])] = -np.inf
                ranks[place] = 1 + int((row >= best - TIE).sum())
    return ranks


def document(result: RetrievalResult) -> dict[str, Any]:
    """Return everything, ready for JSON."""
    questions = result.questions
    return {
        "questions": questions.name,
        "layout": questions.layout,
        "words": result.words,
        "asked": result.asked,
        "candidates": len(questions.pool),
        "absent": result.absent,
        "without_direction": result.without_direction,
        "empty_documents": result.empty,
        "figures": [
            {"name": name, "value": value, "interval": interval}
            for name, value, interval in result.figures()
        ],
        "malformed": [vars(line) for line in questions.malformed],
    }


def notes(result: RetrievalResult) -> list[str]:
    """Return what must be said beside the figures."""
    lines = [
        f"candidates: {len(result.questions.pool):,} documents; equal texts count as right, ties "
        "against; texts are means of word vectors, word order is ignored"
    ]
    if result.absent:
        lines.append(f"never found: {result.absent:,} right documents are not in the pool")
    if result.without_direction:
        lines.append(
            f"never found: {result.without_direction:,} questions where the query or its document "
            "has no known word"
        )
    if result.empty:
        lines.append(f"documents of the pool without a known word: {result.empty:,}")
    return lines


def scored_notes(result: SimilarityResult) -> list[str]:
    """Return what must be said beside the correlation of texts."""
    lines = ["texts are means of word vectors, word order is ignored"]
    if result.unknown:
        manner = "count with cosine 0" if result.count_skipped else "are left out"
        lines.append(f"{result.unknown:,} pairs with a text without a known word {manner}")
    if result.spearman is None:
        lines.append("undefined (n/a): the scores or the cosines do not vary, or too few are known")
    return lines
