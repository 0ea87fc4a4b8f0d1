"""The text of a corpus in blocks, whatever it lies in: files, pipes, columns, Python lists.

A block ends right behind a separator byte or at the end of its file, so that no token straddles
two of them, however long the token. Nothing here splits, counts or decides what a path means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.openers import File, Opener, Remote, is_remote
from w2v_sgns.corpus.text import utf8_pieces

__all__ = [
    "LINE_BREAK",
    "READY_SEPARATORS",
    "SEPARATORS",
    "Block",
    "Member",
    "Source",
    "TextMember",
]

LINE_BREAK = b"\n"  # the one byte that ends a line
SEPARATORS = b" \t\r\v\f" + LINE_BREAK  # the bytes that end a token; all others belong to words
READY_SEPARATORS = b"\0" + LINE_BREAK  # the same in ready-made lines: their words may hold blanks
_FIRST_LOOK = 4096  # bytes searched for the last separator before the whole block is


class Block(NamedTuple):
    """A part of one file's text, as UTF-8."""

    data: bytes
    file: int  # its place in the source's names
    offset: int  # bytes of that file's text ahead of it
    ready: bool = False  # words are told apart by NUL, not by blanks


class Member(Protocol):
    """One file of a corpus, or what stands for one."""

    name: str  # for messages
    label: str  # for the provenance: relative, nothing of this machine
    ready: bool  # see Block; known once the first piece has come
    once: bool  # it can be read only once
    ends_line: bool  # its last line does not go on elsewhere

    @property
    def size(self) -> int | None:
        """Bytes on disk; None where only reading tells."""

    @property
    def position(self) -> int:
        """Bytes on disk read so far."""

    def pieces(self, piece_bytes: int) -> Iterator[bytes]:
        """Yield the text in pieces of about this size, cut anywhere."""


class TextMember:
    """A file of text behind an opener."""

    ready = False
    ends_line = True

    def __init__(self, opener: Opener, text: TextOptions) -> None:
        self.opener, self.text = opener, text
        self.name, self.label, self.once = opener.name, opener.label, opener.once

    @property
    def size(self) -> int | None:
        """Bytes on disk; None where only reading tells."""
        return self.opener.size

    @property
    def position(self) -> int:
        """Bytes on disk read so far."""
        return self.opener.position

    def pieces(self, piece_bytes: int) -> Iterator[bytes]:
        """Yield the text as UTF-8."""
        with self.opener.open() as stream:
            yield from utf8_pieces(stream, self.text, name=self.name, piece_bytes=piece_bytes)


class Source:
    """All members of a corpus, in order.

    Attributes:
        members: what is read.
        text: how its bytes become words.
    """

    def __init__(self, members: Sequence[Member], text: TextOptions) -> None:
        self.members = tuple(members)
        self.text = text
        self._done = 0  # bytes of the members that have been read to their end
        self._current: Member | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What the members are called in messages."""
        return tuple(member.name for member in self.members)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the members are called in a model's provenance."""
        return tuple(member.label for member in self.members)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The plain files among the members."""
        openers = (getattr(member, "opener", None) for member in self.members)
        return tuple(opener.path for opener in openers if isinstance(opener, File))

    @property
    def arguments(self) -> list[str] | None:
        """What names the members once more, as it was given; None where nothing can.

        An address that holds a key or a query is not repeated.
        """
        openers = [getattr(member, "opener", None) for member in self.members]
        if not all(isinstance(opener, (File, Remote)) for opener in openers):
            return None
        names = [str(o.path) if isinstance(o, File) else o.address for o in openers if o]
        return None if any(is_remote(n) and ("@" in n or "?" in n) for n in names) else names

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes on disk of every member; 0 for one that has not told yet."""
        return tuple(member.size or 0 for member in self.members)

    @property
    def size(self) -> int:
        """Bytes on disk, all together; 0 where that is not known before the end."""
        known = [member.size for member in self.members]
        return 0 if None in known else sum(size or 0 for size in known)

    @property
    def position(self) -> int:
        """Bytes on disk read so far, for progress."""
        return self._done + (self._current.position if self._current is not None else 0)

    def blocks(self, block_bytes: int) -> Iterator[Block]:
        """Yield the text, about `block_bytes` at a time.

        A block is longer than `block_bytes` where one token is. Every member has at least one
        block; an empty member's is empty.

        Raises:
            CorpusError: a member cannot be read, or is no text in its encoding.
            StreamError: a compressed member is damaged or cut short.
        """
        self._done = 0
        for number, member in enumerate(self.members):
            self._current = member
            offset = 0
            for data in _cut(member, block_bytes):
                yield Block(data, number, offset, member.ready)
                offset += len(data)
            if not offset:
                yield Block(b"", number, 0, member.ready)
            self._done += member.size or member.position
            self._current = None


def _cut(member: Member, block_bytes: int) -> Iterator[bytes]:
    """Yield the member's pieces, cut anew: each right behind a separator."""
    parts: list[bytes] = []  # text after the last separator seen: the start of a token
    for data in member.pieces(block_bytes):
        cut = _after_last(READY_SEPARATORS if member.ready else SEPARATORS, data)
        if cut:
            yield b"".join((*parts, memoryview(data)[:cut])) if parts else data[:cut]
            parts.clear()
        if cut < len(data):
            parts.append(data[cut:])
    if parts:
        yield b"".join(parts)


def _after_last(separators: Iterable[int], data: bytes) -> int:
    """Return the position behind the last separator byte of `data`, 0 if there is none."""
    start = max(0, len(data) - _FIRST_LOOK)
    while True:
        last = max(data.rfind(separator, start) for separator in separators)
        if last >= 0 or start == 0:
            return last + 1
        start = 0
