"""`w2v train`, `vocab` and `phrases` on every kind of corpus: the same text, the same tensors."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from w2v_sgns import Model, train
from w2v_sgns.cli.app import app
from w2v_sgns.errors import CorpusError
from w2v_sgns.training import needs

CASES = Path(__file__).resolve().parents[1] / "cases"
TEXT = (CASES / "06-crlf" / "lf.txt").read_bytes()
SETTINGS = {"dim": 8, "epochs": 2, "min_count": 1, "sample": 0, "threads": 1}
FLAGS = ["--dim", "8", "--epochs", "2", "--min-count", "1", "--sample", "0", "--threads", "1"]


def w2v(*arguments: object, data: bytes | None = None, code: int = 0):
    done = CliRunner().invoke(app, [*map(str, arguments)], input=data)
    assert done.exit_code == code, done.output
    return done


def tensors(corpus) -> tuple[bytes, bytes]:
    model = train(corpus, **SETTINGS)
    return np.ascontiguousarray(model.E).tobytes(), np.ascontiguousarray(model.Ep).tobytes()


def test_every_way_gives_the_same_tensors(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(TEXT)
    expected = tensors(plain)
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        (tmp_path / "packed").write_bytes(pack(TEXT))
        assert tensors(tmp_path / "packed") == expected
    lines = TEXT.splitlines(keepends=True)
    (tmp_path / "parts").mkdir()
    for number in range(10):
        (tmp_path / "parts" / str(number)).write_bytes(b"".join(lines[number * 6 :][:6]))
    assert tensors(tmp_path / "parts") == expected
    (tmp_path / "crlf").write_bytes(TEXT.replace(b"\n", b"\r\n"))
    assert tensors(tmp_path / "crlf") == expected
    words = [line.decode().split() for line in lines]
    assert tensors(words) == expected
    assert tensors(line for line in words) == expected


def test_a_pipe(tmp_path: Path) -> None:
    plain, piped = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    (tmp_path / "text").write_bytes(TEXT)
    w2v("train", tmp_path / "text", "-o", plain, *FLAGS)
    done = w2v("train", "-", "-o", piped, *FLAGS, data=TEXT)
    assert "standard input: 1.32 kB, read once" in done.output
    one, two = Model.load(plain), Model.load(piped)
    assert np.array_equal(one.E, two.E)
    assert one.provenance["fingerprint"] == two.provenance["fingerprint"]
    assert two.provenance["corpus"] == [{"name": "-", "bytes": len(TEXT)}]


def test_17_order_and_number_of_files_are_told(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    done = w2v("train", CASES / "17-many-files" / "corpus", "-o", out, *FLAGS)
    assert "files       4 in this order:" in done.output
    assert "1 file without text" in done.output
    names = [entry["name"] for entry in Model.load(out).provenance["corpus"]]
    assert names == ["corpus/a.txt", "corpus/b.txt", "corpus/c.txt.gz", "corpus/empty.txt"]
    done = w2v("train", CASES / "17-many-files" / "no*.txt", "-o", out, *FLAGS, code=1)
    assert "matches no file" in done.output


def test_nothing_is_written_from_half_a_corpus(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    done = w2v("train", CASES / "16-compressed-corpus" / "cut.txt.gz", "-o", out, *FLAGS, code=1)
    assert "cut.txt.gz" in done.output
    assert "ended early" in done.output
    assert not out.exists()


def test_08_the_summary_counts_invalid_tokens(tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    done = w2v("train", CASES / "08-invalid-utf8" / "corpus.txt", "-o", out, *FLAGS)
    assert "15 tokens of 3 types held invalid UTF-8, first on line 1" in done.output
    assert b"caf\xe9" in Model.load(out).vocabulary


def test_vocabulary_files(tmp_path: Path) -> None:
    text, vocab = tmp_path / "text", tmp_path / "vocab.txt"
    text.write_bytes(TEXT)
    out = tmp_path / "m.safetensors"
    w2v("train", text, "-o", out, "--save-vocab", vocab, "--max-vocab", 4, *FLAGS)
    rows = [line.split("\t") for line in vocab.read_text().splitlines()]
    model = Model.load(out)
    assert [word for word, _ in rows] == list(model.vocabulary)
    assert len(rows) == 4
    again = train(text, read_vocab=vocab, **SETTINGS)
    assert np.array_equal(again.E, model.E)
    done = w2v(
        "train",
        text,
        "-o",
        out,
        "--save-vocab",
        vocab,
        "--force",
        *FLAGS[:4],
        "--vocab-format",
        "word2vec",
        "--min-count",
        1,
    )
    assert vocab.read_bytes().startswith(b"</s> 0\n")
    done = w2v("train", text, "-o", out, "--save-vocab", vocab, *FLAGS, code=1)
    assert "exists" in done.output
    done = w2v("train", text, "-o", out, "--force", "--save-vocab", text, *FLAGS, code=1)
    assert "would replace an input" in done.output


def test_53_a_cap_loses_no_frequent_word(tmp_path: Path) -> None:
    subprocess.run([sys.executable, CASES / "53-vocab-cap" / "gen.py"], cwd=tmp_path, check=True)
    from w2v_sgns.corpus import load_corpus

    options = {"threads": 2, "memory_bytes": 1 << 30}
    for selection in ({"min_count": 5}, {"min_count": 1, "max_vocab": 100_000}):
        with load_corpus(tmp_path / "corpus.txt", **selection, **options) as corpus:
            counts = dict(zip(corpus.vocabulary, corpus.vocabulary.counts.tolist(), strict=True))
        assert (counts["steady"], counts["late"]) == (2000, 10)
    with load_corpus(tmp_path / "corpus.txt", min_count=1, **options) as corpus:
        assert len(corpus.vocabulary) == 1_000_002


# ---- whole-line windows


def test_every_pair_of_a_line(tmp_path: Path) -> None:
    lines = [["a", "b", "c"], ["d"], ["e", "f", "g", "h"], ["a", "h"]]
    model = train(lines, **SETTINGS | {"window": "line"})
    expected = sum(len(line) * (len(line) - 1) for line in lines)
    assert [entry["pairs"] for entry in model.history] == [expected, expected]
    assert model.config.window == "line"
    fixed = train(lines, **SETTINGS | {"window": 3, "fixed_window": True})
    assert np.array_equal(fixed.E, model.E)


def test_a_line_over_many_chunks() -> None:
    # The pairs are counted, not trained: 1.6 thousand million.
    lines = [["x", "y"], [f"w{i % 50}" for i in range(40_000)], ["y", "x"]]
    from w2v_sgns.config import TrainConfig
    from w2v_sgns.corpus import load_corpus
    from w2v_sgns.training.needs import window_reach
    from w2v_sgns.training.trainer import cpu_backend, initial_matrices

    config = TrainConfig(window="line", sample=0, dim=8, min_count=1)
    with load_corpus(lines, min_count=1, threads=1, memory_bytes=1 << 30) as corpus:
        window = window_reach(config, corpus.stats.longest_line)
        E, Ep = initial_matrices(len(corpus.vocabulary), config)
        backend, _ = cpu_backend(E, Ep, corpus, config, threads=1, window=window)
        pairs = sum(backend.count_pairs(chunk) for chunk in range(backend.chunks))
    assert pairs == 40_000 * 39_999 + 4


def test_a_whole_line_over_chunks_is_trained() -> None:
    """Thinned out, so that the pairs are few enough to be trained."""
    import naive

    from w2v_sgns.config import TrainConfig
    from w2v_sgns.sampling import keep_probabilities, keep_thresholds

    lines = [["x", "y"], [f"w{i % 50}" for i in range(40_000)], ["y", "x"]]
    settings = {"dim": 4, "negative": 1, "epochs": 1, "min_count": 1, "lr": 1e-4}
    model = train(lines, sample=1e-5, window="line", **settings)
    counts = model.vocabulary.counts
    rows = {word: row for row, word in enumerate(model.vocabulary)}
    tokens = np.array([rows[word] for line in lines for word in line], np.uint32)
    tokens[np.cumsum([len(line) for line in lines]) - 1] |= 1 << 31
    # a text of fewer than 1/t words: t is one word of it
    keep = keep_thresholds(keep_probabilities(counts, 1 / len(tokens)))
    twin = TrainConfig(window=1, sample=1e-5)
    kept = [len(line) for line in naive.kept_lines(tokens, keep, twin, 0)]
    assert max(kept) > 500
    assert model.history[0]["pairs"] == sum(n * (n - 1) for n in kept)
    assert model.history[0]["kept"] == sum(kept)


def test_a_line_too_long_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "LONGEST_LINE", 5)
    train([list("abcde"), list("ab")], **SETTINGS | {"window": "line"})
    with pytest.raises(CorpusError, match=r"6 tokens, at most 5 .*--window N --fixed-window"):
        train([list("abcdef")], **SETTINGS | {"window": "line"})


def test_the_header_says_which_pairs(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(TEXT)
    for flags, text in (
        (["--window", "line"], "every word with every other of its line"),
        (["--window", "3"], "each word and the 1–3 (drawn) nearest on either side"),
        (["--window", "3", "--fixed-window"], "each word and the 3 nearest on either side"),
    ):
        assert text in w2v("train", tmp_path / "text", "--dry-run", *FLAGS, *flags).output
    w2v("train", tmp_path / "text", "--window", "lines", code=2)


# ---- dry run, vocab, phrases


def test_a_dry_run_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = CASES / "02-whitespace-only" / "mostly-blank.txt"
    done = w2v("train", text, "--dry-run", *FLAGS)
    assert "dry run     4 pairs per epoch, 2 epochs" in done.output
    assert "2 types kept, of 4 tokens" in done.output
    assert "nothing was written" in done.output
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "text").write_bytes(TEXT)
    pairs = w2v("train", "text", "--dry-run", *FLAGS).output.split("dry run")[1].split()[0]
    model = train(tmp_path / "text", **SETTINGS)
    assert int(pairs.replace(",", "")) == model.history[0]["pairs"]


def test_vocab(tmp_path: Path) -> None:
    path = CASES / "08-invalid-utf8" / "corpus.txt"
    found = json.loads(w2v("vocab", path, "--json", "--top", 2).output)
    assert (found["tokens"], found["types"], found["lines"]) == (40, 7, 20)
    assert (found["invalid_tokens"], found["invalid_first"]) == (15, "line 1")
    assert found["coverage"][0] == {"min_count": 1, "types": 7, "tokens": 40}
    assert found["coverage"][-1] == {"min_count": 10, "types": 1, "tokens": 10}
    assert found["frequent"][0] == {"word": "latte", "count": 10}
    assert [row["bytes"] for row in found["longest"]] == [5, 5]
    text = w2v("vocab", path).output
    assert "37.5 % of tokens are no UTF-8" in text


@pytest.mark.parametrize("data", [b"one\n", b"one two\nthree\n" * 3, b"a\nb\nc\n"])
def test_vocab_reports_what_cannot_be_trained(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "text").write_bytes(data)
    found = json.loads(w2v("vocab", tmp_path / "text", "--json").output)
    assert found["tokens"] == len(data.split())
    assert found["types"] == len(set(data.split()))
    w2v("phrases", tmp_path / "text", "-o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == data


def test_phrases(tmp_path: Path) -> None:
    text, out, scores = (tmp_path / name for name in ("text", "out.txt", "scores.tsv"))
    text.write_bytes(gzip.compress(b"i love new york\n\nnew york is big\n" * 20 + b"new york"))
    flags = ("--threshold", "1", "--min-count", "5")
    w2v("phrases", text, "-o", out, "--save-scores", scores, *flags)
    assert out.read_bytes() == b"i_love new_york\nnew_york is_big\n" * 20 + b"new_york\n"
    rows = dict(line.split("\t", 1) for line in scores.read_text().splitlines())
    value, count = rows["new_york"].split("\t")
    assert count == "41"
    assert float(value) == (41 - 5) / 41 / 41 * 162
    assert w2v("phrases", text, "-o", "-", *flags).output.startswith("i_love new_york\n")
    assert "exists" in w2v("phrases", text, "-o", out, *flags, code=1).output
    w2v("phrases", text, "-o", text, "--force", code=1)
    again = w2v("phrases", text, "-o", "-", *flags, "--passes", 2).output
    assert again.startswith("i_love_new_york\n")
