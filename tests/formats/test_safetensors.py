"""The container: both ways against the safetensors package, and headers that lie."""

from __future__ import annotations

import io
import json
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from w2v_sgns.errors import FormatError
from w2v_sgns.formats import safetensors as ours
from w2v_sgns.formats.source import Source

DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "c8")


def written(tensors: dict, metadata: dict | None = None) -> bytes:
    stream = io.BytesIO()
    ours.write(stream, tensors, metadata or {})
    return stream.getvalue()


def read(file: Path) -> ours.Container:
    with Source(file) as source:
        return ours.read(source)


def some_tensors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    tensors = {f"t_{d}": (rng.random((3, 4)) * 50).astype(d) for d in DTYPES}
    padded = rng.standard_normal((70, 16)).astype("f4")
    return tensors | {
        "strided": padded[:, :5],
        "reversed": padded[::-1],
        "transposed": padded.T,
        "big endian": np.arange(7, dtype=">i4"),
        "empty": np.zeros((0, 5), "f4"),
        "scalar": np.array(2.5, "f8"),
        "größe": np.arange(3),
    }


def test_the_package_reads_what_we_write() -> None:
    tensors = some_tensors()
    loaded = safetensors.numpy.load(written(tensors, {"key": "größe 😀"}))
    assert loaded.keys() == tensors.keys()
    for name, array in tensors.items():
        assert loaded[name].shape == array.shape
        np.testing.assert_array_equal(loaded[name], array)


def test_we_read_what_the_package_writes(tmp_path: Path) -> None:
    tensors = {name: np.ascontiguousarray(a) for name, a in some_tensors().items() if a.ndim}
    del tensors["big endian"]
    file = tmp_path / "theirs.safetensors"
    safetensors.numpy.save_file(tensors, file, {"a": "1", "b": "ü"})
    container = read(file)
    assert container.metadata == {"a": "1", "b": "ü"}
    assert container.tensors.keys() == tensors.keys()
    for name, array in tensors.items():
        np.testing.assert_array_equal(container.tensors[name], array)
        assert container.tensors[name].dtype == array.dtype


def test_round_trip_of_every_type_even_those_numpy_lacks(tmp_path: Path) -> None:
    tensors = {name: np.zeros(6, dtype) for name, dtype in ours.DTYPES.items()}
    file = tmp_path / "all.safetensors"
    file.write_bytes(written(tensors))
    container = read(file)
    assert {name: array.dtype for name, array in container.tensors.items()} == ours.DTYPES
    assert written(container.tensors) == file.read_bytes()


def test_rows_longer_than_a_block_are_written_in_pieces(tmp_path: Path) -> None:
    wide = np.arange(3 * (ours.BLOCK_BYTES // 4 + 7), dtype="f4").reshape(3, -1)
    tall = np.arange(ours.BLOCK_BYTES, dtype="f4").reshape(-1, 16)[:, :3]
    file = tmp_path / "big.safetensors"
    file.write_bytes(written({"wide": wide, "tall": tall}))
    tensors = read(file).tensors
    np.testing.assert_array_equal(tensors["wide"], wide)
    np.testing.assert_array_equal(tensors["tall"], tall)


def test_data_begins_at_a_multiple_of_64_and_items_are_aligned(tmp_path: Path) -> None:
    for length in range(70):
        raw = written({"a": np.arange(3, dtype="u1"), "b": np.ones(2)}, {"k": "v" * length})
        assert (8 + int.from_bytes(raw[:8], "little")) % 64 == 0
    file = tmp_path / "aligned.safetensors"
    file.write_bytes(raw)
    assert all(array.flags.aligned for array in read(file).tensors.values())


def test_tensors_are_read_only_and_mapped(tmp_path: Path) -> None:
    file = tmp_path / "map.safetensors"
    file.write_bytes(written({"a": np.zeros((1000, 1000), "f4")}))
    tracemalloc.start()
    array = read(file).tensors["a"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000 < array.nbytes
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1


def test_no_tensors_at_all(tmp_path: Path) -> None:
    file = tmp_path / "none.safetensors"
    file.write_bytes(written({}))
    assert read(file) == ours.Container({}, {})


def test_a_type_without_a_name_is_refused() -> None:
    with pytest.raises(FormatError, match=r"'a'.*complex128"):
        written({"a": np.zeros(2, "c16")})


def with_header(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def one(dtype: object = "F32", shape: object = (1,), offsets: object = (0, 4)) -> dict:
    return {"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


F4 = b"\0" * 4
HOSTILE = {
    "nothing": (b"", "byte 0: the header is said to take 0 bytes, but the file has 0"),
    "cut in the length": (b"\x10\0\0", "cut short"),
    "length beyond the file": (b"\x10" + b"\0" * 7 + b"{}", "take 16 bytes, but the file has 10"),
    "length of 2^64 - 1": (b"\xff" * 8 + b"{}", "18,446,744,073,709,551,615 bytes"),
    "no JSON": (with_header(b"{nonsense"), "byte 8: the header is no valid JSON"),
    "no UTF-8": (with_header(b'{"\xff": 1}'), "no valid JSON"),
    "a list": (with_header([1, 2]), "is a list, not a table"),
    "deep nesting": (with_header(b"[" * 200_000), "no valid JSON"),
    "deep tables": (with_header(b'{"a":' * 200_000), "no valid JSON"),
    "a number of 10,000 digits": (with_header(b'{"a":' + b"1" * 10_000 + b"}"), "no valid JSON"),
    "duplicate tensor": (with_header(b'{"a": 1, "b": 2, "a": 3}'), "'a' stands there twice"),
    "duplicate field": (with_header(b'{"a": {"dtype": 1, "dtype": 2}}'), "'dtype' stands there"),
    "metadata no table": (with_header({"__metadata__": 5}), "strings only"),
    "metadata no strings": (with_header({"__metadata__": {"a": 1}}), "strings only"),
    "tensor no table": (with_header({"a": 5}), "needs exactly dtype, shape and data_offsets"),
    "missing field": (with_header({"a": {"dtype": "F32", "shape": []}}), "needs exactly"),
    "unknown type": (with_header(one("F33"), F4), "type 'F33'; known: F64, F32"),
    "type no string": (with_header(one(["F32"]), F4), "type"),
    "shape no list": (with_header(one(shape=4), F4), "lists of whole numbers"),
    "negative shape": (with_header(one(shape=[-1, -1]), F4), "lists of whole numbers"),
    "real shape": (with_header(one(shape=[1.0]), F4), "lists of whole numbers"),
    "true shape": (with_header(one(shape=[True]), F4), "lists of whole numbers"),
    "huge shape": (with_header(one(shape=[2**62, 8]), F4), "no array can have the shape"),
    "shape beyond int64": (with_header(one(shape=[2**70]), F4), "lists of whole numbers"),
    "huge empty shape": (with_header(one(shape=[2**62, 0], offsets=[0, 0])), "no array can have"),
    "shape of 100 ones": (with_header(one(shape=[1] * 100), F4), "no array can have the shape"),
    "negative offset": (with_header(one(offsets=[-4, 0]), F4), "lists of whole numbers"),
    "three offsets": (with_header(one(offsets=[0, 4, 8]), F4), "lists of whole numbers"),
    "turned offsets": (with_header(one(offsets=[4, 0]), F4), "the header gives it -4"),
    "shape against offsets": (with_header(one(shape=[2]), F4), r"\(2,\) of F32 needs 8 bytes"),
    "one byte missing": (with_header(one(), b"\0" * 3), "the file has 3; it is cut short"),
    "one byte more": (with_header(one(), b"\0" * 5), "something was appended"),
    "offset past the end": (with_header(one(offsets=[1000, 1004]), F4), "leaves a hole"),
    "overlap": (with_header(one() | {"b": one()["a"]}, F4), "tensor 'b'.*overlaps"),
    "hole": (with_header(one(offsets=[4, 8]), F4 * 2), "leaves a hole, needed: 0"),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_header_is_one_clear_error(raw: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "hostile.safetensors"
    file.write_bytes(raw)
    tracemalloc.start()
    with pytest.raises(FormatError, match=message) as caught:
        read(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(caught.value).startswith(str(file))
    assert len(str(caught.value)) < len(str(file)) + 400
    assert peak < 64 * len(raw) + 4_000_000


VALID = written({"a": np.arange(6, dtype="f4").reshape(2, 3), "b": np.arange(4)}, {"k": "v"})


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.integers(0, len(VALID)),
    stop=st.integers(0, len(VALID)),
    insert=st.one_of(st.binary(max_size=9), st.sampled_from([b"[", b"{", b'"', b"9", b"-", b","])),
)
@example(start=0, stop=0, insert=b"")
def test_a_mutated_file_gives_arrays_or_a_format_error(
    start: int, stop: int, insert: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "mutated.safetensors"
    file.write_bytes(VALID[:start] + insert + VALID[stop:])
    try:
        container = read(file)
    except FormatError as error:
        assert "\n" not in str(error)
        return
    assert sum(array.nbytes for array in container.tensors.values()) <= len(VALID) + 9


def test_the_longest_header_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ours, "MAX_HEADER", 100)
    with pytest.raises(FormatError, match="100 are allowed"):
        written({}, {"k": "v" * 200})
    file = tmp_path / "long.safetensors"
    file.write_bytes(with_header(b"{" + b" " * 200 + b"}"))
    with pytest.raises(FormatError, match="100 is the most"):
        read(file)


def test_recursion_limit_is_left_alone(tmp_path: Path) -> None:
    before = sys.getrecursionlimit()
    file = tmp_path / "deep.safetensors"
    file.write_bytes(with_header(b"[" * 100_000))
    with pytest.raises(FormatError):
        read(file)
    assert sys.getrecursionlimit() == before
