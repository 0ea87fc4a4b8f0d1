"""What the user names as a corpus: files, folders, patterns, pipes, addresses, Python lists.

Makes one :class:`~w2v_sgns.corpus.source.Source` of it, its files in sorted order within each
argument. Reads no text.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.columns import column_member
from w2v_sgns.corpus.openers import STDIN, File, is_remote, opener_for, relative_label
from w2v_sgns.corpus.sentences import Sentences
from w2v_sgns.corpus.source import Member, Source, TextMember
from w2v_sgns.errors import CorpusError

__all__ = ["open_paths", "open_source"]


def open_source(corpus: Any, text: TextOptions | None = None) -> Source:
    """Return the source of whatever a caller of the library gives.

    Args:
        corpus: a path (str or Path; a folder, a pattern, `-` and an address too), several of
            them in a list, or an iterable of lines, each a list of str or int.
        text: how the bytes of files become words.

    Raises:
        CorpusError: a path leads to nothing that can be read.
        TypeError: text instead of a path, or nothing that could be a corpus.
    """
    text = text or TextOptions()
    if isinstance(corpus, Source):
        return corpus
    if isinstance(corpus, (str, Path)):
        _refuse_text(corpus)
        return open_paths([corpus], text)
    if isinstance(corpus, (list, tuple)) and corpus and _are_paths(corpus):
        return open_paths(corpus, text)
    if isinstance(corpus, bytes) or not isinstance(corpus, Iterable):
        raise TypeError(
            f"a corpus is a path, several paths, or an iterable of lists of words, "
            f"not {type(corpus).__name__}"
        )
    return Source([Sentences(corpus)], text)


def open_paths(paths: Iterable[Path | str], text: TextOptions) -> Source:
    """Return the source of files, folders, patterns, `-` and addresses.

    Raises:
        CorpusError: a path leads to nothing, all files are empty, or one is given twice.
    """
    members = [member for path in paths for member in _members(path, text)]
    _refuse_twins(members)
    if members and all(member.size == 0 for member in members):
        if len(members) == 1:
            reason = f"{members[0].name}: the file is empty (0 bytes)"
        else:
            names = ", ".join(member.name for member in members[:3])
            reason = f"{names}: all {len(members):,} files are empty (0 bytes)"
        raise CorpusError(f"{reason}; there is no text in it")
    return Source(members, text)


def _are_paths(items: list[Any] | tuple[Any, ...]) -> bool:
    """Tell whether a list means files: Path objects, or strings that all name something there."""
    if all(isinstance(item, Path) for item in items):
        return True
    return all(isinstance(item, (str, Path)) and _leads_somewhere(str(item)) for item in items)


def _leads_somewhere(path: str) -> bool:
    try:
        return path == STDIN or is_remote(path) or os.path.exists(path) or bool(glob.glob(path))
    except ValueError:  # a NUL
        return False


def _refuse_text(corpus: str | Path) -> None:
    """Refuse a string that is text and no path."""
    if not isinstance(corpus, str) or _leads_somewhere(corpus):
        return
    if not corpus or any(letter.isspace() for letter in corpus):
        shown = corpus if len(corpus) <= 40 else corpus[:39] + "…"
        raise TypeError(
            f"{shown!r} names no file, and a string of text is no corpus; pass the path of a file "
            "that exists, or lists of words: [line.split() for line in text.splitlines()]"
        )


def _members(path: Path | str, text: TextOptions) -> Iterator[Member]:
    """Yield what one argument stands for."""
    if isinstance(path, str) and (path == STDIN or is_remote(path)):
        yield _member(path, text)
    elif os.path.isdir(path):
        yield from _of_folder(Path(path), text)
    elif not os.path.exists(path) and glob.has_magic(str(path)):
        yield from _of_pattern(str(path), text)
    else:
        yield _member(path, text)


def _member(path: Path | str, text: TextOptions, label: str | None = None) -> Member:
    opener = opener_for(path, label=label)
    if text.text_field is not None or text.column is not None:
        return column_member(opener, text)
    return TextMember(opener, text)


def _of_folder(folder: Path, text: TextOptions) -> Iterator[Member]:
    """Yield a folder's files in sorted order; hidden ones are passed over."""
    paths = sorted(_walk(folder, recursive=text.recursive), key=os.fsencode)
    if not paths:
        inner = any(entry.is_dir() for entry in folder.iterdir()) and not text.recursive
        advice = "; --recursive reads the folders in it" if inner else ""
        raise CorpusError(f"{folder}: the folder holds no file to read{advice}")
    base = relative_label(folder)
    for path in paths:
        inside = path.relative_to(folder).as_posix()
        yield _member(path, text, inside if base == "." else f"{base}/{inside}")


def _walk(folder: Path, *, recursive: bool) -> Iterator[Path]:
    for place, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if recursive and not name.startswith(".")]
        for name in files:
            path = Path(place, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _raise(error: OSError) -> None:
    raise CorpusError(f"{error.filename}: cannot be read ({error.strerror})") from error


def _of_pattern(pattern: str, text: TextOptions) -> Iterator[Member]:
    """Yield the files that match, in sorted order; folders that match are passed over."""
    matches = sorted(_matches(pattern), key=os.fsencode)
    files = [path for path in matches if not os.path.isdir(path)]
    if not files:
        found = f"matches {len(matches):,} folders and no file" if matches else "matches no file"
        raise CorpusError(f"{pattern}: the pattern {found}; the current folder is {Path.cwd()}")
    for path in files:
        yield _member(path, text)


def _matches(pattern: str) -> list[str]:
    """Return what a pattern matches; ** looks into no linked folder, which might be a loop."""
    parts = Path(pattern).parts
    if "**" not in parts:
        return glob.glob(pattern)
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    base = Path(*parts[:first])
    found = base.glob(os.path.join(*parts[first:]))
    return [str(path) for path in found if not _is_hidden(path.relative_to(base))]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _refuse_twins(members: list[Member]) -> None:
    """Refuse a file that is there twice: its text would count double."""
    seen: set[str] = set()
    for member in members:
        opener = getattr(member, "opener", None)
        key = os.path.realpath(opener.path) if isinstance(opener, File) else member.name
        if key in seen:
            raise CorpusError(f"{member.name}: is given twice; name every file once")
        seen.add(key)
