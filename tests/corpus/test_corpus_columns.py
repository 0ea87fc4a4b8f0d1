"""JSON lines and tables: texts, ready-made lines, missing fields, flat batches."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from naive_corpus import lines_of, words_of

from w2v_sgns.config import TextOptions
from w2v_sgns.errors import ConfigError, CorpusError

FIELD = TextOptions(text_field="text")
COLUMN = TextOptions(column="text")
TEXTS = ["red green\nblue red", "", "green é red", None]
LISTS = [["new york", "red"], [], ["red", "7"], None]
NUMBERS = [[1, 2, 1], [], [7, 2]]


def jsonl(values: list) -> bytes:
    rows = [{"id": i, "text": value} for i, value in enumerate(values)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize("block_bytes", [5, None])
def test_json_texts(load, block_bytes) -> None:
    corpus = load(jsonl(TEXTS), text=FIELD, block_bytes=block_bytes)
    expected = [["red", "green"], ["blue", "red"], ["green", "é", "red"]]
    assert [[w.decode() for w in line] for line in lines_of(corpus)] == expected
    assert corpus.stats.lines == 5
    packed = load(gzip.compress(jsonl(TEXTS)), text=FIELD)
    assert words_of(packed) == words_of(corpus)
    assert packed.stats.fingerprint == corpus.stats.fingerprint


@pytest.mark.parametrize("values", [LISTS, NUMBERS])
def test_json_lists_are_ready_lines(load, values: list) -> None:
    corpus = load(jsonl(values), text=FIELD)
    expected = [[str(word).encode() for word in line] for line in values if line]
    assert lines_of(corpus) == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"text": "a b"}\n{"texte": "a"}\n', "line 2 has no field 'text'.*its fields: texte"),
        (b'{"text": "a b"}\nplain text\n', "line 2 is no JSON"),
        (b"[1, 2]\n", "line 1 is list, needed: an object"),
        (b'{"text": 5}\n', "line 1, field 'text'.* is 5 of type int.* or one string of text"),
        (b'{"text": "a b"}\n{"text": ["a"]}\n', "line 2.* mixes texts with lists"),
        (b'{"text": ["a", 1.5]}\n', "1.5 is of type float"),
        (b'{"text": "a \\ud800 b"}\n', "lone surrogate"),
        (b'{"text": "a \\u0000 b"}\n', "NUL"),
        (b'{"text": {"a": 1, "b": 2}}\n', "field 'text' is {'a': 1, 'b': 2} of type dict"),
        (b'{"text": true}\n', "is True of type bool"),
        (b'{"text": [["a", "b"], ["c"]]}\n', "is of type list"),
        (b'{"text": ["a", null]}\n', "is of type NoneType"),
        (b'[{"text": "a b"}]\n', "line 1 is list, needed: an object a line .*jq"),
        (b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "line 1 is no JSON .*recursion"),
        (b'{"text": "caf\xe9"}\n', "line 1 is no JSON .*0xe9"),
    ],
)
def test_bad_json(load, data: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        load(data, text=FIELD)


def test_both_kinds_at_once_are_refused() -> None:
    with pytest.raises(ConfigError, match="exclude each other"):
        TextOptions(text_field="a", column="b")


def written(path: Path, values: list, kind: str) -> Path:
    arrow = pytest.importorskip("pyarrow", reason="needs the extra arrow")
    from pyarrow import ipc, parquet

    table = arrow.table({"id": list(range(len(values))), "text": values})
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=2)
        return path
    new = ipc.new_file if kind == "arrow" else ipc.new_stream
    with new(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return path


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
@pytest.mark.parametrize("values", [TEXTS, LISTS, NUMBERS], ids=["texts", "lists", "numbers"])
def test_tables(load, tmp_path: Path, kind: str, values: list) -> None:
    path = written(tmp_path / "file", values, kind)
    corpus = load(path, text=COLUMN, block_bytes=8)
    as_json = load(jsonl(values), text=FIELD)
    assert lines_of(corpus) == lines_of(as_json)
    assert corpus.stats.fingerprint == as_json.stats.fingerprint
    assert corpus.stats.sizes == (path.stat().st_size,)


def test_kinds_of_columns(load, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs the extra arrow")
    from pyarrow import parquet

    text = ["red green", None, "green"]
    lists = [["red", "green"], [], ["green"]]
    kinds = [
        arrow.array(text).dictionary_encode(),
        arrow.array(text, arrow.large_string()),
        arrow.chunked_array([text[:1], text[1:], []], arrow.string()),
        arrow.array([value and value.encode() for value in text]),
        arrow.array(lists, arrow.large_list(arrow.large_string())),
    ]
    for values in kinds:
        parquet.write_table(arrow.table({"text": values}), tmp_path / "file")
        corpus = load(tmp_path / "file", text=COLUMN)
        assert lines_of(corpus) == [[b"red", b"green"], [b"green"]]
        assert corpus.stats.lines == 3
    for values in ([{"x": "a b"}], [1, 2], [[1.5]], [["a", None]], [[["a"]]]):
        parquet.write_table(arrow.table({"text": arrow.array(values)}), tmp_path / "file")
        with pytest.raises(CorpusError, match=r"row 1, column 'text'.*of type"):
            load(tmp_path / "file", text=COLUMN)


def test_a_column_that_is_not_there(load, tmp_path: Path) -> None:
    path = written(tmp_path / "file", TEXTS, "parquet")
    with pytest.raises(CorpusError, match=r"has no column 'words'.*its columns: id, text"):
        load(path, text=TextOptions(column="words"))
    (tmp_path / "plain").write_bytes(b"a b c\n")
    with pytest.raises(CorpusError, match="is no readable Parquet or Arrow file"):
        load(tmp_path / "plain", text=COLUMN)
