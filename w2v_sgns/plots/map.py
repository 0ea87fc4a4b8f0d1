"""A map of words: their places, classes and neighbours, gathered for a page or a picture.

The page is one HTML file that asks nothing of the network: words, places and vectors lie in it,
its scripts and styles too (page/), and its Content-Security-Policy allows those alone. The picture
is picture.py's business.
"""

from __future__ import annotations

import warnings
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.corpus.vocabulary import decode_word
from w2v_sgns.corpus.vocabulary_file import read_words
from w2v_sgns.errors import ConfigError, UnknownWordError
from w2v_sgns.escape import shown
from w2v_sgns.formats import check_writable, load_vectors
from w2v_sgns.formats.atomic import Inputs, replacing
from w2v_sgns.formats.narrow import as_int8
from w2v_sgns.formats.which import unit_rows
from w2v_sgns.plots import figure
from w2v_sgns.plots.html import assemble
from w2v_sgns.plots.layout import Layout, check_method, lay_out
from w2v_sgns.plots.picture import draw_picture
from w2v_sgns.vectors import Vectors
from w2v_sgns.vectors.classes import word_classes
from w2v_sgns.vectors.neighbours import check_counts, nearest

__all__ = ["MapWarning", "WordMap", "build_map", "check_map", "map_page", "open_words", "save_map"]

SUFFIXES = (".html", *figure.SUFFIXES)
DEFAULT_TOP = 10_000
MOST_WORDS = 250_000  # of 100 dimensions they make a page of 40 MB
CLASSES = 12  # colours that eyes can still tell apart
NAMING_WORDS = 50  # of a class, the most frequent: its name is made of the most typical of them
LONGEST_WORD = 200  # letters of a word in the page; the rest is …
TESTED_WORDS, TESTED_TOP = 200, 10  # how the stored vectors are compared with the exact ones

SCRIPTS = ("space.js", "camera.js", "labels.js", "dots.js", "painter.js", "completion.js", "map.js")


@dataclass(frozen=True)
class WordMap:
    """All that is drawn.

    Attributes:
        words: V texts, made harmless for the eye.
        counts: V counts, or None where they are not known.
        directions: float32 (V, d), unit rows.
        layout: their places.
        labels: int64 (V,), the class of each word.
        class_words: for each class three typical words.
        left_out: words without a direction, which have no place.
    """

    words: Sequence[str]
    counts: NDArray[np.int64] | None
    directions: NDArray[np.float32]
    layout: Layout
    labels: NDArray[np.int64]
    class_words: Sequence[Sequence[str]]
    left_out: int


class MapWarning(UserWarning):
    """A map is drawn, but not with all that was asked for."""


def check_map(
    path: Path | str, *, method: str = "pca", force: bool = False, inputs: Inputs = ()
) -> None:
    """Refuse a map that could not be drawn or written; meant to be asked before the work.

    Raises:
        OutputError: the suffix or the place is refused, the file is one of the `inputs`, or is
            there without `force`.
        ConfigError: no such method, or a library is not installed.
    """
    check_writable(path, force=force, suffixes=SUFFIXES, inputs=inputs)
    if is_picture(path):
        figure.check_figure(path, force=force)
    check_method(method)


def is_picture(path: Path | str) -> bool:
    """Tell whether the suffix means a picture, not a page."""
    return Path(path).suffix.lower() in figure.SUFFIXES


def open_words(
    path: Path | str, *, top: int | None = None, words: Path | str | None = None
) -> Vectors:
    """Open the vectors of a map: the first `top` words of a file, or those listed in another.

    Words of the list that the vectors do not have are told by a MapWarning.

    Raises:
        ConfigError: `top` is below 1 or too many for a map.
        UnknownWordError: none of the listed words is there.
        FormatError, CorpusError, VocabularyError: a file cannot be read.
    """
    limit = DEFAULT_TOP if top is None and words is None else top
    check_counts(1 if limit is None else limit, None)
    if words is None:
        vectors = load_vectors(path, limit=limit)
    else:
        wanted = read_words(words)
        vectors = load_vectors(path, limit=limit, words=wanted)
        _tell_missing(Path(words), wanted, vectors)
    if len(vectors) > MOST_WORDS:
        raise ConfigError(
            f"{len(vectors):,} words are too many for a map, at most {MOST_WORDS:,}; use --top N"
        )
    return vectors


def _tell_missing(path: Path, wanted: Sequence[bytes], vectors: Vectors) -> None:
    missing = [shown(decode_word(word)) for word in wanted if word not in vectors]
    if not missing:
        return
    listed = ", ".join(f"{word:.60}" for word in missing[:5]) + ", …" * (len(missing) > 5)
    if len(missing) == len(wanted):
        raise UnknownWordError(f"{path}: none of its words is among the vectors: {listed}")
    warnings.warn(
        f"{path}: {len(missing):,} of {len(wanted):,} words are not among the vectors and are "
        f"left out: {listed}",
        MapWarning,
        stacklevel=3,
    )


def build_map(vectors: Vectors, *, method: str = "pca", seed: int = 1) -> WordMap:
    """Gather a map of all the words of `vectors`.

    Raises:
        ConfigError: the method cannot be used, a negative seed, or no word has a direction.
    """
    directions = unit_rows(vectors.matrix)
    kept = np.flatnonzero((directions != 0).any(axis=1))
    if not len(kept):
        raise ConfigError(
            f"none of the {len(vectors):,} words has a direction (their vectors are zero or not "
            "finite): there is nothing to draw"
        )
    directions = directions[kept]
    found = word_classes(directions, min(CLASSES, len(kept)), seed=seed)
    words = [_short(vectors.vocabulary.word_bytes(row)) for row in kept.tolist()]
    counts = vectors.vocabulary.counts
    return WordMap(
        words=words,
        counts=None if counts is None else counts[kept],
        directions=directions,
        layout=lay_out(directions, method=method, seed=seed),
        labels=found.labels,
        class_words=_class_words(words, directions, found.labels, found.centres),
        left_out=len(vectors) - len(kept),
    )


def save_map(path: Path | str, drawn: WordMap, *, name: str = "", force: bool = False) -> None:
    """Write the map: a page (.html), or a picture (.png, .svg) with the extra `plot`.

    Args:
        path: the file.
        drawn: the map.
        name: of the vectors, shown in the page.
        force: replace an existing file.

    Raises:
        OutputError: the file cannot be written.
        ConfigError: a picture is asked for and matplotlib is not installed.
    """
    if is_picture(path):
        draw_picture(path, drawn, force=force)
        return
    page = map_page(drawn, name=name)
    with replacing(path, force=force, suffixes=SUFFIXES) as stream:
        stream.write(page)


def map_page(drawn: WordMap, *, name: str = "") -> bytes:
    """Return the map as an HTML file.

    Args:
        drawn: the map.
        name: of the vectors, shown in the page.
    """
    numbers, _ = as_int8(drawn.directions)  # a cosine needs no scale: rows count with length 1
    data = {
        "name": shown(name),
        "dim": drawn.directions.shape[1],
        "words": list(drawn.words),
        "counts": None if drawn.counts is None else drawn.counts.tolist(),
        "places": _base64(drawn.layout.places),
        "vectors": _base64(numbers),
        "classes": _base64(drawn.labels.astype(np.uint8)),
        "classWords": [list(words) for words in drawn.class_words],
        "method": drawn.layout.method,
        "variance": drawn.layout.variance,
        "leftOut": drawn.left_out,
        "overlap": _overlap(drawn.directions, numbers),
    }
    return assemble("map.html", style="map.css", scripts=SCRIPTS, data=data)


def _short(raw: bytes) -> str:
    word = shown(decode_word(raw))
    return word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…"


def _class_words(
    words: Sequence[str],
    directions: NDArray[np.float32],
    labels: NDArray[np.int64],
    centres: NDArray[np.float64],
) -> list[list[str]]:
    """Return the three frequent words of each class that lie nearest to its centre."""
    named = []
    for label, centre in enumerate(centres):
        rows = np.flatnonzero(labels == label)[:NAMING_WORDS]
        order = np.argsort(-(directions[rows] * centre).sum(axis=1), kind="stable")
        named.append([words[row] for row in rows[order[:3]].tolist()])
    return named


def _base64(numbers: NDArray[Any]) -> str:
    """Return the numbers as base64, the lowest byte of each first."""
    return b64encode(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()).decode()


def _overlap(directions: NDArray[np.float32], numbers: NDArray[np.int8]) -> float:
    """Return the share of the ten nearest words, by exact vectors, that the page finds too."""
    if len(directions) < 2:
        return 1.0  # nobody has neighbours
    rows = np.unique(np.linspace(0, len(directions) - 1, TESTED_WORDS).astype(np.int64))
    own = [[row] for row in rows.tolist()]
    exact = nearest(directions, directions[rows], topn=TESTED_TOP, exclude=own)
    stored = numbers.astype(np.float32)
    found = nearest(stored, stored[rows], topn=TESTED_TOP, exclude=own)
    pairs = zip(exact, found, strict=True)
    shared = sum(len({row for row, _ in a} & {row for row, _ in b}) for a, b in pairs)
    return shared / sum(map(len, exact))
