"""What may happen to text before it is split: Unicode's blanks, lower case, words of raw prose.

A block of UTF-8 in, a block of UTF-8 out; line ends stay, so lines keep their numbers. Bytes that
are no UTF-8 pass through. Holds the GIL, except for plain ASCII that is only lower-cased.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from w2v_sgns.config import TextOptions

__all__ = ["normalizer"]

WORD, JOINER, LINE = 1, 2, 3  # kinds of letters; 0: none that is kept
TYPOGRAPHIC_APOSTROPHE = 0x2019

# Zs, Zl, Zp and U+0085 beyond ASCII. U+200B is no blank to Unicode, nor are U+001C to U+001F.
_SPACES = re.compile(
    rb"\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
)


def normalizer(text: TextOptions) -> Callable[[bytes], bytes] | None:
    """Return what must be done to each block of text; None: nothing."""
    if text.tokenizer == "words":
        return words_only
    steps: list[Callable[[bytes], bytes]] = []
    if text.split == "unicode":
        steps.append(blank_unicode_spaces)
    if text.lowercase:
        steps.append(lower_case)
    if len(steps) < 2:
        return steps[0] if steps else None
    return lambda block: steps[1](steps[0](block))


def blank_unicode_spaces(block: bytes) -> bytes:
    """Put an ASCII blank in the place of every other Unicode blank."""
    return block if block.isascii() else _SPACES.sub(b" ", block)


def lower_case(block: bytes) -> bytes:
    """Lower-case by Unicode's rules; a blank stays a blank."""
    if block.isascii():
        return block.lower()
    return _encoded(_decoded(block).lower())


def words_only(block: bytes) -> bytes:
    """Lower-case and keep runs of letters, marks and digits, with ' and - inside them."""
    text = _decoded(block).lower()
    letters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).copy()
    letters[letters == TYPOGRAPHIC_APOSTROPHE] = ord("'")
    kinds = _kinds()[letters]
    padded = np.concatenate(([0], kinds == WORD, [0])).astype(bool)
    inner = (kinds == JOINER) & padded[:-2] & padded[2:]
    letters[~(padded[1:-1] | inner | (kinds == LINE))] = ord(" ")
    return _encoded(letters.tobytes().decode("utf-32-le", "surrogatepass"))


@cache
def _kinds() -> npt.NDArray[np.uint8]:
    """Return what each code point is; undecodable bytes and joiners of letters are as letters."""
    kinds = np.zeros(sys.maxunicode + 1, np.uint8)
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] in "LMN":
            kinds[code] = WORD
    kinds[[0x200C, 0x200D]] = kinds[0xDC80:0xDD00] = WORD
    kinds[[ord("'"), ord("-")]] = JOINER
    kinds[ord("\n")] = LINE
    return kinds


def _decoded(block: bytes) -> str:
    return block.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
