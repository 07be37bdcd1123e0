"""Who may ask a server: everybody on this machine, or those who have its secret."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable
from typing import NamedTuple

from parquetry.errors import ConfigurationError

LOCAL_HOSTS = ("127.0.0.1", "::1", "localhost")
"""Addresses that only this machine reaches."""


def require_secret(host: str, secret: str | None, remedy: str) -> None:
    """Make sure that a server that others reach has a secret.

    Args:
        host: the address that it listens on.
        secret: a token or a password, or None.
        remedy: what to do instead, for the message.

    Raises:
        ConfigurationError: others could ask without a secret.
    """
    if secret is None and host not in LOCAL_HOSTS:
        raise ConfigurationError(
            f"On {host} everybody who reaches this machine could read names and statistics: {remedy}."
        )


class Refusal(NamedTuple):
    """Why a caller gets no answer to any request.

    Attributes:
        status: of the response by HTTP, 401 or 403.
        message: what is wrong, and what to do.
    """

    status: int
    message: str


def refuse_caller(headers: Iterable[tuple[bytes, bytes]], token: bytes | None) -> Refusal | None:
    """Return why a caller gets no answer to any request, or None.

    Without a token, a request must name this machine as its host. A page of the web may have a name that
    leads to 127.0.0.1 (DNS rebinding), and a browser takes the answers for that page's own.

    Args:
        headers: names in lower case, and values.
        token: that requests must have, or None.
    """
    sent = list(headers)
    if token is None:
        for name, value in sent:
            if name == b"host" and not _is_this_machine(value.decode("latin-1")):
                host = value.decode("latin-1")[:80]
                message = f"The host {host!r} is not this machine: ask 127.0.0.1 or localhost, or serve with --token."
                return Refusal(403, message)
        return None
    scheme, _, given = dict(sent).get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), token):
        return None
    return Refusal(401, "The token is missing or wrong: give the one of the server.")


def _is_this_machine(host: str) -> bool:
    """Return whether the value of a Host header names this machine.

    >>> [_is_this_machine(host) for host in ("localhost:8181", "127.0.0.1", "[::1]:80", "evil.example:8181", "")]
    [True, True, True, False, True]
    """
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if not host or name.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
