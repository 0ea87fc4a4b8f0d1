"""Temporary files beside their target, and the removal of those whose process is dead.

The name says for which target, and by which process: one that `kill -9` ended in the middle of a
write leaves its file behind, and the next that writes to the same target takes it away.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

__all__ = ["create_beside", "remove_stale"]

PROC = Path("/proc")


def create_beside(target: Path) -> tuple[int, Path]:
    """Create an empty file with a new name; its permissions follow the umask."""
    remove_stale(target)
    who = f"{_home()}-{os.getpid()}-{_began(os.getpid()) or 0}"
    temporary = target.with_name(f"{_prefix(target)}{who}-{os.urandom(4).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.open(temporary, flags, 0o666), temporary


def _prefix(target: Path) -> str:
    return f".w2v-{hashlib.blake2b(os.fsencode(target.name), digest_size=4).hexdigest()}-"


def remove_stale(target: Path) -> None:
    """Remove what dead processes of this machine have left for the target."""
    if _began(os.getpid()) is None:  # a system that does not tell who lives
        return
    for path in target.parent.glob(f"{_prefix(target)}*.tmp"):
        home, _, rest = path.name.removeprefix(_prefix(target)).partition("-")
        process, _, began = rest.partition("-")
        if home == _home() and _began(int(process)) != began.partition("-")[0]:
            path.unlink(missing_ok=True)


def _home() -> str:
    """Return where a process number means something: this start of this machine or container."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text()[:8]
        return boot + os.readlink(PROC / "self/ns/pid").strip("pid:[]")
    except OSError:
        return "0"


def _began(process: int) -> str | None:
    """Return when a process began, in ticks; None if there is none, or the system does not tell."""
    try:
        after_name = (PROC / str(process) / "stat").read_text(errors="replace").rpartition(")")[2]
        return after_name.split()[19]
    except (OSError, IndexError):
        return None
