"""Files that appear whole or not at all: a temporary file beside the target, then a rename.

A reader never sees half a file, and a failed write leaves the old one. What is written is the
caller's business; so is the moment to ask whether it could be written.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from w2v_sgns.errors import OutputError
from w2v_sgns.formats.temporary import create_beside

__all__ = ["SUFFIXES", "Inputs", "check_writable", "replacing", "replacing_all"]

SUFFIXES = (".safetensors", ".bin", ".txt", ".vec")  # a model, or its vectors only


Inputs = Iterable[Path | str | None]  # files, or folders of which a file is read; None: no file


def check_writable(
    path: Path | str,
    *,
    force: bool = False,
    suffixes: tuple[str, ...] | None = SUFFIXES,
    inputs: Inputs = (),
) -> Path:
    """Return the file that would be written (links followed), or say why it cannot be.

    Meant to be asked before hours of work. A file is really created beside the target and
    removed again: permission bits do not tell the truth about root or read-only mounts.

    Raises:
        OutputError: wrong suffix, missing or unwritable folder, a directory, a file that is
            read (one of `inputs`, whatever `force` says), or an existing one without `force`.
    """
    path = Path(path)
    if suffixes is not None and path.suffix.lower() not in suffixes:
        raise OutputError(
            f"{path}: the output must end in {' or '.join(suffixes)}, not {path.suffix!r}; "
            f"try {path.with_suffix(suffixes[0]) if path.name else 'model' + suffixes[0]}"
        )
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist; make it first")
    _check_apart(path, target, inputs)
    _check_existing(path, target, force)
    try:
        descriptor, probe = create_beside(target)
        os.close(descriptor)
        probe.unlink()
    except OSError as error:
        raise OutputError(
            f"{path}: the folder {path.parent} takes no files ({error.strerror}); choose another"
        ) from error
    return target


@contextmanager
def replacing(
    path: Path | str,
    *,
    force: bool = False,
    suffixes: tuple[str, ...] | None = SUFFIXES,
    inputs: Inputs = (),
) -> Iterator[BinaryIO]:
    """Give a stream whose bytes become the file when the block ends without an exception.

    Raises:
        OutputError: the place is refused (see :func:`check_writable`), or writing fails; then
            the temporary file is gone and an old file is as it was.
    """
    with replacing_all([path], force=force, suffixes=suffixes, inputs=inputs) as (stream,):
        yield stream


@contextmanager
def replacing_all(
    paths: Sequence[Path | str],
    *,
    force: bool = False,
    suffixes: tuple[str, ...] | None = None,
    inputs: Inputs = (),
) -> Iterator[list[BinaryIO]]:
    """Give streams for files that belong together: all of them are replaced, or none.

    Raises:
        OutputError: as :func:`replacing`.
    """
    inputs = list(inputs)
    targets = [
        check_writable(path, force=force, suffixes=suffixes, inputs=inputs) for path in paths
    ]
    shown = " and ".join(map(str, paths))
    try:
        with ExitStack() as cleaning:
            streams, temporaries = [], []
            for target in targets:
                descriptor, temporary = create_beside(target)
                cleaning.callback(temporary.unlink, missing_ok=True)
                temporaries.append(temporary)
                streams.append(cleaning.enter_context(os.fdopen(descriptor, "wb")))
            yield cast(list[BinaryIO], streams)
            for stream in streams:
                stream.flush()
                os.fsync(stream.fileno())
                stream.close()
            for path, temporary, target in zip(paths, temporaries, targets, strict=True):
                if not force:  # another program may have written it meanwhile
                    _claim(Path(path), target, temporary)
                os.replace(temporary, target)
    except OSError as error:
        raise OutputError(
            f"{shown}: cannot be written: {error.strerror or error}; nothing was changed there"
        ) from error


def _check_apart(path: Path, target: Path, inputs: Inputs) -> None:
    """Refuse to write over what is read, under any of its names; of a folder, any file in it."""
    for name in inputs:
        if name is None or not os.path.exists(target):
            continue
        read = Path(os.path.realpath(name))
        inside = read.is_dir() and target.is_relative_to(read)
        if inside or (read.exists() and os.path.samefile(target, read)):
            other = "" if str(name) == str(path) else f", {name}"
            raise OutputError(
                f"{path}: the output would replace an input{other}; choose another name"
            )


def _check_existing(path: Path, target: Path, force: bool) -> None:
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return
    except OSError as error:  # a name too long, a loop of links
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise OutputError(f"{path}: is a directory; name a file in it")
    if not stat.S_ISREG(mode):
        raise OutputError(f"{path}: is no regular file and would be replaced by one")
    if not force:
        raise OutputError(f"{path}: exists; use --force to replace it, or another name")


def _claim(path: Path, target: Path, temporary: Path) -> None:
    """Make the name ours, or refuse: no other program can do so at the same time."""
    with suppress(FileExistsError):
        try:
            os.link(temporary, target)  # the renaming that follows only takes the other name away
            return
        except OSError as error:
            if error.errno == errno.EEXIST:
                raise
            if not os.path.lexists(target):
                return  # a file system without links: looked at, though not at one stroke
    raise OutputError(f"{path}: exists; use --force to replace it, or another name")
