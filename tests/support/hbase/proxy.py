"""A proxy before a Thrift2 server that loses and delays requests and replies, as a network would."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable
from typing import Literal

Fate = Literal["delivered", "reply lost", "request lost", "late"]


class Proxy:
    """Forwards to a port of 127.0.0.1, and decides request by request what becomes of it.

    Attributes:
        port: to connect to.
        fate: asked with the name of the method.
        requests: names of the methods called so far.
        received: bytes that came from the server so far.

    A ``late`` request has to be short: it waits, while its client sees the connection break, until `deliver`
    is called.
    """

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.fate: Callable[[str], Fate] = lambda _: "delivered"
        self.requests: list[str] = []
        self.received = 0
        self._late: list[bytes] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            self._start(self._forward, client)

    def _forward(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._upstream)) as server:
            fate: Fate | None = None
            while True:
                ready = select.select([client, server], [], [])[0]
                source = server if server in ready else client
                try:
                    data = source.recv(1 << 16)
                except OSError:
                    return
                if not data:
                    return
                if source is client and fate is None:
                    # What comes after a reply begins a request: 4 bytes, the length of the name, the name.
                    name = data[8 : 8 + int.from_bytes(data[4:8], "big")].decode()
                    self.requests.append(name)
                    fate = self.fate(name)
                if fate == "late":
                    self._late.append(data)
                    return
                if fate == ("reply lost" if source is server else "request lost"):
                    return
                if source is server:
                    fate = None
                    self.received += len(data)
                with contextlib.suppress(OSError):
                    (client if source is server else server).sendall(data)

    def deliver(self) -> int:
        """Have the server carry out the requests that are late; return how many there were."""
        late, self._late = self._late, []
        for request in late:
            with socket.create_connection(("127.0.0.1", self._upstream), timeout=30) as server:
                server.sendall(request)
                assert server.recv(1 << 16)
        return len(late)

    def close(self) -> None:
        """Stop listening; connections end with their clients."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)
