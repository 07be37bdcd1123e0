"""The ASGI application of a served warehouse: it reads requests, and makes responses of a catalog's answers.

It is written for ASGI itself, without a framework: a request for a small plan takes longer in a framework
than in the planner. A few threads answer, as the store of the metastore may have to wait.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote

import msgspec

from parquetry.errors import (
    NamespaceNotFoundError,
    ParquetryError,
    TableNotFoundError,
    UnsupportedError,
)
from parquetry.iceberg.catalog import IcebergCatalog
from parquetry.iceberg.clients import Client
from parquetry.locations import current_file_systems, set_file_systems

Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
_MAX_ANSWERING_THREADS = 16
"""Requests that are answered at once. The others wait."""
_MAX_BODY_BYTES = 16 << 20
"""Length of a request, at most: a filter of some hundred thousand values."""
_JSON = (b"content-type", b"application/json")


class _UnknownRouteError(Exception):
    """A request that the catalog does not know, such as one that would change something."""


class Application:
    """The ASGI application that answers a catalog's requests.

    Args:
        catalog: the warehouse.
        token: that all requests must have as `Authorization: Bearer …`, or None for no such check.
    """

    def __init__(self, catalog: IcebergCatalog, token: str | None = None) -> None:
        self._catalog = catalog
        self._authorization = None if token is None else f"Bearer {token}".encode()
        self._threads = ThreadPoolExecutor(
            _MAX_ANSWERING_THREADS,
            "iceberg",
            initializer=set_file_systems,
            initargs=(current_file_systems(),),
        )

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request, or take part in the start and the end of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        body = await _read_body(receive)
        if body is None:
            status, content = _error(413, "BadRequestException", "The request is too long.")
        else:
            loop = asyncio.get_running_loop()
            status, content = await loop.run_in_executor(self._threads, self.respond, scope, body)
        length = (b"content-length", str(len(content)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [_JSON, length]})
        await send({"type": "http.response.body", "body": content})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                self._threads.shutdown(wait=False)
                await send({"type": "lifespan.shutdown.complete"})
                return

    def respond(self, scope: Mapping[str, Any], body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of the response; an error has Iceberg's form.

        Args:
            scope: of the request, as ASGI has it.
            body: of the request.
        """
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if self._authorization is not None:
            sent = headers.get("authorization", "").encode("latin-1")
            if not hmac.compare_digest(sent, self._authorization):
                message = "The token is missing or wrong: give the one of the server."
                return _error(401, "NotAuthorizedException", message)
        method = scope["method"]
        path = [unquote(part) for part in scope["raw_path"].decode("latin-1").split("/")[1:]]
        try:
            answer = self._answer(method, path, scope["query_string"], body, headers)
        except NamespaceNotFoundError as error:
            return _error(404, "NoSuchNamespaceException", error.message)
        except TableNotFoundError as error:
            return _error(404, _missing_kind(path), error.message)
        except _UnknownRouteError as error:
            return _error(405 if method != "GET" else 404, "UnsupportedOperationException", str(error))
        except UnsupportedError as error:
            return _error(406, "UnsupportedOperationException", error.message)
        except ValueError as error:
            return _error(400, "BadRequestException", str(error))
        except ParquetryError as error:
            return _error(500, "ServerError", error.message)
        if answer is None:
            return 204, b""
        return 200, answer if isinstance(answer, bytes) else msgspec.json.encode(answer)

    def _answer(
        self, method: str, path: list[str], query: bytes, body: bytes, headers: Mapping[str, str]
    ) -> Any:
        """Return the answer to a request, or None if it has no body.

        Raises:
            _UnknownRouteError: nothing is served there.
        """
        catalog = self._catalog
        match method, path:
            case "POST", ["v1", "namespaces", namespace, "tables", name, "plan" | "tasks" as kind]:
                return catalog.encoded_plan(kind, (namespace, name), body, Client.from_headers(headers))
            case "POST", ["v1", "namespaces", _, "tables", _, "metrics"]:
                return None  # a client's report of a scan, which nothing here uses
            case "GET", ["v1", "config"]:
                return catalog.config()
            case "GET", ["v1", "namespaces"]:
                return catalog.namespaces(*parse_qs(query.decode("latin-1")).get("parent", ())[:1])
            case "GET" | "HEAD", ["v1", "namespaces", namespace]:
                answer = catalog.namespace(namespace)
                return answer if method == "GET" else None
            case "GET", ["v1", "namespaces", namespace, "tables"]:
                return catalog.tables(namespace)
            case "GET", ["v1", "namespaces", namespace, "tables", name]:
                return catalog.load_table(namespace, name, Client.from_headers(headers))
            case "HEAD", ["v1", "namespaces", namespace, "tables", name]:
                return catalog.require_table(namespace, name)
            case "GET", ["v1", "namespaces", namespace, "views"]:
                return catalog.views(namespace)
            case "GET" | "HEAD", ["v1", "namespaces", namespace, "views", name]:
                answer = catalog.load_view(namespace, name)
                return answer if method == "GET" else None
        raise _UnknownRouteError(
            f"{method} /{'/'.join(path)} is not served: the catalog is for reading alone."
        )


def _missing_kind(path: list[str]) -> str:
    """Return Iceberg's name of the error that what a path names does not exist."""
    if path[-1] == "tasks":
        return "NoSuchPlanTaskException"
    return "NoSuchViewException" if path[3:4] == ["views"] else "NoSuchTableException"


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body of a request, or None if it is too long."""
    parts, length, more = [], 0, True
    while more:
        message = await receive()
        part = message.get("body", b"")
        more, length = message.get("more_body", False), length + len(part)
        if length > _MAX_BODY_BYTES:
            return None
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _error(code: int, kind: str, message: str) -> tuple[int, bytes]:
    return code, msgspec.json.encode({"error": {"message": message, "type": kind, "code": code}})
