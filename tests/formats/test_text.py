"""Vectors as text: exact numbers, odd lines, errors with row and byte."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2v_sgns.errors import FormatError, ResourceError
from w2v_sgns.formats import FormatWarning, load, load_vectors, rows
from w2v_sgns.formats.digits import read_rows, write_rows
from w2v_sgns.formats.rows import Loaded, Selection

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
FINITE_BITS = st.integers(0, 0x7F7FFFF0)  # the largest has no neighbour


def loaded(folder: Path, raw: bytes, selection: Selection | None = None) -> Loaded:
    (folder / "v.txt").write_bytes(raw)
    return load(folder / "v.txt", selection or Selection())


def read(text: str) -> np.float32:
    out = np.empty((1, 1), np.float32)
    read_rows([text.encode()], out)
    return out[0, 0]


def nearest_slowly(exact: Fraction) -> np.float32:
    """The float32 nearest to a fraction, ties to the even one, by looking at the neighbours."""
    start = np.float32(float(exact))
    near = [np.nextafter(start, np.float32(s)) for s in (-np.inf, np.inf)] + [start]
    near = [value for value in near if np.isfinite(value)]
    return min(near, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(np.int32)) & 1))


@settings(deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=20))
def test_what_is_written_reads_back_to_the_bit(values: list[float]) -> None:
    row = np.array([values], np.float32)
    out = np.empty_like(row)
    read_rows(write_rows(row), out)
    assert out.tobytes() == row.tobytes()


@settings(deadline=None)
@given(FINITE_BITS, st.integers(-3, 3))
def test_decimals_near_a_halfway_point_round_to_the_nearest(bits: int, off: int) -> None:
    low = np.array([bits], np.int32).view(np.float32)[0]
    high = np.nextafter(low, np.float32(np.inf))
    middle = (Fraction(float(low)) + Fraction(float(high))) / 2
    exact = middle + Fraction(off, 10**180)
    digits = 190
    text = f"{exact.numerator * 10**digits // exact.denominator:0{digits + 1}d}"
    text = f"{text[:-digits]}.{text[-digits:]}"
    assert read(text) == nearest_slowly(Fraction(text))


SPELLINGS = {
    "+1": 1,
    ".5": 0.5,
    "5.": 5,
    "-.5": -0.5,
    "1e5": 1e5,
    "1E-2": 0.01,
    "007": 7,
    "1e400": np.inf,
    "-1e39": -np.inf,
    "INF": np.inf,
    "1e-60": 0,
    "16777217": 16777216,
    "3.4028235e38": 3.4028235e38,
    "340282356779733661637539395458142568447": 3.4028235e38,
    "340282356779733661637539395458142568448": np.inf,
}


@pytest.mark.parametrize(("text", "value"), SPELLINGS.items())
def test_spellings_of_numbers(text: str, value: float) -> None:
    assert read(text) == np.float32(value)


def test_minus_zero_stays() -> None:
    assert np.signbit(read("-0.0"))


@pytest.mark.parametrize("text", ["0,5", "1_0", "0x1", "one", "1]", "[1", "1,2", "--1", "1e", "e"])
def test_what_is_no_number_is_named(text: str, tmp_path: Path) -> None:
    raw = f"2 2\nking 1 2\nqueen 3 {text}\n".encode()
    with pytest.raises(FormatError, match=r"byte 13: row 2 \(b'queen'\): b'.*' is no number"):
        loaded(tmp_path, raw)


@pytest.mark.parametrize("line", [b"queen 1", b"queen", b"<<<<<<< HEAD"])
def test_a_row_too_short_is_named(line: bytes, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"byte 9: row 2.*(needed: 2|no number)"):
        loaded(tmp_path, b"king 1 2\n" + line + b"\nfox 1 2\ndog 1 2\n")


@pytest.mark.parametrize(
    "raw",
    [
        b"2 2\nking 1 2\nnew york 3 4\n",
        b"2 2\r\nking 1 2\r\nnew york 3 4\r\n",
        b"2 2 \nking 1 2 \nnew york 3 4 \n",
        b"2\t2\nking\t1\t2\nnew york\t3\t4",
        b"king  1  2\nnew york 3  4\n",
        b"\xef\xbb\xbfking 1 2\nnew york 3 4\n",
        b"\xef\xbb\xbf2 2\nking 1 2\nnew york 3 4\n",
    ],
)
def test_blanks_and_marks(raw: bytes, tmp_path: Path) -> None:
    found = loaded(tmp_path, raw)
    assert list(found.vocabulary) == ["king", "new york"]
    assert found.matrix.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("word", ["\u00a0", "a\u00a0b", "\u3000x", "x" * 5000, "\x85", "1", "\x01"])
def test_words_other_programs_strip(word: str, tmp_path: Path) -> None:
    for header in ("2 2\n", ""):
        raw = f"{header}{word} 1 2\nking 3 4\n".encode()
        assert list(loaded(tmp_path, raw).vocabulary) == [word, "king"]


def test_a_word_over_one_mebibyte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="row 2: a word of 1,048,577 bytes"):
        loaded(tmp_path, b"king 1 2\n" + b"x" * (1 << 20) + b"y 1 2\n")


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("w2v_sgns.formats.text.MOST_LINE", 3 << 20)
    with pytest.raises(FormatError, match="a line of more than 3,145,728 bytes"):
        loaded(tmp_path, b"king 1 2\nqueen" + b" 1" * (2 << 20))


def test_blank_lines_are_told(tmp_path: Path) -> None:
    found = loaded(tmp_path, b"king 1 2\n\n\nqueen 3 4\n")
    assert list(found.vocabulary) == ["king", "queen"]
    assert "2 blank lines" in found.notes[0]


def test_some_rows(tmp_path: Path) -> None:
    raw = b"4 1\na 1\nb 2\nc 3\nd 4\n"
    some = loaded(tmp_path, raw, Selection(3, frozenset([b"d", b"c", b"a"])))
    assert (list(some.vocabulary), some.matrix.tolist()) == (["a", "c"], [[1], [3]])
    assert some.notes == ()


def test_many_blocks(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).standard_normal((30_000, 16)).astype(np.float32)
    lines = [b"w%d " % i + line for i, line in enumerate(write_rows(rows))]
    raw = b"\n".join(lines)
    found = loaded(tmp_path, raw)
    assert len(raw) > 4 << 20
    assert np.array_equal(found.matrix, rows)
    assert found.vocabulary.word(29_999) == "w29999"


def test_the_library_warns(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(b"a 1 2\na 1 2\n")
    with pytest.warns(FormatWarning, match=r"v\.txt: 1 duplicate word \(row 2\)"):
        assert len(load_vectors(tmp_path / "v.txt")) == 1


def test_a_row_with_one_number_too_many_is_told(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("4 2\nking 1 2 3\nqueen 1 2\n7  1  2\nnew york 1 2\n")
    found = load(tmp_path / "v")
    assert list(found.vocabulary) == ["king 1", "queen", "7", "new york"]
    (note,) = found.notes
    assert note.startswith(
        "1 word ends with a number behind a blank (row 1): a row with one number"
    )


def test_a_header_of_many_digits_is_a_header(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("99999999999999999999 2\nking 1 2\nqueen 1 2\n")
    with pytest.raises(FormatError, match=r"byte 0: bad header: 99,999,999,999,999,999,999 rows"):
        load(tmp_path / "v")


def test_lines_that_end_like_those_of_old_macs(tmp_path: Path) -> None:
    (tmp_path / "v").write_bytes(b"2 2\rking 1 2\rqueen 3 4\r")
    with pytest.raises(FormatError, match=r"is text \('2 2.*with \\r alone for line ends; use tr"):
        load(tmp_path / "v")


@pytest.mark.parametrize("free", [0, rows.SPARE_BYTES + rows.STEP_BYTES - 1])
def test_reading_stops_before_the_memory_is_used_up(
    free: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bomb: 60 MB of rows, 100 kB packed; and a plain file, refused at once."""
    line = b"king" + b" 0.5" * 300 + b"\n"
    (tmp_path / "v").write_bytes(gzip.compress(line * 50_000, 1))
    assert len(load(tmp_path / "v", keep=False).vocabulary) == 1
    monkeypatch.setattr(rows, "available_memory", lambda: free)
    with pytest.raises(
        ResourceError, match=r"v: needs 33\.6 MB more of memory after 2\d,\d{3} rows"
    ):
        load(tmp_path / "v")
    (tmp_path / "v").write_bytes(b"50000 300\n" + line * 50_000)
    monkeypatch.setattr(rows, "available_memory", lambda: 60_000_000)
    with pytest.raises(ResourceError, match=r"needs 60 MB more of memory after 0 rows, 60 MB are"):
        load(tmp_path / "v")


@pytest.mark.parametrize("gap", [b"  ", b" \t", b"\x0b ", b" \x0c"])
def test_a_gap_that_hides_a_missing_number(gap: bytes, tmp_path: Path) -> None:
    """As many blanks as there should be, one number fewer."""
    (tmp_path / "v").write_bytes(b"2 3\nking 1 2 3\nqueen" + gap + b"1 2\n")
    with pytest.raises(FormatError, match=r"byte 15: row 2"):
        load(tmp_path / "v")
