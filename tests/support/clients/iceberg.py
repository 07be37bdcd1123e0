"""A served Iceberg catalog of a warehouse, and clients of it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import uvicorn

from parquetry.iceberg import Application, IcebergCatalog

EXTENSIONS = ("avro", "httpfs", "iceberg")


@contextlib.contextmanager
def served(catalog: IcebergCatalog, token: str | None = None) -> Iterator[str]:
    """Serve a catalog within a block; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(Application(catalog, token), log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def ask(address: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    """Return the status and the decoded body of a response; a body makes it a POST."""
    data = None if body is None else msgspec.json.encode(body)
    request = urllib.request.Request(f"{address}/v1/{path}", data, headers or {})
    try:
        with urllib.request.urlopen(request) as response:
            content = response.read()
            return response.status, msgspec.json.decode(content) if content else None
    except urllib.error.HTTPError as error:
        with error:
            content = error.read()
            return error.code, msgspec.json.decode(content) if content else None


def duckdb_of(address: str) -> duckdb.DuckDBPyConnection:
    """Return a connection of DuckDB's with the served catalog as `lake`."""
    connection = duckdb_for_iceberg()
    attach(connection, address)
    return connection


def duckdb_for_iceberg() -> duckdb.DuckDBPyConnection:
    """Return a connection of DuckDB's that can attach served catalogs. Its extensions take half a second."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name in EXTENSIONS:
        folder = Path(str(resources.files(f"duckdb_extension_{name}")))
        (file,) = folder.glob(f"extensions/v{duckdb.__version__}/{name}.duckdb_extension")
        connection.execute(f"LOAD '{file}'")
    return connection


def attach(connection: duckdb.DuckDBPyConnection, address: str) -> None:
    """Give a connection the served catalog as `lake`."""
    options = f"TYPE iceberg, ENDPOINT '{address}', AUTHORIZATION_TYPE 'none'"
    connection.execute(f"ATTACH 'lake' AS lake ({options})")
