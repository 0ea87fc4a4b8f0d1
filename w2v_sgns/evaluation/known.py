"""Which analogy questions a vocabulary can be asked, and their words as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.evaluation.answering import RowQuestions
from w2v_sgns.evaluation.lookup import Lookup
from w2v_sgns.evaluation.questions import Analogy

__all__ = ["Known", "find_questions"]


@dataclass(frozen=True)
class Known:
    """The questions whose words are all known.

    Attributes:
        places: int64 (m,), which of the questions they are.
        rows: the m questions as rows.
        folded: bool (m,), where a word was found by folding only.
    """

    places: NDArray[np.int64]
    rows: RowQuestions
    folded: NDArray[np.bool_]


def find_questions(lookup: Lookup, questions: Sequence[Analogy]) -> Known:
    """Look all words up. Those that are missing are noted in the lookup.

    One known answer is enough. Where any word needed folding, all of the question is folded: every
    spelling of the words asked is kept from answering, and any spelling of an answer is right.
    """
    words = {word: lookup.find(word) for word in set(chain.from_iterable(map(_words, questions)))}
    row = {word: -1 if row is None else row for word, (row, _) in words.items()}
    asked = np.array([[row[a], row[b], row[c]] for _, a, b, c, _ in questions], np.int64)
    asked = asked.reshape(-1, 3)
    answers = [[row[word] for word in question.answers if row[word] >= 0] for question in questions]
    known = (asked >= 0).all(axis=1) & np.fromiter(map(bool, answers), np.bool_, len(answers))
    places = np.flatnonzero(known)
    unknown = np.flatnonzero(~known).tolist()
    lookup.missing.update(_missing([questions[place] for place in unknown], row))
    by_folding = {word for word, (_, folded) in words.items() if folded}
    folded = np.array(
        [not by_folding.isdisjoint(_words(questions[place])) for place in places.tolist()], np.bool_
    )
    spellings = _Spellings(lookup)
    accepted, banned = [], []
    for abc, place, fold in zip(
        asked[places].tolist(), places.tolist(), folded.tolist(), strict=True
    ):
        right = answers[place]
        more: list[int] = []
        if fold or lookup.case == "fold":
            more, right = spellings.others(abc), right + spellings.others(right)
        accepted.append([one for one in right if one not in abc and one not in more])
        banned.append(more)
    a, b, c = asked[places].T
    return Known(places, RowQuestions(a, b, c, accepted, banned), folded)


def _words(question: Analogy) -> tuple[str, ...]:
    return (question.a, question.b, question.c, *question.answers)


def _missing(questions: Sequence[Analogy], row: dict[str, int]) -> Counter[str]:
    """Count how many questions each unknown word made unanswerable."""

    def names() -> Iterator[str]:
        for question in questions:
            unknown = {word for word in question[1:4] if row[word] < 0}
            if all(row[word] < 0 for word in question.answers):
                unknown.update(question.answers)
            yield from unknown

    return Counter(names())


class _Spellings:
    """The other rows that fold to the same word; most words have none."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._others: dict[int, list[int]] = {}

    def others(self, rows: Sequence[int]) -> list[int]:
        return [other for row in rows for other in self._of(row)]

    def _of(self, row: int) -> list[int]:
        if row not in self._others:
            self._others[row] = [other for other in self._lookup.spellings(row) if other != row]
        return self._others[row]
