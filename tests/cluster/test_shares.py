"""A text counted by nodes, each its part, is the text counted by one machine."""

from __future__ import annotations

import gzip
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from w2v_sgns import CorpusError
from w2v_sgns.cluster.engine import Each
from w2v_sgns.cluster.local import LocalEngine
from w2v_sgns.cluster.shares import count_on_nodes
from w2v_sgns.config import TextOptions
from w2v_sgns.corpus import load_corpus, sections
from w2v_sgns.corpus.inputs import open_paths
from w2v_sgns.corpus.load import wanted_words
from w2v_sgns.corpus.sections import cut_source, sections_of

# What differs: where a spelling stands is told by its part.
BESIDE = ("invalid_place",)


def compared(paths: list[Path], nodes: int, *, text: Any = None, **selection: Any) -> list[int]:
    """Count on nodes and alone; return the nodes' tokens."""
    text = text or TextOptions()
    selection = {"min_count": 1, "for_training": False} | selection
    engine = LocalEngine(nodes)
    try:
        corpus, shares = count_on_nodes(
            open_paths(paths, text),
            engine,
            wanted_words(**selection),
            threads=1,
            memory_bytes=None,
        )
        tokens = np.concatenate([node._tokens for node in engine.nodes])
        # a lost node reads its part again
        engine.revive(nodes - 1)
        shares.give(engine, range(nodes))
        again = np.concatenate([node._tokens for node in engine.nodes])
    finally:
        engine.close()
    with load_corpus(
        open_paths(paths, text), threads=1, memory_bytes=1 << 28, **selection
    ) as alone:
        assert corpus.vocabulary == alone.vocabulary
        assert np.array_equal(tokens, alone.store.tokens)
        assert np.array_equal(again, tokens)
        here, there = (asdict(found.stats) for found in (corpus, alone))
        for name in BESIDE:
            assert bool(here.pop(name)) == bool(there.pop(name))
        assert here == there
    return shares.sizes


@pytest.fixture(autouse=True)
def close_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "LOOK", 40)


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


LINES = b"".join(b"w%d x%d the of\n" % (n % 17, n % 5) for n in range(500))


@pytest.mark.parametrize("nodes", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "data",
    [
        LINES,
        LINES.replace(b"\n", b"\r\n"),
        LINES.replace(b"\n", b" "),  # one line
        LINES.replace(b"\n", b" \n\n  \n"),
        b"\xef\xbb\xbf" + LINES,
        LINES.replace(b"\n", b"\n\xef\xbb\xbf"),  # marks at the start of lines
        LINES[:-1],
        LINES.replace(b"w3", b"\xff\xfe"),
        b"w" * 3000 + b" " + LINES,
        LINES + b"z" * 9000,
        b"one",
        b"\n\n\n a b \n\n",
        "le\u3000mot\u00a0et la\n".encode() * 200,
        b"a b\n" + b"w" * 3000 + b"\n c d\n",
        b"a b\n" + b"w" * 3000 + b" \n\n  c d\n",
        b"w" * 3000 + " \u3000\nc \u00a0\nd e\n".encode(),
    ],
    ids=[
        *("lines", "crlf", "one line", "blanks", "mark", "marks", "no end", "invalid"),
        *("long word first", "long word last", "one word", "few", "unicode"),
        *("long word, blank", "long word, blanks", "long word, unicode blank"),
    ],
)
def test_one_file(tmp_path: Path, data: bytes, nodes: int) -> None:
    path = written(tmp_path, "text.txt", data)
    for text in (TextOptions(), TextOptions(split="unicode", lowercase=True)):
        sizes = compared([path], nodes, text=text)
        if data is LINES:
            assert max(sizes) - min(sizes) < 50


def test_many_files_and_what_cannot_be_cut(tmp_path: Path) -> None:
    paths = [
        written(tmp_path, "a.txt", LINES),
        written(tmp_path, "empty.txt", b""),
        written(tmp_path, "b.txt.gz", gzip.compress(LINES)),
        written(tmp_path, "c.txt", b"no end"),
        written(tmp_path, "d.txt", LINES.decode().encode("utf-16")),
        written(tmp_path, "e.txt", LINES),
    ]
    for nodes in (1, 2, 4, 9):
        compared(paths, nodes)
    compared(paths[:4], 3, text=TextOptions(encoding_errors="strict"))
    compared([written(tmp_path, "f.txt", LINES)], 3, text=TextOptions(encoding="latin-1"))
    lines = b"".join(b'{"t": "a b c%d"}\n' % (n % 9) for n in range(99))
    compared([written(tmp_path, "g.jsonl", lines)], 2, text=TextOptions(text_field="t"))


def test_files_are_called_what_the_user_called_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes, which may stand in another folder, open whole paths."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "a.txt", LINES)
    written(tmp_path, "empty.txt", b"")
    written(tmp_path, "b.txt", LINES + b"\xff c d\n")
    given = [Path("a.txt"), Path("empty.txt"), Path("b.txt")]
    compared(given, 3)
    engine = LocalEngine(2)
    try:
        source = open_paths(given, TextOptions())
        corpus, _ = count_on_nodes(source, engine, wanted_words(), threads=1, memory_bytes=None)
        assert corpus.stats.empty == ("empty.txt",)
        assert corpus.stats.invalid_place == "line 500 of b.txt, counted from byte 13"
        written(tmp_path, "b.txt", LINES)
        with pytest.raises(CorpusError, match=r"^b\.txt: has 6,\d+ bytes on one machine"):
            count_on_nodes(source, engine, wanted_words(), threads=1, memory_bytes=None)
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("files", "nodes", "place"),
    [
        ([LINES + b"\xff\n"], 1, "line 501"),
        ([LINES + b"\xff\n"], 2, "line 250, counted from byte 3,364"),
        ([LINES[:4000], LINES, b"\xff\n"], 2, "line 1 of 2"),
        ([LINES, LINES + b"\xff\n", b"a\n"], 3, "line 334 of 1, counted from byte 2,238"),
        ([b"a\n" * 99 + b"\xff\n", LINES], 2, "line 100 of 0"),
    ],
)
def test_where_invalid_text_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[bytes], nodes: int, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [Path(str(number)) for number in range(len(files))]
    for path, data in zip(given, files, strict=True):
        path.write_bytes(data)
    engine = LocalEngine(nodes)
    try:
        corpus, _ = count_on_nodes(
            open_paths(given, TextOptions()),
            engine,
            wanted_words(),
            threads=1,
            memory_bytes=None,
        )
    finally:
        engine.close()
    assert corpus.stats.invalid_place == place


@pytest.mark.parametrize(
    "selection", [{"min_count": 30}, {"max_vocab": 5}, {"min_count": 3, "max_vocab": 9}]
)
def test_words_are_selected_from_all_nodes(tmp_path: Path, selection: dict[str, Any]) -> None:
    path = written(tmp_path, "text.txt", LINES)
    compared([path], 3, **selection)
    kept = written(tmp_path, "keep.txt", b"x4\nnone\n")
    compared([path], 3, **selection, keep_words=kept)


def test_a_line_that_ends_in_words_dropped_by_the_next_node(tmp_path: Path) -> None:
    """The cut is between words; all that the second node has of the line is rare."""
    line = b"the of " * 40 + b"".join(b"rare%d " % n for n in range(70))
    path = written(tmp_path, "text.txt", line + b"\n" + b"of the\n")
    for nodes in (2, 3, 4):
        compared([path], nodes, min_count=2)


@given(
    st.lists(
        st.sampled_from([b"a", b"bb", b"ccc", b"a" * 60, b" ", b"\n", b"\t", b"\r\n"]),
        min_size=1,
        max_size=80,
    ),
    st.integers(2, 5),
    st.integers(1, 4),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_text(tmp_path: Path, words: list[bytes], nodes: int, min_count: int) -> None:
    data = b"".join(words)
    if data.strip():
        compared([written(tmp_path, "any.txt", data)], nodes, min_count=min_count)


def test_sections_cover_every_byte_once(tmp_path: Path) -> None:
    source = open_paths(
        [written(tmp_path, "a", LINES), written(tmp_path, "b", b"x y")], TextOptions()
    )
    for parts in (1, 2, 5, 50):
        cut = cut_source(source, parts)
        assert len(cut) == parts
        blocks = [block.data for part in cut for block in sections_of(source, part).blocks(64)]
        assert b"".join(blocks) == LINES + b"x y"


def test_files_that_differ_between_machines_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "text.txt", LINES)
    source = open_paths([path], TextOptions())
    path.write_bytes(LINES + b"more\n")
    engine = LocalEngine(2)
    try:
        with pytest.raises(
            CorpusError, match=r"has 6,708 bytes on one machine and 6,703 on another"
        ):
            count_on_nodes(source, engine, wanted_words(), threads=1, memory_bytes=None)
    finally:
        engine.close()


def test_a_text_of_blanks_is_refused_as_on_one_machine(tmp_path: Path) -> None:
    path = written(tmp_path, "text.txt", b" \n" * 900)
    with pytest.raises(CorpusError, match="900 lines with 0 tokens"):
        compared([path], 3)


def test_an_argument_of_each_rank() -> None:
    assert Each.told([Each("abc"), 7], 1) == ["b", 7]
