"""The fingerprint: the same whoever hashes which part of the stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2v_sgns.corpus import fingerprint
from w2v_sgns.corpus.fingerprint import Fingerprint, PartDigest

OFFSETS, DATA = np.array([0, 1, 3], np.int64), np.frombuffer(b"abc", np.uint8)


@pytest.fixture(autouse=True, scope="module")
def short_stretches() -> Iterator[None]:
    before, fingerprint.STRETCH = fingerprint.STRETCH, 8
    yield
    fingerprint.STRETCH = before


def stream(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.uint32)


def naive(ids: np.ndarray) -> str:
    def digest(data: bytes) -> bytes:
        return blake2b(data, digest_size=32).digest()

    parts = [ids[i : i + 8].astype("<u4").tobytes() for i in range(0, len(ids), 8)]
    whole = b"".join(map(digest, parts)) + OFFSETS.astype("<i8").tobytes() + DATA.tobytes()
    return digest(whole).hex()


@given(st.integers(0, 40), st.lists(st.integers(0, 40), max_size=6), st.integers(1, 20))
def test_is_its_twin_however_the_stream_is_cut(count: int, cuts: list[int], block: int) -> None:
    ids = stream(count)
    whole = Fingerprint()
    for start in range(0, count, block):
        whole.feed(ids[start : start + block])
    assert whole.text(OFFSETS, DATA) == naive(ids)

    joined = Fingerprint()
    edges = sorted({0, *(cut for cut in cuts if cut < count), count})
    for begin, end in itertools.pairwise(edges):
        part = PartDigest(begin)
        for start in range(begin, end, block):
            part.feed(ids[start : min(start + block, end)])
        joined.take(part.part())
    assert joined.text(OFFSETS, DATA) == naive(ids)


def test_every_token_and_word_counts() -> None:
    found = set()
    for place in range(20):
        ids = stream(20)
        ids[place] |= np.uint32(1 << 31)
        digest = Fingerprint()
        digest.feed(ids)
        found.add(digest.text(OFFSETS, DATA))
    other = Fingerprint()
    other.feed(stream(20))
    found.add(other.text(OFFSETS, np.frombuffer(b"abd", np.uint8)))
    assert len(found) == 21
