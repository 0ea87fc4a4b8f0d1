"""Which installed fonts have the letters of some words, and whose letters none has.

matplotlib's own font has Latin, Greek, Cyrillic, Arabic and more; other scripts need a font of the
system. Needs matplotlib (extra: plot).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

__all__ = ["fonts_for"]

DEFAULT = "DejaVu Sans"  # comes with matplotlib
PLACEHOLDERS = "Last Resort"  # a font of boxes, which comes with matplotlib too


def fonts_for(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return families that together have as many of the letters as can be had, and what lacks.

    Args:
        words: texts to draw.

    Returns:
        Families in the order to ask them; names of the scripts of letters that no font has.
    """
    installed = _installed()
    families = [DEFAULT]
    missing = set("".join(words)) - _letters(installed[DEFAULT])
    if not missing:
        return families, []
    _look_again()
    able = {name: _letters(path) for name, path in _installed().items()}
    while missing and able:
        best = max(able, key=lambda name: len(able[name] & missing))  # the first of equals
        if not able[best] & missing:
            break
        families.append(best)
        missing -= able[best]
    return families, sorted(set(map(_script, missing)))


def _installed() -> dict[str, Path]:
    """Return a file for each upright family of normal weight, by name."""
    from matplotlib.font_manager import fontManager

    fonts = sorted(fontManager.ttflist, key=lambda font: (font.name, font.fname))
    upright = [font for font in fonts if font.style == "normal" and font.weight in (400, "normal")]
    named = {font.name: Path(font.fname) for font in reversed(upright)}
    return {name: named[name] for name in sorted(named) if not name.startswith(PLACEHOLDERS)}


def _look_again() -> None:
    """Add the fonts installed since matplotlib made its list, which it keeps in a file."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    known = {font.fname for font in fontManager.ttflist}
    for path in sorted(set(findSystemFonts()) - known):
        with suppress(OSError, RuntimeError):  # no font that can be read: as if it were not there
            fontManager.addfont(path)


def _letters(path: Path) -> set[str]:
    """Return the letters a font has; none for a file that cannot be read as a font."""
    from matplotlib.ft2font import FT2Font

    try:
        return set(map(chr, FT2Font(str(path)).get_charmap()))
    except (OSError, RuntimeError):  # removed since the list was made, or a format of bitmaps
        return set()


def _script(letter: str) -> str:
    """Return the name of a letter's script, as Unicode names letters: CJK, Hiragana, Thai."""
    if unicodedata.category(letter)[0] not in "LM":
        return "symbols"
    first = unicodedata.name(letter, "unknown").split()[0]
    return first if first == "CJK" else first.capitalize()
