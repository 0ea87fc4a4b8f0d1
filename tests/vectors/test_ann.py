"""The approximate search proposes, exact cosines decide; an index of other vectors is not used."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_models import small_model

from w2v_sgns import Vectors
from w2v_sgns.errors import ConfigError, OutputError
from w2v_sgns.vectors import ann
from w2v_sgns.vectors.ann import build_index, open_index


@pytest.fixture
def file(tmp_path: Path) -> Path:
    words = [f"w{row}" for row in range(3000)]
    model = small_model(words, dim=12)
    model.E[5] = 0
    model.save(tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def test_without_the_extra_it_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ConfigError, match=r"pip install 'w2v-sgns\[ann\]'"):
        open_index(Vectors.load(file), file, say=print)


@pytest.fixture
def faiss() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its bindings
        return pytest.importorskip("faiss", reason="needs the extra ann")


@pytest.mark.usefixtures("faiss")
def test_the_answers_are_the_exact_ones(file: Path) -> None:
    vectors = Vectors.load(file)
    index = build_index(vectors)
    assert index.recall > 0.95
    same = 0
    for word in ("w0", "w77", "w2999"):
        exact, found = vectors.most_similar(word), vectors.most_similar(word, index=index)
        same += len(dict(exact).keys() & dict(found).keys())
        assert all(
            found_cosine == pytest.approx(vectors.similarity(word, other))
            for other, found_cosine in found
        )
        assert word not in dict(found)
    assert same >= 27
    each = vectors.most_similar_each(["w1", "w2"], topn=3, index=index)
    assert each == [vectors.most_similar(word, topn=3, index=index) for word in ("w1", "w2")]
    assert vectors.similar_by_vector(vectors["w9"], index=index)[0][0] == "w9"
    assert vectors.most_similar("w5", index=index) == []
    assert all("w5" not in dict(hits) for hits in each)
    assert len(vectors.most_similar("w1", topn=5000, index=index)) > 2000


@pytest.mark.usefixtures("faiss")
def test_ranges(file: Path) -> None:
    vectors = Vectors.load(file)
    index = build_index(vectors)
    with pytest.raises(ConfigError, match="leave out --index"):
        vectors.most_similar("w1", restrict=5, index=index)
    with pytest.raises(ConfigError, match="--top must be at least 1"):
        vectors.most_similar("w1", topn=0, index=index)


@pytest.mark.usefixtures("faiss")
def test_the_file_is_used_again_until_the_vectors_change(file: Path) -> None:
    said: list[str] = []
    vectors = Vectors.load(file)
    built = open_index(vectors, file, say=said.append)
    assert [line.split()[0] for line in said] == ["building", "recall"]
    assert f"{built.recall:.3f}" in said[1]
    again = open_index(vectors, file, say=said.append)
    assert (len(said), again.recall) == (2, built.recall)
    assert vectors.most_similar("w1", index=again) == vectors.most_similar("w1", index=built)
    small_model([f"w{row}" for row in range(3000)], dim=12, seed=2).save(file, force=True)
    changed = Vectors.load(file)
    newer = open_index(changed, file, say=said.append)
    assert len(said) == 4
    assert dict(changed.most_similar("w1", topn=1, index=newer)) == pytest.approx(
        dict(changed.most_similar("w1", topn=1))
    )
    file.with_name(file.name + ".faiss.json").write_text("{damaged")
    open_index(changed, file, say=said.append)
    assert len(said) == 6


@pytest.mark.usefixtures("faiss")
def test_a_file_of_others_is_left_alone(file: Path) -> None:
    other = file.with_name(file.name + ".faiss")
    other.write_bytes(b"mine")
    with pytest.raises(OutputError, match=r"m\.safetensors\.faiss: exists, and no .* is an index"):
        open_index(Vectors.load(file), file, say=pytest.fail)
    assert other.read_bytes() == b"mine"


@pytest.mark.usefixtures("faiss")
def test_a_folder_that_takes_no_files(file: Path) -> None:
    file.with_name(file.name + ".faiss").mkdir()
    with pytest.raises(OutputError, match="cannot be written"):
        open_index(Vectors.load(file), file, say=lambda line: None)
    assert not list(file.parent.glob("*.tmp"))


@pytest.mark.usefixtures("faiss")
def test_memory_and_disk_are_asked_first(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = Vectors.load(file)
    monkeypatch.setattr(ann, "available_memory", lambda: 1000)
    with pytest.raises(ConfigError, match=r"3,000 words × 12 needs .* of memory; there are"):
        open_index(vectors, file, say=pytest.fail)
    monkeypatch.setattr(ann, "available_memory", lambda: 1 << 40)
    monkeypatch.setattr(ann.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(OutputError, match="the disk has"):
        open_index(vectors, file, say=pytest.fail)
    assert not list(file.parent.glob("*.faiss*"))
