"""The lines of a file of questions, numbered; what they mean is files.py's and folders.py's."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.text import utf8_pieces
from w2v_sgns.errors import CorpusError, FormatError
from w2v_sgns.formats.sniff import is_known, looks_like

__all__ = ["Lines", "read_lines"]

MOST_BYTES = 1 << 30  # a larger file is no list of questions
PIECE_BYTES = 1 << 20
HEAD_BYTES = 512  # looked at, to say what a useless file is


@dataclass(frozen=True)
class Lines:
    """A file's lines that are neither blank nor a comment.

    Attributes:
        path: the file.
        head: its first bytes.
        numbered: the lines without the blanks around them, with their numbers from 1.
        is_text: False where there are NUL bytes or it is a known kind of other file, such as HTML;
            then the lines mean nothing.
    """

    path: Path
    head: bytes
    numbered: list[tuple[int, str]]
    is_text: bool

    def looks_like(self) -> str:
        """Return a few words on what the file seems to be."""
        seen = looks_like(self.head)
        if self.is_text and self.numbered and seen.startswith("text ("):
            return f"its first line is {self.numbered[0][1]!a:.60}"
        return f"looks like {seen}"


def read_lines(path: Path) -> Lines:
    """Read a file, or a pipe, to its end.

    The text is UTF-8, or what a byte order mark says; bytes that are neither stay what they are.

    Raises:
        FormatError: missing, unreadable or much too large, or a byte order mark lies.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from error
    if len(raw) > MOST_BYTES:
        raise FormatError(f"{path}: too large for a file of questions")
    try:
        pieces = utf8_pieces(BytesIO(raw), TextOptions(), name=str(path), piece_bytes=PIECE_BYTES)
        text = b"".join(pieces).decode("utf-8", "surrogateescape")
    except CorpusError as error:
        raise FormatError(
            f"{path}: begins with the byte order mark of UTF-16 or UTF-32, but is no such text"
        ) from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    numbered = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
    numbered = [(number, line) for number, line in numbered if line and line[0] != "#"]
    head = raw[:HEAD_BYTES]
    return Lines(path, head, numbered, "\0" not in text and not is_known(head))
