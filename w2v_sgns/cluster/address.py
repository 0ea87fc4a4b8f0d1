"""Where a Ray cluster is said to be, looked at before Ray is: it would start one, or wait for long.

Ray's protocol is gRPC, that is HTTP/2: a server answers a client's first bytes with its settings.
"""

from __future__ import annotations

import os
import socket

from w2v_sgns.errors import ConfigError

__all__ = ["check_address", "no_cluster"]

KNOCK = 5.0  # seconds for a connection, and for its first bytes
# the preface and empty settings of RFC 9113, section 3.4
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
SETTINGS = 4  # type of a frame, its fourth byte


def check_address(address: str) -> None:
    """Refuse what is no running cluster's address.

    Raises:
        ConfigError: it is not HOST:PORT, or no cluster answers.
    """
    host, _, port = address.rpartition(":")
    if "://" in address or not (host and port.isdecimal()):
        raise ConfigError(
            f"--cluster {address}: needed: HOST:PORT, the address that `ray start --head` names; "
            "run w2v on a machine of the cluster"
        )
    try:
        heard = _heard(host.strip("[]"), int(port))
    except (OSError, OverflowError, UnicodeError) as error:
        raise no_cluster(address, str(error) or type(error).__name__) from error
    if heard[3:4] != bytes([SETTINGS]) and os.environ.get("RAY_USE_TLS", "0") == "0":
        raise no_cluster(address, "what listens there is not Ray")


def _heard(host: str, port: int) -> bytes:
    """Return the first bytes that a server answers with, a frame's head."""
    with socket.create_connection((host, port), KNOCK) as connection:
        connection.sendall(HELLO)
        with connection.makefile("rb") as stream:
            return stream.read(9)


def no_cluster(address: str, reason: str) -> ConfigError:
    """Return the error that says so."""
    return ConfigError(
        f"--cluster {address}: no Ray cluster answers ({reason}); start one with "
        "`ray start --head`, give the address it names, and run w2v on one of its machines; or "
        "resume on this machine alone with --cluster none"
    )
