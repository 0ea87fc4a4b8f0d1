"""Unpacked bytes in a temporary file without a name, for formats that are mapped.

Nothing is left behind by a failure, an interrupt or a kill. How many bytes a file may have is the
reader's business; here the disk is kept from filling up.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO, Self

from w2v_sgns.errors import ResourceError

__all__ = ["Spool"]

SPARE_BYTES = 64 << 20  # of the disk that is left to others


class Spool:
    """A temporary file that grows; leaving the context closes it, a mapping of it stays.

    Args:
        path: what is unpacked, for messages.
        expected: bytes that will come at least; refused at once where there is no room for them.

    Attributes:
        file: the open file.

    Raises (all members):
        ResourceError: the disk of temporary files is full or fails.
    """

    def __init__(self, path: Path, expected: int = 0) -> None:
        self._path, self._folder = path, tempfile.gettempdir()
        self._check_room(expected)
        try:
            self.file: BinaryIO = tempfile.TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from error

    def write(self, piece: bytes) -> None:
        """Append a piece, unless the disk would be as good as full then."""
        self._check_room(len(piece))
        view = memoryview(piece)
        try:
            while view:  # an unbuffered write may be a part
                view = view[self.file.write(view) :]
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from error

    def _check_room(self, needed: int) -> None:
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from error
        if free < needed + SPARE_BYTES:
            raise self._failure(f"{needed:,} bytes more are needed, {free:,} are free there")

    def _failure(self, fault: str) -> ResourceError:
        return ResourceError(
            f"{self._path}: its content must be unpacked to be read, which {self._folder} cannot "
            f"take ({fault}); set TMPDIR to a larger disk, or unpack the file yourself"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
