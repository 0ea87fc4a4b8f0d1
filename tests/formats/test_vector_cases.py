"""Files of vectors that other tools get wrong (tests/cases 23 to 41)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from w2v_sgns import Vectors
from w2v_sgns.cli.app import app
from w2v_sgns.errors import FormatError
from w2v_sgns.formats import FormatWarning, load
from w2v_sgns.formats.rows import Loaded

CASES = Path(__file__).resolve().parents[1] / "cases"
ROYALS = [[0.5, 0.25, -1], [0.5, -0.25, 1], [8, 0, -0.125]]
PETS = ["cat", "dog", "fox", "owl"]


def case(number: int, name: str) -> Path:
    (folder,) = CASES.glob(f"{number}-*")
    return folder / name


def words(loaded: Loaded) -> list[str]:
    return list(loaded.vocabulary)


def fault(number: int, name: str) -> str:
    with pytest.raises(FormatError) as caught:
        load(case(number, name))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (23, "vectors.bin"),
        (24, "vectors.bin"),
        (24, "mixed.bin"),
        (24, "crlf-header.bin"),
        (41, "vectors.bin.gz"),
    ],
)
def test_line_ends_in_a_binary_do_not_matter(number: int, name: str) -> None:
    loaded = load(case(number, name))
    assert words(loaded) == ["king", "queen", "été"]
    assert loaded.matrix.tolist() == ROYALS
    assert loaded.notes == ()


def test_our_writer_emits_the_layout_of_case_23(tmp_path: Path) -> None:
    Vectors.load(case(24, "vectors.bin")).save(tmp_path / "out.bin")
    assert (tmp_path / "out.bin").read_bytes() == case(23, "vectors.bin").read_bytes()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "mid-vector.bin",
            r"byte 40: .*row 3 of 3: word b'\xc3\xa9t\xc3\xa9', 7 bytes.*needed: 12",
        ),
        ("mid-word.bin", "byte 21: .*row 2 of 3: word so far b'que', needed: .*--limit 1"),
        ("one-row-short.bin", "byte 40: .*row 3 of 3: word so far b''.*--limit 2"),
        ("float64.bin", "look like 8-byte floats"),
    ],
)
def test_25_a_cut_binary(name: str, message: str) -> None:
    import re

    assert re.search(message.replace("\\x", "\\\\x"), fault(25, name))


def test_25_the_limit_reads_complete_rows() -> None:
    vectors = Vectors.load(case(25, "mid-vector.bin"), limit=2)
    assert vectors.matrix.tolist() == ROYALS[:2]


def test_25_an_extra_tail_is_told() -> None:
    with pytest.warns(FormatWarning, match="21 bytes after the last vector"):
        vectors = Vectors.load(case(25, "extra-tail.bin"))
    assert vectors.matrix.tolist() == ROYALS


def test_27_broken_letters_are_kept(tmp_path: Path) -> None:
    loaded = load(case(27, "vectors.bin"))
    assert len(loaded.vocabulary) == 3
    assert "3 words are not valid UTF-8 (rows 2, 3, 4)" in loaded.notes[0]
    assert loaded.notes[1].startswith("1 duplicate word (row 3)")
    with pytest.warns(FormatWarning):
        Vectors.load(case(27, "vectors.bin")).save(tmp_path / "out.bin")
    again = load(tmp_path / "out.bin")
    assert list(again.vocabulary.iter_bytes()) == list(loaded.vocabulary.iter_bytes())
    assert words(load(case(27, "vectors.txt"))) == ["ok", "caf\udce9"]


def test_28_headers_that_lie() -> None:
    assert "3,603,000,000,000 bytes; the file has 36" in fault(28, "vectors.bin")
    assert "at least 808,914,409,860 bytes; the file has 27" in fault(28, "vectors.txt")
    for name in ("negative.txt", "dim0.txt"):
        assert "byte 0: bad header" in fault(28, name)
    assert load(case(28, "zero.txt")).matrix.shape == (0, 100)


@pytest.mark.parametrize(("name", "promised"), [("too-many.txt", 5), ("too-few.txt", 2)])
def test_29_a_header_of_other_rows(name: str, promised: int) -> None:
    loaded = load(case(29, name))
    assert words(loaded) == PETS
    rows = f"the header promises {promised} rows, the file has 4; all 4 are read"
    assert loaded.notes == (rows,)
    assert len(Vectors.load(case(29, name), limit=2)) == 2


def test_32_no_header() -> None:
    with_header, without = load(case(32, "word2vec.txt")), load(case(32, "glove.txt"))
    assert words(with_header) == words(without) == PETS
    assert np.array_equal(with_header.matrix, without.matrix)
    one = load(case(32, "one-dim.txt"))
    assert (words(one), one.matrix.tolist()) == (["7", "8"], [[0.5], [0.25]])
    assert words(load(case(32, "numeric-first.txt"))) == ["2004", "cat"]


def test_33_words_with_blanks() -> None:
    assert words(load(case(33, "glove.txt"))) == ["the", ". . .", "at name@host.example", "R$ 0,00"]
    assert words(load(case(33, "w2v.txt"))) == ["new york", "3 14", "plain"]
    first = load(case(33, "first-line.txt"))
    assert (words(first), first.matrix.shape) == ([". . .", "the", "of"], (3, 4))


@pytest.mark.parametrize("suffix", ["txt", "bin"])
def test_33_words_with_blanks_are_not_written(suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.{suffix}"
    done = CliRunner().invoke(app, ["export", str(out), "-m", str(case(33, "w2v.txt"))])
    assert done.exit_code == 1
    assert "2 words with a blank cannot be written" in done.stderr
    assert "'new york', '3 14'" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.bin"])
def test_35_the_first_of_two_stays(name: str) -> None:
    loaded = load(case(35, name))
    assert words(loaded) == PETS
    assert loaded.matrix.tolist() == [[1, 0], [0, 1], [0.5, 0.5], [0.25, 0.75]]
    assert loaded.notes == ("1 duplicate word (row 3); the first row of each word is kept",)


def test_37_not_finite_and_zero() -> None:
    loaded = load(case(37, "vectors.txt"))
    assert "3 rows with values that are not finite (rows 2, 3, 4)" in loaded.notes[0]
    assert loaded.notes[1].startswith("1 zero row (row 5)")
    assert "100 % of all" in load(case(37, "allzero.txt")).notes[0]
    done = CliRunner().invoke(app, ["similar", "ok", "-m", str(case(37, "vectors.txt"))])
    assert done.exit_code == 0
    assert "nan" not in done.stdout
    assert "warning: " in done.stderr


def test_38_empty_words() -> None:
    loaded = load(case(38, "vectors.txt"))
    assert words(loaded) == ["first", "", " "]
    assert loaded.matrix[0].tolist() == [1, 2, 3]


def test_40_unknown_counts_are_unknown() -> None:
    assert load(case(40, "vectors.txt")).vocabulary.counts is None


def test_41_packed_files() -> None:
    for name in ("vectors.txt.gz", "gz-named.txt", "vectors.zip"):
        assert words(load(case(41, name))) == PETS
    assert "gzip data ended early, at byte 63" in fault(41, "cut.txt.gz")
