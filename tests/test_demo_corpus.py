"""The demo corpus is what its script writes, and a model of it knows the words it should."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest


def test_the_files_are_what_the_script_writes(root: Path) -> None:
    script = root / "scripts" / "make_demo_corpus.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_changed_file_is_noticed(root: Path, tmp_path: Path) -> None:
    for name in ("make_demo_corpus.py", "demo_grammar.py"):
        target = tmp_path / "scripts" / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((root / "scripts" / name).read_bytes())
    data = tmp_path / "data"
    data.mkdir()
    (data / "demo-corpus.txt").write_text("the king\n")
    (data / "demo-analogies.txt").write_bytes((root / "data/demo-analogies.txt").read_bytes())
    command = [sys.executable, tmp_path / "scripts" / "make_demo_corpus.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.count("differs") == 1 and "demo-corpus.txt" in done.stdout


def test_shape_of_the_text(demo_corpus: Path) -> None:
    text = demo_corpus.read_text(encoding="ascii")
    lines = text.splitlines()
    counts = Counter(text.split())
    assert len(text) < 1_000_000
    assert 179_000 < sum(counts.values()) < 181_000
    assert len(counts) > 1_500 and min(counts.values()) >= 5  # nothing falls to --min-count 5
    assert all(word.isalpha() and word.islower() for word in counts)
    assert all(4 <= len(line.split()) <= 25 and line == " ".join(line.split()) for line in lines)


def test_every_question_can_be_asked(root: Path, demo_corpus: Path) -> None:
    known = set(demo_corpus.read_text().split())
    lines = (root / "data" / "demo-analogies.txt").read_text().splitlines()
    sections = [line for line in lines if line.startswith(": ")]
    questions = [line.split() for line in lines if not line.startswith(": ")]
    assert len(sections) == len(set(sections)) == 9
    assert len(questions) > 2_000
    assert all(len(question) == 4 and known.issuperset(question) for question in questions)
    assert len(set(map(tuple, questions))) == len(questions)
    assert all(a != c for a, _, c, _ in questions)


NEIGHBOURS = {
    "king": {"queen", "prince", "princess", "throne", "palace", "crown", "emperor", "empress"},
    "uncle": {"aunt", "nephew", "niece", "cousins", "relatives"},
    "baker": {"bakery", "dough", "flour", "oven"},
    "winter": {"snow", "ice", "frost", "frosty", "january", "icicle"},
}


@pytest.mark.parametrize("word", NEIGHBOURS)
def test_the_defaults_give_sensible_neighbours(word: str, demo_model: Path) -> None:
    from w2v_sgns import Model

    nearest = [near for near, _ in Model.load(demo_model).vectors.most_similar(word, topn=10)]
    assert len(NEIGHBOURS[word].intersection(nearest)) >= 3, nearest


def test_training_takes_less_than_three_seconds(demo_corpus: Path, demo_model: Path) -> None:
    """`demo_model` compiled everything; what is measured is training alone."""
    from w2v_sgns import train

    seconds: list[float] = []
    train(demo_corpus, progress=lambda event: seconds.append(event.seconds))
    assert 0 < max(seconds) < 3.0
