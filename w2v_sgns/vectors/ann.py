"""Approximate search for millions of words: a graph (HNSW) kept in a file beside the model.

Needs the extra `ann` (faiss). The graph only proposes rows; their cosines are worked out exactly,
so the numbers are those of the exact search, and what may be missing is a neighbour. An index that
does not belong to the vectors is built anew.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.errors import ConfigError, OutputError
from w2v_sgns.machine import available_memory, human_bytes
from w2v_sgns.vectors.neighbours import Hits, nearest, unit
from w2v_sgns.vectors.vectors import Vectors

__all__ = ["Index", "build_index", "open_index"]

LINKS = 16  # of a node in the graph
WIDTH_BUILDING, WIDTH_SEARCHING = 128, 256  # candidates kept on the way
NODE_BYTES = 140  # of a node's links, measured
BLOCK_ROWS = 1 << 16
SAMPLED_ROWS = 4096  # what an index is recognised by
TESTED_WORDS, TESTED_TOP = 200, 10


class Index:
    """A graph over the rows of vectors.

    Attributes:
        vectors: what it was built from.
        recall: the share of the exact ten nearest that it found, over 200 words.
    """

    def __init__(self, vectors: Vectors, graph: Any, recall: float | None = None) -> None:
        self.vectors, self.recall = vectors, recall
        self._graph = graph
        graph.hnsw.efSearch = WIDTH_SEARCHING

    def nearest(self, queries: NDArray[Any], *, topn: int, exclude: list[list[int]]) -> list[Hits]:
        """Return the (row, cosine) of near rows for queries (n, d), best first, ties by row.

        Raises:
            ConfigError: `topn` is below 1, or the widths differ.
        """
        matrix = self.vectors.matrix
        directions = unit(np.atleast_2d(np.asarray(queries, np.float64)))
        nearest(matrix[:0], directions, topn=topn)  # refuses what the exact search refuses
        wanted = topn + max((len(rows) for rows in exclude), default=0)
        self._graph.hnsw.efSearch = max(WIDTH_SEARCHING, 2 * wanted)
        _, found = self._graph.search(directions.astype(np.float32), min(wanted, len(matrix)))
        answers: list[Hits] = []
        for direction, some, banned in zip(directions, found, exclude, strict=True):
            rows = np.setdiff1d(some[some >= 0], banned)  # sorted: ties stay ties by row
            (hits,) = nearest(matrix[rows], direction[None, :], topn=topn)
            answers.append([(int(rows[place]), cosine) for place, cosine in hits])
        return answers


def open_index(
    vectors: Vectors, model: Path, *, say: Callable[[str], None], rows: str = "words"
) -> Index:
    """Return the index beside a model file, built now if it is not there or of other vectors.

    Args:
        vectors: those of the model.
        model: the model's file; the index is `MODEL.faiss`, its passport `MODEL.faiss.json`.
        say: is told when an index is built, and how much of the exact answers it finds.
        rows: what the rows are, for messages.

    Raises:
        ConfigError: the extra is not installed, or memory is short.
        OutputError: the index cannot be written, or a file of that name is none of ours.
    """
    faiss = _faiss()
    path = model.with_name(model.name + ".faiss")
    passport = path.with_name(path.name + ".json")
    known = _passport(passport)
    if path.is_file() and known.get("vectors") == _fingerprint(vectors):
        graph = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)  # mapped, not read
        return Index(vectors, graph, known.get("recall"))
    _refuse_foreign(path, passport)
    _check_room(vectors, path, rows)
    say(f"building the index {path} of {len(vectors):,} {rows}; this is done once")
    index = build_index(vectors)
    say(f"recall {index.recall:.3f}: so many of the exact {TESTED_TOP} nearest were found")
    _save(index, path, passport)
    return index


def _refuse_foreign(path: Path, passport: Path) -> None:
    """Refuse to replace a file that has no passport of ours.

    Raises:
        OutputError: names it.
    """
    if path.is_file() and not passport.is_file():
        raise OutputError(
            f"{path}: exists, and no {passport.name} says that it is an index of ours; it is left "
            "as it is: move it away, or leave out --index"
        )


def _check_room(vectors: Vectors, path: Path, rows: str) -> None:
    """Refuse to begin what neither memory nor disk can hold.

    Raises:
        ConfigError: too little memory.
        OutputError: too little room on the disk.
    """
    needed = len(vectors) * (4 * vectors.vector_size + NODE_BYTES)
    told = (
        f"an index of {len(vectors):,} {rows} × {vectors.vector_size} needs {human_bytes(needed)}"
    )
    if needed > (free := available_memory()):
        raise ConfigError(f"{told} of memory; there are {human_bytes(free)}; leave out --index")
    try:
        room = shutil.disk_usage(path.parent).free
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    if needed > room:
        raise OutputError(f"{path}: {told}; the disk has {human_bytes(room)}; leave out --index")


def build_index(vectors: Vectors) -> Index:
    """Build an index in memory and test it against the exact search.

    Raises:
        ConfigError: the extra is not installed.
    """
    faiss = _faiss()
    graph = faiss.IndexHNSWFlat(vectors.vector_size, LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = WIDTH_BUILDING
    for start in range(0, len(vectors), BLOCK_ROWS):
        rows = unit(vectors.matrix[start : start + BLOCK_ROWS].astype(np.float64))
        graph.add(rows.astype(np.float32))
    index = Index(vectors, graph)
    index.recall = _recall(index)
    return index


def _recall(index: Index) -> float:
    """Return how many of the exact nearest rows of random words the index finds."""
    vectors = index.vectors
    drawn = np.random.default_rng(1).choice(
        len(vectors), min(TESTED_WORDS, len(vectors)), replace=False
    )
    queries, banned = vectors.matrix[drawn], [[row] for row in drawn.tolist()]
    exact = nearest(vectors.matrix, queries, topn=TESTED_TOP, exclude=banned)
    found = index.nearest(queries, topn=TESTED_TOP, exclude=banned)
    total = sum(map(len, exact))
    hits = sum(
        len({row for row, _ in some} & {row for row, _ in others})
        for some, others in zip(exact, found, strict=True)
    )
    return hits / total if total else 1.0


def _save(index: Index, path: Path, passport: Path) -> None:
    """Write both files, each in its place when complete; the passport last."""
    known = {"vectors": _fingerprint(index.vectors), "recall": index.recall}
    graph = path.with_name(path.name + f".{os.getpid()}.tmp")
    try:
        with graph.open("wb") as stream:
            writer = _faiss().PyCallbackIOWriter(stream.write)
            _faiss().write_index(index._graph, writer)
        passport.write_text("{}")  # ours, but it does not vouch for what comes
        os.replace(graph, path)
        passport.write_text(json.dumps(known))
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        graph.unlink(missing_ok=True)


def _passport(path: Path) -> dict[str, Any]:
    """Return what was noted about an index; nothing where there is none."""
    try:
        known = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}  # no index, or a damaged one: it is built anew
    return known if isinstance(known, dict) else {}


def _fingerprint(vectors: Vectors) -> str:
    """Return a hash of the shape and of rows all over the matrix; other training changes them."""
    hasher = blake2b(repr(vectors.matrix.shape).encode(), digest_size=16)
    rows = np.linspace(0, max(0, len(vectors) - 1), min(SAMPLED_ROWS, len(vectors))).astype(
        np.int64
    )
    hasher.update(np.ascontiguousarray(vectors.matrix[rows]).tobytes())
    return hasher.hexdigest()


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise ConfigError(
            "--index needs faiss, which is not installed: pip install 'w2v-sgns[ann]'"
        ) from error
    return faiss
