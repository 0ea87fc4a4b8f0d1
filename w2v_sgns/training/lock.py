"""One run for one file: who begins to write where another run writes is told so at once.

The system's own locks on a file beside: they end with the process, however it ends. Where the
system or the place has none, nothing is locked.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from w2v_sgns.errors import OutputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["sole_writer"]


@contextmanager
def sole_writer(paths: Iterable[Path | str | None]) -> Iterator[None]:
    """Keep other runs from these files as long as the context lasts; None: no file.

    Raises:
        OutputError: another run has one of them.
    """
    targets = {os.path.realpath(path): path for path in paths if path is not None}
    with ExitStack() as held:
        for target, path in targets.items():
            held.enter_context(_locked(Path(target), path))
        yield


@contextmanager
def _locked(target: Path, shown: Path | str) -> Iterator[None]:
    name = hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()
    lock = target.with_name(f".w2v-{name}.lock")
    descriptor = _taken(lock)
    if descriptor is None:
        raise OutputError(
            f"{shown}: another run{_who(lock)} is writing it; wait until it has ended, or choose "
            "another name with -o"
        )
    try:
        yield
    finally:
        if descriptor >= 0:
            with suppress(OSError):
                lock.unlink()
            os.close(descriptor)


def _taken(lock: Path) -> int | None:
    """Lock the file; return its descriptor, −1 where nothing can be locked, None if another has."""
    if fcntl is None:
        return -1
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # no such folder, or not writable: that is told by who writes there
            return -1
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:  # a file system without locks
            os.close(descriptor)
            with suppress(OSError):
                lock.unlink()
            return -1
        if _is_there(lock, descriptor):
            with suppress(OSError):  # a full disk: locked all the same, by nobody knows whom
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode())
            return descriptor
        os.close(descriptor)  # its owner has removed it since: a new one


def _is_there(lock: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(lock), os.fstat(descriptor))
    except OSError:
        return False


def _who(lock: Path) -> str:
    """Return which process has it, as far as it can be told."""
    with suppress(OSError, ValueError):
        return f" (process {int(lock.read_text())})"
    return ""
