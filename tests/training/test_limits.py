"""Case 65: numbers beyond 2^31 and 2^32, by arithmetic; needs that are said before the work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from w2v_sgns.config import TrainConfig
from w2v_sgns.corpus import CorpusStats
from w2v_sgns.corpus.ranking import rank_words
from w2v_sgns.corpus.vocabulary_file import read_vocabulary
from w2v_sgns.errors import ResourceError
from w2v_sgns.kernels.matrices import padded_dim
from w2v_sgns.sampling import (
    alias_probabilities,
    alias_table,
    keep_probabilities,
    noise_distribution,
)
from w2v_sgns.training import needs
from w2v_sgns.training.events import Event
from w2v_sgns.training.header import header
from w2v_sgns.training.progress import training_text
from w2v_sgns.training.schedule import Schedule

COUNTS = Path(__file__).resolve().parents[1] / "cases" / "65-large-counts" / "counts.tsv"


def test_65_counts_beyond_32_bits() -> None:
    words = read_vocabulary(COUNTS)
    assert list(words) == ["a", "b", "c", "d", "e", "f"]
    assert int(words.counts.sum()) == 20294967300
    keep = keep_probabilities(words.counts, 1e-4)
    q = noise_distribution(words.counts, 0.75)
    drawn = alias_probabilities(*alias_table(q))
    for values in (keep, q, drawn):
        assert np.isfinite(values).all()
        assert ((values > 0) & (values <= 1)).all()
    assert q.sum() == pytest.approx(1, abs=1e-12)
    assert drawn.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("tokens", [2**31 + 5, 2**32 + 5, 10**12])
def test_65_the_rate_falls_and_progress_grows(tokens: int) -> None:
    schedule = Schedule(start=0.05, end=5e-6, tokens=tokens, epochs=5)
    places = [
        (epoch, position)
        for epoch in range(5)
        for position in (0, 2**31 - 1, 2**31 + 1, min(2**32 + 1, tokens), tokens)
    ]
    rates = [schedule.at(epoch, min(position, tokens)) for epoch, position in sorted(places)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 0.05
    assert rates[-1] == pytest.approx(5e-6)
    done = [epoch * tokens + min(position, tokens) for epoch, position in sorted(places)]
    assert done == sorted(done)
    for amount in done:
        text = training_text(Event(phase="train", done=amount, total=5 * tokens, seconds=100.0))
        assert "-" not in text


def test_65_matrices_beyond_32_bits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """3,000,000 words of 1,000 numbers: bytes and row offsets, without taking them."""
    words, dim = 3_000_000, 1000
    config = TrainConfig(dim=dim)
    assert needs.model_bytes(words, config) == 24_000_000_000
    assert needs.model_bytes(np.int32(words), config) == 24_000_000_000  # type: ignore[arg-type]
    offset = np.int64(words - 1) * padded_dim(dim) * 4
    assert offset == 12_095_995_968 > 2**32
    monkeypatch.setattr(needs, "available_memory", lambda: 23_000_000_000)
    with pytest.raises(ResourceError, match=r"need 24\.2 GB .* but 23 GB of memory are free"):
        needs.check_memory(words, config)
    monkeypatch.setattr(
        needs.shutil, "disk_usage", lambda path: SimpleNamespace(free=20_000_000_000)
    )
    with pytest.raises(ResourceError, match=r"need 24 GB on disk, 20 GB are free there"):
        needs.check_disk(tmp_path / "m.safetensors", words, config)


def test_patience_keeps_vectors_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TrainConfig(dim=100, bias=True, objective="nce", holdout=0.1, patience=1)
    best = 4 * 10 * (2 * 100 + 1)
    assert needs.matrix_bytes(10, config) == 2 * 10 * 112 * 4
    assert needs.best_bytes(10, config) == best
    assert needs.checkpoint_bytes(10, config) == 2 * best
    once = replace(config, patience=None)
    assert (needs.best_bytes(10, once), needs.checkpoint_bytes(10, once)) == (0, best)
    words = 10_000_000
    there = needs.matrix_bytes(words, config) + needs.OVERHEAD
    monkeypatch.setattr(needs, "available_memory", lambda: there)
    needs.check_memory(words, once)
    with pytest.raises(ResourceError, match="twice for --patience"):
        needs.check_memory(words, config)


def test_65_the_needs_are_said_after_counting() -> None:
    figures = dict.fromkeys(CorpusStats.__dataclass_fields__, 0)
    stats = CorpusStats(
        **figures
        | {
            "names": ("a",),
            "labels": ("a",),
            "sizes": (1,),
            "empty": (),
            "bytes_read": 2**40,
            "tokens_read": 2**38,
            "tokens_kept": 2**33,
            "types_read": 2**23,
            "types_kept": 3_000_000,
            "invalid_place": None,
            "marked_word": None,
            "fingerprint": "",
            "spooled": False,
            "once": False,
        }
    )
    lines = list(header(stats, TrainConfig(dim=1000), 2))
    assert "memory      24.2 GB for E and Ep, 34.4 GB for token ids in memory" in lines
    assert "disk        24 GB for the model, up to 48 GB more for checkpoints" in lines


def test_65_a_sparse_model_of_more_than_four_gigabytes(tmp_path: Path) -> None:
    """The last row of a file is found beyond 2^32 bytes; the file holds holes, not zeros."""
    import json

    from w2v_sgns import Model

    words, dim = 1_100_000, 512
    names = b"".join(b"%07d" % n for n in range(words))
    size = words * dim * 4
    head: dict[str, object] = {
        "__metadata__": {
            "format": "w2v-sgns",
            "format_version": "1",
            "history": "[]",
            "provenance": "{}",
            "config": json.dumps({"dim": dim}),
        }
    }
    place = 0
    for name, kind, shape, length in (
        ("vocabulary_offsets", "I64", [words + 1], 8 * (words + 1)),
        ("input", "F32", [words, dim], size),
        ("output", "F32", [words, dim], size),
        ("vocabulary", "U8", [7 * words], 7 * words),
    ):
        head[name] = {"dtype": kind, "shape": shape, "data_offsets": [place, place + length]}
        place += length
    text = json.dumps(head).encode()
    text = text.ljust(-(-(8 + len(text)) // 64) * 64 - 8)
    path = tmp_path / "m.safetensors"
    with path.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        start = stream.tell()
        stream.write((7 * np.arange(words + 1, dtype="<i8")).tobytes())
        last = np.arange(dim, dtype="<f4")
        stream.seek(start + 8 * (words + 1) + 2 * size - 4 * dim)
        stream.write(last.tobytes())
        stream.write(names)
    assert path.stat().st_size > 2**32
    model = Model.load(path)
    assert np.array_equal(model.Ep[words - 1], last)
    assert not model.E[words - 1].any()
    assert model.vocabulary.word(words - 1) == "1099999"


def test_ranks_of_counts_beyond_32_bits() -> None:
    data = np.frombuffer(b"abc", np.uint8)
    counts = np.array([2**31 + 1, 2**33, 2**32 + 1], np.int64)
    ranking = rank_words(data, np.array([0, 1, 2, 3]), counts)
    assert ranking.counts.tolist() == [2**33, 2**32 + 1, 2**31 + 1]
