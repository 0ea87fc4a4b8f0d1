#!/usr/bin/env python3
"""Evaluate the same vectors here and with gensim: time, and whether every answer is the same.

    scripts/bench_eval.py questions-words.txt -m model.safetensors --pairs WS-353.txt

Both sides read the question file anew each time; opening the model is not counted. Needs the
interop extra. Differences are listed with the question; the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from w2v_sgns import Vectors
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.evaluation import AnalogyResult

Key = tuple[str, tuple[str, ...]]  # section, words


def gensim_vectors(vectors: Vectors) -> Any:
    """Return gensim's KeyedVectors of the same rows."""
    from gensim.models import KeyedVectors

    theirs = KeyedVectors(vectors.vector_size)
    theirs.add_vectors(list(vectors.vocabulary), np.ascontiguousarray(vectors.matrix))
    theirs.fill_norms()
    return theirs


def by_products(vectors: Vectors, restrict: int) -> Any:
    """Return gensim's first rows with a search by products.

    gensim 4.4's evaluator takes no notice of its `similarity_function`, and most_similar_cosmul
    has no restrict_vocab.
    """
    theirs = gensim_vectors(Vectors(vectors.matrix[:restrict], first_words(vectors, restrict)))
    theirs.init_sims = theirs.fill_norms  # the same without a warning at every call
    theirs.most_similar = lambda positive, negative, topn, restrict_vocab: (
        theirs.most_similar_cosmul(positive, negative, topn=topn)
    )
    return theirs


def first_words(vectors: Vectors, count: int) -> Vocabulary:
    """Return the words of the first rows."""
    return Vocabulary.from_words(list(islice(vectors.vocabulary, count)))


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what the work returns, its seconds and its CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return result, {name: round(value, 3) for name, value in seconds.items()}


def our_answers(result: AnalogyResult, *, fold: bool) -> dict[Key, bool]:
    """Return right or wrong by question, for those that were answered."""
    answers = {}
    for question, outcome in zip(result.questions.questions, result.outcome, strict=True):
        words = (question.a, question.b, question.c, question.answers[0])
        if outcome >= 0:
            answers[question.section, tuple(w.upper() if fold else w for w in words)] = bool(
                outcome
            )
    return answers


def their_answers(sections: list[dict[str, Any]]) -> dict[Key, bool]:
    """Return gensim's answers the same way; its last section is the total."""
    return {
        (section["section"], tuple(words)): kind == "correct"
        for section in sections[:-1]
        for kind in ("correct", "incorrect")
        for words in section[kind]
    }


def analogies(
    vectors: Vectors, theirs: Any, path: Path, case: str, options: argparse.Namespace
) -> dict[str, Any]:
    """Ask both sides and compare question by question."""
    ours, our_time = timed(
        lambda: vectors.evaluate_analogies(
            path, restrict=options.restrict, case=case, method=options.method
        )
    )
    (_, sections), their_time = timed(
        lambda: theirs.evaluate_word_analogies(
            str(path),
            restrict_vocab=options.restrict,
            case_insensitive=case == "fold",
        )
    )
    a, b = our_answers(ours, fold=case == "fold"), their_answers(sections)
    differ = sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))
    return {
        "case": case,
        "answered": {"ours": len(a), "gensim": len(b)},
        "right": {"ours": sum(a.values()), "gensim": sum(b.values())},
        "differ": [{"section": s, "words": w, "ours": a.get((s, w))} for s, w in differ],
        "seconds": {"ours": our_time, "gensim": their_time},
        "faster": {name: round(their_time[name] / our_time[name], 1) for name in our_time},
    }


def pairs(vectors: Vectors, theirs: Any, path: Path, case: str) -> dict[str, Any]:
    """Correlate both sides with a file of tab-separated pairs."""
    ours = vectors.evaluate_similarity(path, case=case)
    pearson, spearman, skipped = theirs.evaluate_word_pairs(
        str(path), restrict_vocab=len(vectors), case_insensitive=case == "fold"
    )
    return {
        "file": path.name,
        "case": case,
        "spearman": {"ours": ours.spearman, "gensim": float(spearman[0])},
        "pearson": {"ours": ours.pearson, "gensim": float(pearson[0])},
        "unknown": {"ours": ours.unknown, "gensim": round(skipped * ours.asked / 100)},
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("-m", "--model", type=Path, default=Path("model.safetensors"))
    parser.add_argument("--pairs", type=Path, nargs="*", default=[])
    parser.add_argument("--restrict", type=int, default=30_000)
    parser.add_argument("--method", choices=("add", "mul"), default="add")
    options = parser.parse_args()
    vectors = Vectors.load(options.model)
    theirs = gensim_vectors(vectors)
    asked = theirs if options.method == "add" else by_products(vectors, options.restrict)
    report: dict[str, Any] = {"analogies": [], "pairs": []}
    for case in ("exact", "fold"):
        found = analogies(vectors, asked, options.questions, case, options)
        report["analogies"].append(found)
        report["pairs"] += [pairs(vectors, theirs, path, case) for path in options.pairs]
    print(json.dumps(report, indent=2))
    return 1 if any(found["differ"] for found in report["analogies"]) else 0


if __name__ == "__main__":
    sys.exit(main())
