"""The token ids on the device: all of them, or of two views at a time, copied behind the work."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import cuda

from w2v_sgns.training.cuda.view import View

__all__ = ["TokenFeed"]


class TokenFeed:
    """Hands out views of the text as device arrays.

    A view is copied while the one before is trained: fetch it as soon as the last but one is
    done, whose place it takes.
    """

    def __init__(self, tokens: npt.NDArray[np.uint32], *, resident: bool, most: int) -> None:
        """Copy all tokens if `resident`; else make two places of `most` tokens each."""
        self._tokens = tokens
        self._all: Any = cuda.to_device(np.ascontiguousarray(tokens)) if resident else None
        self._slots: list[_Slot] = [] if resident else [_Slot(min(most, len(tokens))) for _ in "ab"]
        self._stream = cuda.stream()
        self._turn = 0

    def fetch(self, view: View) -> None:
        """Begin to copy a view."""
        if self._slots:
            self._turn = 1 - self._turn
            self._slots[self._turn].fill(self._tokens[view.tokens], self._stream)

    def tokens_of(self, view: View, stream: Any) -> Any:
        """Return the view fetched last; what follows in `stream` waits for it."""
        if self._all is not None:
            return self._all[view.tokens]
        slot = self._slots[self._turn]
        slot.copied.wait(stream)
        return slot.device[: len(self._tokens[view.tokens])]


class _Slot:
    """Room for one view: pinned on the host, so that the copy runs beside all else."""

    def __init__(self, most: int) -> None:
        self.host = cuda.pinned_array(most, np.uint32)
        self.device = cuda.device_array(most, np.uint32)
        self.copied = cuda.event()

    def fill(self, tokens: npt.NDArray[np.uint32], stream: Any) -> None:
        count = len(tokens)
        self.host[:count] = tokens
        self.device[:count].copy_to_device(self.host[:count], stream=stream)
        self.copied.record(stream)
