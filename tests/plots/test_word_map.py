"""The map without a browser: places, classes, the page's bytes, what is refused and said."""

from __future__ import annotations

import importlib.util
import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import WORDS, small_model
from typer.testing import CliRunner

from w2v_sgns import Vectors
from w2v_sgns.cli.app import app
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.errors import ConfigError
from w2v_sgns.plots import layout
from w2v_sgns.plots import map as module
from w2v_sgns.plots.layout import lay_out
from w2v_sgns.plots.map import build_map, map_page, open_words
from w2v_sgns.vectors.neighbours import nearest


def rows(count: int, dim: int, seed: int = 0) -> np.ndarray:
    numbers = np.random.default_rng(seed).standard_normal((count, dim))
    return (numbers / np.linalg.norm(numbers, axis=1, keepdims=True)).astype(np.float32)


def vectors_of(matrix: np.ndarray) -> Vectors:
    words = [f"w{row}" for row in range(len(matrix))]
    return Vectors(matrix.astype(np.float32), Vocabulary.from_words(words))


def parts(page: bytes) -> tuple[str, str, str, dict[str, Any]]:
    """The policy, the style, the script and the data of a page."""
    text = page.decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    return policy, style, script, json.loads(data)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.safetensors"
    small_model().save(path)
    return path


def run(file: Path, *arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["map", *map(str, arguments), "-m", str(file)])


def test_pca_is_the_projection_of_least_loss() -> None:
    """Against the singular value decomposition, the other way to the same axes."""
    directions = rows(60, 7)
    found = lay_out(directions)
    centred = directions.astype(np.float64) - directions.mean(axis=0, dtype=np.float64)
    _, singular, axes = np.linalg.svd(centred)
    places = centred @ axes[:2].T
    for axis in range(2):
        correlation = np.corrcoef(found.places[:, axis], places[:, axis])[0, 1]
        assert abs(correlation) == pytest.approx(1, abs=1e-5)
    spread = np.ptp(found.places, axis=0)
    assert spread[0] / spread[1] == pytest.approx(np.ptp(places[:, 0]) / np.ptp(places[:, 1]))
    assert spread.max() == pytest.approx(2)
    assert found.variance == pytest.approx((singular[:2] ** 2).sum() / (singular**2).sum())


@pytest.mark.parametrize(("count", "dim"), [(1, 1), (1, 4), (5, 1), (5, 2)])
def test_pca_of_next_to_nothing(count: int, dim: int) -> None:
    found = lay_out(rows(count, dim))
    assert found.places.shape == (count, 2)
    assert np.abs(found.places).max() <= 1
    assert found.variance is not None and 0 <= found.variance <= 1 + 1e-9


def test_the_policy_allows_the_pages_own_script_and_style_alone() -> None:
    policy, style, script, _ = parts(map_page(build_map(vectors_of(rows(20, 4)))))
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_the_page_names_no_address_and_leaves_no_slot() -> None:
    page = map_page(build_map(vectors_of(rows(20, 4)))).decode()
    assert not re.findall(r"https?:|//\w|url\(|@import", re.sub(r"// .*", "", page))
    assert not re.findall(r"\{\{\w+\}\}", page)
    assert not re.findall(r"\sstyle=|\son\w+=", page)  # the policy would block them


def test_the_data_is_what_was_drawn() -> None:
    drawn = build_map(vectors_of(rows(50, 9)))
    *_, data = parts(map_page(drawn, name="a</script>.bin"))
    assert data["name"] == "a</script>.bin"
    assert data["words"] == [f"w{row}" for row in range(50)]
    places = np.frombuffer(b64decode(data["places"]), "<f4").reshape(50, 2)
    np.testing.assert_array_equal(places, drawn.layout.places)
    assert list(b64decode(data["classes"])) == drawn.labels.tolist()
    numbers = np.frombuffer(b64decode(data["vectors"]), np.int8).reshape(50, 9).astype(float)
    cosines = (numbers * drawn.directions).sum(axis=1) / np.linalg.norm(numbers, axis=1)
    assert cosines.min() > 0.9999


def test_the_stated_overlap_is_counted_as_it_reads() -> None:
    drawn = build_map(vectors_of(rows(90, 12)))
    *_, data = parts(map_page(drawn))
    numbers = np.frombuffer(b64decode(data["vectors"]), np.int8).reshape(90, 12)
    shared = 0
    for row in range(90):
        exact, stored = (
            {hit for hit, _ in nearest(m, m[row], exclude=[[row]])[0]}
            for m in (drawn.directions, numbers.astype(np.float32))
        )
        shared += len(exact & stored)
    assert data["overlap"] == pytest.approx(shared / 900)
    assert 0.9 < data["overlap"] < 1


def test_the_same_vectors_give_the_same_bytes() -> None:
    vectors = vectors_of(rows(40, 6))
    assert map_page(build_map(vectors)) == map_page(build_map(vectors))


def test_classes_are_named_by_frequent_typical_words() -> None:
    centres = np.eye(3)
    matrix = np.repeat(centres, 60, axis=0) + 0.05 * rows(180, 3)
    matrix[0], matrix[59] = [1, 0.5, 0], [1, 0, 0]  # the first fits badly, the last is too rare
    drawn = build_map(vectors_of(matrix))
    assert len(drawn.class_words) == 12
    for label, words in enumerate(drawn.class_words):
        own = [f"w{row}" for row in np.flatnonzero(drawn.labels == label)[: module.NAMING_WORDS]]
        assert set(words) <= set(own)
        assert len(words) == min(3, len(own))


def test_what_the_command_writes_and_says(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    done = run(file, out)
    assert (done.exit_code, done.stdout) == (0, "")
    assert re.fullmatch(rf"written     {re.escape(str(out))}: 8 words, [\d.]+ kB\n", done.stderr)
    *_, data = parts(out.read_bytes())
    assert data["words"][:5] == ["king", "queen", "new york", "größe", r"caf\xe9"]
    assert data["counts"] == list(range(80, 0, -10))
    assert data["name"] == "m.safetensors"
    old = out.read_bytes()
    done = run(file, out, "--top", "3")
    assert (done.exit_code, "exists; use --force" in done.stderr) == (1, True)
    assert out.read_bytes() == old
    assert run(file, out, "--top", "3", "--force").exit_code == 0
    *_, data = parts(out.read_bytes())
    assert data["words"] == list(WORDS[:3])


def test_words_of_a_file(file: Path, tmp_path: Path) -> None:
    listed = tmp_path / "words.txt"
    listed.write_bytes(b"new york\nking\nnobody\ncaf\xe9\n")
    out = tmp_path / "out.html"
    done = run(file, out, "--words", listed)
    assert done.exit_code == 0
    warning, written = done.stderr.splitlines()
    assert warning.endswith(
        "words.txt: 1 of 4 words are not among the vectors and are left out: nobody"
    )
    assert "3 words" in written
    *_, data = parts(out.read_bytes())
    assert data["words"] == ["king", "new york", r"caf\xe9"]
    listed.write_text("nobody\n\u202eelse\n")
    done = run(file, out, "--words", listed, "--force")
    assert done.exit_code == 1
    assert done.stderr.endswith("none of its words is among the vectors: nobody, \\u202eelse\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.gif"], "must end in .html or .png or .svg"),
        (["missing/a.html"], "make it first"),
        (["a.html", "--top", "0"], "--top must be at least 1, not 0"),
        (["a.html", "--method", "magic"], "--method must be one of pca"),
        (["a.html", "--seed", "-1"], "--seed must be at least 0"),
        (["a.html", "--words", "missing.txt"], "missing.txt"),
        (["."], "must end in .html or .png or .svg"),
    ],
)
def test_refusals_are_one_line_and_leave_nothing(
    arguments: list[str], message: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    done = run(file, *arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert [entry.name for entry in file.parent.iterdir()] == ["m.safetensors"]


def test_words_without_a_direction_are_left_out_and_told(tmp_path: Path) -> None:
    model = small_model()
    model.E[1], model.E[4] = 0, 0
    file, out = tmp_path / "m.safetensors", tmp_path / "out.html"
    model.save(file)
    done = run(file, out)
    assert done.exit_code == 0
    assert "left out: 2" in done.stderr
    *_, data = parts(out.read_bytes())
    assert (len(data["words"]), data["leftOut"]) == (6, 2)
    assert "queen" not in data["words"]


def test_vectors_that_are_all_zero_or_not_finite() -> None:
    matrix = np.zeros((3, 4))
    with pytest.raises(ConfigError, match="none of the 3 words has a direction"):
        build_map(vectors_of(matrix))
    matrix[0], matrix[1], matrix[2] = np.nan, np.inf, 1
    drawn = build_map(vectors_of(matrix))
    assert (list(drawn.words), drawn.left_out) == (["w2"], 2)


def test_too_many_words_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WORDS", 5)
    with pytest.raises(ConfigError, match=r"8 words are too many .* at most 5; use --top N"):
        open_words(file)
    assert len(open_words(file, top=5)) == 5


needs_tsne = pytest.mark.skipif(
    importlib.util.find_spec("openTSNE") is None,
    reason="needs openTSNE: pip install -e '.[plot]' (.ci/run does)",
)


@needs_tsne
def test_tsne_keeps_neighbours_together_where_pca_cannot() -> None:
    """Twelve groups in as many directions: on the map, too, a word's nearest are of its group."""
    truth = np.repeat(np.arange(12), 20)
    matrix = np.eye(12)[truth] + 0.3 * rows(240, 12)
    directions = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)

    def own_share(method: str) -> float:
        places = lay_out(directions, method=method).places.astype(float)
        distances = ((places[:, None] - places[None]) ** 2).sum(axis=2)
        closest = distances.argsort(axis=1)[:, 1:6]
        return float((truth[closest] == truth[:, None]).mean())

    assert own_share("tsne") > 0.9 > own_share("pca")


@needs_tsne
def test_tsne_depends_on_the_seed_alone() -> None:
    directions = rows(60, 5)
    first, second = (lay_out(directions, method="tsne", seed=seed) for seed in (1, 1))
    np.testing.assert_array_equal(first.places, second.places)
    assert first.variance is None
    assert np.abs(first.places).max() == pytest.approx(1)
    other = lay_out(directions, method="tsne", seed=2)
    assert (other.places != first.places).any()


@needs_tsne
@pytest.mark.parametrize("matrix", [np.ones((9, 3)), rows(9, 1), rows(4, 2)], ids=str)
def test_tsne_of_next_to_nothing(matrix: np.ndarray) -> None:
    found = lay_out(matrix.astype(np.float32), method="tsne")
    assert np.isfinite(found.places).all()


@needs_tsne
def test_tsne_needs_a_few_words(file: Path, tmp_path: Path) -> None:
    done = run(file, tmp_path / "a.html", "--top", "3", "--method", "tsne")
    assert done.exit_code == 1
    assert done.stderr == ("w2v: --method tsne needs at least 4 words, not 3; use --method pca\n")


def test_tsne_without_its_library_is_one_sentence(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "find_spec", lambda name: None)
    done = run(file, tmp_path / "a.html", "--method", "tsne")
    assert done.exit_code == 1
    assert done.stderr.endswith("pip install 'w2v-sgns[plot]', or use pca\n")
