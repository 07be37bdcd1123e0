"""Keep Py4J's callback server at work when the process is at its limit of open files.

Py4J's server ends at the first connection that it cannot accept, and nothing tells the JVM: what connects
later waits for ever. So the server is started again, and the connection that it could not accept is closed.
One open file is kept in reserve for that. The JVM then knows at once, and its statement fails in words.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import Any

from py4j.java_gateway import server_stopped

_WAITING_CONNECTIONS = 128
"""Connections that may wait to be accepted. Py4J has 5; if more come at once, the system tries each again a
second later.
"""
_PAUSE_SECONDS = 1.0
"""Seconds between two tries of a server that can neither accept nor refuse."""


def keep_accepting(server: Any) -> None:
    """Have a callback server go on after a connection that it could not accept.

    Args:
        server: Py4J's, which is running. Calling this again for the same server changes nothing.
    """
    if not hasattr(server, "_parquetry_reserve"):
        server._parquetry_reserve = _Reserve()
        server_stopped.connect(_go_on, sender=server, unique_id="parquetry")
        while not server.server_socket.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            time.sleep(0.001)  # its thread is about to listen
        server.server_socket.listen(_WAITING_CONNECTIONS)


def _go_on(sender: Any, **_: Any) -> None:
    """Start a server again unless this process has shut it down. Py4J calls this when a server ends."""
    listening = sender.server_socket
    if sender.is_shutdown or listening is None:
        return
    if not sender._parquetry_reserve.refuse(listening):
        time.sleep(_PAUSE_SECONDS)
    sender.thread = threading.Thread(target=sender.run, name="parquetry-callbacks", daemon=True)
    sender.thread.start()


class _Reserve:
    """An open file in reserve: it is closed while a connection is refused."""

    def __init__(self) -> None:
        self._file: int | None = None
        self._fill()

    def _fill(self) -> None:
        with contextlib.suppress(OSError):  # still at the limit: then the next try waits
            self._file = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def refuse(self, listening: socket.socket) -> bool:
        """Close the connection that has waited longest. Return whether a file was there for that."""
        if self._file is None:
            self._fill()
        if self._file is None:
            return False
        os.close(self._file)
        self._file = None
        listening.setblocking(False)  # the JVM may have given up meanwhile
        try:
            with contextlib.suppress(OSError):
                listening.accept()[0].close()
        finally:
            listening.setblocking(True)
            self._fill()
        return True
