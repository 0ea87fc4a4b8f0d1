"""word2vec binary: rows that cross blocks, long words, memory, damage."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2v_sgns import Vectors
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import FormatError
from w2v_sgns.formats import load
from w2v_sgns.formats.rows import Selection

WORD = st.binary(max_size=40).filter(lambda w: not set(w) & set(b" \t\n\v\f\r"))


def many(rows: int, dim: int) -> Vectors:
    matrix = np.random.default_rng(1).standard_normal((rows, dim)).astype(np.float32)
    return Vectors(matrix, Vocabulary.from_words(f"word{row}" for row in range(rows)))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(WORD, min_size=1, max_size=20, unique=True),
    st.integers(1, 9),
    st.lists(st.booleans(), min_size=20, max_size=20),
    st.randoms(use_true_random=False),
)
def test_any_words_any_line_ends(tmp_path_factory, words, dim, ends, random) -> None:
    # Raw bytes as numbers: every pattern, NaN and infinity among them.
    rows = [random.randbytes(4 * dim) for _ in words]
    raw = b"%d %d\n" % (len(words), dim)
    for word, row, end in zip(words, rows, ends, strict=False):
        raw += word + b" " + row + b"\n" * end
    file = tmp_path_factory.mktemp("any") / "v.bin"
    file.write_bytes(raw)
    from w2v_sgns.formats.header import layout_of

    layout = layout_of(raw)
    assert layout is not None
    if not layout.binary:
        return  # numbers that look like text, from tiny rows
    try:
        found = load(file)
    except FormatError as error:  # rubbish that looks like wider floats
        assert "8-byte" in str(error)
        return
    assert list(found.vocabulary.iter_bytes()) == words
    assert found.matrix.tobytes() == b"".join(rows)


def test_a_word_with_a_brace_is_no_safetensors_file(tmp_path: Path) -> None:
    """Byte 8 is {, as in a safetensors file, and the bytes before it are a word2vec header."""
    rows = np.array([[1.0], [2.0]], np.float32)
    (tmp_path / "v.bin").write_bytes(
        b"2 1\n\0\0\0\0{ " + rows[0].tobytes() + b"\nb " + rows[1].tobytes() + b"\n"
    )
    assert list(load(tmp_path / "v.bin").vocabulary.iter_bytes()) == [b"\0\0\0\0{", b"b"]


def test_numbers_that_look_like_letters(tmp_path: Path) -> None:
    """No byte of these numbers is a control character, as if the file were text."""
    raw = b"2 1\nking abcd\nqueen \xc3\xa9\xc3\xa9\n"
    (tmp_path / "v.bin").write_bytes(raw)
    found = load(tmp_path / "v.bin")
    assert list(found.vocabulary) == ["king", "queen"]
    assert found.matrix.tobytes() == "abcdéé".encode()


def test_many_blocks_and_some_rows(tmp_path: Path) -> None:
    vectors = many(5_000, 300)
    file = tmp_path / "v.bin"
    vectors.save(file)
    assert np.array_equal(load(file).matrix, vectors.matrix)
    wanted = frozenset([b"word4999", b"word7", b"none"])
    some = load(file, Selection(None, wanted))
    assert list(some.vocabulary) == ["word7", "word4999"]
    assert np.array_equal(some.matrix, vectors.matrix[[7, 4999]])
    assert len(load(file, Selection(10, None)).vocabulary) == 10


@pytest.mark.parametrize("packed", [False, True])
def test_memory_is_the_matrix_and_little_more(packed: bool, tmp_path: Path) -> None:
    vectors = many(20_000, 300)
    vectors.save(tmp_path / "v.bin")
    if packed:
        raw = (tmp_path / "v.bin").read_bytes()
        (tmp_path / "v.bin").write_bytes(gzip.compress(raw, 1))
    tracemalloc.start()
    try:
        load(tmp_path / "v.bin")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < vectors.matrix.nbytes * (1.13 if packed else 1) + 20_000 * 120 + (8 << 20)


def test_looking_keeps_no_numbers(tmp_path: Path) -> None:
    many(5_000, 300).save(tmp_path / "v.bin")
    tracemalloc.start()
    try:
        found = load(tmp_path / "v.bin", keep=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(found.vocabulary), found.matrix.shape) == (5_000, (0, 300))
    assert peak < 8 << 20


@pytest.mark.parametrize("dim", [1, 131_070, 131_073, 400_000])
def test_rows_and_words_wider_than_the_buffer(dim: int, tmp_path: Path) -> None:
    rows = np.arange(5 * dim, dtype=np.float32).reshape(5, dim)
    words = ["a", "b" * 600_000, "c" * (1 << 20), "", "e"]
    Vectors(rows, Vocabulary.from_words(words)).save(tmp_path / "v.bin")
    found = load(tmp_path / "v.bin")
    assert list(found.vocabulary) == words
    assert np.array_equal(found.matrix, rows)


def test_a_word_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.bin").write_bytes(b"9 2\nab \0\0\0\0\0\0\0\0" + b"x" * (3 << 20))
    with pytest.raises(FormatError, match="byte 15: row 2: no blank ends the word within"):
        load(tmp_path / "v.bin")
    long = b"9 2\nab \0\0\0\0\0\0\0\0" + b"x" * (1 << 20) + b"yz \0\0\0\0\0\0\0\0"
    (tmp_path / "v.bin").write_bytes(long)
    with pytest.raises(FormatError, match="byte 15: row 2: no blank ends the word within"):
        load(tmp_path / "v.bin")


def test_a_packed_file_that_is_cut_says_after_how_many_rows(tmp_path: Path) -> None:
    many(5_000, 300).save(tmp_path / "v.bin")
    packed = gzip.compress((tmp_path / "v.bin").read_bytes(), 1)
    (tmp_path / "v.bin").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FormatError, match=r"gzip data ended early.*; 2,\d\d\d rows were read"):
        load(tmp_path / "v.bin")


def test_a_blank_in_a_word_is_suspected(tmp_path: Path) -> None:
    """The rows after it are read from wrong places, and here the file even ends where it should."""
    rows = np.array([[1, 2, 3], [1, 2, 3]], np.float32)
    raw = b"2 3\nnew york " + rows[0].tobytes() + b"\nqueen " + rows[1].tobytes() + b"\n"
    (tmp_path / "v.bin").write_bytes(raw)
    assert "1 word holds a line end (row 2): did a word ahead hold a blank?" in str(
        load(tmp_path / "v.bin").notes
    )
