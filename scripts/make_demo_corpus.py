#!/usr/bin/env python3
"""Writes data/demo-corpus.txt and data/demo-analogies.txt from the grammar in demo_grammar.py.

The text is synthetic: sentences are drawn from patterns, one a line, lower case, without
punctuation. The same files come out of every Python from 3.11 on. It does not measure anything;
`w2v train` does.

    scripts/make_demo_corpus.py            write both files
    scripts/make_demo_corpus.py --check    exit 1 if the files differ from what would be written
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import demo_grammar as grammar

DATA = Path(__file__).resolve().parent.parent / "data"
SEED = 20
TOKENS = 180_000
ANALOGY_PARTNERS = 8  # each pair is asked against so many later pairs of its section

Draw = random.Random
Words = dict[str, "Deck"]  # what a brace in a pattern may become


@dataclass
class Deck:
    """Deals its items in random order and reshuffles when all were dealt, so none stays rare."""

    items: Sequence[str]
    rng: Draw
    _left: list[str] = field(default_factory=list)

    def deal(self) -> str:
        """Return the next item."""
        if not self._left:
            self._left = shuffled(self.items, self.rng)
        return self._left.pop()


def shuffled(items: Sequence[str], rng: Draw) -> list[str]:
    """Return the items in random order; from random() alone, the one draw Python keeps stable."""
    return [item for _, item in sorted((rng.random(), item) for item in items)]


@dataclass(frozen=True)
class Row:
    """One line of a grammar table."""

    forms: list[str]
    phrases: list[str]


def rows(table: str) -> list[Row]:
    """Parse `form form: phrase, phrase` lines; an indented line goes on with the one above."""
    return [_row(line) for line in table.strip().replace("\n    ", " ").splitlines()]


def _row(line: str) -> Row:
    forms, _, phrases = line.partition(":")
    return Row(forms.split(), [phrase.strip() for phrase in phrases.split(",") if phrase.strip()])


def fill(pattern: str, *words: Words) -> str:
    """Replace every {name} by a dealt item; what was dealt may hold braces itself."""

    def replacement(match: re.Match[str]) -> str:
        return next(w[match[1]] for w in words if match[1] in w).deal()

    while "{" in pattern:
        pattern = re.sub(r"{(\w+)}", replacement, pattern)
    return pattern


class Grammar:
    """Draws sentences; one method a topic, each an endless stream."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.male = self._person(grammar.MALE, grammar.WEAR_MALE, grammar.NAMES_MALE)
        self.female = self._person(grammar.FEMALE, grammar.WEAR_FEMALE, grammar.NAMES_FEMALE)
        self.plural = {"he": self.deck(["they"]), "his": self.deck(["their"])}
        names = grammar.NAMES_MALE.split() + grammar.NAMES_FEMALE.split()
        self.common = {
            "name": self.deck(names),
            "place": self.deck(_row(":" + grammar.PLACES.replace("\n", " ")).phrases),
            "quality": self.deck(grammar.QUALITIES.split()),
            "number": self.deck(grammar.NUMBERS.split()),
            "official": self.deck(grammar.OFFICIALS.split()),
            "he_or_she": self.deck(["he", "she"]),
        }

    def deck(self, items: Sequence[str]) -> Deck:
        """Return a deck over the items."""
        return Deck(items, self.rng)

    def _person(self, pronouns: str, wear: str, names: str) -> Words:
        keys = ("he", "his", "him", "himself", "man", "boy")
        words = {key: self.deck([word]) for key, word in zip(keys, pronouns.split(), strict=True)}
        return words | {"wear": self.deck(wear.split()), "name": self.deck(names.split())}

    def stream(
        self, table: str, names: Sequence[str], phrase: str, patterns: str, *more: Words
    ) -> Iterator[str]:
        """Yield sentences of a table: its rows in turn, each with the next pattern of its own.

        A row's forms answer to `names`, its phrases to `phrase`.
        """
        entries = [
            (self._bind(row, names, phrase), self.deck(patterns.strip().splitlines()))
            for row in rows(table)
        ]
        while True:
            for words, deck in entries:
                yield fill(deck.deal(), words, *more, self.common)

    def _bind(self, row: Row, names: Sequence[str], phrase: str) -> Words:
        words = {name: self.deck([form]) for name, form in zip(names, row.forms, strict=True)}
        return words | ({phrase: self.deck(row.phrases)} if row.phrases else {})

    def people(self) -> Iterator[str]:
        """Yield sentences of kinship, rank and gender."""
        single = grammar.PEOPLE_PATTERNS.strip()
        kinds = single + "\n" + grammar.KIND_PATTERNS.strip()
        male = self.stream(grammar.PEOPLE, ("role", "other"), "did", kinds, self.male)
        female = self.stream(grammar.PEOPLE, ("other", "role"), "did", kinds, self.female)
        both = self.stream(
            grammar.PEOPLE, ("male", "female"), "did", grammar.COUPLE_PATTERNS, self.plural
        )
        while True:
            yield from (next(male), next(female), next(male), next(female), next(both))

    def countries(self) -> Iterator[str]:
        """Yield sentences of capitals and countries."""
        names = ("country", "capital", "adjective", "river", "produce")
        return self.stream(grammar.COUNTRIES, names, "", grammar.COUNTRY_PATTERNS)

    def nouns(self) -> Iterator[str]:
        """Yield sentences of one thing and of many."""
        names = ("one", "many")
        one = self.stream(grammar.NOUNS, names, "was", grammar.NOUN_PATTERNS_ONE)
        many = self.stream(grammar.NOUNS, names, "was", grammar.NOUN_PATTERNS_MANY)
        while True:
            yield from (next(one), next(many))

    def verbs(self) -> Iterator[str]:
        """Yield sentences of what is done, was done and is being done."""
        names = ("base", "third", "past", "ing")
        return self.stream(grammar.VERBS, names, "object", grammar.VERB_PATTERNS)

    def adjectives(self) -> Iterator[str]:
        """Yield sentences that compare."""
        names = ("adjective", "comparative", "superlative")
        return self.stream(grammar.ADJECTIVES, names, "thing", grammar.ADJECTIVE_PATTERNS)

    def trades(self) -> Iterator[str]:
        """Yield sentences of work."""
        return self._scenes(grammar.TRADES, ("trade",), "workplace", grammar.TRADE_PATTERNS)

    def seasons(self) -> Iterator[str]:
        """Yield sentences of the weather."""
        names = ("season", "month", "weather")
        return self.stream(grammar.SEASONS, names, "thing", grammar.SEASON_PATTERNS)

    def _scenes(self, table: str, names: Sequence[str], first: str, patterns: str) -> Iterator[str]:
        """Like stream, where the first phrase of a row is a word of its own."""
        moved = [
            f"{' '.join(row.forms)} {row.phrases[0]}: {', '.join(row.phrases[1:])}"
            for row in rows(table)
        ]
        return self.stream("\n".join(moved), (*names, first), "thing", patterns)


# topic and its share of the sentences, in parts of 100
SHARES: tuple[tuple[Callable[[Grammar], Iterator[str]], int], ...] = (
    (Grammar.people, 25),
    (Grammar.countries, 16),
    (Grammar.nouns, 18),
    (Grammar.verbs, 18),
    (Grammar.adjectives, 14),
    (Grammar.trades, 7),
    (Grammar.seasons, 2),
)


def corpus(seed: int = SEED, tokens: int = TOKENS) -> str:
    """Return the corpus: whole sentences, one a line, until there are `tokens` words."""
    drawn = Grammar(seed)
    streams = {str(i): topic(drawn) for i, (topic, _) in enumerate(SHARES)}
    turns = drawn.deck([str(i) for i, (_, share) in enumerate(SHARES) for _ in range(share)])
    lines: list[str] = []
    count = 0
    while count < tokens:
        lines.append(next(streams[turns.deal()]))
        count += len(lines[-1].split())
    return "\n".join(lines) + "\n"


def analogies() -> str:
    """Return the questions in the format of word2vec's questions-words.txt."""
    people = [row.forms for row in rows(grammar.PEOPLE)]
    countries = [row.forms for row in rows(grammar.COUNTRIES)]
    verbs = [row.forms for row in rows(grammar.VERBS)]
    adjectives = [row.forms for row in rows(grammar.ADJECTIVES)]
    sections = {
        "family": people,
        "capital-country": [[row[1], row[0]] for row in countries],
        "gram1-comparative": [row[:2] for row in adjectives],
        "gram2-superlative": [[row[0], row[2]] for row in adjectives],
        "gram3-present-participle": [[row[0], row[3]] for row in verbs],
        "gram4-nationality-adjective": [[row[0], row[2]] for row in countries],
        "gram5-past-tense": [[row[3], row[2]] for row in verbs],
        "gram6-plural": [row.forms for row in rows(grammar.NOUNS)],
        "gram7-plural-verbs": [row[:2] for row in verbs],
    }
    return "".join(_section(name, pairs) for name, pairs in sections.items())


def _section(name: str, pairs: list[list[str]]) -> str:
    """Ask each pair against the next ones of the list, which is read as a ring."""
    lines = [f": {name}"]
    for i, pair in enumerate(pairs):
        for step in range(1, ANALOGY_PARTNERS + 1):
            lines.append(" ".join(pair + pairs[(i + step) % len(pairs)]))
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description="Write the demo corpus and its analogies.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    files = {DATA / "demo-corpus.txt": corpus(), DATA / "demo-analogies.txt": analogies()}
    if options.check:
        return _check(files)
    for path, text in files.items():
        path.write_bytes(text.encode())
        print(f"{path.name}: {len(text.split()):,} words, {len(text):,} bytes")
    return 0


def _check(files: dict[Path, str]) -> int:
    """Say which files differ from what would be written; return the exit code."""
    stale = [p for p, text in files.items() if not p.exists() or p.read_bytes() != text.encode()]
    for path in stale:
        print(f"data/{path.name} differs from what {Path(__file__).name} writes; run it again")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
