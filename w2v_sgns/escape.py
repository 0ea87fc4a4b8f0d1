"""Text made harmless for the eye: nothing invisible, nothing that turns what follows around."""

from __future__ import annotations

__all__ = ["shown"]

JOINERS = "\u200c\u200d"  # invisible, but Persian and Indic words are spelled with them


def shown(text: str) -> str:
    r"""Return the text with controls, bidi marks, odd blanks and broken bytes escaped (`\x1b`)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in JOINERS else _escape(c) for c in text)


def _escape(letter: str) -> str:
    if "\udc80" <= letter <= "\udcff":  # a byte that was no UTF-8
        return f"\\x{ord(letter) - 0xDC00:02x}"
    if "\x80" <= letter <= "\xff":  # told apart from such a byte
        return f"\\u{ord(letter):04x}"
    return letter.encode("unicode_escape").decode()
