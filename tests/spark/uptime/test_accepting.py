"""Py4J's server of callbacks goes on after a connection that it could not accept."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from py4j.java_gateway import CallbackServer, CallbackServerParameters

from parquetry.spark.serving.callbacks import keep_accepting
from tests.support.open_files import open_files_left

_SECONDS = 20


@pytest.fixture
def server() -> Iterator[CallbackServer]:
    parameters = CallbackServerParameters(port=0, daemonize=True, daemonize_connections=True, auth_token="x")
    made = CallbackServer({}, None, callback_server_parameters=parameters)
    made.start()
    keep_accepting(made)
    keep_accepting(made)
    yield made
    made.shutdown()


def test_a_connection_that_needs_too_many_files_is_refused(server: CallbackServer) -> None:
    """At the limit of open files, each connection is closed at once, and later ones are accepted."""
    asking = [socket.socket() for _ in range(4)]
    for each in asking:
        each.settimeout(_SECONDS)
    with open_files_left(0):
        refused = [_answer(each, server) for each in asking[:3]]
    assert refused == [b""] * 3
    assert _answer(asking[3], server) == b"!yv\n"
    for each in asking:
        each.close()


def _answer(asking: socket.socket, server: CallbackServer) -> bytes:
    asking.connect(("127.0.0.1", server.get_listening_port()))
    try:
        asking.sendall(b"A\nx\ne\n")
        return asking.recv(100)
    except ConnectionError:  # reset, as there was something to read
        return b""
