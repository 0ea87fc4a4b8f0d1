"""Files of questions, told apart by their lines: analogies, lists of alternatives, scored pairs.

A line that fits no question is kept with its number and never stops the reading. Folders are the
business of folders.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

from w2v_sgns.errors import FormatError
from w2v_sgns.evaluation.lines import Lines, read_lines
from w2v_sgns.evaluation.questions import (
    Analogies,
    Analogy,
    Malformed,
    Pair,
    Pairs,
    Questions,
    google_groups,
)

__all__ = ["alternatives", "are_alternatives", "read_questions"]

GOOGLE, BATS, PAIRS = "analogies", "alternatives", "pairs"
LINES_LOOKED_AT = 200
NO_SECTION = "(no section)"
SEPARATOR = re.compile(r"\s*[,;]\s*")


def read_questions(path: Path | str) -> Questions:
    """Read a file or a folder of questions; what it holds is told by its content.

    Raises:
        FormatError: missing, unreadable, or holds nothing that could be asked.
    """
    path = Path(path)
    if path.is_dir():
        from w2v_sgns.evaluation.folders import read_folder

        return read_folder(path)
    text = read_lines(path)
    kind = _kind(text.numbered) if text.is_text else None
    if kind == GOOGLE:
        return _google(text)
    if kind == PAIRS:
        return _pairs(text)
    if kind == BATS and are_alternatives(text):
        questions, malformed = alternatives(text, path.stem)
        if questions:
            return Analogies(str(path), "word lists (BATS)", malformed, questions=questions)
    raise _unusable(text)


def _kind(lines: list[tuple[int, str]]) -> str | None:
    """Return what most of the first lines look like."""
    votes = Counter(_line_kind(line) for _, line in lines[:LINES_LOOKED_AT])
    if votes["section"]:
        return GOOGLE
    best = max((GOOGLE, PAIRS, BATS), key=lambda kind: votes[kind])
    return best if votes[best] else None


def _line_kind(line: str) -> str:
    if line.startswith(":"):
        return "section"
    fields = _fields(line)
    if len(fields) >= 3 and _number(fields[2]) is not None:
        return PAIRS
    if len(_word_and_answers(line)) == 2:
        return BATS
    return GOOGLE if len(line.split()) == 4 else "none"


def are_alternatives(text: Lines) -> bool:
    """Return whether most lines are a word and its answers."""
    fitting = sum(len(_word_and_answers(line)) == 2 for _, line in text.numbered)
    return text.is_text and 2 * fitting > len(text.numbered)


def _word_and_answers(line: str) -> list[str]:
    """Split at tabs, else at blanks."""
    fields = line.split("\t") if "\t" in line else line.split()
    return [field.strip() for field in fields if field.strip()]


def _google(text: Lines) -> Analogies:
    """Read `: section` headers and lines of four words."""
    questions: list[Analogy] = []
    malformed: list[Malformed] = []
    section = NO_SECTION
    for number, line in text.numbered:
        words = line.split()
        if line.startswith(":"):
            section = line.lstrip(": ").strip() or NO_SECTION
        elif len(words) == 4:
            a, b, c, answer = words
            questions.append(Analogy(section, a, b, c, (answer,)))
        else:
            found = f"{len(words)} word{'s' * (len(words) != 1)}, needed: 4"
            malformed.append(Malformed(str(text.path), number, found))
    if not questions:
        raise _unusable(text)
    groups = google_groups(list(dict.fromkeys(question.section for question in questions)))
    return Analogies(
        str(text.path), "analogies (Google)", malformed, questions=questions, groups=groups
    )


def alternatives(text: Lines, section: str) -> tuple[list[Analogy], list[Malformed]]:
    """Read `word<TAB>answer/answer/…` and ask of every line with every other as the example.

    The example's first answer is its b; any answer of the line that is asked counts as right. A
    word is no example for itself.
    """
    entries: list[tuple[str, tuple[str, ...]]] = []
    malformed: list[Malformed] = []
    for number, line in text.numbered:
        word, *rest = _word_and_answers(line)
        answers = tuple(answer.strip() for answer in "".join(rest).split("/") if answer.strip())
        if answers and len(rest) == 1:
            entries.append((word, answers))
        else:
            message = "needed: a word, a tab, and its answers with / between"
            malformed.append(Malformed(str(text.path), number, message))
    questions = [
        Analogy(section, a, b[0], c, answers)
        for a, b in entries
        for c, answers in entries
        if a != c
    ]
    return questions, malformed


def _pairs(text: Lines) -> Pairs:
    """Read two words and a score a line; the first line may be a header."""
    pairs: list[Pair] = []
    malformed: list[Malformed] = []
    header = None
    for place, (number, line) in enumerate(text.numbered):
        fields = _fields(line)
        score = _number(fields[2]) if len(fields) >= 3 else None
        if score is not None and fields[0] and fields[1]:
            pairs.append(Pair(fields[0], fields[1], score))
        elif place == 0 and len(fields) >= 3:
            header = f"{text.path}:{number}"
        else:
            malformed.append(Malformed(str(text.path), number, _pair_fault(fields)))
    if not pairs:
        raise _unusable(text)
    return Pairs(str(text.path), "word pairs", malformed, header, pairs=pairs)


def _pair_fault(fields: list[str]) -> str:
    if len(fields) < 3:
        return f"{len(fields)} field{'s' * (len(fields) != 1)}, needed: two words and a score"
    return f"the score {fields[2]!a:.40} is no number, or a word is empty"


def _fields(line: str) -> list[str]:
    """Split at tabs, else at commas or semicolons, else at blanks."""
    if "\t" in line:
        return [field.strip() for field in line.split("\t")]
    fields = SEPARATOR.split(line)
    return fields if len(fields) > 1 else line.split()


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _unusable(text: Lines) -> FormatError:
    return FormatError(
        f"{text.path}: no usable questions, no usable pairs; {text.looks_like()}; needed: four "
        "words a line, or two words and a score"
    )
