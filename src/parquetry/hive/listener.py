"""Listen for clients, and give each connection a thread that answers its calls in order.

Clients of Hive keep connections, mostly idle ones. A client that is slow, silent or hostile holds its own
thread alone. At most `MAX_CONNECTIONS` are open: then the one that has been idle for longest is closed, and
its client connects again when it needs to.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable

from parquetry.hive.processor import Processor
from parquetry.hive.warehouse import LOG
from parquetry.hive.wire.connection import CALL_SECONDS, Connection, Memory
from parquetry.hive.wire.decoding import ProtocolError
from parquetry.locations import current_file_systems, set_file_systems

MAX_CONNECTIONS = 1_000
MAX_CALLS_AT_ONCE = 16
"""Calls that are answered at once. The others wait, and have been read: no slow client has a turn."""
_BACKLOG = 256
_STACK_BYTES = 1 << 20
"""Stack of a thread: filters are nested a hundred deep at most."""


class Listener:
    """A listening socket and its connections.

    Args:
        processor: answers calls.
        listening: the socket.
        context: of TLS, or None for connections without it.
        password: that clients must give, or None.
    """

    def __init__(
        self,
        processor: Processor,
        listening: socket.socket,
        context: ssl.SSLContext | None = None,
        password: bytes | None = None,
    ) -> None:
        self._processor, self._socket = processor, listening
        self._context, self._password = context, password
        self._idle: dict[socket.socket, float] = {}
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(MAX_CALLS_AT_ONCE)
        self._memory = Memory()
        self._closed = False

    def serve(self) -> None:
        """Reply until the socket is closed."""
        threading.stack_size(_STACK_BYTES)
        self._socket.listen(_BACKLOG)
        systems = current_file_systems()
        while not self._closed:
            try:
                connected, _ = self._socket.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.05)  # too many open files, for a moment
                continue
            self._make_room()
            with self._lock:
                self._open.add(connected)

            def work(connected: socket.socket = connected) -> None:
                set_file_systems(systems)
                self._work(connected)

            try:
                threading.Thread(target=work, name="hive", daemon=True).start()
            except RuntimeError:  # no more threads
                self._forget(connected)

    def close(self) -> None:
        """Stop listening, and close all connections."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            for connected in self._open:
                _shut(connected)

    def _make_room(self) -> None:
        """Close the connection that has been idle for longest if there are too many."""
        with self._lock:
            if len(self._open) < MAX_CONNECTIONS:
                return
            longest = min(self._idle, key=self._idle.__getitem__, default=None)
            if longest is not None:
                del self._idle[longest]
                _shut(longest)

    def _work(self, connected: socket.socket) -> None:
        used = connected
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self._context is not None:
                connected.settimeout(CALL_SECONDS)
                used = self._context.wrap_socket(connected, server_side=True)
            self._converse(connected, Connection(used, self._password, self._memory))
        except ProtocolError as error:
            LOG.warning("A connection is closed: %s", error)
        except (EOFError, OSError) as error:  # the client has gone, or is too slow
            LOG.debug("A connection has ended: %r", error)
        finally:
            with contextlib.suppress(OSError):
                used.close()
            self._forget(connected)

    def _converse(self, connected: socket.socket, connection: Connection) -> None:
        while True:
            with self._lock:
                self._idle[connected] = time.monotonic()
            if not connection.wait():
                return
            with self._lock:
                self._idle.pop(connected, None)
            try:
                request = self._processor.read(connection)
                connection.end_call()
                with self._turns:
                    answer = self._processor.answer(request, framed=connection.framed)
            finally:
                connection.release()
            if answer is not None:
                try:
                    connection.send(answer)
                finally:
                    answer.close()

    def _forget(self, connected: socket.socket) -> None:
        with self._lock:
            self._open.discard(connected)
            self._idle.pop(connected, None)
        with contextlib.suppress(OSError):
            connected.close()


def _shut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def every(seconds: float, act: Callable[[], None]) -> None:
    """Do something again and again, in a thread that ends with the process."""

    def repeat() -> None:
        while True:
            try:
                act()
            except Exception:  # noqa: BLE001 - upkeep goes on, and the log says what failed
                LOG.exception("Upkeep has failed")
            time.sleep(seconds)

    threading.Thread(target=repeat, name="hive-upkeep", daemon=True).start()
