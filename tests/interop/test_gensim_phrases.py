"""Phrases beside gensim's: the same pairs, counts and scores, and the same text."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from naive_corpus import lines_of

from w2v_sgns.corpus import load_corpus
from w2v_sgns.corpus.phrases import find_phrases

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def compare_with_gensim(path: Path, limits: dict[str, float]) -> None:
    """The same phrases, counts, scores and text for each scorer."""
    from gensim.models.phrases import Phrases

    names = {"word2phrase": "default", "npmi": "npmi"}
    for scorer, limit in limits.items():
        with load_corpus(path, min_count=1, threads=1, memory_bytes=1 << 30) as corpus:
            lines = [[word.decode() for word in line] for line in lines_of(corpus)]
            total = corpus.stats.tokens_read
            model = Phrases(
                lines,
                min_count=5,
                threshold=limit,
                scoring=names[scorer],
                delimiter="_",
                max_vocab_size=10**9,
            )
            factor = total / len(model.vocab) if scorer == "word2phrase" else 1.0
            found = find_phrases(corpus, threshold=limit * factor, min_count=5, scorer=scorer)
            expected = model.export_phrases()
            assert {phrase.word for phrase in found.phrases} == set(expected)
            assert len(found.phrases) == len(expected) > 10
            for phrase in found.phrases:
                assert phrase.count == model.vocab[phrase.word]
                if scorer == "npmi":
                    assert phrase.score == expected[phrase.word]
                else:
                    assert phrase.score == pytest.approx(expected[phrase.word] * factor, rel=1e-12)
            text = b"".join(found.blocks()).decode()
            assert [line.split() for line in text.splitlines()] == [model[line] for line in lines]


def test_gensim_counts_and_scores(demo_corpus: Path) -> None:
    compare_with_gensim(demo_corpus, {"word2phrase": 1.0, "npmi": 0.2})


def test_gensim_on_real_text(root: Path, tmp_path: Path) -> None:
    packed = root.parent / "shared" / "corpora" / "en-small.txt.gz"
    if not packed.exists():
        pytest.skip("needs ../shared/corpora/en-small.txt.gz")
    path = tmp_path / "text.txt"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    compare_with_gensim(path, {"word2phrase": 10.0, "npmi": 0.5})
