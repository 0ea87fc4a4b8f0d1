"""Text for a terminal: nothing in a word can move the cursor, and columns line up."""

from __future__ import annotations

import io
import json
import sys

import pytest

from w2v_sgns.cli.output import align, shorten, shown, width, write_json


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("größe 日本 ' \\", "größe 日本 ' \\"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc\rd\x7f", r"a\nb\tc\rd\x7f"),
        ("left\u202eright\u2066", r"left\u202eright\u2066"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("no\u00a0break", r"no\u00a0break"),
        ("no\udca0break", r"no\xa0break"),
        ("line\u2028end\x85", r"line\u2028end\u0085"),
        ("caf\udce9", r"caf\xe9"),
        ("\ud800", r"\ud800"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("", ""),
    ],
)
def test_what_could_harm_a_terminal_is_escaped(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("größe", 5), ("日本", 4), ("e\u0301", 1), ("", 0), ("ｶ", 1)]
)
def test_width(text: str, columns: int) -> None:
    assert width(text) == columns


def test_shorten() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"
    assert shorten("日本日本", 6) == "日本…"
    assert width(shorten("日" * 100, 7)) <= 7


def test_columns_line_up() -> None:
    lines = align([("日本", "0.5"), ("a", "-0.25"), ("größe", "1")], right=[1])
    assert lines == ["日本     0.5", "a      -0.25", "größe      1"]
    assert len({width(line) for line in lines}) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_json_fits_any_stdout(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    document = {"größe": ["日本", "caf\udce9", "\x1b", "\u202e"]}
    write_json(document)
    sys.stdout.flush()
    text = raw.getvalue().decode(encoding)
    assert json.loads(text) == document
    assert ("日本" in text) == (encoding == "utf-8")
    assert "\x1b" not in text
