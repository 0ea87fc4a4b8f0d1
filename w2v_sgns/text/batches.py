"""What one step of tuning sees: token ids of queries and candidates, and which candidate is whose.

Pairs come in a new order every epoch, in batches of one size (but for one pair), so that no last
batch is a short one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import CorpusError
from w2v_sgns.kernels.pooling import UNKNOWN
from w2v_sgns.text.mining import known_right
from w2v_sgns.text.pairs import PairTexts, numbered
from w2v_sgns.text.tokens import Tokenizer, Tokens, joined

__all__ = ["Examples", "orders", "read_examples", "without_some"]

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Examples:
    """Pairs as token ids, only those where each side has a known word.

    Attributes:
        queries: n texts.
        asked: int64 (n,), equal numbers for equal queries.
        documents: m different texts: documents and hard negatives; none for single texts.
        right: int64 (n,), the document of each query.
        wrong: int64 (n, h), hard negatives of each query, −1 for none.
        left_out: pairs without a known word on a side.
    """

    queries: Tokens
    asked: Ids
    documents: Tokens
    right: Ids
    wrong: Ids
    left_out: int

    def __len__(self) -> int:
        return len(self.asked)

    @cached_property
    def known(self) -> tuple[Ids, Ids]:
        """Offsets by query number, and the documents that are right for each."""
        return known_right(self.asked, self.right)

    def candidates(self, some: Ids) -> Ids:
        """Return the documents of some pairs, then their hard negatives, each once."""
        own, wrong = self.right[some], self.wrong[some]
        return np.concatenate([own, np.setdiff1d(wrong[wrong >= 0], own)])

    def with_wrong(self, wrong: Ids) -> Examples:
        """Return the same pairs with more hard negatives (n, h)."""
        return replace(self, wrong=np.concatenate([self.wrong, wrong], axis=1))

    def log_q(self) -> NDArray[np.float32]:
        """Return the log of how often each document is drawn with a pair, (m,).

        A document that only comes as a hard negative counts as drawn once.
        """
        counts = np.bincount(self.right, minlength=len(self.documents))
        return np.log(np.maximum(counts, 1) / len(self)).astype(np.float32)


def read_examples(texts: PairTexts, tokenizer: Tokenizer) -> Examples:
    """Look up the words of all texts.

    Raises:
        CorpusError: no pair has a known word on each side, or all have the same document.
    """
    queries = tokenizer.lines(joined(texts.queries))
    (asked,) = numbered(texts.queries)
    usable = queries.known() > 0
    single = not texts.documents
    # The hard negatives' numbers follow those of the documents; 0 stands for no text.
    numbers = [np.zeros(len(texts), np.int64)] * 2
    distinct: list[bytes] = [b""]
    if not single:
        _, *numbers = numbered([b""], texts.documents, texts.negatives)
        distinct = list(dict.fromkeys([b"", *texts.documents, *texts.negatives]))
    documents = tokenizer.lines(joined(distinct))
    known = documents.known() > 0
    if not single:
        usable &= known[numbers[0]]
    if not usable.any():
        raise CorpusError(
            "no pair has a known word on each side; the vectors are of another language or "
            "spelling (try --lowercase or --tokenizer words), or use --from-scratch"
        )
    several = numbers[0][usable] if not single else asked[usable]
    _refuse_one(several, numbers[1][usable][known[numbers[1][usable]]])
    wrong = np.where(known[numbers[1]], numbers[1], -1)[usable, None]
    return Examples(
        queries.select(np.flatnonzero(usable)),
        asked[usable],
        documents,
        numbers[0][usable],
        wrong if (wrong >= 0).any() else wrong[:, :0],
        int((~usable).sum()),
    )


def _refuse_one(own: Ids, wrong: Ids) -> None:
    """Refuse pairs that all have one and the same document: there is nothing to tell apart."""
    if len(np.union1d(own, wrong)) < 2:
        what = "there is one pair" if len(own) == 1 else f"all {len(own):,} pairs are alike"
        raise CorpusError(
            f"{what} with known words: the other pairs' documents are the wrong answers, so two "
            "different ones are needed at least"
        )


def orders(count: int, batch: int, rng: np.random.Generator) -> Iterator[Ids]:
    """Yield all numbers below `count` in a new order, at most `batch` at a time."""
    parts = -(-count // batch)
    yield from np.array_split(rng.permutation(count), parts)


def without_some(tokens: Tokens, share: float, rng: np.random.Generator) -> Tokens:
    """Return the texts with each word left out at a chance; one that lost all keeps all."""
    if share == 0:
        return tokens
    kept = rng.random(len(tokens.ids)) >= share
    left = tokens.keep(kept & (tokens.ids != UNKNOWN)).known()
    kept |= np.repeat(left == 0, np.diff(tokens.offsets))
    return tokens.keep(kept)
