"""The memory of a GPU: refused with figures before anything is copied, texts in pieces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from w2v_sgns.config import TrainConfig
from w2v_sgns.errors import ResourceError
from w2v_sgns.kernels.cuda.shape import shape_for
from w2v_sgns.training.cuda.needs import Needs, needs_of
from w2v_sgns.training.cuda.work import work_for
from w2v_sgns.training.devices import Device

GPU = Device(name="Some GPU", capability=(9, 0), multiprocessors=132, free=0, total=1e11)


def needs(**changed: int) -> Needs:
    settings = {"words": 1_000_000, "floats": 304, "tokens": 10**9, "view": 1 << 20, "scratch": 9}
    return needs_of(shifted=False, **(settings | changed))


def test_the_matrices_are_counted_padded() -> None:
    assert needs().matrices == 2 * 4 * 1_000_000 * 304
    assert needs(scratch=1000).least == needs(scratch=0).least + 1000
    assert needs().text == 4 * 10**9


def test_a_text_that_fits_stays_on_the_device() -> None:
    wanted = needs()
    resident = wanted.least - wanted.slots + wanted.text
    assert wanted.check(replace(GPU, free=resident))
    assert not wanted.check(replace(GPU, free=resident - 1))


def test_matrices_that_do_not_fit_are_refused_with_the_figures() -> None:
    wanted = needs()
    assert not wanted.check(replace(GPU, free=wanted.least))
    with pytest.raises(ResourceError) as told:
        wanted.check(replace(GPU, free=wanted.least - 1))
    assert "1,000,000 words" in str(told.value)
    assert "need 2.43 GB" in str(told.value)
    assert "of Some GPU's memory are free" in str(told.value)


def test_frozen_rows_are_counted() -> None:
    wanted = needs()
    for outputs in (False, True):
        values = 4 * 304 * (1 + outputs)
        assert wanted.with_frozen(7, outputs=outputs).least == wanted.least + 7 * (values + 8)


@pytest.mark.parametrize("noise", ["window", "batch"])
def test_a_line_has_half_the_contexts_of_as_wide_a_window(noise: str) -> None:
    config = TrainConfig(shared_noise=noise)
    given = {"words": 10_000, "floats": 112, "tokens": 10**6, "window": 1000, "streams": 5}
    wide, line = (work_for(config, **given, line=line, vectors=True) for line in (False, True))
    assert 0.4 * wide.bytes < line.bytes < 0.6 * wide.bytes


@pytest.mark.parametrize(
    ("floats", "negatives", "window", "tiles"),
    [(16, 1, 1, 1), (128, 5, 5, 1), (128, 15, 10, 2), (304, 5, 5, 1), (16384, 1000, 1000, 1001)],
)
def test_every_shape_covers_its_row_and_outputs(
    floats: int, negatives: int, window: int, tiles: int
) -> None:
    shape = shape_for(floats, negatives, 2 * window)
    assert 32 * shape.held >= floats > 32 * (shape.held - shape.width)
    assert shape.tiles == tiles
    assert shape.tiles * shape.tile >= negatives + 1 > (shape.tiles - 1) * shape.tile
    assert shape.tile <= 8
    assert (shape.scratch > 0) == (tiles > 1)
    assert 4 * 4 * shape.shared <= 48 << 10  # a block of four warps
