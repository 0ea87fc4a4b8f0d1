"""What a file of questions holds, whatever its layout: analogies, word pairs, graded relations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = [
    "Analogies",
    "Analogy",
    "Malformed",
    "Pair",
    "Pairs",
    "Questions",
    "Relation",
    "Relations",
    "google_groups",
]

GRAMMAR = re.compile(r"gram\d")  # how the Google set names its syntactic sections


@dataclass(frozen=True)
class Malformed:
    """A line that is no question, and why."""

    file: str
    line: int  # the first is 1
    message: str


class Analogy(NamedTuple):
    """a is to b as c is to any of the answers."""

    section: str
    a: str
    b: str
    c: str
    answers: tuple[str, ...]


class Pair(NamedTuple):
    """Two words and how alike people find them."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class Questions:
    """What all kinds have: where they come from and which lines were no questions.

    Attributes:
        name: the file or folder, as it was named.
        layout: what kind of file it was taken for.
        malformed: lines that were left out.
        header: the line that was skipped as a header, as `file:line`.
        unread: text files of the folder that hold no questions.
    """

    name: str
    layout: str
    malformed: Sequence[Malformed] = ()
    header: str | None = None
    unread: Sequence[str] = ()


@dataclass(frozen=True)
class Analogies(Questions):
    """Analogy questions in the file's order.

    Attributes:
        questions: all of them.
        groups: sums to show besides the total: name to sections.
    """

    questions: Sequence[Analogy] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Pairs(Questions):
    """Scored word pairs in the file's order."""

    pairs: Sequence[Pair] = ()


@dataclass(frozen=True)
class Relation:
    """One relation of SemEval-2012 task 2: typical pairs, and pairs rated for how typical."""

    name: str
    typical: Sequence[tuple[str, str]]
    pairs: Sequence[Pair]


@dataclass(frozen=True)
class Relations(Questions):
    """Relations in the order of their names."""

    relations: Sequence[Relation] = ()


def google_groups(sections: Sequence[str]) -> dict[str, list[str]]:
    """Return which sections are semantic and which syntactic, where the names tell."""
    syntactic = [name for name in sections if GRAMMAR.match(name)]
    semantic = [name for name in sections if not GRAMMAR.match(name)]
    return {"semantic": semantic, "syntactic": syntactic} if syntactic and semantic else {}
