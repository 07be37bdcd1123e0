"""Errors of the served catalog in Iceberg's form, and who may not ask."""

from __future__ import annotations

import hmac
import ipaddress
import logging
from collections.abc import Iterable, Sequence

import msgspec

from parquetry.errors import (
    NamespaceNotFoundError,
    ParquetryError,
    StoreError,
    TableNotFoundError,
    UnsupportedError,
    WarehouseError,
)

_LOG = logging.getLogger("parquetry")
Problem = tuple[int, str, str]
"""The status of a response, Iceberg's name of the error, and the message."""


class UnknownRouteError(Exception):
    """A request that the catalog does not know, such as one that would change something."""


def encode_error(code: int, kind: str, message: str) -> tuple[int, bytes]:
    """Return the status and the body of a response that says what is wrong."""
    return code, msgspec.json.encode({"error": {"message": message, "type": kind, "code": code}})


def describe_error(error: Exception, method: str, path: Sequence[str]) -> Problem:
    """Return what a client gets for an error.

    Args:
        error: that answering raised.
        method: of the request.
        path: of the request, in parts.
    """
    match error:
        case NamespaceNotFoundError():
            return 404, "NoSuchNamespaceException", error.message
        case TableNotFoundError():
            return 404, _missing_kind(path), error.message
        case UnknownRouteError():
            return 405 if method != "GET" else 404, "UnsupportedOperationException", str(error)
        case UnsupportedError():
            return 406, "UnsupportedOperationException", error.message
        case StoreError() | WarehouseError():
            return 503, "ServiceUnavailableException", error.message
        case RecursionError():
            return 400, "BadRequestException", "The request is nested too deep."
        case ValueError():  # some of our own errors, too
            return 400, "BadRequestException", str(error)
        case ParquetryError():
            return 500, "ServerError", error.message
    _LOG.error("%s /%s failed", method, "/".join(path), exc_info=error)
    message = f"The server failed ({type(error).__name__}); its log has the details."
    return 500, "InternalServerError", message


def _missing_kind(path: Sequence[str]) -> str:
    """Return Iceberg's name of the error that what a path names does not exist."""
    if path[-1] == "tasks":
        return "NoSuchPlanTaskException"
    return "NoSuchViewException" if path[3:4] == ["views"] else "NoSuchTableException"


def refuse_caller(headers: Iterable[tuple[bytes, bytes]], token: bytes | None) -> Problem | None:
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
                return 403, "ForbiddenException", message
        return None
    scheme, _, given = dict(sent).get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), token):
        return None
    return 401, "NotAuthorizedException", "The token is missing or wrong: give the one of the server."


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
