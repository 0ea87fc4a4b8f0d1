"""`@compiled`: Numba's njit with a disk cache that is never stale and always has a place.

Numba's own cache watches one source file and wants a writable package or home. Here the stamp
is a hash of every module in the function's package, so an edited helper recompiles its
callers, and the place falls back to a temporary folder, then to no cache at all.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator

__all__ = ["compiled", "when_compiling"]

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def _source_stamp(folder: Path) -> str:
    """Return a hash of all modules in a package's folder, in the order of their names."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _is_writable(folder: Path) -> bool:
    """Tell whether files can be made in a folder, by making one (permissions lie to root)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, and no variable that tells one
        return str(os.getuid()) if hasattr(os, "getuid") else "user"


@cache
def _cache_folder(package: Path) -> Path | None:
    """Return the first writable place: the user's choice, beside the source, home, temporary."""
    place = os.environ.get("NUMBA_CACHE_DIR")
    chosen = [Path(place)] if place else []
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    temporary = Path(tempfile.gettempdir()) / f"w2v-sgns-{_user_name()}"
    places = [*chosen, package / "__pycache__", home / "w2v-sgns", temporary]
    return next(
        (folder for folder in places if folder.is_absolute() and _is_writable(folder)), None
    )


_listeners: list[Callable[[], None]] = []


@contextmanager
def when_compiling(listener: Callable[[], None]) -> Iterator[None]:
    """Call `listener` whenever a function has to be compiled because no cache has it."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _announce(found: Any) -> Any:
    if found is None:
        for listener in _listeners:
            listener()
    return found


class _PackageLocator(_CacheLocator):
    """Where the compiled code of one function lies, and which sources it was made from."""

    def __init__(self, function: Any, source: str) -> None:
        self._package = Path(source).resolve().parent
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Any, source: str) -> _PackageLocator | None:
        locator = cls(function, source)
        return locator if _cache_folder(locator._package) else None

    def get_cache_path(self) -> str:
        return str(_cache_folder(self._package))

    def get_source_stamp(self) -> str:
        return _source_stamp(self._package)

    def get_disambiguator(self) -> str:
        return str(self._line)


class _PackageCacheImpl(CompileResultCacheImpl):
    def __init__(self, function: Any) -> None:
        self._locator_classes = [_PackageLocator]
        super().__init__(function)


class _PackageCache(FunctionCache):
    _impl_class = _PackageCacheImpl

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        return _announce(super().load_overload(signature, target_context))


class _NoCache(NullCache):
    def load_overload(self, signature: Any, target_context: Any) -> Any:
        return _announce(super().load_overload(signature, target_context))


def compiled(function: Function, **options: Any) -> Function:
    """Compile a function without the GIL and keep its code on disk.

    Errors in arithmetic give NaN or infinity, as in NumPy. Under NUMBA_DISABLE_JIT the function
    is returned as it is.
    """
    jitted: Any = njit(nogil=True, error_model="numpy", **options)(function)
    package = Path(function.__code__.co_filename).resolve().parent
    if hasattr(jitted, "_cache"):
        jitted._cache = _NoCache() if _cache_folder(package) is None else _PackageCache(function)
    return jitted
