"""Connect the JVM to the planner, by Py4J's callback server with a token.

The server listens on a port of this machine. Without a token, any process of any user could call it, even a
web page in a browser. So the first bytes of a connection have to be the token. It is the token that the JVM
also requires of this process, and both got it at their start.

PySpark opens the same server without a token, for `foreachBatch` and for listeners of streams. A process has
one such server. It gets the token, even if PySpark opened it first, and serves both purposes. A connection
from before that needs no token. It reaches PySpark's objects, but not the planner, because the planner's name
is secret.

The server stays at work when the process is at its limit of open files.

Py4J's server ends at the first connection that it cannot accept, and nothing tells the JVM: what connects
later waits for ever. So the server is started again, and the connection that it could not accept is closed.
One open file is kept in reserve for that. The JVM then knows at once, and its statement fails in words.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from typing import Any, ClassVar

from py4j.java_gateway import JavaObject, server_stopped
from pyspark.java_gateway import ensure_callback_server_started

from parquetry.metrics import write_in_background
from parquetry.planner import Lake, Planner, record_process, terms
from parquetry.planner.protocol import answers, questions
from parquetry.spark.engine import SparkEngine
from parquetry.spark.write import insert, rewrite_rows


class PlannerGateway:
    """Answers for all catalogs of all sessions of one JVM; may be called by several threads."""

    def __init__(self) -> None:
        self._planner = Planner(SparkEngine())
        write_in_background(os.environ)

    def ask(self, question: str) -> str:
        """Answer a question (JSON, see `parquetry.planner.protocol.codec`)."""
        return self._planner.ask(question)

    def write(self, question: str, data: Any) -> str:
        """Write the rows of a JVM DataFrame into a table."""
        return self._planner.answered(question, lambda lake, asked: _write_answer(lake, asked, data))

    class Java:
        """Names for Py4J the Java interface that the outer class implements."""

        implements: ClassVar[list[str]] = ["org.apache.spark.sql.parquetry.protocol.Planner"]


def _write_answer(lake: Lake, question: questions.Question, data: Any) -> answers.WriteSummary:
    if isinstance(question, questions.RewriteRows):
        return rewrite_rows.rewrite(lake, question, data)
    assert isinstance(question, questions.Write)
    return insert.write(lake, question, data)


_TOKEN_BYTES = 32
"""Random bytes in a token, and in the planner's name: as many as in PySpark's own token."""


def install(gateway: Any, protocol: Any) -> None:
    """Give a JVM a planner, which it calls over connections with a token.

    Args:
        gateway: PySpark's, to the JVM.
        protocol: the bridge's package of that name in that JVM.
    """
    bridge = protocol.Bridge
    parameters = gateway.callback_server_parameters
    token = (
        parameters.auth_token or gateway.gateway_parameters.auth_token or secrets.token_urlsafe(_TOKEN_BYTES)
    )
    parameters.auth_token = token
    ensure_callback_server_started(gateway)
    server = gateway._callback_server
    server.callback_server_parameters.auth_token = token  # PySpark may have started it with other parameters
    name = gateway.gateway_property.pool.put(PlannerGateway(), force_id=secrets.token_urlsafe(_TOKEN_BYTES))
    keep_accepting(server)
    java = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    bridge.connect(java, server.get_listening_port(), token, os.getpid())
    protocol.Tracing.switch(record_process(os.environ))
    bridge.agree(terms())
    bridge.install(name)


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
