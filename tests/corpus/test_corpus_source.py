"""Blocks put together are the file, and no token straddles two of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from w2v_sgns.corpus import source
from w2v_sgns.corpus.inputs import open_source
from w2v_sgns.corpus.source import SEPARATORS
from w2v_sgns.streams import HEAD_BYTES, compression_of

BOM = b"\xef\xbb\xbf"


@settings(max_examples=100, deadline=None)
@given(
    text=st.binary(min_size=1, max_size=80)
    | st.lists(st.sampled_from([BOM, b"ab", b" ", b"\n"]), min_size=1).map(b"".join),
    block_bytes=st.integers(1, 50),
    first_look=st.integers(1, 8),
)
def test_blocks(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, block_bytes: int, first_look: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.txt"
    text = text.lstrip(b"\xff\xfe\0") or b"x"  # no mark of UTF-16 or UTF-32
    assume(compression_of(text[:HEAD_BYTES]) is None)
    path.write_bytes(text)
    opened = open_source(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_FIRST_LOOK", first_look)
        blocks = [block.data for block in opened.blocks(block_bytes)]
    assert b"".join(blocks) == text.removeprefix(BOM)
    assert all(block[-1] in SEPARATORS for block in blocks[:-1])
    assert all(blocks) or blocks == [b""]
    assert opened.position == opened.size == len(text)
    for block in blocks:  # the first read looks for the mark, 4 bytes
        longest = max(map(len, block.split()), default=0)
        assert len(block) <= block_bytes + 4 + longest


def test_names_and_sizes_are_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some.txt").write_bytes(b"a b")
    monkeypatch.chdir(tmp_path)
    opened = open_source("some.txt")
    assert opened.names == ("some.txt",)
    assert opened.sizes == (3,)
    for _ in range(2):
        assert b"".join(block.data for block in opened.blocks(100)) == b"a b"
