"""What is odd about a file of vectors, and how it is told.

Finding it is the readers' business, and so is refusing what is damaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from w2v_sgns.corpus.vocabulary import decode_word

__all__ = ["Findings", "listed", "plural"]

LISTED = 5  # words or rows in a message


@dataclass
class Findings:
    """What is odd about a file, and the first row (from 1) where it is so."""

    counts: dict[str, int] = field(default_factory=dict)
    rows: dict[str, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, kind: str, rows: Sequence[int]) -> None:
        """Count rows of one kind."""
        self.counts[kind] = self.counts.get(kind, 0) + len(rows)
        known = self.rows.setdefault(kind, [])
        known.extend(rows[: LISTED - len(known)])

    def sentences(self, total: int) -> list[str]:
        """Return a sentence for each finding; `total` is the number of rows."""
        return self.notes + [self._sentence(kind, total) for kind in KINDS if kind in self.counts]

    def _sentence(self, kind: str, total: int) -> str:
        count, rows = self.counts[kind], self.rows[kind]
        shown = ", ".join(f"{row:,}" for row in rows) + (", …" if count > len(rows) else "")
        share = f"; {100 * count / total:.3g} % of all" if kind == "zero" and total else ""
        one, many, then = KINDS[kind]
        where = f"row{'s' * (len(rows) > 1)} {shown}"
        return f"{count:,} {one if count == 1 else many} ({where}){share}{then}"


# Kind: one, several, what was done about it.
KINDS = {
    "text": (
        "word is not valid UTF-8",
        "words are not valid UTF-8",
        "; the bytes are kept as they are",
    ),
    "twice": ("duplicate word", "duplicate words", "; the first row of each word is kept"),
    "number": (
        "word ends with a number behind a blank",
        "words end with a number behind a blank",
        ": a row with one number too many?",
    ),
    "line": (
        "word holds a line end",
        "words hold a line end",
        ": did a word ahead hold a blank? Then rows are read from wrong places",
    ),
    "blank": ("blank line", "blank lines", "; skipped"),
    "finite": ("row with values that are not finite", "rows with values that are not finite", ""),
    "zero": ("zero row", "zero rows", ""),
}


def listed(words: Sequence[bytes]) -> str:
    """Return the first words for a message, and how many more there are."""
    shown = ", ".join(f"{decode_word(word)!a:.60}" for word in words[:LISTED])
    return shown + (f" and {len(words) - LISTED:,} more" if len(words) > LISTED else "")


def plural(count: int, noun: str) -> str:
    """Return "1 row", "2 rows"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
