"""What became of a number of questions, in counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from w2v_sgns.evaluation.statistics import Interval, wilson

__all__ = ["Tally", "add_up"]


@dataclass(frozen=True)
class Tally:
    """What became of the questions of a section or a sum of sections.

    Attributes:
        name: of the section.
        asked: all questions.
        answered: those whose words are all known.
        right: those answered rightly.
        folded: those answered where a word needed folding.
        of: what `right` is divided by: `answered`, or `asked` where skipped counts as wrong.
    """

    name: str
    asked: int
    answered: int
    right: int
    folded: int
    of: int

    @property
    def skipped(self) -> int:
        """Questions with an unknown word."""
        return self.asked - self.answered

    @property
    def accuracy(self) -> float | None:
        """The share of right answers; None where there is nothing to divide by."""
        return self.right / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval of the accuracy."""
        return wilson(self.right, self.of)


def add_up(name: str, tallies: Sequence[Tally]) -> Tally:
    """Return the sum of some tallies."""
    fields = ("asked", "answered", "right", "folded", "of")
    return Tally(
        name, **{field: sum(getattr(tally, field) for tally in tallies) for field in fields}
    )
