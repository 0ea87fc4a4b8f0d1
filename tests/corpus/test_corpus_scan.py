"""The scanner's arrays: keys that collide, line breaks ahead of a block, tables that merge."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from w2v_sgns.corpus import remap, scan, store, table
from w2v_sgns.corpus.table import WordTable
from w2v_sgns.errors import ResourceError


def words_in(words: WordTable) -> dict[bytes, int]:
    data, offsets = words.data.tobytes(), words.offsets.tolist()
    spans = zip(offsets, offsets[1:], words.counts.tolist(), strict=False)
    return {data[begin:end]: count for begin, end, count in spans}


def test_long_words_of_one_hash_are_told_apart_by_their_bytes() -> None:
    words = WordTable()
    text = np.frombuffer(b"AAAAAAAAAAAAAAAAtail BBBBBBBBBBBBBBBBtail", np.uint8)
    key = np.uint64((0b11 << 62) + 5)
    tokens = scan.Tokens(
        keys=np.array([key, key, key, key]),
        lasts=np.array([7, 7, 7, 7], np.uint64),
        begins=np.array([0, 21, 0, 21]),
        ends=np.array([20, 41, 20, 41]),
    )
    ids = np.zeros(4, np.uint32)
    with np.errstate(over="ignore"):
        assert scan.look_up(text, tokens, 0, 4, words._table, 0, ids) == (4, 2)
    assert ids.tolist() == [0, 1, 0, 1]


def test_words_of_one_key_are_told_apart_by_their_last_bytes() -> None:
    words = WordTable()
    text = np.frombuffer(b"AAAAAAAAAA BBBBBBBBBB", np.uint8)
    tokens = scan.Tokens(
        keys=np.full(3, (0b10 << 62) + 5, np.uint64),
        lasts=np.array([7, 8, 7], np.uint64),
        begins=np.array([0, 11, 0]),
        ends=np.array([10, 21, 10]),
    )
    ids = np.zeros(3, np.uint32)
    with np.errstate(over="ignore"):
        assert scan.look_up(text, tokens, 0, 3, words._table, 0, ids) == (3, 2)
    assert ids.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("block", "ids", "breaks", "leading"),
    [
        (b"a b a\n", [0, 1, 1 << 31], 1, False),
        (b"\na b", [0, 1], 1, True),
        (b" \r\n\n", [], 2, True),
        (b"a\n\n\nb c", [1 << 31, 1, 2], 3, False),
        (b"\t\v\f", [], 0, False),
    ],
)
def test_a_block(block, ids, breaks, leading) -> None:
    found = WordTable().scan(block)
    assert (found.ids.tolist(), found.line_breaks, found.leading_break) == (ids, breaks, leading)


def test_tables_merge(monkeypatch) -> None:
    monkeypatch.setattr(table, "_FIRST_SLOTS", 2)
    monkeypatch.setattr(table, "_WORDS_AT_ONCE", 3)
    first, second = WordTable(), WordTable()
    texts = b"a b c long-word-of-many-bytes a", b"x c y long-word-of-many-bytes z z a w " * 3
    ids = [first.scan(texts[0]).ids.tolist(), second.scan(texts[1]).ids.tolist()]
    mapping = first.add(second.data, second.offsets, second.counts)
    assert words_in(first) == Counter(texts[0].split()) + Counter(texts[1].split())
    words = list(words_in(first))
    assert [words[i] for i in ids[0]] == texts[0].split()
    assert [words[mapping[i]] for i in ids[1]] == texts[1].split()


def test_more_words_than_ids_can_tell_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(table, "MAX_TYPES", 4_096)
    words = WordTable()
    words.scan(b" ".join(b"%d" % i for i in range(4_096)))
    with pytest.raises(ResourceError, match="more than 4,096 different words"):
        words.scan(b"one-more")


def test_compiled_code_and_the_store_agree_on_the_line_end() -> None:
    assert remap.LINE_END == store.LINE_END


def test_pruning_moves_line_ends_to_the_last_kept_token() -> None:
    end = int(store.LINE_END)
    ids = np.array([9 | end, 0, 9, 9 | end, 1, 2 | end, 9 | end, 3], np.uint32)
    assert remap.keep_below(ids, 4) == (4, True)
    assert ids[:4].tolist() == [0 | end, 1, 2 | end, 3]
