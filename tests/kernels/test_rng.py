"""Counter-based random numbers: the published generator, and no bias where bits are scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from naive import nth_draw, splitmix

from w2v_sgns.kernels import rng
from w2v_sgns.kernels.compile import compiled

pytestmark = pytest.mark.interpreted

# The first outputs of splitmix64 for seed 0, as published with it.
PUBLISHED = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC)


@compiled
def parts(state: Any, count: Any) -> Any:
    bits = rng.mix(state)
    return bits, rng.high(bits), rng.low(bits), rng.below(rng.low(bits), count)


def parts_of(state: int, count: int) -> tuple[int, ...]:
    with np.errstate(over="ignore"):
        return tuple(int(part) for part in parts(np.uint64(state), np.uint64(count)))


def test_it_is_splitmix64() -> None:
    assert tuple(nth_draw(0, n) for n in range(4)) == PUBLISHED
    step = int(rng.STEP)
    assert tuple(parts_of((n + 1) * step % 2**64, 1)[0] for n in range(4)) == PUBLISHED


@pytest.mark.parametrize("state", [0, 1, 2**63, 2**64 - 1, 0x123456789ABCDEF0])
@pytest.mark.parametrize("count", [1, 5, 1000, 2**31])
def test_parts_are_the_twins(state: int, count: int) -> None:
    bits = splitmix(state)
    low = bits % 2**32
    assert parts_of(state, count) == (bits, bits // 2**32, low, low * count // 2**32)


def test_below_reaches_every_number() -> None:
    seen = np.bincount([parts_of(n, 7)[3] for n in range(7000)], minlength=7)
    assert len(seen) == 7
    assert (abs(seen - 1000) < 6 * np.sqrt(1000 * 6 / 7)).all(), seen
