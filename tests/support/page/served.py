"""A served page, and requests to it."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import msgspec
import uvicorn


@contextlib.contextmanager
def served(application: Any) -> Iterator[str]:
    """Serve an application within a block; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(application, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Answered(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.content)


def ask(
    address: str,
    path: str,
    headers: dict[str, str] | None = None,
    method: str = "GET",
    **parameters: object,
) -> Answered:
    """Return the response to a request."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    query = f"?{urlencode({name: str(value) for name, value in parameters.items()}, quote_via=quote)}"
    try:
        connection.request(method, f"{path}{query if parameters else ''}", headers=headers or {})
        response = connection.getresponse()
        return Answered(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()
