"""Phrases equal a slow twin."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2v_sgns.corpus import load_corpus, phrases
from w2v_sgns.corpus.phrases import find_phrases
from w2v_sgns.errors import ConfigError, CorpusError


def naive_phrases(
    lines: list[list[str]], limit: float, min_count: int, scorer: str
) -> tuple[list[list[str]], dict[str, tuple[float, int]]]:
    """One pass in plain Python."""
    words = Counter(word for line in lines for word in line)
    pairs = Counter(pair for line in lines for pair in pairwise(line))
    total = words.total()
    scores = {}
    for (a, b), count in pairs.items():
        if count < min_count:
            continue
        if scorer == "word2phrase":
            value = (count - min_count) / words[a] / words[b] * total
        else:
            together = count / total
            value = 1.0
            if 0 < together < 1:
                joint = together / ((words[a] / total) * (words[b] / total))
                value = math.log(joint) / -math.log(together)
        if value > limit:
            scores[a, b] = (value, count)
    joined = []
    for line in lines:
        out, position = [], 0
        while position < len(line):
            if tuple(line[position : position + 2]) in scores:
                out.append("_".join(line[position : position + 2]))
                position += 2
            else:
                out.append(line[position])
                position += 1
        joined.append(out)
    return joined, {"_".join(pair): value for pair, value in scores.items()}


def written(text: phrases.PhraseText) -> list[list[str]]:
    return [line.split() for line in b"".join(text.blocks()).decode().splitlines()]


def load(lines: list[list[str]]):
    return load_corpus(lines, min_count=1, threads=2, memory_bytes=1 << 30)


LINES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=8), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    lines=LINES,
    limit=st.sampled_from([-0.5, 0.0, 0.3, 1.0, 2.0]),
    min_count=st.integers(1, 3),
    passes=st.integers(1, 3),
    scorer=st.sampled_from(["word2phrase", "npmi"]),
)
def test_equals_the_slow_twin(lines, limit, min_count, passes, scorer) -> None:
    if len({word for line in lines for word in line}) < 2 or max(map(len, lines)) < 2:
        return
    if scorer == "npmi":
        limit = min(limit, 1.0)
    expected, scores = lines, {}
    for _ in range(passes):
        expected, found = naive_phrases(expected, limit, min_count, scorer)
        scores |= found
    with pytest.MonkeyPatch.context() as patch, load(lines) as corpus:
        patch.setattr(phrases, "_FIRST_SLOTS", 1024)
        text = find_phrases(
            corpus, threshold=limit, min_count=min_count, passes=passes, scorer=scorer
        )
    assert written(text) == expected
    for phrase in text.phrases:
        if passes == 1:
            value, count = scores[phrase.word]
            assert phrase.count == count
            assert phrase.score == pytest.approx(value, rel=1e-12)


def test_many_pairs_make_the_table_grow() -> None:
    rng = np.random.default_rng(1)
    lines = [[str(word) for word in rng.integers(0, 300, 50)] for _ in range(100)]
    with pytest.MonkeyPatch.context() as patch, load(lines) as corpus:
        patch.setattr(phrases, "_FIRST_SLOTS", 1024)
        patch.setattr(phrases, "_OUT_BYTES", 16)
        text = find_phrases(corpus, threshold=10, min_count=1)
    assert written(text) == naive_phrases(lines, 10, 1, "word2phrase")[0]


def test_a_phrase_that_is_a_word_already() -> None:
    lines = [["new", "york"]] * 9 + [["new_york", "x"], ["y", "z"]]
    with load(lines) as corpus:
        text = find_phrases(corpus, threshold=1.0, min_count=2)
    assert written(text) == [["new_york"]] * 9 + lines[9:]


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        ({"scorer": "pmi"}, "--scorer"),
        ({"min_count": 0}, "--min-count"),
        ({"passes": 0}, "--passes"),
        ({"threshold": math.nan}, "--threshold"),
        ({"threshold": 2, "scorer": "npmi"}, "--threshold"),
    ],
)
def test_bad_settings(options: dict, flag: str) -> None:
    with load([["a", "b"]]) as corpus, pytest.raises(ConfigError, match=flag):
        find_phrases(corpus, **options)


def test_ready_words_with_blanks_are_refused() -> None:
    with load([["new york", "b"]]) as corpus, pytest.raises(CorpusError, match="holds a blank"):
        find_phrases(corpus)


@pytest.mark.parametrize("memory_bytes", [1 << 30, 2_000])
def test_the_ids_are_joined_where_they_lie(memory_bytes: int) -> None:
    """One copy of the ids, in memory or in the temporary file."""
    lines = [["new", "york", "is", "new"], ["old", "york"]] * 300
    with load_corpus(lines, min_count=1, threads=1, memory_bytes=memory_bytes) as corpus:
        assert corpus.stats.spooled is (memory_bytes == 2_000)
        place = corpus.store.writable()
        text = find_phrases(corpus, threshold=0.5, min_count=1)
        assert text.tokens.size < place.size
        assert np.shares_memory(text.tokens, place) or corpus.store.spooled
        assert np.array_equal(corpus.store.tokens[: text.tokens.size], text.tokens)
        assert written(text) == naive_phrases(lines, 0.5, 1, "word2phrase")[0]


def test_a_corpus_of_one_word() -> None:
    """Nothing to join, nothing to train on, but a text all the same."""
    lines = [["a"], ["a", "a"]]
    with load_corpus(
        lines, min_count=1, threads=1, memory_bytes=1 << 30, for_training=False
    ) as corpus:
        assert written(find_phrases(corpus)) == lines
