"""Files go to gensim and come back, to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from w2v_sgns import Vectors
from w2v_sgns.corpus.vocabulary import Vocabulary

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # theirs
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
WORDS = ["king", "queen", "größe", "日本", "x" * 5000, "7", "a\u00a0b"]


@pytest.fixture
def vectors() -> Vectors:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((len(WORDS), 30)).astype(np.float32)
    rows *= 10.0 ** rng.integers(-30, 30, rows.shape).astype(np.float32)
    return Vectors(rows, Vocabulary.from_words(WORDS))


@pytest.mark.parametrize(
    ("name", "options"),
    [("text", {}), ("binary", {"binary": True}), ("glove", {"no_header": True})],
)
def test_gensim_reads_ours(name: str, options: dict, vectors: Vectors, tmp_path: Path) -> None:
    from gensim.models import KeyedVectors

    vectors.save(tmp_path / "v", format=name)
    theirs = KeyedVectors.load_word2vec_format(str(tmp_path / "v"), **options)
    assert theirs.index_to_key == WORDS
    assert np.allclose(theirs.vectors, vectors.matrix, rtol=0, atol=0)


@pytest.mark.parametrize(
    "options", [{}, {"binary": True}, {"write_header": False}], ids=["text", "binary", "glove"]
)
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_we_read_gensims(options: dict, suffix: str, vectors: Vectors, tmp_path: Path) -> None:
    from gensim.models import KeyedVectors

    theirs = KeyedVectors(30)
    theirs.add_vectors(WORDS, vectors.matrix)
    theirs.save_word2vec_format(str(tmp_path / f"v{suffix}"), **options)
    ours = Vectors.load(tmp_path / f"v{suffix}")
    assert ours.index_to_key == WORDS
    assert np.allclose(ours.matrix, vectors.matrix, rtol=0, atol=0)
