"""The slow, obvious twin of vectors/classes.py: one word and one centre at a time, in float64."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Row = list[float]


def cosine(row: Row, centre: Row) -> float:
    return math.fsum(x * y for x, y in zip(row, centre, strict=True))


def direction(row: Row) -> Row | None:
    length = math.sqrt(math.fsum(x * x for x in row))
    return [x / length for x in row] if 0 < length < math.inf else None


def slow_classes(
    matrix: NDArray[np.float32], classes: int, *, seed: int, iterations: int
) -> tuple[list[int], list[Row]]:
    """Return the class of every row (-1: no direction) and the centres."""
    directions = [direction(row) for row in matrix.astype(float).tolist()]
    kept = [place for place, row in enumerate(directions) if row is not None]
    rows = [np.array(directions[place], np.float32).astype(float).tolist() for place in kept]
    start = np.random.default_rng(seed).choice(len(rows), classes, replace=False)
    centres = [rows[place] for place in sorted(start.tolist())]
    labels: list[int] = []
    for _ in range(iterations):
        found, fits = [], []
        for row in rows:
            cosines = [cosine(row, centre) for centre in centres]
            found.append(cosines.index(max(cosines)))
            fits.append(max(cosines))
        for number in range(classes):
            if number in found:
                continue
            able = [place for place, own in enumerate(found) if found.count(own) > 1]
            worst = min(able, key=lambda place: (fits[place], place))
            found[worst], fits[worst] = number, math.inf
        if found == labels:
            break
        labels = found
        for number in range(classes):
            members = [row for row, label in zip(rows, labels, strict=True) if label == number]
            centres[number] = (
                direction([math.fsum(x) for x in zip(*members, strict=True)]) or centres[number]
            )
    order = list(dict.fromkeys(labels))
    answer = [-1] * len(matrix)
    for place, label in zip(kept, labels, strict=True):
        answer[place] = order.index(label)
    return answer, [centres[number] for number in order]
