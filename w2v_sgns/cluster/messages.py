"""What messages between MPI ranks may hold: arrays, plain values and this package's classes."""

from __future__ import annotations

import io
import pickle
from typing import Any

__all__ = ["safe_loads"]

ARRAYS = {"_frombuffer", "_reconstruct", "scalar", "dtype", "ndarray"}
PATHS = {"PosixPath", "WindowsPath", "PurePosixPath"}


class _Ours(pickle.Unpickler):
    """Reads what the ranks of this program write to each other, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        top = module.partition(".")[0]
        known = (top == "numpy" and name in ARRAYS) or (top == "pathlib" and name in PATHS)
        found = super().find_class(module, name) if known or top == "w2v_sgns" else None
        if found is None or not (known or isinstance(found, type)):
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a message")
        return found


def safe_loads(data: Any) -> Any:
    """Return what a message holds.

    Raises:
        UnpicklingError: it holds anything but arrays, plain values and this package's classes.
    """
    return _Ours(io.BytesIO(data)).load()
