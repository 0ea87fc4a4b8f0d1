"""Encodings, marks, invalid bytes, blanks, lower case, words of raw prose, long tokens."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_corpus import lines_of, words_of

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus import invalid, normalize
from w2v_sgns.errors import ConfigError, CorpusError

CASES = Path(__file__).resolve().parents[1] / "cases"
PROSE = "Der Fluß fließt\nцарь и король\n日本 語\n"


def test_07_marks(load) -> None:
    corpus = load(CASES / "07-bom-crlf" / "corpus.txt")
    assert words_of(corpus) == [(b"bear", 20), (b"wolf", 20)]
    middle = load(CASES / "07-bom-crlf" / "bom-middle.txt")
    marked = "\ufeffwolf"
    assert marked in middle.vocabulary
    assert middle.stats.marked_word == marked
    assert middle.stats.marked_tokens == dict(words_of(middle))[marked.encode()]


def test_08_invalid_bytes_are_counted(load) -> None:
    stats = load(CASES / "08-invalid-utf8" / "corpus.txt").stats
    assert (stats.invalid_tokens, stats.invalid_types) == (15, 3)
    assert stats.invalid_place == "line 1"
    with pytest.raises(CorpusError, match=r"line 1, byte 3: e9 is not valid utf-8.*--encoding"):
        load(CASES / "08-invalid-utf8" / "corpus.txt", text=TextOptions(encoding_errors="strict"))
    latin = load(CASES / "08-invalid-utf8" / "corpus.txt", text=TextOptions(encoding="latin-1"))
    assert latin.stats.invalid_tokens == 0
    assert "café" in latin.vocabulary


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block_bytes", [5, 64, None])
def test_the_first_invalid_line(load, tmp_path: Path, threads: int, block_bytes) -> None:
    lines = [b"fine words"] * 40
    lines[17] = b"\r\v bad\xff one"
    lines[30] = b"bad\xff \xfe"
    corpus = load(b"\n\n".join(lines), threads=threads, block_bytes=block_bytes)
    assert corpus.stats.invalid_place == "line 35"
    assert (corpus.stats.invalid_tokens, corpus.stats.invalid_types) == (3, 2)
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"\n".join(lines if name == "b" else lines[:10]))
    two = load([tmp_path / "a", tmp_path / "b"], threads=threads, block_bytes=block_bytes)
    assert two.stats.invalid_place == f"line 18 of {tmp_path / 'b'}"


@given(
    st.lists(
        st.sampled_from(
            [0x41, 0x80, 0xBF, 0xC1, 0xC3, 0xE0, 0xA0, 0xED, 0xF0, 0x90, 0xF4, 0x8F, 0xF5, 0xE2]
        ),
        max_size=6,
    )
    | st.binary(max_size=6)
)
def test_what_is_utf8(raw: bytes | list[int]) -> None:
    import numpy as np

    raw = bytes(raw)
    try:
        raw.decode()
        valid = True
    except UnicodeDecodeError:
        valid = False
    data = np.frombuffer(raw, np.uint8)
    assert invalid.next_invalid(data, np.array([0, len(raw)]), 0) == (-1 if valid else 0)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@pytest.mark.parametrize("block_bytes", [3, None])
def test_marks_tell_the_encoding(load, mark: bytes, encoding: str, block_bytes) -> None:
    plain = load(PROSE.encode())
    raw = PROSE.encode(encoding)
    marked = load(mark + raw, block_bytes=block_bytes)
    assert words_of(marked) == words_of(plain)
    assert marked.stats.fingerprint == plain.stats.fingerprint
    named = load(mark + raw, text=TextOptions(encoding=encoding))
    assert words_of(named) == words_of(plain)
    if encoding != "utf-8":
        with pytest.raises(CorpusError, match=r"byte \d+ of the text is a NUL; .*--encoding"):
            load(raw)


def test_other_encodings(load) -> None:
    for encoding in ("cp1251", "koi8-r"):
        text = load("царь и король\n".encode(encoding), text=TextOptions(encoding=encoding))
        assert "король" in text.vocabulary
    # 0x81 is no letter of cp1252: kept as a byte and counted, or refused
    odd = load(b"caf\xe9 a\x81b\n", text=TextOptions(encoding="cp1252"))
    assert odd.stats.invalid_tokens == 1
    assert b"a\x81b" in odd.vocabulary
    with pytest.raises(CorpusError, match="line 2, byte 8: 81 is not valid cp1252"):
        load(b"caf\xe9 b\nc\x81 a", text=TextOptions(encoding="cp1252", encoding_errors="strict"))
    with pytest.raises(ConfigError, match="--encoding knows no 'nonsense'"):
        TextOptions(encoding="nonsense")
    with pytest.raises(ConfigError, match="--encoding knows no 'hex'"):
        TextOptions(encoding="hex")


def test_strict_finds_a_character_cut_at_the_end(load) -> None:
    with pytest.raises(CorpusError, match="byte 7: c3 is not valid utf-8"):
        load(b"abc\nabc\xc3", text=TextOptions(encoding_errors="strict"), block_bytes=3)
    load("a é\n".encode(), text=TextOptions(encoding_errors="strict"), block_bytes=3)


def test_nul_bytes_are_refused(load) -> None:
    with pytest.raises(CorpusError, match="byte 3 of the text is a NUL; that is no text"):
        load(b"a b\0c d", block_bytes=2)


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        ("grün blau\n".encode("utf-16-le") * 9, "utf-16-le or utf-16-be"),
        ("grün blau\n".encode("utf-16-be") * 9, "utf-16-le or utf-16-be"),
        ("grün blau\n".encode("utf-32-le") * 9, "utf-32-le or utf-32-be"),
        ("grün blau\n".encode("utf-32-be") * 9, "utf-32-le or utf-32-be"),
        (b"a b c\n" * 300_000 + b"a\0b\n", "that is no text"),
        (b"name.txt".ljust(257, b"\0") + b"ustar\x0000", "a tar archive"),
        (gzip.compress(b"a b c\n"), "compressed twice"),
        (b"PAR1\x15\0\x15", "--column"),
        (b"%PDF-1.7 \0\n", "a PDF"),
    ],
)
def test_what_a_file_with_nuls_may_be(load, data: bytes, advice: str) -> None:
    with pytest.raises(CorpusError, match=rf"of the (text|content) is a NUL; .*{advice}"):
        load(gzip.compress(data))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "idna"])
def test_codecs_that_give_no_place(load, encoding: str) -> None:
    """Text without the mark that these need, or no text at all, is an error of ours."""
    with pytest.raises(CorpusError, match=r"corpus.txt: line 1.*give the right --encoding"):
        load("straße á\n".encode("utf-16-le"), text=TextOptions(encoding=encoding))


def test_10_unicode_blanks(load) -> None:
    path = CASES / "10-unicode-whitespace" / "corpus.txt"
    corpus = load(path, text=TextOptions(split="unicode"))
    counts = dict(words_of(corpus))
    assert corpus.stats.lines == 23
    assert (counts[b"left"], counts[b"right"], counts[b"plain"], counts[b"alone"]) == (
        18,
        18,
        21,
        1,
    )
    assert counts["left\u200bright".encode()] == 3
    assert "\u00a0" not in corpus.vocabulary


def test_every_unicode_blank_and_no_other() -> None:
    import sys
    import unicodedata

    for code in range(0x80, sys.maxunicode + 1):
        letter = chr(code)
        if 0xD800 <= code < 0xE000:
            continue
        blank = code == 0x85 or unicodedata.category(letter) in ("Zs", "Zl", "Zp")
        if blank or code < 0x3100:
            split = normalize.blank_unicode_spaces(f"a{letter}b".encode())
            assert (split == b"a b") == blank, hex(code)


def test_11_long_tokens_are_dropped_whole(load) -> None:
    corpus = load(CASES / "11-long-tokens" / "corpus.txt", text=TextOptions(max_token_bytes=219))
    assert sorted(len(word) for word, _ in words_of(corpus)) == [5, 219]
    assert corpus.stats.long_tokens > 0
    text = b"aaaa b\nc aaaa\naaaa\nd e\n"
    short = load(text, text=TextOptions(max_token_bytes=3), block_bytes=4)
    assert lines_of(short) == [[b"b"], [b"c"], [b"d", b"e"]]
    assert (short.stats.long_tokens, short.stats.tokens_read) == (3, 4)


def test_lower_case(load) -> None:
    corpus = load(
        "Straße ÉTÉ Aé\nétÉ strasse caf\udce9\n".encode("utf-8", "surrogateescape"),
        text=TextOptions(lowercase=True),
    )
    assert dict(words_of(corpus))["été".encode()] == 2
    assert b"caf\xe9" in corpus.vocabulary
    assert "aé" in corpus.vocabulary


@pytest.mark.parametrize("block_bytes", [9, None])
def test_words_of_raw_prose(load, block_bytes) -> None:
    text = "“Don’t stop,” she said—well-known  rock'n'roll_star... 'quoted' -x- 3.14\n\nहिन्दी É!\n"
    corpus = load(text.encode(), text=TextOptions(tokenizer="words"), block_bytes=block_bytes)
    lines = [[word.decode() for word in line] for line in lines_of(corpus)]
    assert lines == [
        [
            "don't",
            "stop",
            "she",
            "said",
            "well-known",
            "rock'n'roll",
            "star",
            "quoted",
            "x",
            "3",
            "14",
        ],
        ["हिन्दी", "é"],
    ]
    assert corpus.stats.lines == 3
