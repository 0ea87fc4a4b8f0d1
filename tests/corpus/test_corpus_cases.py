"""Inputs that other tools get wrong (tests/cases), as far as words, counts and lines go."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from naive_corpus import lines_of, naive_corpus, words_of

CASES = Path(__file__).resolve().parents[1] / "cases"


def generated(case: str, folder: Path) -> Path:
    subprocess.run([sys.executable, CASES / case / "gen.py"], cwd=folder, check=True)
    return folder / "corpus.txt"


def counted(corpus) -> dict[bytes, int]:
    return dict(words_of(corpus))


def test_02_blank_lines_change_nothing(load) -> None:
    corpus = load(CASES / "02-whitespace-only" / "mostly-blank.txt")
    assert (corpus.stats.lines, corpus.stats.tokens_read) == (8, 4)
    assert words_of(corpus) == [(b"a", 2), (b"b", 2)]
    assert lines_of(corpus) == [[b"a", b"b"], [b"b", b"a"]]


def test_03_works_at_a_lower_threshold(load) -> None:
    corpus = load(CASES / "03-all-under-min-count" / "corpus.txt", min_count=1)
    assert len(corpus.vocabulary) == 3


def test_05_last_line_without_newline(load) -> None:
    folder = CASES / "05-last-line-no-newline"
    corpus = load(folder / "corpus.txt")
    assert (corpus.stats.lines, corpus.stats.tokens_read) == (3, 6)
    assert words_of(corpus) == [(b"green", 2), (b"red", 2), (b"blue", 1), (b"last", 1)]
    without, with_newline = load(folder / "oneline.txt"), load(folder / "with-newline.txt")
    assert words_of(without) == words_of(with_newline) == [(b"and", 3), (b"the", 2), (b"four", 1)]
    assert without.stats.fingerprint == with_newline.stats.fingerprint


def test_06_carriage_returns(load) -> None:
    folder = CASES / "06-crlf"
    crlf, lf = load(folder / "corpus.txt"), load(folder / "lf.txt")
    assert words_of(crlf) == words_of(lf)
    assert crlf.stats.fingerprint == lf.stats.fingerprint
    assert not any(b"\r" in word for word in counted(crlf))
    mixed = load(folder / "mixed.txt")
    assert lines_of(mixed) == [[b"a", b"b"], [b"b", b"c"], [b"c", b"a", b"d"]]
    assert words_of(mixed) == [(b"a", 2), (b"b", 2), (b"c", 2), (b"d", 1)]


def test_08_invalid_utf8_is_kept_as_it_is(load) -> None:
    corpus = load(CASES / "08-invalid-utf8" / "corpus.txt")
    assert counted(corpus) == {
        b"latte": 10,
        b"caf\xe9": 5,
        b"na\xefve": 5,
        b"\xff\xfe": 5,
        b"junk": 5,
        b"ok": 5,
        b"caf\xc3\xa9": 5,
    }
    assert "café" in corpus.vocabulary
    assert corpus.vocabulary.index("caf\udce9") == corpus.vocabulary.index(b"caf\xe9")
    cut = load(CASES / "08-invalid-utf8" / "cut-at-eof.txt")
    assert set(counted(cut)) == {"grün".encode(), b"blau", b"bla\xc3"}


def test_10_only_ascii_blanks_split(load) -> None:
    path = CASES / "10-unicode-whitespace" / "corpus.txt"
    corpus = load(path)
    assert corpus.stats.lines == 23
    counts = counted(corpus)
    glued = [w for w in counts if w.startswith(b"left") and w.endswith(b"right")]
    assert len(glued) == 7
    assert {counts[word] for word in glued} == {3}
    assert counts[b"plain"] == 21
    assert counts[b"\xc2\xa0"] == 1
    assert lines_of(corpus) == naive_corpus(path.read_bytes(), 1).lines


def test_11_long_tokens_are_whole(load) -> None:
    counts = counted(load(CASES / "11-long-tokens" / "corpus.txt"))
    assert sorted(map(len, counts)) == [5, 219, 5000, 5001]
    assert counts[b"short"] == 10
    dots = counted(load(CASES / "11-long-tokens" / "dots.txt"))
    assert len(dots) == 3
    heads = Counter(word[:98] for word in dots)
    assert max(heads.values()) == 2


def test_12_three_million_tokens_on_one_line(load, scaled, tmp_path: Path) -> None:
    path = generated("12-very-long-line", tmp_path)
    text = path.read_bytes()
    tokens = scaled(3_000_000)
    if tokens < 3_000_000:
        text = b" ".join(text.split()[:tokens])
        path.write_bytes(text)
    seen: list[int] = []
    corpus = load(path, min_count=1, threads=2, progress=lambda done, _: seen.append(done))
    assert (corpus.stats.lines, corpus.stats.tokens_read) == (1, tokens)
    assert words_of(corpus) == naive_corpus(text, 1).words
    ends = corpus.store.tokens >> 31
    assert (ends.sum(), ends[-1]) == (1, 1)
    assert len(seen) >= len(text) // (2 << 20)


def test_13_tokens_behind_the_first_ten_thousand(load, tmp_path: Path) -> None:
    corpus = load(generated("13-more-than-10000-tokens", tmp_path), min_count=5)
    assert corpus.stats.tokens_kept == 10_250
    assert len(corpus.vocabulary) == 150
    assert counted(corpus)[b"tail49"] == 5


def test_15_end_of_sentence_is_a_word_like_others(load) -> None:
    corpus = load(CASES / "15-literal-eos-token" / "corpus.txt")
    expected = [(b"x", 3), (b"</s>", 2), (b"y", 2), (b"<s>", 1), (b"<unk>", 1)]
    assert words_of(corpus) == expected


def test_20_node_ids_are_words(load) -> None:
    corpus = load(CASES / "20-integer-node-ids" / "walks.txt")
    assert counted(corpus) == {
        b"0": 2,
        b"1": 2,
        b"2": 2,
        b"7": 3,
        b"007": 1,
        b"-1": 1,
        b"1.0": 1,
        b"1e3": 1,
    }
    assert corpus.vocabulary.index("7") == 0


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 16, 64])
def test_64_each_token_once(load, scaled, tmp_path: Path, threads: int) -> None:
    path = generated("64-each-token-once", tmp_path)
    text = path.read_bytes()
    if scaled(1_000) < 1_000:
        text = b"\n".join(text.split(b"\n")[:60])
        path.write_bytes(text)
    corpus = load(path, threads=threads, block_bytes=3_000)
    tokens = text.split()
    assert [count for _, count in words_of(corpus)] == [1] * len(tokens)
    assert sorted(counted(corpus)) == sorted(tokens)
    ids = corpus.store.tokens & 0x7FFFFFFF
    assert sorted(ids.tolist()) == list(range(len(tokens)))


def test_65_counts_beyond_32_bits() -> None:
    from w2v_sgns.corpus.ranking import rank_words
    from w2v_sgns.corpus.vocabulary import Vocabulary

    table = (CASES / "65-large-counts" / "counts.tsv").read_text()
    rows = [line.split("\t") for line in reversed(table.splitlines())]
    words = Vocabulary.from_words([word for word, _ in rows], [int(count) for _, count in rows])
    assert words.counts is not None
    ranking = rank_words(words.data, words.offsets, words.counts)
    assert ranking.data.tobytes() == b"abcdef"
    assert ranking.counts.sum() == 20_294_967_300
