"""The map as a picture: labels apart, fonts that have the letters, the same file each time."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import small_model
from typer.testing import CliRunner

from w2v_sgns import Vectors
from w2v_sgns.cli.app import app
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.plots import figure as figure_module
from w2v_sgns.plots import fonts as fonts_module
from w2v_sgns.plots.map import build_map
from w2v_sgns.plots.picture import FontWarning, Taken, class_colours, draw_picture

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="needs matplotlib: pip install -e '.[plot]' (.ci/run does)",
)


def drawn_map(words: list[str] | int, seed: int = 0) -> Any:
    words = [f"word{row}" for row in range(words)] if isinstance(words, int) else words
    matrix = np.random.default_rng(seed).standard_normal((len(words), 6)).astype(np.float32)
    return build_map(Vectors(matrix, Vocabulary.from_words(words)))


def test_frequent_words_have_labels_and_no_two_touch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured on the finished figure, not by what the placing believed."""
    boxes: list[Any] = []
    bytes_of = figure_module.figure_bytes

    def measured(figure: Any, kind: str) -> bytes:
        renderer = FigureCanvasAgg(figure).get_renderer()
        (axes,) = figure.axes
        boxes.extend(text.get_window_extent(renderer) for text in axes.texts)
        boxes.append(figure.bbox)
        return bytes_of(figure, kind)

    from matplotlib.backends.backend_agg import FigureCanvasAgg

    monkeypatch.setattr(figure_module, "figure_bytes", measured)
    shown = draw_picture(tmp_path / "map.png", drawn_map(800))
    assert shown[0] == "word0"
    assert 50 < len(shown) < 800
    frame = boxes.pop()
    assert len(boxes) == len(shown)
    for place, one in enumerate(boxes):
        assert frame.x0 <= one.x0 and one.x1 <= frame.x1
        assert not any(one.overlaps(other) for other in boxes[place + 1 :])


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_map_is_the_same_file(suffix: str, tmp_path: Path) -> None:
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    draw_picture(first, drawn_map(60))
    draw_picture(second, drawn_map(60))
    assert first.read_bytes() == second.read_bytes()


def test_words_that_mean_something_to_matplotlib_are_text(tmp_path: Path) -> None:
    words = ["$x_1$", "$", "a$b$c", r"\frac", "%s", "_hidden", "", " ", "x" * 5000, "{}"]
    shown = draw_picture(tmp_path / "map.svg", drawn_map(words))
    assert {"$x_1$", r"\frac", "_hidden"} <= set(shown)
    assert not {"", " "} & set(shown)


def test_a_script_that_no_font_has_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = fonts_module._installed()
    alone = {fonts_module.DEFAULT: installed[fonts_module.DEFAULT]}
    monkeypatch.setattr(fonts_module, "_installed", lambda: dict(alone))
    with pytest.warns(FontWarning, match="letters of: CJK, Hiragana, Thai; boxes stand") as told:
        draw_picture(tmp_path / "map.png", drawn_map(["日本", "の", "ไทย", "слово", "a"]))
    assert len(told) == 1
    draw_picture(tmp_path / "other.png", drawn_map(["слово", "λόγος", "كلمة", "größe"]))


def test_the_font_with_most_of_the_letters_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = {"DejaVu Sans": "ab", "One": "xy", "Two": "xyz", "Three": "q"}
    monkeypatch.setattr(fonts_module, "_installed", lambda: {n: Path(n) for n in letters})
    monkeypatch.setattr(fonts_module, "_look_again", lambda: None)
    monkeypatch.setattr(fonts_module, "_letters", lambda path: set(letters[str(path)]))
    assert fonts_module.fonts_for(["ab"]) == (["DejaVu Sans"], [])
    assert fonts_module.fonts_for(["ax", "yz"]) == (["DejaVu Sans", "Two"], [])
    assert fonts_module.fonts_for(["zq", "w"]) == (["DejaVu Sans", "Two", "Three"], ["Latin"])
    assert fonts_module.fonts_for(["→"]) == (["DejaVu Sans"], ["symbols"])


def test_fonts_installed_since_matplotlib_made_its_list_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from matplotlib import font_manager

    cut = [font for font in font_manager.fontManager.ttflist if font.name != "STIXGeneral"]
    (path, *_) = {
        font.fname for font in font_manager.fontManager.ttflist if font.name == "STIXGeneral"
    }
    monkeypatch.setattr(font_manager.fontManager, "ttflist", cut)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [path, "missing.ttf"])
    assert "STIXGeneral" not in fonts_module._installed()
    fonts_module._look_again()
    assert "STIXGeneral" in {font.name for font in font_manager.fontManager.ttflist}


def test_what_is_no_font_has_no_letters(tmp_path: Path) -> None:
    (tmp_path / "a.ttf").write_bytes(b"nonsense")
    assert fonts_module._letters(tmp_path / "a.ttf") == set()
    assert fonts_module._letters(tmp_path / "missing.ttf") == set()


def test_taken_against_all_pairs() -> None:
    rng = np.random.default_rng(1)
    taken, kept = Taken(), []
    for left, low, wide, high in rng.uniform([0, 0, 1, 1], [200, 200, 90, 40], (300, 4)).tolist():
        box = (left, low, left + wide, low + high)
        free = all(
            box[0] >= b[2] or b[0] >= box[2] or box[1] >= b[3] or b[1] >= box[3] for b in kept
        )
        assert (taken.claim([box], 0, 1000) is not None) == free
        kept += [box] * free
    assert 3 < len(kept) < 200
    assert taken.claim([(-5, 900, 5, 910)], 0, 1000) is None


def test_colours_are_those_of_the_page() -> None:
    colours = class_colours()
    assert len(colours) == len(set(colours)) == 12


@pytest.mark.parametrize("count", [1, 2])
def test_one_and_two_words(count: int, tmp_path: Path) -> None:
    assert draw_picture(tmp_path / "map.png", drawn_map(count)) == ["word0", "word1"][:count]


def test_the_command_draws_pictures_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, out = tmp_path / "m.safetensors", tmp_path / "map.PNG"
    small_model(["a", "b", "c"]).save(file)
    done = CliRunner().invoke(app, ["map", str(out), "-m", str(file)])
    assert (done.exit_code, "3 words" in done.stderr) == (0, True)
    assert out.read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(figure_module, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["map", str(out), "-m", str(file), "--force"])
    assert done.exit_code == 1
    assert done.stderr.endswith("install it: pip install 'w2v-sgns[plot]'\n")
