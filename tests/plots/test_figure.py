"""Figures become files whole or not at all, and the same drawing the same bytes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from w2v_sgns.errors import ConfigError, OutputError
from w2v_sgns.plots import figure as module
from w2v_sgns.plots.figure import check_figure, drawing, plain

HEADS = {".png": b"\x89PNG", ".svg": b"<?xml"}

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="needs matplotlib: pip install -e '.[plot]' (.ci/run does)",
)


def draw(path: Path, *, force: bool = False, name: str = "x$_1") -> bytes:
    with drawing(path, force=force) as figure:
        axes = figure.subplots()
        axes.plot([1, 2], [3, 1], label=plain("a $_1 b$"))
        axes.set_xlabel(plain(name))
        axes.legend()
    return path.read_bytes()


@needs_matplotlib
@pytest.mark.parametrize("suffix", HEADS)
def test_the_same_drawing_is_the_same_file(suffix: str, tmp_path: Path) -> None:
    first, second = draw(tmp_path / f"a{suffix}"), draw(tmp_path / f"b{suffix.upper()}")
    assert first.startswith(HEADS[suffix])
    assert first == second
    assert draw(tmp_path / f"c{suffix}", name="y") != first
    assert len(list(tmp_path.iterdir())) == 3


@needs_matplotlib
def test_an_old_picture_is_kept_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    old = draw(path)
    with pytest.raises(OutputError, match="exists; use --force"):
        draw(path)
    with pytest.raises(ZeroDivisionError), drawing(path, force=True):
        raise ZeroDivisionError
    assert path.read_bytes() == old
    assert draw(path, force=True, name="other") != old
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.png"]


def test_refusals_come_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OutputError, match=r"must end in \.png or \.svg, not '\.gif'"):
        check_figure(tmp_path / "a.gif")
    with pytest.raises(OutputError, match="does not exist; make it first"):
        check_figure(tmp_path / "missing" / "a.png")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'w2v-sgns\[plot\]'"):
        check_figure(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
