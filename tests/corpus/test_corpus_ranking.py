"""The order of words equals Python's sort."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2v_sgns.corpus import ranking
from w2v_sgns.corpus.ranking import rank_words

WORDS = st.binary(min_size=1, max_size=4) | st.lists(
    st.sampled_from([b"aaaaaaa", b"a", b"\0", b"\0\0\0\0\0\0\0", b"\xff"]), min_size=1, max_size=5
).map(b"".join)


def ranked(words: list[bytes], counts: list[int]) -> tuple[list[bytes], list[int], list[int]]:
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    data = np.frombuffer(b"".join(words), np.uint8)
    result = rank_words(data, offsets, np.array(counts, np.int64))
    ends = result.offsets.tolist()
    raw = result.data.tobytes()
    ordered = [raw[begin:end] for begin, end in pairwise(ends)]
    return ordered, result.counts.tolist(), result.ranks.tolist()


@pytest.mark.parametrize("rounds", [1, 2, 64])
@settings(max_examples=60, deadline=None)
@given(table=st.dictionaries(WORDS, st.integers(1, 3), min_size=1, max_size=40))
def test_equals_sorted(rounds: int, table: dict[bytes, int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_ROUNDS", rounds)  # 1: whole words after the first 7 bytes
        ordered, counts, ranks = ranked(list(table), list(table.values()))
    expected = sorted(table, key=lambda word: (-table[word], word))
    assert ordered == expected
    assert counts == [table[word] for word in expected]
    assert ranks == [expected.index(word) for word in table]


def test_long_words_that_differ_in_their_last_byte() -> None:
    words = [b"x" * 3_000 + bytes((i,)) for i in (7, 3, 255, 0, 9)] + [b"x" * 3_000]
    assert ranked(words, [1] * 6)[0] == sorted(words)
