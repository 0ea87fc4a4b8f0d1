"""Where token ids lie: in memory, or in a temporary file once they outgrow their budget.

:class:`TokenStore` is what training reads; :class:`Spool` is the temporary file under it. The
file has no name (or is deleted with its handle, on Windows), so that nothing is left behind by a
failure, an interrupt or a kill. Neither knows words, counts or threads.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from w2v_sgns.errors import ResourceError

__all__ = ["LINE_END", "MAX_TYPES", "Ids", "Spool", "TokenStore"]

Ids = npt.NDArray[np.uint32]

LINE_END = np.uint32(1 << 31)  # the high bit marks the last token of its line
MAX_TYPES = 1 << 31  # an id has 31 bits


class Spool:
    """A temporary file of token ids, or of other numbers, with the positions counted in numbers.

    Raises (all members):
        ResourceError: the temporary folder's disk is full or fails.
    """

    def __init__(
        self, expected: int, dtype: npt.DTypeLike = np.uint32, what: str = "the token ids"
    ) -> None:
        self._folder, self._what = tempfile.gettempdir(), what
        self._dtype = np.dtype(dtype)
        self._check_space(expected * self._dtype.itemsize)
        try:
            # Unbuffered: reads and writes take turns at many positions. Open until close().
            self._file = tempfile.TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115
        except OSError as error:
            raise self._failure(error) from error

    def write(self, position: int, numbers: npt.NDArray[Any]) -> None:
        """Write `numbers` at `position`."""
        view = np.ascontiguousarray(numbers).data.cast("B")
        try:
            self._file.seek(position * self._dtype.itemsize)
            while view:  # an unbuffered write may be a part
                view = view[self._file.write(view) :]
        except OSError as error:
            raise self._failure(error) from error

    def read(self, position: int, count: int) -> npt.NDArray[Any]:
        """Return a writable copy of `count` numbers from `position`."""
        numbers = np.empty(count, self._dtype)
        view = numbers.data.cast("B")
        try:
            self._file.seek(position * self._dtype.itemsize)
            while view:
                got = self._file.readinto(view)
                if not got:
                    raise OSError(errno.EIO, "the file ends too early")
                view = view[got:]
        except OSError as error:
            raise self._failure(error) from error
        return numbers

    def mapped(self, count: int, *, writable: bool = False) -> Ids:
        """Cut the file to `count` numbers and return them memory-mapped."""
        try:
            self._file.truncate(count * self._dtype.itemsize)
            mode: Literal["r", "r+"] = "r+" if writable else "r"
            return np.asarray(np.memmap(self._file, self._dtype, mode=mode, shape=(count,)))
        except OSError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """Delete the file; a mapping of it stays readable while it is referred to."""
        self._file.close()

    def _check_space(self, needed: int) -> None:
        free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise ResourceError(
                f"{self._what} need about {needed:,} bytes of temporary disk and {self._folder} "
                f"has {free:,} free; set TMPDIR to a larger disk or raise --memory"
            )

    def _failure(self, error: OSError) -> ResourceError:
        return ResourceError(
            f"{self._what} cannot be kept in {self._folder} ({error.strerror or error}); "
            "set TMPDIR to a larger disk or raise --memory"
        )


class TokenStore:
    """The corpus as token ids; a context manager that frees them.

    Attributes:
        tokens: uint32[n], read-only: the low 31 bits are the vocabulary row, the high bit
            (`LINE_END`) marks the last token of its line.
    """

    def __init__(self, tokens: Ids, spool: Spool | None = None) -> None:
        self._own = tokens
        self.tokens = tokens.view()
        self.tokens.flags.writeable = False
        self._spool = spool

    @property
    def spooled(self) -> bool:
        """Whether the ids lie in a temporary file."""
        return self._spool is not None

    def writable(self) -> Ids:
        """Return the ids themselves; whoever changes them uses the store up."""
        if self._spool is None or not self.tokens.size:
            return self._own
        return self._spool.mapped(self.tokens.size, writable=True)

    def close(self) -> None:
        """Free the memory or the temporary file; may be called again."""
        self.tokens = self._own = np.empty(0, np.uint32)
        if self._spool is not None:
            self._spool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
