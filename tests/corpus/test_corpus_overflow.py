"""Words that outgrow the memory for counting: the same corpus, or all but its rarest words."""

from __future__ import annotations

import io
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from naive_corpus import lines_of, naive_corpus, words_of

from w2v_sgns.corpus import counting, load_corpus, overflow
from w2v_sgns.corpus.overflow import TYPE_BYTES
from w2v_sgns.corpus.phrases import find_phrases
from w2v_sgns.corpus.survey import survey
from w2v_sgns.errors import ResourceError
from w2v_sgns.training.header import corpus_lines

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def made_text(tokens: int) -> bytes:
    """Words of all lengths: few frequent ones, many seen once, in lines of all lengths."""
    draw = random.Random(7)
    parts = []
    for _ in range(tokens):
        rank = int(1.02 ** draw.randrange(400))
        parts.append(b"%d" % rank + b"x" * (rank % 23))
        parts.append(b"\n" if draw.random() < 0.1 else b" ")
    return b"".join(parts)


TEXT = made_text(2_000) + b"\xff\xfe \xefbad \xef\xbb\xbfmark \xef\xbb\xbfmark \xff\xfe rare end"


@pytest.fixture(autouse=True)
def small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every block fill its table; what fits in the end is what memory_bytes says."""
    monkeypatch.setattr(counting, "LEAST_TABLE", 1)
    if INTERPRETED:  # a table for each part is slow there
        monkeypatch.setattr(overflow, "PART_BITS", 1)


def least_that_fits(counts: Counter[bytes], table_bytes: int) -> int:
    """The rule, slowly: the lowest count whose words and all more frequent ones fit."""
    least = 1
    while sum(TYPE_BYTES + len(w) for w, n in counts.items() if n >= least) > table_bytes:
        least += 1
    return least


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block_bytes", [100, 1_000])
@pytest.mark.parametrize("min_count", [1, 3])
def test_all_words_fit_in_the_end(load, threads, block_bytes, min_count) -> None:
    """Nothing may tell that the tables went over the disk."""
    plain = load(TEXT, min_count=min_count, memory_bytes=1 << 40)
    assert not plain.stats.counted_on_disk
    moved = load(
        TEXT,
        min_count=min_count,
        threads=threads,
        block_bytes=block_bytes,
        memory_bytes=200_000,
    )
    assert moved.stats.counted_on_disk
    assert moved.stats.least_count == 1
    twin = naive_corpus(TEXT, min_count)
    assert words_of(moved) == twin.words
    assert lines_of(moved) == twin.lines
    assert np.array_equal(moved.store.tokens, plain.store.tokens)
    different = {"counted_on_disk": False, "spooled": plain.stats.spooled}
    assert vars(moved.stats) | different == vars(plain.stats)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("memory_bytes", [4_000, 20_000, 40_000])
def test_only_the_rarest_are_left_out(load, threads, memory_bytes) -> None:
    counts = Counter(TEXT.split())
    least = least_that_fits(counts, memory_bytes // 4)
    assert 1 < least < 60
    for min_count in (1, least + 1):
        found = load(
            TEXT,
            min_count=min_count,
            threads=threads,
            block_bytes=500,
            memory_bytes=memory_bytes,
        )
        twin = naive_corpus(TEXT, max(min_count, least))
        assert words_of(found) == twin.words, "every count is exact"
        assert lines_of(found) == twin.lines
        stats = found.stats
        assert (stats.least_count, stats.types_read, stats.tokens_read) == (
            least,
            len(counts),
            counts.total(),
        )
        seen = [n for n in counts.values() if n >= least]
        assert (stats.types_counted, stats.tokens_counted) == (len(seen), sum(seen))
        assert (stats.invalid_tokens, stats.invalid_types) == (3, 2), "those left out as well"
        assert (stats.marked_tokens, stats.marked_word) == (2, "\ufeffmark")


def test_the_header_says_at_what_count(load) -> None:
    found = load(TEXT, block_bytes=500, memory_bytes=20_000)
    stats = found.stats
    text = "\n".join(corpus_lines(stats))
    types, tokens = stats.types_read - stats.types_counted, stats.tokens_read - stats.tokens_counted
    assert "were counted on disk; every count is exact" in text
    assert f"words seen fewer than {stats.least_count} times were left out" in text
    assert f"({types:,} types, {tokens:,} tokens)" in text
    everything = load(TEXT, block_bytes=500, memory_bytes=400_000)
    text = "\n".join(corpus_lines(everything.stats))
    assert "every count is exact" in text
    assert "left out" not in text
    assert "disk" not in "\n".join(corpus_lines(load(TEXT).stats))


def test_words_named_stay(load, tmp_path) -> None:
    """--keep-words and --read-vocab find words that would have been left out."""
    words = tmp_path / "words.txt"
    words.write_bytes(b"rare\nend\nnowhere\n")
    kept = load(TEXT, min_count=9, keep_words=words, block_bytes=500, memory_bytes=20_000)
    assert kept.stats.least_count > 1
    frequent = naive_corpus(TEXT, 9).words
    assert words_of(kept) == [*frequent, (b"end", 1), (b"rare", 1)]
    assert kept.stats.types_unseen == 1
    last = [word for word in lines_of(kept)[-1] if word in (b"rare", b"end")]
    assert last == [b"rare", b"end"]

    given = tmp_path / "vocabulary.tsv"
    many = b"".join(b"unseen%d\t5\n" % i for i in range(5_000))
    given.write_bytes(b"rare\t70\nend\t60\n" + many)
    read = load(TEXT, read_vocab=given, block_bytes=500, memory_bytes=20_000)
    assert len(read.vocabulary) == 5_002
    assert lines_of(read) == [[b"rare", b"end"]]
    assert read.stats.types_unseen == 5_000


def test_a_pipe_is_read_once(monkeypatch) -> None:
    class Stdin:
        buffer = io.BytesIO(TEXT)
        closed = False

    monkeypatch.setattr(sys, "stdin", Stdin())
    options = {"threads": 2, "block_bytes": 300, "memory_bytes": 15_000, "min_count": 1}
    with load_corpus("-", **options) as found:
        assert found.stats.once
        assert found.stats.spooled
        assert words_of(found) == naive_corpus(TEXT, found.stats.least_count).words


def test_coverage_without_the_rarest(load) -> None:
    counts = Counter(TEXT.split())
    found = load(TEXT, block_bytes=500, memory_bytes=20_000)
    least = found.stats.least_count
    coverage = survey(found).coverage
    assert [row.min_count for row in coverage[:2]] == [
        1,
        next(n for n in (2, 3, 5, 10) if n >= least),
    ]
    for row in coverage:
        seen = [n for n in counts.values() if n >= row.min_count]
        assert (row.types, row.tokens) == (len(seen), sum(seen))


def test_phrases_need_all_words(load) -> None:
    found = load(TEXT, block_bytes=500, memory_bytes=20_000)
    with pytest.raises(ResourceError, match="raise --memory"):
        find_phrases(found)
    everything = load(TEXT, block_bytes=500, memory_bytes=400_000)
    assert everything.stats.counted_on_disk
    plain = load(TEXT)
    for ours, theirs in zip(
        find_phrases(everything).blocks(), find_phrases(plain).blocks(), strict=True
    ):
        assert ours == theirs


def test_words_that_are_all_rare(load) -> None:
    with pytest.raises(
        ResourceError, match=r"4,000 different words.*quarter of --memory; raise it"
    ):
        load(b" ".join(b"w%d" % i for i in range(4_000)), block_bytes=500, memory_bytes=20_000)


def test_the_file_goes(tmp_path, monkeypatch) -> None:
    """After success, after a stop while joining, after a full disk."""
    files = []
    make = tempfile.TemporaryFile
    monkeypatch.setattr(
        tempfile, "TemporaryFile", lambda **options: files.append(make(**options)) or files[-1]
    )
    path = tmp_path / "corpus.txt"
    path.write_bytes(TEXT)
    settings = {"threads": 2, "block_bytes": 500, "memory_bytes": 400_000, "min_count": 1}
    load_corpus(path, **settings).close()
    asked = [0]

    def stop() -> bool:
        asked[0] += 1
        return asked[0] > len(TEXT) // 500 + 2  # blocks, then parts

    with pytest.raises(KeyboardInterrupt):
        load_corpus(path, stop=stop, **settings)
    assert len(files) == 2
    assert all(file.closed for file in files)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk(load, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: open("/dev/full", "r+b", 0))  # noqa: SIM115
    with pytest.raises(ResourceError, match=r"counted words.*No space left on device.*TMPDIR"):
        load(TEXT, block_bytes=500, memory_bytes=400_000)
