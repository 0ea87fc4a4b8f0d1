"""Folders of questions: BATS (a file a relation, below folders of groups) and SemEval-2012 task 2.

BATS: every text file has lines `word<TAB>answer/answer/…`; the folder a file lies in is its group.
SemEval: `GoldRatings-1a.txt` with lines `rating "word:word"`, and `Phase1Questions-1a.txt`, whose
lines `word:word` are the typical pairs of the relation.
"""

from __future__ import annotations

import re
from pathlib import Path

from w2v_sgns.errors import FormatError
from w2v_sgns.evaluation.files import alternatives, is_alternatives, read_lines
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
    files = sorted(path for path in folder.rglob("*.txt") if path.is_file())
    gold = [path for path in files if path.name.startswith(GOLD)]
    if gold:
        return _semeval(folder, files, gold)
    lists = [(path, list(read_lines(path))) for path in files]
    lists = [(path, lines) for path, lines in lists if _holds_alternatives(lines)]
    if not lists:
        raise FormatError(
            f"{folder}: no folder of questions; needed: text files with a word, a tab and its "
            f"answers a line (BATS), or {GOLD}1a.txt and {TYPICAL}1a.txt (SemEval-2012 task 2)"
        )
    return _bats(folder, lists)


def _holds_alternatives(lines: list[tuple[int, str]]) -> bool:
    return 2 * sum(is_alternatives(line) for _, line in lines) > len(lines)


def _bats(folder: Path, lists: list[tuple[Path, list[tuple[int, str]]]]) -> Analogies:
    questions: list[Analogy] = []
    malformed: list[Malformed] = []
    groups: dict[str, list[str]] = {}
    for path, lines in lists:
        found, faults = alternatives(path, lines)
        questions += found
        malformed += faults
        if found and path.parent != folder:
            groups.setdefault(path.parent.name, []).append(path.stem)
    if not questions:
        raise FormatError(f"{folder}: a question needs two lines in the same file; there are none")
    return Analogies(
        str(folder), "word lists (BATS)", malformed, questions=questions, groups=groups
    )


def _semeval(folder: Path, files: list[Path], gold: list[Path]) -> Relations:
    typical = {
        path.stem.removeprefix(TYPICAL): path for path in files if path.name.startswith(TYPICAL)
    }
    relations: list[Relation] = []
    malformed: list[Malformed] = []
    for path in gold:
        name = path.stem.removeprefix(GOLD)
        if name not in typical:
            malformed.append(Malformed(str(path), 1, f"{TYPICAL}{name}.txt is missing"))
            continue
        pairs, faults = _rated(path)
        malformed += faults
        relations.append(Relation(name, _typical(typical[name]), pairs))
    if not any(relation.pairs for relation in relations):
        raise FormatError(f"{folder}: no rated pairs with their {TYPICAL}*.txt")
    return Relations(str(folder), "relations (SemEval-2012)", malformed, relations=relations)


def _rated(path: Path) -> tuple[list[Pair], list[Malformed]]:
    pairs: list[Pair] = []
    malformed: list[Malformed] = []
    for number, line in read_lines(path):
        rated = RATED.fullmatch(line)
        if rated:
            pairs.append(Pair(rated[2].strip(), rated[3].strip(), float(rated[1])))
        else:
            malformed.append(Malformed(str(path), number, 'needed: a rating and "word:word"'))
    return pairs, malformed


def _typical(path: Path) -> list[tuple[str, str]]:
    """Return the typical pairs; the other lines of the file are instructions to people."""
    found = [TYPICAL_PAIR.fullmatch(line) for _, line in read_lines(path)]
    return [(pair[1], pair[2]) for pair in found if pair]
