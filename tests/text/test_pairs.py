"""Files of pairs: what is read, what is left out and named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from w2v_sgns import CorpusError, StreamError
from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.inputs import open_paths
from w2v_sgns.text.pairs import PairTexts, numbered, read_pairs, read_texts

GOOD = b"a b\tc d\nq\td\tn\n"


def read(tmp_path: Path, data: bytes, name: str = "p.tsv") -> PairTexts:
    (tmp_path / name).write_bytes(data)
    return read_pairs(open_paths([tmp_path / name], TextOptions()))


def test_pairs_and_hard_negatives(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)
    assert (found.queries, found.documents) == ([b"a b", b"q"], [b"c d", b"d"])
    assert (found.negatives, found.hard, found.malformed) == ([b"", b"n"], 1, [])
    assert list(found.all_texts()) == [b"a b", b"q", b"c d", b"d", b"n"]


@pytest.mark.parametrize(
    "data",
    [
        GOOD[:-1],  # no line break at the end
        GOOD.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + GOOD,
        b"\n\n" + GOOD + b"\n \n\t\n\t\t\n",
        GOOD.replace(b"c d\n", b"c d\t\n"),  # an empty third column
        GOOD.replace(b"\t", b" \t "),
        GOOD.decode().encode("utf-16"),
    ],
)
def test_the_same_pairs_written_otherwise(tmp_path: Path, data: bytes) -> None:
    expected = read(tmp_path, GOOD)
    assert read(tmp_path, data) == expected


def test_compressed_and_several(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(GOOD))
    (tmp_path / "b.tsv").write_bytes(GOOD + b"only one\n")
    paths = [tmp_path / "a.gz", tmp_path / "b.tsv"]
    found = read_pairs(open_paths(paths, TextOptions()))
    assert len(found) == 4
    assert [(Path(bad.file).name, bad.line) for bad in found.malformed] == [("b.tsv", 3)]


def test_cut_files_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(StreamError):
        read(tmp_path, gzip.compress(GOOD * 100)[:-9])


@pytest.mark.parametrize(
    "line, fault",
    [
        (b"only one field", "1 field, needed: query<TAB>document"),
        (b"a\tb\tc\td", "4 fields"),
        (b"a\tb\tc\t", "4 fields"),
        (b"\tdocument", "the query is empty"),
        (b"query\t", "the document is empty"),
        (b"query\t \tnegative", "the document is empty"),
    ],
)
def test_lines_that_are_no_pairs_are_named(tmp_path: Path, line: bytes, fault: str) -> None:
    found = read(tmp_path, GOOD + line + b"\n" + GOOD)
    assert len(found) == 4
    (bad,) = found.malformed
    assert (bad.file, bad.line) == (str(tmp_path / "p.tsv"), 3)
    assert fault in bad.message
    with pytest.raises(CorpusError, match=rf"p\.tsv: line 1: no line is a pair.*{fault}"):
        read(tmp_path, line)


def test_bytes_that_are_no_text_stay(tmp_path: Path) -> None:
    assert read(tmp_path, b"caf\xe9\td\n").queries == [b"caf\xe9"]


def test_nul_bytes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="NUL"):
        read(tmp_path, b"a\0b\tc\n")


def test_empty_files(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="0 bytes"):
        read(tmp_path, b"")
    with pytest.raises(CorpusError, match="no line is a pair"):
        read(tmp_path, b"\n\n")


def test_single_texts(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes(b"one two\r\n\n \nthree\n")
    (tmp_path / "blank.txt").write_bytes(b"\n \n")
    source = open_paths([tmp_path / "s.txt"], TextOptions())
    assert read_texts(source).queries == [b"one two", b"three"]
    with pytest.raises(CorpusError, match="no line holds a text"):
        read_texts(open_paths([tmp_path / "blank.txt"], TextOptions()))


def test_equal_texts_have_equal_numbers() -> None:
    first, second = numbered([b"a", b"b", b"a"], [b"c", b"b"])
    assert (first.tolist(), second.tolist()) == ([0, 1, 0], [2, 1])
