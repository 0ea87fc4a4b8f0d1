"""Files of vectors that other tools get wrong (tests/cases 23 to 41)."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from w2v_sgns import Vectors
from w2v_sgns.cli.app import app
from w2v_sgns.errors import FormatError, VocabularyError
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


def w2v(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [*map(str, arguments)])


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


@pytest.mark.parametrize(
    ("name", "rows"), [("mid-vector.bin", 2), ("mid-word.bin", 1), ("one-row-short.bin", 2)]
)
def test_25_the_limit_reads_complete_rows(name: str, rows: int) -> None:
    assert f"--limit {rows} would read the complete rows" in fault(25, name)
    assert Vectors.load(case(25, name), limit=rows).matrix.tolist() == ROYALS[:rows]


def test_a_header_of_far_more_rows_gets_no_advice_to_read_noise(tmp_path: Path) -> None:
    body = case(25, "mid-vector.bin").read_bytes().split(b"\n", 1)[1]
    (tmp_path / "v.bin").write_bytes(b"1000000000000 3\n" + body)
    with pytest.raises(FormatError, match=r"of 1,000,000,000,000: .*; the header is damaged, or"):
        Vectors.load(tmp_path / "v.bin")


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
    done = w2v("export", out, "-m", case(33, "w2v.txt"))
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
    done = w2v("similar", "ok", "-m", case(37, "vectors.txt"))
    assert done.exit_code == 0
    assert "nan" not in done.stdout
    assert "warning: " in done.stderr


def test_38_empty_words() -> None:
    loaded = load(case(38, "vectors.txt"))
    assert words(loaded) == ["first", "", " "]
    assert loaded.matrix[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("number", "name", "message"),
    [
        (25, "extra-tail.bin", "21 bytes after the last vector"),
        (27, "vectors.bin", "3 words are not valid UTF-8 (rows 2, 3, 4)"),
        (29, "too-many.txt", "the header promises 5 rows, the file has 4"),
        (35, "vectors.txt", "1 duplicate word (row 3)"),
        (37, "vectors.txt", "3 rows with values that are not finite (rows 2, 3, 4)"),
    ],
)
def test_strict_makes_an_error_of_what_is_odd(
    number: int, name: str, message: str, tmp_path: Path
) -> None:
    done = w2v("export", tmp_path / "out.safetensors", "-m", case(number, name), "--strict")
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stderr.endswith("(--strict)\n")
    assert not list(tmp_path.iterdir())
    assert w2v("export", tmp_path / "out.safetensors", "-m", case(number, name)).exit_code == 0


def test_28_an_empty_set() -> None:
    empty = case(28, "zero.txt")
    info = w2v("info", empty).stdout
    assert "words       0\ndimensions  100\n" in info
    assert "not among the 0 words" in w2v("similar", "king", "-m", empty).stderr


def test_32_no_header_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    raw = case(32, "glove.txt").read_bytes()
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(raw,))
    writer.start()
    assert words(load(tmp_path / "pipe")) == PETS
    writer.join()


@pytest.mark.parametrize("suffix", ["txt", "bin"])
def test_33_blanks_are_replaced_where_asked(suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.{suffix}"
    done = w2v("export", out, "-m", case(33, "w2v.txt"), "--space-replacement", "_")
    assert done.exit_code == 0
    assert "w2v: blanks become _ in 2 words\n" in done.stderr
    again = load(out)
    assert words(again) == ["new_york", "3_14", "plain"]
    assert np.array_equal(again.matrix, load(case(33, "w2v.txt")).matrix)


def test_40_unknown_counts_are_unknown() -> None:
    assert load(case(40, "vectors.txt")).vocabulary.counts is None


def test_40_counts_of_a_vocabulary_file(tmp_path: Path) -> None:
    vectors = Vectors.load(case(40, "vectors.txt"), read_vocab=case(40, "vocab.txt"))
    assert list(vectors.vocabulary) == ["the", "cat", "hat"]
    assert vectors.vocabulary.counts.tolist() == [100, 7, 5]
    out = tmp_path / "out.safetensors"
    options = ["-m", case(40, "vectors.txt"), "--read-vocab", case(40, "vocab.txt")]
    assert w2v("export", out, *options).exit_code == 0
    assert load(out).vocabulary == vectors.vocabulary


def test_40_a_bad_vocabulary_file_names_every_line(tmp_path: Path) -> None:
    options = ["-m", case(40, "vectors.txt"), "--read-vocab", case(40, "vocab-bad.txt")]
    done = w2v("export", tmp_path / "out.safetensors", *options)
    assert done.exit_code == 1
    assert "line 2: 'cat' has no count; line 3: the count 'five' is no whole number" in done.stderr
    assert not list(tmp_path.iterdir())


def test_40_words_that_only_one_side_has(tmp_path: Path) -> None:
    (tmp_path / "vocab").write_text("</s> 0\nthe 100\ncat 7\nhat 5\nextra 3\n")
    vectors = case(40, "vectors.txt")
    with pytest.warns(FormatWarning, match="1 word of .*vocab without a vector: 'extra'"):
        assert len(Vectors.load(vectors, read_vocab=tmp_path / "vocab")) == 3
    (tmp_path / "vocab").write_text("the 100\ncat 7\n")
    with pytest.raises(VocabularyError, match="no count for 1 word of the vectors: 'hat'"):
        Vectors.load(vectors, read_vocab=tmp_path / "vocab")
    some = Vectors.load(vectors, words=["the", "cat"], read_vocab=tmp_path / "vocab")
    assert some.vocabulary.counts.tolist() == [100, 7]


def test_41_packed_files() -> None:
    for name in ("vectors.txt.gz", "gz-named.txt", "vectors.zip"):
        assert words(load(case(41, name))) == PETS
    message = fault(41, "cut.txt.gz")
    assert "gzip data ended early, at byte 63" in message
    assert message.endswith("3 rows were read before")
