#!/usr/bin/env python3
"""Judge search by mean vectors beside tf-idf and BM25: the same questions, the same pool.

    scripts/bench_retrieval.py test.tsv.gz --pool pool.txt.gz --train train.tsv.gz \
        --model plain.safetensors tuned.safetensors --plain plain.safetensors
    scripts/bench_retrieval.py sts-test.tsv.gz --train train.tsv.gz --model tuned.safetensors

The file is told by its content, as by `w2v eval`. Document frequencies (of "idf mean", tf-idf and
BM25) are those of the training documents; nothing is learned from the questions. tf-idf is
(1 + log tf) · idf with cosine, BM25 has k1 = 1.2, b = 0.75; words are split at blanks. For scored
pairs the lexical reference is Jaccard: shared words over all words.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from w2v_sgns.config import TextOptions
from w2v_sgns.corpus.inputs import open_paths
from w2v_sgns.corpus.vocabulary import Vocabulary
from w2v_sgns.evaluation.retrieval import (
    TIE,
    QueryDocuments,
    RetrievalResult,
    ScoredTexts,
    ask_documents,
    ask_scored,
    read_text_questions,
)
from w2v_sgns.evaluation.statistics import Interval, fisher, spearman
from w2v_sgns.text import Encoder
from w2v_sgns.text.pairs import read_pairs

K1, B = 1.2, 0.75
Frequencies = tuple[Counter[bytes], int]  # documents by word, and documents
Weigh = Callable[[Counter[bytes], int], dict[bytes, float]]


def frequencies(paths: Sequence[Path]) -> Frequencies:
    """Count in how many training documents each word stands."""
    documents = read_pairs(open_paths(paths, TextOptions())).documents
    counts: Counter[bytes] = Counter()
    for text in documents:
        counts.update(set(text.split()))
    return counts, len(documents)


def idf(word: bytes, known: Frequencies) -> float:
    """Return log((n + 1) / (df + 1)): above 0 for all but words in every document."""
    return math.log((known[1] + 1) / (known[0][word] + 1))


def idf_weights(vocabulary: Vocabulary, known: Frequencies) -> np.ndarray:
    """Return every word's idf, float32 (V,)."""
    return np.array([idf(word, known) for word in vocabulary.iter_bytes()], np.float32)


def lexical_ranks(
    questions: QueryDocuments, weigh_query: Weigh, weigh_document: Weigh
) -> np.ndarray:
    """Return the rank of each right document by summed products of weights; 0: not found."""
    postings: dict[bytes, list[tuple[int, float]]] = defaultdict(list)
    places: dict[bytes, list[int]] = defaultdict(list)
    for place, text in enumerate(questions.pool):
        places[text].append(place)
        words = text.split()
        for word, weight in weigh_document(Counter(words), len(words)).items():
            postings[word].append((place, weight))
    lists = {word: tuple(map(np.array, zip(*some, strict=True))) for word, some in postings.items()}
    ranks = np.zeros(len(questions.queries), np.int64)
    for number, (query, text) in enumerate(
        zip(questions.queries, questions.documents, strict=True)
    ):
        scores = np.zeros(len(questions.pool))
        words = query.split()
        for word, weight in weigh_query(Counter(words), len(words)).items():
            if word in lists:
                some, values = lists[word]
                scores[some] += weight * values
        own = places.get(text, [])
        if own and scores[own].max() > 0:
            best = scores[own].max() - TIE
            ranks[number] = 1 + (scores >= best).sum() - (scores[own] >= best).sum()
    return ranks


def tf_idf(known: Frequencies) -> Weigh:
    """Return (1 + log tf) · idf, scaled to length 1."""

    def weigh(counts: Counter[bytes], length: int) -> dict[bytes, float]:
        raw = {word: (1 + math.log(tf)) * idf(word, known) for word, tf in counts.items()}
        size = math.sqrt(sum(value * value for value in raw.values())) or 1.0
        return {word: value / size for word, value in raw.items()}

    return weigh


def bm25_document(questions: QueryDocuments, known: Frequencies) -> Weigh:
    """Return BM25's weight of a word in a document (Robertson and Zaragoza 2009)."""
    mean = float(np.mean([len(text.split()) for text in questions.pool]))

    def weigh(counts: Counter[bytes], length: int) -> dict[bytes, float]:
        spread = K1 * (1 - B + B * length / mean)
        n, total = known
        return {
            word: math.log(1 + (total - n[word] + 0.5) / (n[word] + 0.5))
            * tf
            * (K1 + 1)
            / (tf + spread)
            for word, tf in counts.items()
        }

    return weigh


def once(counts: Counter[bytes], length: int) -> dict[bytes, float]:
    """Return each word's count."""
    return dict(counts)


def jaccard(first: str, second: str) -> float:
    """Return shared words over all words."""
    a, b = set(first.split()), set(second.split())
    return len(a & b) / max(1, len(a | b))


def retrieval_rows(
    questions: QueryDocuments, encoders: dict[str, Encoder], known: Frequencies
) -> list[dict[str, Any]]:
    """Return the figures of every encoder and of both lexical references."""
    results = {name: ask_documents(encoder, questions) for name, encoder in encoders.items()}
    lexical = {
        "tf-idf": lexical_ranks(questions, tf_idf(known), tf_idf(known)),
        "BM25": lexical_ranks(questions, once, bm25_document(questions, known)),
    }
    for name, ranks in lexical.items():
        results[name] = RetrievalResult(
            questions, ranks, words=0, absent=0, without_direction=0, empty=0
        )
    rows = []
    for name, result in results.items():
        figures = {label: (value, interval) for label, value, interval in result.figures()}
        rows.append({"encoder": name} | figures)
    return rows


def scored_rows(questions: ScoredTexts, encoders: dict[str, Encoder]) -> list[dict[str, Any]]:
    """Return every encoder's correlation, and Jaccard's."""
    rows: list[dict[str, Any]] = []
    for name, encoder in encoders.items():
        result = ask_scored(encoder, questions)
        rows.append({"encoder": name, "Spearman": (result.spearman, result.spearman_interval)})
    overlap = [jaccard(pair.first, pair.second) for pair in questions.pairs]
    value = spearman(overlap, [pair.score for pair in questions.pairs])
    interval = fisher(value, len(questions.pairs), of_ranks=True)
    return [*rows, {"encoder": "Jaccard", "Spearman": (value, interval)}]


def encoders_of(options: argparse.Namespace, known: Frequencies | None) -> dict[str, Encoder]:
    """Return the models' own encoders, and plain and idf means of those named for it."""
    encoders: dict[str, Encoder] = {}
    for path in options.plain:
        plain = Encoder.load(path)
        encoders[f"{path.stem}: plain mean"] = plain
        if known is not None:
            weights = idf_weights(plain.vocabulary, known)
            encoders[f"{path.stem}: idf mean"] = Encoder(
                plain.query, plain.vocabulary, weights=weights
            )
    return encoders | {path.stem: Encoder.load(path) for path in options.model}


def shown(cell: tuple[float | None, Interval | None]) -> str:
    """Return a figure and half of its interval's width."""
    value, interval = cell
    if value is None:
        return "n/a"
    return f"{value:.3f}" + (f" ± {(interval[1] - interval[0]) / 2:.3f}" if interval else "")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--pool", type=Path, nargs="*", default=[])
    parser.add_argument("--train", type=Path, nargs="*", default=[], help="document frequencies")
    parser.add_argument("--plain", type=Path, nargs="*", default=[], help="plain and idf mean of")
    parser.add_argument("--model", type=Path, nargs="*", default=[], help="tuned models")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    questions = read_text_questions(options.questions, options.pool)
    known = frequencies(options.train) if options.train else None
    encoders = encoders_of(options, known)
    if isinstance(questions, ScoredTexts):
        rows = scored_rows(questions, encoders)
    else:
        if known is None or not isinstance(questions, QueryDocuments):
            parser.error("queries and documents need --train for the document frequencies")
        rows = retrieval_rows(questions, encoders, known)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    names = list(rows[0])
    print("| " + " | ".join(names) + " |\n|---|" + "---|" * (len(names) - 1))
    for row in rows:
        cells = [row["encoder"], *(shown(row[name]) for name in names[1:])]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
