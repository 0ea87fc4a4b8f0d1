"""Texts to vectors: equal to a loop in Python; unknown words, odd rows, files, towers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_texts import encode

from w2v_sgns import ConfigError, FormatError, Model, TrainConfig, Vocabulary
from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.inputs import open_paths
from w2v_sgns.text import Encoder
from w2v_sgns.text.encoder import smooth_inverse_frequency
from w2v_sgns.text.lines import whole_lines

WORDS = ["king", "queen", "the", "of", "größe", "a-word-of-more-than-sixteen-bytes", "日本"]
E = np.random.default_rng(1).standard_normal((len(WORDS), 5)).astype(np.float32)
WEIGHTS = np.array([3, 2, 0.1, 0.5, 1, 2, 0], np.float32)
VOCABULARY = Vocabulary.from_words(WORDS, range(70, 0, -10))

texts = st.lists(
    st.lists(
        st.sampled_from([*WORDS, "kings", "?", "a-word-of-more-than-sixteen-bytez"]), max_size=30
    ).map(" ".join),
    max_size=12,
)


@given(texts, st.booleans())
def test_equals_a_loop(some: list[str], weighted: bool) -> None:
    weights = WEIGHTS if weighted else None
    found = Encoder(E, VOCABULARY, weights=weights).encode(some)
    expected = [encode(text, WORDS, E, weights) for text in some]
    assert found.rows == pytest.approx(np.array(expected).reshape(-1, 5), abs=1e-6)
    known = [sum(word in WORDS for word in text.split()) for text in some]
    assert found.known.tolist() == known


def test_rows_have_length_one_or_are_zero() -> None:
    found = Encoder(E, VOCABULARY).encode(["king of", "", " \t ", "unknown words", "king"])
    assert np.linalg.norm(found.rows, axis=1) == pytest.approx([1, 0, 0, 0, 1], abs=1e-6)
    assert (found.empty, found.known.tolist()) == (3, [2, 0, 0, 0, 1])


def test_blanks_and_line_ends_inside_a_text_part_words() -> None:
    encoder = Encoder(E, VOCABULARY)
    found = encoder.encode(["king\nqueen", "king\tqueen\r", "king\0queen", b"king queen"])
    assert len(found.rows) == 4
    assert np.array_equal(found.rows, np.repeat(found.rows[:1], 4, axis=0))


def test_no_texts_and_more_than_a_block() -> None:
    encoder = Encoder(E, VOCABULARY)
    assert encoder.encode([]).rows.shape == (0, 5)
    many = encoder.encode(["king of", "", "queen"] * 1500)
    assert np.array_equal(many.rows, np.tile(many.rows[:3], (1500, 1)))


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_words_whose_row_is_not_finite_do_not_count(value: float) -> None:
    spoilt = E.copy()
    spoilt[0] = value
    found = Encoder(spoilt, VOCABULARY).encode(["king queen", "king", "queen"]).rows
    assert np.isfinite(found).all()
    if not np.isfinite(value):
        assert np.array_equal(found[0], found[2]) and not found[1].any()


@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e15, 1e30])
def test_the_size_of_rows_plays_no_part(size: float) -> None:
    found = Encoder((E * np.float32(size)), VOCABULARY).encode(["king queen of"]).rows
    assert found == pytest.approx(Encoder(E, VOCABULARY).encode(["king queen of"]).rows, abs=1e-6)


def test_words_that_cancel_out_have_no_direction() -> None:
    opposite = np.array([[1, 2], [-1, -2]], np.float32)
    encoder = Encoder(opposite, Vocabulary.from_words(["up", "down"]))
    assert encoder.encode(["up down"]).empty == 1


def test_a_word_that_stands_twice_means_its_first_row() -> None:
    vocabulary = Vocabulary.from_words(["king", "of", "king", "queen"])
    encoder = Encoder(E[:4], vocabulary)
    found = encoder.encode(["king", "queen"]).rows
    assert found[0] == pytest.approx(E[0] / np.linalg.norm(E[0]), abs=1e-6)
    assert found[1] == pytest.approx(E[3] / np.linalg.norm(E[3]), abs=1e-6)


def test_text_is_split_as_the_training_did() -> None:
    shouting = "The KING, of: 日本!"
    plain = Encoder(E, VOCABULARY).encode([shouting])
    lower = Encoder(E, VOCABULARY, text=TextOptions(lowercase=True)).encode([shouting])
    words = Encoder(E, VOCABULARY, text=TextOptions(tokenizer="words")).encode([shouting])
    assert (plain.known[0], lower.known[0], words.known[0]) == (0, 1, 4)
    short = Encoder(E, VOCABULARY, text=TextOptions(max_token_bytes=3)).encode(["the king of"])
    assert short.known[0] == 2


@pytest.mark.parametrize("weights", [[-1.0] * 7, [np.nan] * 7, [1.0] * 6])
def test_weights_that_make_no_sense_are_refused(weights: list[float]) -> None:
    with pytest.raises(ConfigError, match="weight"):
        Encoder(E, VOCABULARY, weights=np.array(weights, np.float32))


def test_an_unknown_tower_is_refused() -> None:
    with pytest.raises(ConfigError, match="--tower must be query or document, not 'both'"):
        Encoder(E, VOCABULARY).encode(["king"], tower="both")


def model(tmp_path: Path, **parts: object) -> Path:
    path = tmp_path / "m.safetensors"
    settings = TrainConfig(dim=5, lowercase=True)
    extras = parts.pop("extras", {})
    Model(E, -E, vocabulary=VOCABULARY, config=settings, extras=extras, **parts).save(path)  # type: ignore[arg-type]
    return path


def test_a_model_brings_its_splitting_weights_and_scale(tmp_path: Path) -> None:
    scale = np.array(2.5, np.float32)
    path = model(tmp_path, extras={"word_weights": WEIGHTS, "log_scale": scale})
    encoder = Encoder.load(path)
    assert (encoder.towers, encoder.dim, encoder.log_scale) == (1, 5, 2.5)
    found = encoder.encode(["The King of"]).rows
    assert found[0] == pytest.approx(encode("the king of", WORDS, E, WEIGHTS), abs=1e-6)


def test_two_towers(tmp_path: Path) -> None:
    encoder = Encoder.load(model(tmp_path, provenance={"pairs": {"towers": 2}}))
    assert encoder.towers == 2
    query, document = (encoder.encode(["king"], tower=t).rows for t in ("query", "document"))
    assert np.array_equal(query, -document)


@pytest.mark.parametrize("weights", [WEIGHTS[:3], -WEIGHTS, np.ones((7, 1), np.float32)])
def test_damaged_weights_name_the_file(tmp_path: Path, weights: np.ndarray) -> None:
    with pytest.raises(FormatError, match=r"m\.safetensors: the tensor 'word_weights' must"):
        Encoder.load(model(tmp_path, extras={"word_weights": weights}))


def test_other_formats_can_encode(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("2 2\nking 1 0\nqueen 0 1\n")
    assert Encoder.load(path).encode(["king queen"]).rows == pytest.approx(np.sqrt([[0.5, 0.5]]))


def test_smooth_inverse_frequency() -> None:
    found = smooth_inverse_frequency(np.array([999, 1, 0]))
    assert found == pytest.approx([0.0001 / 0.9991, 0.0001 / 0.0011, 1.0], rel=1e-3)
    assert smooth_inverse_frequency(np.zeros(2, np.int64)).tolist() == [1, 1]


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_lines_of_a_source(tmp_path: Path, block: int) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfking of\r\n\n queen")
    (tmp_path / "b.txt").write_bytes(b"the\n")
    source = open_paths([tmp_path / "a.txt", tmp_path / "b.txt"], TextOptions())
    lines = [
        (part.name.rsplit("/", 1)[-1], part.first + number, line)
        for part in whole_lines(source, block)
        for number, line in enumerate(part.data.split(b"\n")[:-1])
    ]
    assert lines == [
        ("a.txt", 1, b"king of\r"),
        ("a.txt", 2, b""),
        ("a.txt", 3, b" queen"),
        ("b.txt", 1, b"the"),
    ]
    encoded = list(Encoder(E, VOCABULARY).encode_source(source))
    assert np.concatenate([part.known for part in encoded]).tolist() == [2, 0, 1, 1]
