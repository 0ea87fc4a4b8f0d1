"""What the process may use: affinity, quotas and limits of both cgroup versions, fake files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from w2v_sgns import machine
from w2v_sgns.machine import allowed_threads, available_memory, human_bytes, total_memory

GB = 1 << 30


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 8 processors, 64 GB of memory, 40 of them free, and an empty cgroup folder."""
    monkeypatch.setattr(machine, "CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    rows = f"MemTotal: {64 << 20} kB\nMemFree: 1 kB\nMemAvailable: {40 << 20} kB\n"
    (tmp_path / "meminfo").write_text(rows)
    (tmp_path / "cgroup").mkdir()
    return tmp_path / "cgroup"


def write(folder: Path, **files: object) -> None:
    """Write files; a double underscore in a name is a dot, a leading folder a_ is a/."""
    for name, content in files.items():
        path = folder / name.replace("___", "/").replace("__", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{content}\n")


def test_affinity_counts(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert allowed_threads() == 8
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5})
    assert allowed_threads() == 2


def test_a_platform_without_affinity(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert allowed_threads() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert allowed_threads() == 1


@pytest.mark.parametrize(
    ("quota", "threads"),
    [
        ("max 100000", 8),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("50000 100000", 1),
        ("5000000 100000", 8),
        ("nonsense", 8),
        ("", 8),
    ],
)
def test_the_quota_of_cgroup_2(fake: Path, quota: str, threads: int) -> None:
    write(fake, cpu__max=quota)
    assert allowed_threads() == threads


@pytest.mark.parametrize(("quota", "threads"), [(-1, 8), (300_000, 3), (1_000, 1)])
def test_the_quota_of_cgroup_1(fake: Path, quota: int, threads: int) -> None:
    write(fake, cpu___cpu__cfs_quota_us=quota, cpu___cpu__cfs_period_us=100_000)
    assert allowed_threads() == threads


def test_memory_of_the_machine(fake: Path) -> None:
    assert total_memory() == 64 * GB
    assert available_memory() == 40 * GB


def test_memory_of_cgroup_2(fake: Path) -> None:
    write(fake, memory__max=8 * GB, memory__current=5 * GB)
    assert total_memory() == 8 * GB
    assert available_memory() == 3 * GB
    write(fake, memory__stat=f"anon 1\ninactive_file {2 * GB}\nfile 3")
    assert available_memory() == 5 * GB, "the file cache gives way"
    write(fake, memory__current=9 * GB)
    assert available_memory() == GB
    write(fake, memory__current=20 * GB)
    assert available_memory() == 0


def test_memory_without_a_limit(fake: Path) -> None:
    write(fake, memory__max="max", memory__current=5 * GB)
    assert total_memory() == 64 * GB
    assert available_memory() == 40 * GB


def test_memory_of_cgroup_1(fake: Path) -> None:
    write(
        fake,
        memory___memory__limit_in_bytes=10 * GB,
        memory___memory__usage_in_bytes=4 * GB,
    )
    assert total_memory() == 10 * GB
    assert available_memory() == 6 * GB


def test_memory_without_proc(fake: Path) -> None:
    machine.MEMINFO.unlink()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert total_memory() == pages
    assert 0 < available_memory() <= pages


def test_this_machine() -> None:
    assert 1 <= allowed_threads() <= (os.cpu_count() or 1)
    assert 0 < available_memory() <= total_memory() < 1 << 50


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs processor affinity")
def test_a_pinned_process_has_one_thread() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from w2v_sgns.machine import allowed_threads; print(allowed_threads())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "1\n", done.stderr


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (823, "823 B"),
        (61_440_000, "61.4 MB"),
        (2_400_000_000, "2.4 GB"),
        (3.5e12, "3.5 TB"),
        (1.2e16, "1.2e+04 TB"),
    ],
)
def test_human_bytes(count: float, text: str) -> None:
    assert human_bytes(count) == text
