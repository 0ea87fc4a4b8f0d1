"""The connection to a Ray cluster: Ray itself, kept from the terminal and from the signals."""

from __future__ import annotations

import importlib
import ipaddress
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from w2v_sgns.cluster.address import no_cluster
from w2v_sgns.errors import ConfigError, ResourceError

__all__ = ["connect", "first_line", "imported", "unheard"]


def imported() -> Any:
    """Return the module ray.

    Raises:
        ResourceError: it is not installed.
    """
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # what matters is raised, and told once
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ResourceError("--cluster needs Ray: pip install 'w2v-sgns[cluster]'") from error


def connect(ray: Any, address: str) -> None:
    """Join a cluster, and leave the terminal and the signals to us.

    Raises:
        ConfigError: there is none, or it wants another token, or this program is in one already.
    """
    if ray.is_initialized():
        raise ConfigError(
            f"--cluster {address}: this program is connected to Ray already; call ray.shutdown() "
            "before train()"
        )
    more: dict[str, Any] = {}
    host = address.rpartition(":")[0]
    with suppress(ValueError):  # a name
        if ipaddress.ip_address(host).is_loopback:  # else Ray takes the network card's address
            more["_node_ip_address"] = host
    try:
        with _own_signals(), _silent():
            ray.init(address=address, log_to_driver=False, logging_level="CRITICAL", **more)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        if _is_about_tokens(error):
            raise ConfigError(
                f"--cluster {address}: the cluster and this machine do not agree on Ray's token "
                "authentication; give w2v the RAY_AUTH_MODE and RAY_AUTH_TOKEN of `ray start`"
            ) from error
        raise no_cluster(address, first_line(error)) from error


def _is_about_tokens(error: BaseException) -> bool:
    text = f"{type(error).__name__} {error}".lower()
    return any(word in text for word in ("invalidauthtoken", "authentication", "unauthenticated"))


@contextmanager
def _own_signals() -> Iterator[None]:
    """Undo Ray's handler of SIGTERM, which prints a stack; a SIGTERM that comes earlier waits."""
    former = signal.getsignal(signal.SIGTERM)
    can_wait = hasattr(signal, "pthread_sigmask")  # not on Windows
    if can_wait:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        if former is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, former)
        if can_wait:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _silent() -> Iterator[None]:
    """Keep off the terminal what Ray's C++ part says before it has read how much it may say."""
    terminal, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(nowhere)


@contextmanager
def unheard(ray: Any) -> Iterator[None]:
    """Keep Ray's own messages about lost actors off the terminal: they are told by us, once.

    Ray has no setting for it: log_to_driver is about what actors print. A version of Ray that has
    no such function is left as it is.
    """
    worker: Any = getattr(getattr(ray, "_private", None), "worker", None)
    former = getattr(worker, "print_to_stdstream", None)
    if former is None:
        yield
        return
    worker.print_to_stdstream = lambda *_, **__: None
    try:
        yield
    finally:
        worker.print_to_stdstream = former


def first_line(error: BaseException) -> str:
    """Return what an error says first, in one line for people."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].split(". ")[0].rstrip(".")[:200]
