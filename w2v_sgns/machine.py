"""What this machine grants the process: processors and memory, and BLAS one of them.

os.cpu_count() counts the processors of the host; a container, a batch job or `taskset` grants
fewer, and only those are used.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

__all__ = [
    "allowed_threads",
    "available_memory",
    "human_bytes",
    "single_threaded_blas",
    "total_memory",
]

CGROUP = Path("/sys/fs/cgroup")
MEMINFO = Path("/proc/meminfo")


def allowed_threads() -> int:
    """Return the processors this process may use: its affinity, cut by the cgroup's quota."""
    if hasattr(os, "sched_getaffinity"):
        granted = len(os.sched_getaffinity(0))
    else:
        granted = os.cpu_count() or 1
    return max(1, min(granted, _quota() or granted))


def total_memory() -> int:
    """Return the bytes of memory there are, or that the cgroup allows if that is less."""
    return min(_meminfo("MemTotal") or _pages("SC_PHYS_PAGES"), _cgroup_limit())


def available_memory() -> int:
    """Return the bytes that can be taken now without swapping."""
    free = _meminfo("MemAvailable") or _pages("SC_AVPHYS_PAGES")
    used = _number(CGROUP / "memory.current") or _number(CGROUP / "memory/memory.usage_in_bytes")
    cache = _cgroup_cache()
    return max(0, min(free, _cgroup_limit() - max(0, (used or 0) - cache)))


def human_bytes(count: float) -> str:
    """Return a size for people: 823 B, 61.4 MB, 2.40 GB (powers of 1,000)."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def _quota() -> int | None:
    """Return the whole processors of the cgroup's quota (version 2, else 1), rounded up."""
    try:
        quota, period = (CGROUP / "cpu.max").read_text().split()
    except (OSError, ValueError):
        quota = str(_number(CGROUP / "cpu/cpu.cfs_quota_us") or "max")
        period = str(_number(CGROUP / "cpu/cpu.cfs_period_us") or 100_000)
    if not quota.isdigit() or not int(quota):
        return None
    return -(-int(quota) // int(period))


def _cgroup_limit() -> int:
    limit = _number(CGROUP / "memory.max") or _number(CGROUP / "memory/memory.limit_in_bytes")
    return limit or 2**62


def _cgroup_cache() -> int:
    """Return the file cache charged to the cgroup: it gives way when memory is asked for."""
    try:
        rows = (CGROUP / "memory.stat").read_text().split()
        return int(rows[rows.index("inactive_file") + 1])
    except (OSError, ValueError):
        return 0


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no such limit here, or the word "max"
        return None


def _meminfo(name: str) -> int:
    try:
        rows = MEMINFO.read_text().split()
        return int(rows[rows.index(name + ":") + 1]) * 1024
    except (OSError, ValueError):
        return 0


def _pages(name: str) -> int:
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**62  # unknown: the check of needs cannot refuse


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep NumPy's OpenBLAS to the calling thread, for callers that bring their own threads.

    Its threads wait busily for each other: where other programs run too, small products take
    twenty times as long. Another BLAS (Accelerate, MKL) is left as it is.
    """
    found = _openblas()
    before = found[0]() if found else 0
    if found:
        found[1](1)
    try:
        yield
    finally:
        if found:
            found[1](before)


@cache
def _openblas() -> tuple[Any, Any] | None:
    """Return the functions that get and set the threads of the OpenBLAS in NumPy's wheel."""
    import numpy

    package = Path(numpy.__file__).parent
    folders = (package.parent / "numpy.libs", package / ".dylibs")
    for path in (path for folder in folders for path in folder.glob("lib*openblas*")):
        with suppress(OSError, AttributeError):  # no such library or name: another build of NumPy
            library = ctypes.CDLL(str(path))  # loaded already: this is a handle of it
            names = ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_")
            get, set_ = (getattr(library, name) for name in names)
            return get, set_
    return None
