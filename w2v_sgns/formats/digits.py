"""Numbers in text: the nearest float32 of every decimal, and the shortest digits that read back.

orjson does both quickly for what JSON allows; the rest (nan, inf, +1, .5) is read one by one.
Which bytes of a line are numbers is the text format's business.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import orjson
from numpy.typing import NDArray

__all__ = ["NUMBER", "BadNumberError", "read_rows", "write_rows"]

JSON_BYTES = b"0123456789.-+eE \t"
NUMBER = re.compile(
    rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan(?:\(ind\)|\(snan\))?|inf(?:inity)?)",
    re.I,
)
TO_COMMAS = bytes.maketrans(b" \t", b",,")
TINY = 2.0**-126  # the smallest normal float32
# The bits of a float64 below those of a float32, and how they look halfway between two.
LOW, HALF = 0x1FFFFFFF, 0x10000000


class BadNumberError(ValueError):
    """A field is no number: `row` of those given, and its bytes."""

    def __init__(self, row: int, field: bytes) -> None:
        super().__init__(row, field)
        self.row, self.field = row, field


def read_rows(texts: Sequence[bytes], out: NDArray[np.float32]) -> None:
    """Fill `out` (n, d) from n texts of d numbers, apart by single blanks or tabs.

    Every number becomes the float32 nearest to it, of two the even one.

    Raises:
        BadNumberError: a field is no number.
    """
    if not _read_json(texts, out):
        for row, text in enumerate(texts):
            if not _read_json([text], out[row : row + 1]):
                out[row] = _read_slowly(row, text)


def _read_json(texts: Sequence[bytes], out: NDArray[np.float32]) -> bool:
    """Return False for what JSON does not allow; then `out` holds nothing of use."""
    joined = b" ".join(texts)
    if joined.translate(None, JSON_BYTES):
        return False
    try:
        values = orjson.loads(b"[" + joined.translate(TO_COMMAS) + b"]")
    except orjson.JSONDecodeError:
        return False
    if len(values) != out.size:
        return False
    numbers = np.fromiter(values, np.float64, len(values))
    with np.errstate(over="ignore"):
        out[:] = numbers.reshape(out.shape)
    for place in _undecided(numbers).tolist():
        row, column = divmod(place, out.shape[1])
        out[row, column] = _nearest(texts[row].split()[column], numbers[place])
    return True


def _read_slowly(row: int, text: bytes) -> list[np.float32]:
    values = []
    for part in text.replace(b"\t", b" ").split(b" "):
        if not NUMBER.fullmatch(part):
            raise BadNumberError(row, part)
        plain = part.partition(b"(")[0]
        values.append(_nearest(plain, float(plain)))
    return values


def _undecided(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return where rounding to float64 first may have decided the float32 wrongly."""
    halfway = (numbers.view(np.int64) & LOW) == HALF
    small = np.abs(numbers) < TINY
    return np.flatnonzero((halfway | small) & (numbers != 0))


def _nearest(text: bytes, number: float) -> np.float32:
    """Return the float32 nearest to a decimal whose nearest float64 is known."""
    with np.errstate(all="ignore"):
        near = np.float32(number)
        if not np.isfinite(number) or number == near:
            return near
        other = np.nextafter(near, np.float32(np.inf if number > near else -np.inf))
        low, high = (near, other) if near < other else (other, near)
        middle = _finite(low) / 2 + _finite(high) / 2
    exact = Decimal(text.decode())
    if number != middle or exact == Decimal(number):
        return near
    return high if exact > Decimal(number) else low


def _finite(value: np.float32) -> float:
    """Return the value; for infinity, what would be the next float32 if there were one."""
    return float(value) if np.isfinite(value) else math.copysign(2.0**128, value)


def write_rows(rows: NDArray[np.float32]) -> list[bytes]:
    """Return for each row its numbers in the shortest digits that read back, apart by blanks."""
    if not len(rows):
        return []
    text: bytes = orjson.dumps(
        np.ascontiguousarray(rows, np.float32), option=orjson.OPT_SERIALIZE_NUMPY
    )
    lines = text[2:-2].replace(b",", b" ").split(b"] [")
    for row in np.flatnonzero(~np.isfinite(rows).all(axis=1)).tolist():
        lines[row] = b" ".join(str(value).encode() for value in rows[row])
    return lines
