"""Memory of the matrices: zero, aligned, padded; and the padding is out of sight."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

from w2v_sgns.kernels.matrices import PAD, aligned_matrix, padded, padded_dim


@pytest.mark.parametrize(("dim", "stride"), [(1, 16), (15, 16), (16, 16), (17, 32), (100, 112)])
def test_rows_are_whole_cache_lines(dim: int, stride: int) -> None:
    assert PAD == 16
    assert padded_dim(dim) == stride
    matrix = aligned_matrix(7, dim)
    assert matrix.shape == (7, dim)
    assert matrix.dtype == np.float32
    assert matrix.strides == (4 * stride, 4)
    assert matrix.ctypes.data % 64 == 0
    assert not matrix.any()
    assert matrix.flags.writeable


def test_a_large_matrix_starts_at_a_huge_page() -> None:
    matrix = aligned_matrix(40_000, 100)
    assert matrix.ctypes.data % (2 << 20) == 0
    matrix[-1] = 1
    assert matrix.sum() == 100


def test_padded_is_the_same_memory() -> None:
    matrix = aligned_matrix(3, 5)
    whole = padded(matrix)
    assert whole.shape == (3, 16)
    assert np.shares_memory(whole, matrix)
    whole[2, 4] = 7
    assert matrix[2, 4] == 7
    matrix[:] = 1
    assert whole.sum() == 15
    assert not whole[:, 5:].any()


def test_rows_of_an_aligned_matrix_are_one() -> None:
    matrix = aligned_matrix(8, 20)
    matrix[3:] = 2
    assert padded(matrix[3:]).shape == (5, 32)
    assert (padded(matrix[3:])[:, :20] == 2).all()


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((4, 16), np.float64),
        np.zeros((4, 5), np.float32),
        np.zeros((4, 32), np.float32)[:, 1:17],
        aligned_matrix(4, 16)[:, ::2],
        aligned_matrix(4, 32)[::2],
        aligned_matrix(16, 16).T,
    ],
    ids=["float64", "not padded", "shifted", "every second column", "every second row", "turned"],
)
def test_other_matrices_are_refused(matrix: np.ndarray) -> None:
    with pytest.raises(ValueError, match="aligned_matrix"):
        padded(matrix)


def test_a_view_keeps_the_memory_alive() -> None:
    row = aligned_matrix(2000, 300)[1999]
    gc.collect()
    row[:] = 3
    assert row.sum() == 900


HUGE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.skipif(
    not HUGE.exists() or "[never]" in HUGE.read_text(), reason="needs transparent huge pages"
)
def test_large_matrices_lie_on_huge_pages() -> None:
    """The system may run short of them: one page of eight is enough to tell."""
    matrix = aligned_matrix(1 << 14, 256)  # 16 MiB
    matrix[:] = 1
    assert mapped(matrix.ctypes.data)["AnonHugePages"] >= 2048


def mapped(address: int) -> dict[str, int]:
    """The kernel's figures, in kB, of the mapping that holds an address."""
    inside = False
    figures: dict[str, int] = {}
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, *values = line.split()
        if not name.endswith(":"):
            low, high = (int(part, 16) for part in name.split("-"))
            inside = low <= address < high
        elif inside and values[-1] == "kB":
            figures[name[:-1]] = int(values[0])
    return figures
