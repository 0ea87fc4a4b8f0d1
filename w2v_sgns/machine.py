"""What this machine grants the process: processors and memory. Asks the system, changes nothing.

os.cpu_count() counts the processors of the host; a container, a batch job or `taskset` grants
fewer, and only those are used.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["allowed_threads", "available_memory", "human_bytes", "total_memory"]

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
