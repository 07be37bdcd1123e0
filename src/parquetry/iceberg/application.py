"""The ASGI application of a served warehouse: it reads requests, and makes responses of a catalog's answers.

It is written for ASGI itself, without a framework: a request for a small plan takes longer in a framework
than in the planner. A few threads answer, as the store of the metastore may have to wait.

Errors have Iceberg's form. `serving.callers` says who may not ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

import msgspec

from parquetry import errors
from parquetry.iceberg.catalog import IcebergCatalog
from parquetry.iceberg.clients import Client
from parquetry.iceberg.requests import Query
from parquetry.locations import current_file_systems, set_file_systems
from parquetry.serving import Receive, Send, live, refuse_caller

_MAX_ANSWERING_THREADS = 16
"""Requests that are answered at once. The others wait."""
_MAX_BODY_BYTES = 16 << 20
"""Length of a request, at most: a filter of some hundred thousand values."""
_MAX_HELD_BYTES = 128 << 20
"""Length of all requests that are received or answered at once."""
_JSON = (b"content-type", b"application/json")
_REFUSALS = {401: "NotAuthorizedException", 403: "ForbiddenException"}
"""Iceberg's names of the errors for callers that get no answer, by status."""


class Application:
    """The ASGI application that answers a catalog's requests.

    Args:
        catalog: the warehouse.
        token: that all requests must have as `Authorization: Bearer …`. None: requests must name this machine
            as their host, so that no page of the web reaches the server by a name of its own.
    """

    def __init__(self, catalog: IcebergCatalog, token: str | None = None) -> None:
        self._catalog = catalog
        self._token = None if token is None else token.encode()
        self._held_bytes = 0
        self._threads = ThreadPoolExecutor(
            _MAX_ANSWERING_THREADS,
            "iceberg",
            initializer=set_file_systems,
            initargs=(current_file_systems(),),
        )

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request, or take part in the start and the end of the server."""
        if scope["type"] == "lifespan":
            await live(receive, send, lambda: self._threads.shutdown(wait=False))
            return
        refusal = refuse_caller(scope["headers"], self._token)
        with self._holding() as reserve:
            body = await _read_body(receive, reserve, keep=refusal is None)
            if refusal is not None:
                status, content = encode_error(refusal.status, _REFUSALS[refusal.status], refusal.message)
            elif isinstance(body, int):
                status, content = _too_much(body)
            else:
                loop = asyncio.get_running_loop()
                status, content = await loop.run_in_executor(self._threads, self.respond, scope, body)
        length = (b"content-length", str(len(content)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [_JSON, length]})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    @contextlib.contextmanager
    def _holding(self) -> Iterator[Callable[[int], bool]]:
        """Yield a function that counts bytes of a request's body; it returns False if all hold too many."""
        held = 0

        def reserve(more: int) -> bool:
            nonlocal held
            if self._held_bytes + more > _MAX_HELD_BYTES:
                return False
            held += more
            self._held_bytes += more
            return True

        try:
            yield reserve
        finally:
            self._held_bytes -= held

    def respond(self, scope: Mapping[str, Any], body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of the response; an error has Iceberg's form.

        Args:
            scope: of the request, as ASGI has it.
            body: of the request.
        """
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        method = scope["method"]
        path = [unquote(part) for part in scope["raw_path"].decode("latin-1").split("/")[1:]]
        try:
            answer = self._answer(method, path, Query(scope["query_string"]), body, headers)
        except Exception as error:  # noqa: BLE001 - the last resort: a client always gets an error of Iceberg's form
            return encode_error(*describe_error(error, method, path))
        if answer is None:
            return 204, b""
        return 200, answer if isinstance(answer, bytes) else msgspec.json.encode(answer)

    def _answer(
        self, method: str, path: list[str], query: Query, body: bytes, headers: Mapping[str, str]
    ) -> Any:
        """Return the answer to a request, or None if it has no body.

        Raises:
            UnknownRouteError: no answer has this path.
        """
        catalog = self._catalog
        match method, path:
            case "POST", ["v1", "namespaces", namespace, "tables", name, "plan"]:
                return catalog.plan(namespace, name, body, Client.from_headers(headers))
            case "POST", ["v1", "namespaces", namespace, "tables", name, "tasks"]:
                return catalog.tasks(namespace, name, body, Client.from_headers(headers))
            case "POST", ["v1", "namespaces", namespace, "tables", name, "metrics"]:
                return catalog.take_report(namespace, name, body)
            case "GET", ["v1", "config"]:
                return catalog.config()
            case "GET", ["v1", "namespaces"]:
                return catalog.namespaces(query)
            case "GET" | "HEAD", ["v1", "namespaces", namespace]:
                answer = catalog.namespace(namespace)
                return answer if method == "GET" else None
            case "GET", ["v1", "namespaces", namespace, "tables"]:
                return catalog.tables(namespace, query)
            case "GET", ["v1", "namespaces", namespace, "tables", name]:
                return catalog.load_table(namespace, name, Client.from_headers(headers))
            case "HEAD", ["v1", "namespaces", namespace, "tables", name]:
                return catalog.require_table(namespace, name)
            case "GET", ["v1", "namespaces", namespace, "views"]:
                return catalog.views.list(namespace, query)
            case "GET" | "HEAD", ["v1", "namespaces", namespace, "views", name]:
                answer = catalog.views.load(namespace, name)
                return answer if method == "GET" else None
        raise UnknownRouteError(
            f"{method} /{'/'.join(path)} is not served: the catalog is for reading alone."
        )


async def _read_body(receive: Receive, hold: Callable[[int], bool], *, keep: bool) -> bytes | int:
    """Return the body of a request, or the status of an error. It is read to its end in any case.

    Args:
        receive: returns the next part.
        hold: counts the bytes that are kept.
        keep: whether the body is wanted.
    """
    parts: list[bytes] = []
    length, more, status = 0, True, 0 if keep else 400
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return 400
        part = message.get("body", b"")
        more, length = message.get("more_body", False), length + len(part)
        if length > _MAX_BODY_BYTES:
            status = status or 413
        elif not status and not hold(len(part)):
            status = 503
        if status:
            parts.clear()
        else:
            parts.append(part)
    return status or (parts[0] if len(parts) == 1 else b"".join(parts))


def _too_much(status: int) -> tuple[int, bytes]:
    """Return the answer to a request whose body was not kept."""
    if status == 413:
        return encode_error(413, "BadRequestException", "The request is too long.")
    message = "Other requests are long, and fill the memory for them: ask again."
    return encode_error(status, "ServiceUnavailableException", message)


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
        case errors.NamespaceNotFoundError():
            return 404, "NoSuchNamespaceException", error.message
        case errors.TableNotFoundError():
            return 404, _missing_kind(path), error.message
        case UnknownRouteError():
            return 405 if method != "GET" else 404, "UnsupportedOperationException", str(error)
        case errors.UnsupportedError():
            return 406, "UnsupportedOperationException", error.message
        case errors.StoreError() | errors.WarehouseError():
            return 503, "ServiceUnavailableException", error.message
        case RecursionError():
            return 400, "BadRequestException", "The request is nested too deep."
        case ValueError():  # some of our own errors, too
            return 400, "BadRequestException", str(error)
        case errors.ParquetryError():
            return 500, "ServerError", error.message
    _LOG.error("%s /%s failed", method, "/".join(path), exc_info=error)
    message = f"The server failed ({type(error).__name__}); its log has the details."
    return 500, "InternalServerError", message


def _missing_kind(path: Sequence[str]) -> str:
    """Return Iceberg's name of the error that what a path names does not exist."""
    if path[-1] == "tasks":
        return "NoSuchPlanTaskException"
    return "NoSuchViewException" if path[3:4] == ["views"] else "NoSuchTableException"
