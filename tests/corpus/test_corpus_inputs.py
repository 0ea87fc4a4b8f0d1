"""What may be named as a corpus: files, folders, patterns, pipes, lists; and what is refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from naive_corpus import lines_of, words_of

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.inputs import open_paths, open_source
from w2v_sgns.corpus.openers import File
from w2v_sgns.errors import CorpusError, StreamError

CASES = Path(__file__).resolve().parents[1] / "cases"
MANY = CASES / "17-many-files"
TEXT = (CASES / "16-compressed-corpus" / "plain.txt").read_bytes()


def same(one, other) -> None:
    """The same words, lines, and fingerprint."""
    assert words_of(one) == words_of(other)
    assert np.array_equal(one.store.tokens, other.store.tokens)
    assert one.stats.fingerprint == other.stats.fingerprint


def test_a_folder(load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(MANY)
    corpus = load(Path("corpus"))
    expected = ["a.txt", "b.txt", "c.txt.gz", "empty.txt"]
    assert [Path(name).name for name in corpus.stats.names] == expected
    assert corpus.stats.labels == tuple(f"corpus/{name}" for name in expected)
    assert corpus.stats.sizes == (16, 10, 33, 0)
    assert corpus.stats.empty == ("corpus/empty.txt",)
    assert len(corpus.vocabulary) == 7
    assert [b"gamma"] in lines_of(corpus) or any(b"gamma" in line for line in lines_of(corpus))
    assert not any(b"gammadelta" in line for line in lines_of(corpus))
    whole = load(Path("corpus"), text=TextOptions(recursive=True))
    assert len(whole.vocabulary) == 9
    assert whole.stats.names[-1] == "corpus/sub/d.txt"


def test_files_and_patterns(load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(MANY)
    named = load(["corpus/a.txt", "corpus/b.txt", "corpus/empty.txt"])
    same(named, load("corpus/*.txt"))
    assert named.stats.lines == 3
    with pytest.raises(CorpusError, match=r"corpus/\*\.nothing: the pattern matches no file"):
        load("corpus/*.nothing")
    with pytest.raises(CorpusError, match="is given twice"):
        load(["corpus/a.txt", "corpus/../corpus/a.txt"])


def test_an_absolute_path_leaves_no_folder_behind(load) -> None:
    assert load(MANY / "corpus" / "a.txt").stats.labels == ("a.txt",)
    assert load(MANY / "corpus").stats.labels[0] == "corpus/a.txt"


def test_a_pattern_that_is_a_name(load, tmp_path: Path) -> None:
    (tmp_path / "odd[1].txt").write_bytes(TEXT)
    assert load(tmp_path / "odd[1].txt").stats.lines == 60


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_linked_folders_are_no_maze(load, tmp_path: Path) -> None:
    """Two links back to their own folder: 2^40 paths to whoever follows them."""
    place = tmp_path / "maze"
    (place / "sub").mkdir(parents=True)
    (place / "a.txt").write_bytes(b"a b\n")
    (place / "sub" / "b.txt").write_bytes(b"b c\n")
    (place / ".hidden").mkdir()
    (place / ".hidden" / "c.txt").write_bytes(b"hidden\n")
    (place / "back").symlink_to("../maze")
    (place / "sub" / "up").symlink_to("..")
    expected = [(b"b", 2), (b"a", 1), (b"c", 1)]
    assert words_of(load(str(place / "**" / "*.txt"))) == expected
    assert words_of(load(place, text=TextOptions(recursive=True))) == expected


def test_folders_without_files(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / ".hidden").write_bytes(b"a b")
    with pytest.raises(CorpusError, match="holds no file to read; --recursive"):
        open_source(tmp_path)
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(CorpusError, match="empty"):
        open_source(tmp_path)


@pytest.mark.parametrize("block_bytes", [7, None])
def test_the_end_of_a_file_ends_a_line(load, tmp_path: Path, block_bytes) -> None:
    lines = TEXT.splitlines(keepends=True)
    for number in range(10):
        (tmp_path / f"{number}.txt").write_bytes(b"".join(lines[number * 6 : number * 6 + 6]))
    (tmp_path / "5.txt").write_bytes((tmp_path / "5.txt").read_bytes().removesuffix(b"\n"))
    parts = load(tmp_path, block_bytes=block_bytes)
    (tmp_path / "whole").mkdir()
    same(parts, load(TEXT))
    assert parts.stats.lines == 60


COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", [*COMPRESS, "zst"])
def test_compressed_by_content(load, tmp_path: Path, kind: str) -> None:
    if kind == "zst":
        zstd = pytest.importorskip("backports.zstd", reason="needs the extra zst")
        compress = zstd.compress
    else:
        compress = COMPRESS[kind]
    path = tmp_path / "odd-name.txt"
    path.write_bytes(compress(TEXT[:500]) + compress(TEXT[500:]))
    corpus = load(path)
    same(corpus, load(TEXT))
    assert corpus.stats.bytes_read == len(TEXT)
    path.write_bytes(compress(TEXT)[:-9])
    with pytest.raises(StreamError, match=r"odd-name\.txt: .* (ended early|damaged).*byte"):
        load(path)


def test_16_compressed(load) -> None:
    folder = CASES / "16-compressed-corpus"
    plain = load(folder / "plain.txt")
    for name in ("corpus.txt.gz", "really-gz.txt", "not-gz.gz"):
        same(load(folder / name), plain)
    with pytest.raises(StreamError, match=r"cut\.txt\.gz.*data ended early"):
        load(folder / "cut.txt.gz")


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer, self.closed = io.BytesIO(data), False


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_19_a_pipe(load, monkeypatch: pytest.MonkeyPatch, pack) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(pack(TEXT)))
    corpus = load("-")
    same(corpus, load(TEXT))
    assert corpus.stats.once
    assert corpus.stats.labels == ("-",)
    assert corpus.stats.sizes == (len(pack(TEXT)),)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe(load, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(TEXT))
    writer.start()
    same(load(tmp_path / "pipe"), load(TEXT))
    writer.join()


def test_a_pipe_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(TEXT))
    source = open_source("-")
    list(source.blocks(100))
    with pytest.raises(CorpusError, match="only once"):
        list(source.blocks(100))


# ---- Python lists

LISTS = [line.split() for line in TEXT.decode().splitlines()]


def test_lists_of_words(load) -> None:
    same(load(LISTS), load(TEXT))
    same(load([tuple(line) for line in LISTS]), load(TEXT))
    same(load([[word.encode() for word in line] for line in LISTS]), load(TEXT))


def test_a_generator_is_read_once_and_said(load) -> None:
    corpus = load(line for line in LISTS)
    same(corpus, load(TEXT))
    assert corpus.stats.once
    assert not load(LISTS).stats.once


def test_20_whole_numbers_are_words(load) -> None:
    numbers = load([[0, 1, 2, 1], [7, 7, 0], [2]])
    same(numbers, load([["0", "1", "2", "1"], ["7", "7", "0"], ["2"]]))
    same(numbers, load([np.array([0, 1, 2, 1]), [7, 7, 0], [2]]))
    assert numbers.vocabulary.index("7") is not None
    mixed = load([[7, "7"], ["x", 7]])
    assert words_of(mixed) == [(b"7", 3), (b"x", 1)]


def test_ready_words_may_hold_blanks(load) -> None:
    corpus = load([["new york", "is", "big"], ["big", "new york"]])
    assert (b"new york", 2) in words_of(corpus)


def test_bytes_that_are_no_text_come_through_lists(load) -> None:
    assert (b"caf\xe9", 1) in words_of(load([["caf\udce9", "b"]]))


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ("the cat sat on the mat", "string of text is no corpus"),
        ("", "string of text is no corpus"),
        (["the cat sat", "on the mat"], "line 1 is a string.*line.split"),
        ([["a", "b"], "c d"], "line 2 is a string"),
        ([["a", 1.5]], "1.5 is of type float"),
        ([["a", True]], "True is of type bool"),
        ([["a", None]], "None is of type NoneType"),
        ([{"a": 1, "b": 2}], "line 1 is {'a': 1, 'b': 2} of type dict"),
        ([3, 4], "line 1 is 3 of type int"),
        (b"text", "not bytes"),
        (5, "not int"),
    ],
)
def test_what_is_no_corpus(load, corpus, message: str) -> None:
    from w2v_sgns.corpus import load_corpus

    with pytest.raises(TypeError, match=message):
        load_corpus(corpus, threads=1, memory_bytes=1 << 20)


@pytest.mark.parametrize("word", ["a\nb", "a\0b"])
def test_words_that_cannot_be_kept_apart(load, word: str) -> None:
    with pytest.raises(CorpusError, match=r"line 1: the word .* holds a line end or a NUL"):
        load([["x", word]])


def test_a_path_that_leads_nowhere_is_a_corpus_error(load) -> None:
    with pytest.raises(CorpusError, match="no such file"):
        load("nowhere.txt")
    with pytest.raises(CorpusError, match="no such file"):
        open_paths(["no where.txt"], TextOptions())


@pytest.mark.parametrize("later", [b"one", b"one two three four"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, later: bytes) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"one two three")
    opener = File(path)

    def read_and_change() -> None:
        with opener.open() as stream:
            stream.read()
            path.write_bytes(later)

    with pytest.raises(CorpusError, match=f"changed while it was read, from 13 to {len(later)} "):
        read_and_change()
