"""What cannot be trained on is refused in one line that says what was found and what to try."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path

import pytest

from w2v_sgns.corpus import load_corpus, store
from w2v_sgns.corpus.inputs import open_source
from w2v_sgns.errors import CorpusError, ResourceError, VocabularyError

CASES = Path(__file__).resolve().parents[1] / "cases"


def refused(path: Path | str, kind: type[Exception], min_count: int = 1) -> str:
    """Load, expect the error, and return its message: one line that names the file."""
    with pytest.raises(kind) as caught:
        load_corpus(path, min_count=min_count, threads=2, memory_bytes=1 << 30)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message


def has(message: str, *parts: str) -> None:
    for part in parts:
        assert re.search(rf"(?<![\w-]){re.escape(part)}(?!\w)", message), (part, message)


def test_empty_file() -> None:
    message = refused(CASES / "01-empty-file" / "corpus.txt", CorpusError)
    has(message, "empty", "0 bytes")
    assert "min-count" not in message


def test_only_blanks() -> None:
    has(refused(CASES / "02-whitespace-only" / "corpus.txt", CorpusError), "5 lines", "0 tokens")


def test_only_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "bom.txt").write_bytes(b"\xef\xbb\xbf")
    has(refused(tmp_path / "bom.txt", CorpusError), "0 lines", "0 tokens")


def test_all_words_under_min_count() -> None:
    path = CASES / "03-all-under-min-count" / "corpus.txt"
    message = refused(path, VocabularyError, min_count=5)
    has(message, "3 tokens", "3 types", "0 kept at --min-count 5")
    has(message, "most frequent count is 1", "--min-count 1 keeps 3")


def test_the_highest_threshold_that_helps_is_told(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"a a a a a a b b b c c c d\n")
    message = refused(path, VocabularyError, min_count=5)
    has(message, "13 tokens of 4 types", "1 kept", "most frequent count is 6")
    has(message, "--min-count 3 keeps 3", "--min-count 1 keeps 4")
    load_corpus(path, min_count=3, threads=1, memory_bytes=1 << 30).close()


def test_a_vocabulary_of_one_word() -> None:
    message = refused(CASES / "04-single-word-vocab" / "corpus.txt", VocabularyError)
    has(message, "1 type", "at least 2 different words")


def test_lines_of_one_token() -> None:
    message = refused(CASES / "04-single-word-vocab" / "one-token-lines.txt", CorpusError)
    has(message, "no training pairs (every line has one token)", "30 lines", "30 tokens")
    assert "min-count" not in message


def test_lines_of_one_token_after_pruning(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"a x\ny b\na z\nb q\n")
    message = refused(path, CorpusError, min_count=2)
    has(message, "no training pairs", "4 tokens", "--min-count 2 dropped 4")
    load_corpus(path, min_count=1, threads=1, memory_bytes=1 << 30).close()


def test_missing_file(tmp_path: Path) -> None:
    has(refused(tmp_path / "none.txt", CorpusError), "no such file")
    has(refused("relative-none.txt", CorpusError), "no such file", str(Path.cwd()))


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.txt").write_bytes(b"a b")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    has(refused(tmp_path / "secret.txt", CorpusError), "cannot be read")


def test_a_file_that_changes_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"a b")
    opened = open_source(path)
    path.unlink()
    with pytest.raises(CorpusError, match="no such file"):
        list(opened.blocks(100))
    path.mkdir()
    with pytest.raises(CorpusError, match=r"cannot be read \(.*directory\)"):
        list(opened.blocks(100))


def test_stop_ends_the_work_and_the_workers(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"a b c\n" * 200)
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 5

    with pytest.raises(KeyboardInterrupt):
        load_corpus(path, threads=3, memory_bytes=1 << 30, stop=stop, block_bytes=20)
    assert len(asked) == 6
    assert not [t for t in threading.enumerate() if t.name.startswith("w2v-count")]


def test_stop_is_asked_after_the_reading_too(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"a b c\n" * 200)
    total = path.stat().st_size
    read = 0

    def progress(done: int, _: int) -> None:
        nonlocal read
        read = done

    with pytest.raises(KeyboardInterrupt):
        load_corpus(
            path,
            threads=1,
            memory_bytes=1 << 30,
            progress=progress,
            stop=lambda: read == total,
        )
    assert read == total


@pytest.mark.parametrize("memory_bytes", [1, 1 << 30])
def test_ctrl_c_while_counting(tmp_path: Path, memory_bytes: int, monkeypatch) -> None:
    closed: list[store.Spool] = []
    monkeypatch.setattr(store.Spool, "close", lambda self: closed.append(self._file.close()))
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"a b c\n" * 200)
    with pytest.raises(KeyboardInterrupt):
        load_corpus(
            path,
            threads=2,
            memory_bytes=memory_bytes,
            progress=lambda *_: signal.raise_signal(signal.SIGINT),
            block_bytes=30,
        )
    assert not [t for t in threading.enumerate() if t.name.startswith("w2v-count")]
    assert len(closed) == (memory_bytes == 1)


def test_too_many_words_in_a_worker_is_reported(tmp_path: Path, monkeypatch) -> None:
    from w2v_sgns.corpus import table

    monkeypatch.setattr(table, "MAX_TYPES", 4)
    monkeypatch.setattr(table, "_FIRST_SLOTS", 8)
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"a b c d e f g")
    with pytest.raises(ResourceError, match="more than 4 different words"):
        load_corpus(path, threads=2, memory_bytes=1 << 30)
