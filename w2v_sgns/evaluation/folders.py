"""Folders of questions: BATS (a file a relation, below folders of groups) and SemEval-2012 task 2.

BATS: every text file has lines `word<TAB>answer/answer/…`; the folder a file lies in is its group.
Names that begin with a dot are passed over.
SemEval: `GoldRatings-1a.txt` with lines `rating "word:word"`, and `Phase1Questions-1a.txt`, whose
lines `word:word` are the typical pairs of the relation.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from w2v_sgns.errors import FormatError
from w2v_sgns.evaluation.files import alternatives, are_alternatives
from w2v_sgns.evaluation.lines import read_lines
from w2v_sgns.evaluation.questions import (
    Analogies,
    Analogy,
    Malformed,
    Pair,
    Relation,
    Relations,
)

__all__ = ["read_folder"]

GOLD, TYPICAL = "GoldRatings-", "Phase1Questions-"
RATED = re.compile(r'(-?\d+(?:\.\d+)?)\s+"?([^":]+):([^":]+)"?')
TYPICAL_PAIR = re.compile(r'"?([^\s":]+):([^\s":]+)"?')


def read_folder(folder: Path) -> Analogies | Relations:
    """Read all of a folder and of the folders in it.

    Raises:
        FormatError: no file in it is of either kind.
    """
    files = sorted(path for path in folder.rglob("*.txt") if _is_visible(path.relative_to(folder)))
    files = [path for path in files if path.is_file()]
    gold = [path for path in files if path.name.startswith(GOLD)]
    return _semeval(folder, files, gold) if gold else _bats(folder, files)


def _is_visible(path: Path) -> bool:
    return not any(part.startswith(".") for part in path.parts)


def _bats(folder: Path, files: list[Path]) -> Analogies:
    questions: list[Analogy] = []
    malformed: list[Malformed] = []
    groups: dict[str, list[str]] = {}
    unread: list[str] = []
    stems = Counter(path.stem for path in files)
    for path in files:
        text = read_lines(path)
        name = path.stem
        if stems[name] > 1:  # a section of its own all the same
            name = path.relative_to(folder).with_suffix("").as_posix()
        found, faults = alternatives(text, name) if are_alternatives(text) else ([], [])
        if not found:
            unread.append(str(path))
            continue
        questions += found
        malformed += faults
        if path.parent != folder:
            groups.setdefault(path.parent.name, []).append(name)
    if not questions:
        raise FormatError(
            f"{folder}: no folder of questions; needed: .txt files with a word, a tab and its "
            f"answers a line, two lines a file or more (BATS), or {GOLD}1a.txt and {TYPICAL}1a.txt "
            "(SemEval-2012 task 2)"
        )
    layout = "word lists (BATS)"
    return Analogies(
        str(folder), layout, malformed, unread=unread, questions=questions, groups=groups
    )


def _semeval(folder: Path, files: list[Path], gold: list[Path]) -> Relations:
    typical = {
        path.stem.removeprefix(TYPICAL): path for path in files if path.name.startswith(TYPICAL)
    }
    relations: list[Relation] = []
    malformed: list[Malformed] = []
    for path in sorted(gold, key=_place):
        name = path.stem.removeprefix(GOLD)
        if any(relation.name == name for relation in relations):
            malformed.append(Malformed(str(path), 1, f"left out: another {path.name} was read"))
            continue
        if name not in typical:
            malformed.append(Malformed(str(path), 1, f"{TYPICAL}{name}.txt is missing"))
            continue
        pairs, faults = _rated(path)
        malformed += faults
        relations.append(Relation(name, _typical(typical[name]), pairs))
    if not any(relation.pairs for relation in relations):
        raise FormatError(f"{folder}: no rated pairs with their {TYPICAL}*.txt")
    return Relations(str(folder), "relations (SemEval-2012)", malformed, relations=relations)


def _place(path: Path) -> tuple[int, str]:
    """Order 1a, 1b, 2a, …, 10a; other names behind them."""
    number = re.match(r"\d+", path.stem.removeprefix(GOLD))
    return int(number[0]) if number else sys.maxsize, str(path)


def _rated(path: Path) -> tuple[list[Pair], list[Malformed]]:
    pairs: list[Pair] = []
    malformed: list[Malformed] = []
    for number, line in read_lines(path).numbered:
        rated = RATED.fullmatch(line)
        if rated:
            pairs.append(Pair(rated[2].strip(), rated[3].strip(), float(rated[1])))
        else:
            malformed.append(Malformed(str(path), number, 'needed: a rating and "word:word"'))
    return pairs, malformed


def _typical(path: Path) -> list[tuple[str, str]]:
    """Return the typical pairs; the other lines of the file are instructions to people."""
    found = [TYPICAL_PAIR.fullmatch(line) for _, line in read_lines(path).numbered]
    return [(pair[1], pair[2]) for pair in found if pair]
