"""Python lists as a corpus: lines of words that are ready, strings or whole numbers.

Words are taken as they are and may hold blanks. The lines are read once, so a generator will do.
This module does not split text.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from w2v_sgns.errors import CorpusError

__all__ = ["Sentences", "line_bytes"]

LINES_AT_ONCE = 1 << 12


class Sentences:
    """An iterable of lines; a line is an iterable of str, bytes or int.

    Attributes:
        once: it is a generator or another iterator: nothing is left of it afterwards.
    """

    ready = ends_line = True

    def __init__(self, lines: Iterable[Any]) -> None:
        self.lines = lines
        self.once = iter(lines) is lines
        self.name = "the generator" if self.once else "the sentences"
        self.label = "generator" if self.once else "sentences"
        self.size: int | None = None
        self.position = 0

    def pieces(self, piece_bytes: int) -> Iterator[bytes]:
        """Yield lines of words with NUL between them.

        Raises:
            CorpusError, TypeError: a line or a word is of no use; the message has its number.
        """
        self.position = 0
        waiting: list[bytes] = []
        waiting_bytes = 0
        for number, line in enumerate(self.lines, 1):
            waiting.append(line_bytes(line, f"{self.name}: line {number:,}"))
            waiting_bytes += len(waiting[-1])
            if waiting_bytes >= piece_bytes or len(waiting) >= LINES_AT_ONCE:
                yield self._taken(waiting)
                waiting_bytes = 0
        if waiting:
            yield self._taken(waiting)
        self.size = self.position

    def _taken(self, waiting: list[bytes]) -> bytes:
        data = b"".join(waiting)
        waiting.clear()
        self.position += len(data)
        return data


def line_bytes(line: Any, place: str) -> bytes:
    """Return a line's words as bytes, NUL between them and a line end behind the last.

    Raises:
        TypeError: the line is a string, or no iterable, or a word is of another type.
        CorpusError: a word holds a NUL, a line end or a lone surrogate.
    """
    if isinstance(line, (str, bytes)):
        raise TypeError(
            f"{place} is a string, {_shown(line)}; a line is a list of words: pass line.split(), "
            "or the path of a text file"
        )
    try:
        if isinstance(line, Mapping):  # its keys are hardly meant
            raise TypeError
        words = line if isinstance(line, (list, tuple)) else list(line)
    except TypeError:
        raise TypeError(
            f"{place} is {_shown(line)} of type {type(line).__name__}; a line is a list of words"
        ) from None
    try:
        text = "\0".join(words)
    except TypeError:
        words = [_word(word, place) for word in words]
        text = "\0".join(words)
    if text.count("\0") != max(0, len(words) - 1) or "\n" in text:
        odd = next(word for word in words if "\0" in word or "\n" in word)
        raise CorpusError(
            f"{place}: the word {_shown(odd)} holds a line end or a NUL; split or clean it first"
        )
    try:
        return text.encode("utf-8", "surrogateescape") + b"\n"
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{place} holds the lone surrogate {text[error.start]!a}, which no bytes stand for"
        ) from None


def _word(word: Any, place: str) -> str:
    if isinstance(word, str):
        return word
    if isinstance(word, bytes):
        return word.decode("utf-8", "surrogateescape")
    if not isinstance(word, bool):
        try:
            return str(operator.index(word))
        except TypeError:
            pass
    raise TypeError(
        f"{place}: the word {_shown(word)} is of type {type(word).__name__}; "
        "words are strings or whole numbers"
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
