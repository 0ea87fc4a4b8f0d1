"""What a file of vectors is, as told by its format's module. How it is printed is the CLI's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v_sgns.formats.rows import Loaded
from w2v_sgns.formats.source import Source

__all__ = ["Description", "described"]

BLOCK_BYTES = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Description:
    """The answer to "what is this file?"; None stands for what a format does not carry."""

    path: Path
    format: str
    words: int  # V, rows
    dimensions: int  # d
    dtype: str
    bytes: int  # size of the file
    tokens: int | None = None  # sum of the counts
    packed: str | None = None  # "gzip" and the like
    notes: tuple[str, ...] = ()  # what is odd about the file
    tensors: Mapping[str, NDArray[Any]] = field(default_factory=dict, repr=False)
    config: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    def digest(self) -> str:
        """Return a blake2b over the tensors: names, types, shapes and bytes, not the metadata.

        Two files with the same tensors have the same digest; reads all of the file.
        """
        hasher = blake2b(digest_size=32)
        for name in sorted(self.tensors):
            array = self.tensors[name]
            hasher.update(repr((name, str(array.dtype), array.shape)).encode())
            raw = array.reshape(-1).view(np.uint8)
            for start in range(0, len(raw), BLOCK_BYTES):
                hasher.update(raw[start : start + BLOCK_BYTES].data)
        return hasher.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the tensors' values, ready for JSON."""
        shapes = {
            name: {"dtype": str(array.dtype), "shape": list(array.shape)}
            for name, array in sorted(self.tensors.items())
        }
        names = ("format", "words", "dimensions", "dtype", "bytes", "tokens")
        plain = {name: getattr(self, name) for name in names}
        story = {name: getattr(self, name) for name in ("config", "provenance", "history")}
        notes = {"packed": self.packed, "notes": list(self.notes)}
        return {"file": str(self.path), **plain, **notes, "tensors": shapes, **story}


def described(source: Source, loaded: Loaded) -> Description:
    """Say what was read from a file."""
    counts = loaded.vocabulary.counts
    return Description(
        path=source.path,
        format=loaded.format,
        words=len(loaded.vocabulary),
        dimensions=loaded.matrix.shape[1],
        dtype=loaded.dtype,
        bytes=source.stored,
        tokens=None if counts is None else int(counts.sum()),
        packed=source.packed,
        notes=loaded.notes,
        provenance=loaded.story,
    )
