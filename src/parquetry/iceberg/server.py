"""Serve a warehouse as an Iceberg REST catalog by HTTP: Starlette's application, and uvicorn to run it.

The server is for reading. It hands out no credentials of the storage: engines bring their own. One token may
be required of all requests. By default it listens on 127.0.0.1 alone.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from parquetry.errors import (
    ConfigurationError,
    NamespaceNotFoundError,
    ParquetryError,
    TableNotFoundError,
    UnsupportedError,
)
from parquetry.iceberg.catalog import IcebergCatalog
from parquetry.iceberg.clients import Client

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response


def application(catalog: IcebergCatalog, token: str | None = None) -> Starlette:
    """Return the application that answers a catalog's requests.

    Args:
        catalog: the warehouse.
        token: that all requests must have as `Authorization: Bearer …`, or None for no such check.

    Raises:
        ConfigurationError: Starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ImportError:
        raise ConfigurationError(
            "Starlette and uvicorn are needed to serve a warehouse: pip install 'parquetry[iceberg]'."
        ) from None
    table = "/v1/namespaces/{namespace}/tables/{table}"
    answers: dict[str, tuple[str, Callable[[Request], Any]]] = {
        "/v1/config": ("GET", lambda _: catalog.config()),
        "/v1/namespaces": ("GET", lambda r: catalog.namespaces(r.query_params.get("parent"))),
        "/v1/namespaces/{namespace}": ("GET", lambda r: catalog.namespace(r.path_params["namespace"])),
        "/v1/namespaces/{namespace}/tables": ("GET", lambda r: catalog.tables(r.path_params["namespace"])),
        table: (
            "GET",
            lambda r: catalog.load_table(
                r.path_params["namespace"], r.path_params["table"], Client.from_headers(r.headers)
            ),
        ),
    }
    routes = [
        Route(path, _endpoint(answer, token), methods=[method]) for path, (method, answer) in answers.items()
    ]
    routes += [
        Route(f"{table}/plan", _endpoint_with_body(catalog.plan, token), methods=["POST"]),
        Route(f"{table}/tasks", _endpoint_with_body(catalog.tasks, token), methods=["POST"]),
        Route(f"{table}/metrics", _endpoint_with_body(_ignore_metrics, token), methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={404: _refuse_route, 405: _refuse_route})


def _refuse_route(request: Request, _error_of_route: Exception) -> Response:
    """Answer a request that the catalog does not know, such as one that would change something."""
    message = f"{request.method} {request.url.path} is not served: the catalog is for reading alone."
    return _error(405 if request.method != "GET" else 404, "UnsupportedOperationException", message)


def _ignore_metrics(_namespace: str, _table: str, _body: dict[str, Any], _client: Client) -> None:
    """Take a client's report of a scan, which nothing here uses."""


def _endpoint(answer: Callable[[Request], Any], token: str | None) -> Callable[[Request], Response]:
    """Return the function that Starlette calls, in one of its threads, for a request without a body."""

    def respond(request: Request) -> Response:
        return _respond(request, token, lambda: answer(request))

    return respond


def _endpoint_with_body(
    answer: Callable[[str, str, dict[str, Any], Client], Any], token: str | None
) -> Callable[[Request], Any]:
    """Return the function that Starlette calls for a request with a body about a table."""
    from starlette.concurrency import run_in_threadpool

    async def respond(request: Request) -> Response:
        body = await request.body()

        def run() -> Any:
            client = Client.from_headers(request.headers)
            return answer(
                request.path_params["namespace"], request.path_params["table"], _decode(body), client
            )

        return await run_in_threadpool(_respond, request, token, run)

    return respond


def _decode(body: bytes) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise ValueError(f"The body of the request is not JSON: {error}.") from None
    if not isinstance(decoded, dict):
        raise ValueError("The body of the request is not an object of JSON.")
    return decoded


def _respond(request: Request, token: str | None, answer: Callable[[], Any]) -> Response:
    """Return the response to a request; an error becomes Iceberg's form of it."""
    from starlette.responses import Response

    if token is not None and not _has_token(request, token):
        return _error(
            401, "NotAuthorizedException", "The token is missing or wrong: give the one of the server."
        )
    try:
        result = answer()
    except NamespaceNotFoundError as error:
        return _error(404, "NoSuchNamespaceException", error.message)
    except TableNotFoundError as error:
        kind = "NoSuchPlanTaskException" if request.url.path.endswith("/tasks") else "NoSuchTableException"
        return _error(404, kind, error.message)
    except UnsupportedError as error:
        return _error(406, "UnsupportedOperationException", error.message)
    except ValueError as error:
        return _error(400, "BadRequestException", str(error))
    except ParquetryError as error:
        return _error(500, "ServerError", error.message)
    if result is None:
        return Response(status_code=204)
    content = result if isinstance(result, bytes) else msgspec.json.encode(result)
    return Response(content, media_type="application/json")


def _has_token(request: Request, token: str) -> bool:
    sent = request.headers.get("authorization", "")
    return hmac.compare_digest(sent.encode(), f"Bearer {token}".encode())


def _error(code: int, kind: str, message: str) -> Response:
    from starlette.responses import Response

    body = {"error": {"message": message, "type": kind, "code": code}}
    return Response(msgspec.json.encode(body), code, media_type="application/json")


def serve(catalog: IcebergCatalog, host: str, port: int, token: str | None) -> None:
    """Answer requests until the process is interrupted.

    Args:
        catalog: the warehouse.
        host: the address to listen on.
        port: the port.
        token: that requests must have, or None.

    Raises:
        ConfigurationError: Starlette or uvicorn is not installed, or others could ask without a token.
    """
    if token is None and host not in ("127.0.0.1", "::1", "localhost"):
        raise ConfigurationError(
            f"On {host} everybody who reaches this machine could read names and statistics: give --token, or "
            "leave --host out."
        )
    app = application(catalog, token)
    import uvicorn

    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)
