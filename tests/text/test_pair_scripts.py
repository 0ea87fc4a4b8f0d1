"""The scripts around text pairs: what they make, and the lexical references they measure."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from w2v_sgns.evaluation.retrieval import QueryDocuments


def script(root: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, root / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pairs_of_a_plain_text_keep_all_words_of_a_passage(root: Path, tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(1000)]
    (tmp_path / "c.txt").write_text(" ".join(words) + "\nshort line\n")
    out = tmp_path / "p.tsv"
    command = [sys.executable, root / "scripts" / "make_pairs.py", tmp_path / "c.txt", "-o", out]
    subprocess.run(command, check=True)
    lines = out.read_text().splitlines()
    assert len(lines) >= 9
    seen: list[str] = []
    for line in lines:
        query, document = (side.split() for side in line.split("\t"))
        assert 10 <= len(query) <= 25 and 50 <= len(query) + len(document) <= 110
        numbers = [int(word[1:]) for word in query]
        assert numbers == list(range(numbers[0], numbers[0] + len(query)))
        seen += sorted([*query, *document], key=lambda word: int(word[1:]))
    assert seen == words[: len(seen)]


def test_bm25_and_tf_idf_by_hand(root: Path) -> None:
    bench = script(root, "bench_retrieval")
    pool = [b"cat sat sat", b"dog ran", b"the cat ran far"]
    questions = QueryDocuments(
        "p", "queries", queries=[b"sat", b"cat far", b"?"], documents=pool[:1] * 3, pool=pool
    )
    known = (Counter({b"cat": 2, b"sat": 1, b"ran": 2, b"dog": 1}), 3)
    weigh = bench.bm25_document(questions, known)
    spread = 1.2 * (1 - 0.75 + 0.75 * 3 / 3)
    expected = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5)) * 2 * 2.2 / (2 + spread)
    assert weigh(Counter(pool[0].split()), 3)[b"sat"] == pytest.approx(expected)
    assert bench.lexical_ranks(questions, bench.once, weigh).tolist() == [1, 2, 0]
    raw = {b"cat": math.log(4 / 3), b"sat": (1 + math.log(2)) * math.log(4 / 2)}
    size = math.hypot(*raw.values())
    found = bench.tf_idf(known)(Counter(pool[0].split()), 3)
    assert found == pytest.approx({word: value / size for word, value in raw.items()})


def test_bench_retrieval_runs(root: Path, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("3 2\nlamp 1 0\ntent 0 1\ndrum 1 1\n")
    pairs = root / "data" / "demo-pairs.tsv"
    command = [sys.executable, root / "scripts" / "bench_retrieval.py", pairs, "--train", pairs]
    done = subprocess.run(
        [*command, "--plain", tmp_path / "v.txt", "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows = {row["encoder"]: row for row in json.loads(done.stdout)}
    assert set(rows) == {"v: plain mean", "v: idf mean", "tf-idf", "BM25"}
    assert rows["BM25"]["recall@10"][0] > rows["v: plain mean"]["recall@10"][0]
