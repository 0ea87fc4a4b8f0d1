"""Words by row: any bytes, looked up by a scan or by a dict with the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2v_sgns.corpus import vocabulary as module
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import VocabularyError

WORDS = ["king", "new york", "größe", b"caf\xe9", "", "x" * 5000, "\u00a0", "king"]


def as_bytes(word: str | bytes) -> bytes:
    return word if isinstance(word, bytes) else word.encode()


def test_words_come_back() -> None:
    words = Vocabulary.from_words(WORDS, range(8, 0, -1))
    assert len(words) == 8
    assert list(words.iter_bytes()) == [as_bytes(word) for word in WORDS]
    assert [words.word_bytes(i) for i in range(8)] == [as_bytes(word) for word in WORDS]
    assert list(words) == [words.word(i) for i in range(8)]
    assert words.word(3) == "caf\udce9"
    assert words.counts is not None
    assert words.counts.tolist() == [8, 7, 6, 5, 4, 3, 2, 1]
    assert repr(words) == "<Vocabulary of 8 words, 36 tokens>"


@pytest.mark.parametrize("scans", [0, 10**9])
def test_the_first_row_of_a_word(scans: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SCANS_BEFORE_DICT", scans)
    words = Vocabulary.from_words(WORDS)
    assert words.indices(WORDS) == [0, 1, 2, 3, 4, 5, 6, 0]
    assert words.index("caf\udce9") == words.index(b"caf\xe9") == 3
    assert words.indices(["kin", "kings", "gr\xf6sse", "\ud800", b"\xff"]) == [None] * 5
    assert "king" in words
    assert b"king" in words
    assert "kong" not in words
    assert 3 not in words


@given(st.lists(st.binary(max_size=3), max_size=30), st.binary(max_size=3))
def test_scan_and_dict_agree(words: list[bytes], word: bytes) -> None:
    expected = words.index(word) if word in words else None
    vocabulary = Vocabulary.from_words(words)
    before, module.BLOCK_ROWS = module.BLOCK_ROWS, 4
    try:
        assert vocabulary._scan(word) == vocabulary._dict().get(word) == expected
        assert list(vocabulary.iter_bytes()) == words
    finally:
        module.BLOCK_ROWS = before


def test_many_lookups_build_a_dict_once() -> None:
    words = Vocabulary.from_words(map(str, range(300)))
    for i in range(300):
        assert words.index(str(i)) == i
    assert words._scans == module.SCANS_BEFORE_DICT
    assert words._rows is not None


def test_nothing_can_be_changed() -> None:
    words = Vocabulary.from_words(["a", "b"], [2, 1])
    for array in (words.data, words.offsets, words.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1  # type: ignore[index]


def test_equality() -> None:
    assert Vocabulary.from_words(["a"], [1]) == Vocabulary.from_words([b"a"], [1])
    assert Vocabulary.from_words(["a"], [1]) != Vocabulary.from_words(["a"])
    assert Vocabulary.from_words(["a", "bc"]) != Vocabulary.from_words(["ab", "c"])
    assert Vocabulary.from_words(["a"]) != ["a"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(Vocabulary.from_words([]))


def test_no_words_at_all() -> None:
    words = Vocabulary.from_words([])
    assert len(words) == 0
    assert list(words) == []
    assert words.index("a") is None
    assert words.close_spellings("a") == []


@pytest.mark.parametrize("row", [-1, 2])
def test_a_row_that_is_not_there(row: int) -> None:
    with pytest.raises(IndexError, match=f"row {row} of a vocabulary of 2"):
        Vocabulary.from_words(["a", "b"]).word(row)


def test_a_word_without_bytes_is_refused() -> None:
    with pytest.raises(VocabularyError, match="surrogate"):
        Vocabulary.from_words(["a\ud800"])


DATA = np.frombuffer(b"abc", np.uint8)


@pytest.mark.parametrize(
    ("offsets", "counts", "message"),
    [
        ([], None, r"V \+ 1 offsets"),
        ([[0, 3]], None, r"V \+ 1 offsets"),
        ([0, 2], None, "run from 0 to 2, needed: 0 to 3"),
        ([1, 3], None, "run from 1"),
        ([0, 2, 1, 3], None, "offset 2 lies before"),
        ([0, 1, 3], [1], "counts for 2 words"),
        ([0, 1, 3], [1, -1], "row 1 is negative"),
    ],
)
def test_arrays_that_do_not_fit(offsets: list, counts: list | None, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(DATA, np.array(offsets, np.int64), counts)
