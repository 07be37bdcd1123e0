"""A served Hive metastore of a warehouse, and clients that Thrift generated of Hive's own definitions."""

from __future__ import annotations

import contextlib
import contextvars
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hive_metastore import ThriftHiveMetastore  # type: ignore[import-untyped]
from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolAccelerated  # type: ignore[import-untyped]
from thrift.transport import TSocket, TTransport  # type: ignore[import-untyped]

from parquetry.hive import Choices, ServedMetastore
from parquetry.hive.listener import listen
from parquetry.locations import current_file_systems, use_file_systems


@contextlib.contextmanager
def served(
    folder: Path, password: str | None = None, certificate: str | None = None, **choices: Any
) -> Iterator[int]:
    """Serve a warehouse within a block; yield the port."""
    metastore = ServedMetastore(
        str(folder), choices=Choices(**choices), password=password, certificate=certificate
    )
    with serving(metastore) as port:
        yield port


@contextlib.contextmanager
def serving(metastore: ServedMetastore) -> Iterator[int]:
    """Serve what was described within a block; yield the port."""
    metastore.location()
    listening = listen("127.0.0.1", 0)
    with use_file_systems(current_file_systems()):  # the server replaces them
        listener = metastore.open(listening)
        context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(listener.serve,), daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listener.close()
        thread.join(10)


@contextlib.contextmanager
def client(port: int, *, framed: bool = False, accelerated: bool = True) -> Iterator[Any]:
    """Connect within a block; yield an object with a method for each call."""
    transport = TSocket.TSocket("127.0.0.1", port)
    kind = TTransport.TFramedTransport if framed else TTransport.TBufferedTransport
    protocol = (TBinaryProtocolAccelerated if accelerated else TBinaryProtocol)(kind(transport))
    transport.open()
    try:
        yield ThriftHiveMetastore.Client(protocol)
    finally:
        transport.close()


def connect(port: int) -> socket.socket:
    """Return a connection for bytes of any kind."""
    connected = socket.create_connection(("127.0.0.1", port), timeout=20)
    connected.settimeout(20)
    return connected
