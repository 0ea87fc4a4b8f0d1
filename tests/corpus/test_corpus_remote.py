"""Addresses, against a real HTTP server on loopback."""

from __future__ import annotations

import gzip
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from naive_corpus import words_of

from w2v_sgns.errors import CorpusError, StreamError

pytest.importorskip("smart_open", reason="needs the extra remote")
TEXT = b"red green blue\nblue red\n" * 500


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "plain.txt").write_bytes(TEXT)
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(TEXT))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TEXT)[:-20])
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_a_file_behind_an_address(load, server: str, tmp_path: Path) -> None:
    local = load(tmp_path / "plain.txt")
    for name in ("plain.txt", "packed.txt.gz"):
        corpus = load(f"{server}/{name}?token=secret")
        assert words_of(corpus) == words_of(local)
        assert corpus.stats.fingerprint == local.stats.fingerprint
        assert corpus.stats.labels == (name,)
        assert corpus.stats.sizes == ((tmp_path / name).stat().st_size,)
        assert "secret" not in str(corpus.stats)


def test_what_cannot_be_fetched(load, server: str) -> None:
    with pytest.raises(CorpusError, match=r"http://127\.0\.0\.1/nothing: cannot be fetched .*404"):
        load(f"{server}/nothing")
    with pytest.raises(StreamError, match=r"cut\.gz: gzip data ended early, at byte"):
        load(f"{server}/cut.gz")
    with pytest.raises(CorpusError, match="cannot be fetched"):
        load("odd://host/file")


@pytest.mark.parametrize(("scheme", "part"), [("s3", "s3"), ("gs", "gcs")])
def test_a_missing_client_is_named(load, monkeypatch, scheme: str, part: str) -> None:
    for module in ("boto3", "google", "google.cloud", "google.cloud.storage"):
        monkeypatch.setitem(sys.modules, module, None)
    for module in ("smart_open.s3", "smart_open.gcs", "smart_open.transport", "smart_open"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(CorpusError, match=rf"{scheme}://.*pip install 'smart_open\[{part}\]'"):
        load(f"{scheme}://bucket/key")
