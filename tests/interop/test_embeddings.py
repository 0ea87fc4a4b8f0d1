"""Files go to fastText, spaCy, model2vec, sentence-transformers, and theirs come to us."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from w2v_sgns import Vectors
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.formats import load
from w2v_sgns.text import Encoder
from w2v_sgns.text.pairing import tune_pairs

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs
WORDS = ["king", "queen", "größe", "日本", "7"]


@pytest.fixture
def vectors() -> Vectors:
    rows = np.random.default_rng(1).standard_normal((len(WORDS), 8)).astype(np.float32)
    return Vectors(rows, Vocabulary.from_words(WORDS))


def needed(name: str) -> None:
    pytest.importorskip(name, reason=f"needs {name}: pip install -e '.[interop]'")


def test_we_read_a_fasttext_model(tmp_path: Path) -> None:
    needed("fasttext")
    import fasttext

    (tmp_path / "text").write_text("the größe of a king and the king of größe\n" * 50)
    theirs = fasttext.train_unsupervised(
        str(tmp_path / "text"), dim=12, minCount=1, epoch=1, bucket=50, thread=1, verbose=0
    )
    theirs.save_model(str(tmp_path / "m.bin"))
    ours = load(tmp_path / "m.bin")
    words, counts = theirs.get_words(include_freq=True)
    assert list(ours.vocabulary) == words
    assert ours.vocabulary.counts.tolist() == list(counts)
    rows = [theirs.get_input_vector(row) for row in range(len(words))]
    assert np.array_equal(ours.matrix, np.array(rows))
    assert "50 rows of subwords are ignored" in ours.notes[-1]


def test_spacy_takes_our_text(vectors: Vectors, tmp_path: Path) -> None:
    needed("spacy")
    import spacy

    vectors.save(tmp_path / "v.txt")
    command = ["init", "vectors", "en", tmp_path / "v.txt", tmp_path / "model"]
    subprocess.run([sys.executable, "-m", "spacy", *map(str, command)], check=True)
    vocabulary = spacy.load(tmp_path / "model").vocab
    for word in WORDS:
        assert np.array_equal(vocabulary.get_vector(word), vectors[word])


def test_model2vec_takes_our_folder_and_we_take_theirs(vectors: Vectors, tmp_path: Path) -> None:
    needed("model2vec")
    from model2vec import StaticModel

    vectors.save(tmp_path / "ours", format="folder")
    theirs = StaticModel.from_pretrained(tmp_path / "ours")
    text = theirs.encode(["king queen", "größe", "unknown 7"])
    means = [vectors[["king", "queen"]].mean(axis=0), vectors["größe"], vectors["7"]]
    assert np.allclose(text, means, atol=1e-6)
    theirs.save_pretrained(tmp_path / "theirs")
    again = load(tmp_path / "theirs")
    assert list(again.vocabulary) == [*WORDS, "[UNK]"]
    assert np.array_equal(again.matrix[: len(WORDS)], vectors.matrix)


def test_model2vec_takes_a_model_tuned_on_pairs(tmp_path: Path) -> None:
    """Weights are in the rows: their mean of a text points where ours does; the scale is told."""
    needed("model2vec")
    from model2vec import StaticModel

    lines = [
        f"{a} {b}\tthe {b} {c}\n"
        for a, b, c in zip("abcdefgh", "hgfedcba", "bcdefgha", strict=True)
    ]
    (tmp_path / "pairs.tsv").write_text("".join(lines) + "größe 日本\tthe 7 日本\n")
    tuned = tune_pairs(
        tmp_path / "pairs.tsv",
        output=tmp_path / "tuned.safetensors",
        from_scratch=True,
        weights=True,
        dim=8,
        batch=4,
    )
    weights = tuned.extras["word_weights"]
    assert weights.max() > 4 * weights.min() > 0, "weights that differ"
    command = ["export", tmp_path / "ours", "-m", tmp_path / "tuned.safetensors"]
    subprocess.run(
        [sys.executable, "-m", "w2v_sgns", *map(str, command), "--format", "folder"], check=True
    )
    theirs = StaticModel.from_pretrained(tmp_path / "ours")
    assert theirs.config["log_scale"] == pytest.approx(float(tuned.extras["log_scale"]), abs=1e-6)
    words = list(tuned.vocabulary)
    assert np.array_equal(theirs.embedding[: len(words)], tuned.E * weights[:, None])
    texts = ["a b the", "the 7", "größe", "the unknown 日本 日本", "unknown"]
    rows = theirs.encode(texts)
    ours = Encoder.load(tmp_path / "tuned.safetensors").encode(texts).rows
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(rows / np.where(lengths > 0, lengths, 1), ours, atol=1e-6)
    assert (lengths > 0).ravel().tolist() == [True] * 4 + [False]


def test_sentence_transformers_takes_our_folder(vectors: Vectors, tmp_path: Path) -> None:
    needed("sentence_transformers")
    from sentence_transformers import SentenceTransformer

    vectors.save(tmp_path / "ours", format="folder")
    theirs = SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    text = theirs.encode(["king queen", "größe"])
    means = [vectors[["king", "queen"]].mean(axis=0), vectors["größe"]]
    assert np.allclose(text, means, atol=1e-6)


def test_the_safetensors_package_reads_our_vectors(vectors: Vectors, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    vectors.save(tmp_path / "v.safetensors")
    assert np.array_equal(load_file(tmp_path / "v.safetensors")["input"], vectors.matrix)
