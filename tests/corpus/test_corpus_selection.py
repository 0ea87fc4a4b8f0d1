"""Which words are kept: --max-vocab, --keep-words, --read-vocab; and the files for them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from naive_corpus import lines_of, words_of

from w2v_sgns.corpus import Vocabulary
from w2v_sgns.corpus.vocabulary_file import read_vocabulary, read_words, write_vocabulary
from w2v_sgns.errors import VocabularyError

TEXT = b"a a a a b b b c c d e\nrare a b\nc d a other\n"  # a 6, b 4, c 3, d 2, e other rare 1


def test_max_vocab(load) -> None:
    corpus = load(TEXT, max_vocab=3)
    assert words_of(corpus) == [(b"a", 6), (b"b", 4), (b"c", 3)]
    assert lines_of(corpus)[1:] == [[b"a", b"b"], [b"c", b"a"]]
    assert load(TEXT, max_vocab=100).stats.types_kept == 7


def test_keep_words(load, tmp_path: Path) -> None:
    path = tmp_path / "keep.txt"
    path.write_bytes(b"rare\r\n\nnowhere\nb\nrare\n")
    corpus = load(TEXT, min_count=3, keep_words=path)
    assert words_of(corpus) == [(b"a", 6), (b"b", 4), (b"c", 3), (b"rare", 1)]
    assert lines_of(corpus)[1:] == [[b"rare", b"a", b"b"], [b"c", b"a"]]
    assert corpus.stats.types_unseen == 1
    assert corpus.stats.fingerprint == load(TEXT).stats.fingerprint
    capped = load(TEXT, min_count=1, max_vocab=3, keep_words=path)
    assert words_of(capped) == [(b"a", 6), (b"b", 4), (b"rare", 1)]
    path.write_bytes(b"a\nb\nrare\n")
    with pytest.raises(VocabularyError, match=r"3 words.* more than --max-vocab 2"):
        load(TEXT, max_vocab=2, keep_words=path)


def test_read_vocab(load, tmp_path: Path) -> None:
    path = tmp_path / "vocab.tsv"
    path.write_bytes(b"d\t50\na\t9\nmissing\t9\nb\t7\nc\t1\n")
    corpus = load(TEXT, min_count=2, read_vocab=path)
    assert words_of(corpus) == [(b"d", 50), (b"a", 9), (b"missing", 9), (b"b", 7)]
    assert lines_of(corpus)[1:] == [[b"a", b"b"], [b"d", b"a"]]
    assert corpus.stats.types_unseen == 1
    keep = tmp_path / "keep.txt"
    keep.write_bytes(b"c\nunknown\n")
    kept = load(TEXT, min_count=2, max_vocab=3, read_vocab=path, keep_words=keep)
    assert [word for word, _ in words_of(kept)] == [b"d", b"a", b"c"]
    with pytest.raises(VocabularyError, match="1 words of the --read-vocab file kept"):
        load(TEXT, min_count=20, read_vocab=path)


@pytest.mark.parametrize("vocab_format", ["tsv", "word2vec"])
def test_there_and_back(load, tmp_path: Path, vocab_format: str) -> None:
    corpus = load(TEXT + b"</s> caf\xe9 " if vocab_format == "tsv" else TEXT)
    path = tmp_path / "vocab"
    with path.open("wb") as stream:
        write_vocabulary(stream, corpus.vocabulary, vocab_format)
    first = path.read_bytes().split(b"\n")[0]
    assert first == (b"a\t6" if vocab_format == "tsv" else b"</s> 0")
    assert read_vocabulary(path) == corpus.vocabulary
    again = load(TEXT, read_vocab=path)
    assert words_of(again) == words_of(corpus)


def test_the_end_of_sentence_stands_first_for_word2vec() -> None:
    stream = io.BytesIO()
    write_vocabulary(stream, Vocabulary.from_words(["x", "</s>"], [3, 2]), "word2vec")
    assert stream.getvalue() == b"</s> 2\nx 3\n"


@pytest.mark.parametrize(("between", "vocab_format"), [("\t", "tsv"), (" ", "word2vec")])
def test_words_a_format_cannot_hold(between: str, vocab_format: str) -> None:
    words = Vocabulary.from_words([f"a{between}b"], [1])
    with pytest.raises(VocabularyError, match="holds a"):
        write_vocabulary(io.BytesIO(), words, vocab_format)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\t1\nb\n", "line 2: 'b' has no count"),
        (b"a\t1\nb\tx\n", "line 2: the count 'x' is no whole number"),
        (b"a\t1\nb\t-1\n", "the count '-1'"),
        (b"a\t1\nb\t99999999999999999999\n", "is no whole number"),
        (b"a\t1\n\na\t2\n", "line 3: 'a' was there before"),
        (b"a\0\t1\n", "NUL"),
        (b"a\t1\nb\t0\n", "line 2: 'b' has the count 0"),
        (b"a\t9223372036854775807\nb\t1\n", "add up to more than"),
    ],
)
def test_bad_vocabulary_files(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "v").write_bytes(data)
    with pytest.raises(VocabularyError, match=message):
        read_vocabulary(tmp_path / "v")


def test_a_list_without_words(tmp_path: Path) -> None:
    (tmp_path / "v").write_bytes(b"\n \n")
    with pytest.raises(VocabularyError, match="holds no word"):
        read_words(tmp_path / "v")
