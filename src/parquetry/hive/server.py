"""Serve a warehouse as a Hive metastore, for reading, until the process is interrupted.

By default it listens on 127.0.0.1 alone. Others need a password: clients of Hive 3 and later send
it by SASL PLAIN. Or an option says that everybody may read. Kerberos is not served.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from parquetry.errors import ConfigurationError
from parquetry.hive.listener import Listener, every, listen
from parquetry.hive.processor import Processor
from parquetry.hive.warehouse import Choices, HiveWarehouse
from parquetry.locations import take_apart
from parquetry.serving import OpenedMetastore, ServedSource, require_secret, settle_memory

_SWEEP_SECONDS = 600
"""Seconds between two looks for folders of the mirror that no version needs."""


@dataclass(frozen=True)
class ServedMetastore(ServedSource):
    """A warehouse, as each process of a server opens it.

    Attributes:
        choices: how it is served.
        password: that clients must give, or None.
        certificate: a file with a certificate, its chain and its key, for TLS, or None.
        log_level: of each process.
    """

    choices: Choices = field(default_factory=Choices)
    password: str | None = None
    certificate: str | None = None
    log_level: int = logging.WARNING

    def location(self) -> str:
        """Return the warehouse's location, once its metastore could be opened.

        Raises:
            WarehouseError: there is no such warehouse.
            ConfigurationError: its files cannot be mirrored, and clients are not to get its own folders.
        """
        location = super().location()
        if not self.choices.in_place and not take_apart(location).is_local:
            raise ConfigurationError(
                f"Warehouse {location} has no hard links, by which clients could read tables without changing them. Give their users "
                "the right to read alone, and say --in-place."
            )
        return location

    def context(self) -> ssl.SSLContext | None:
        """Return the context of TLS, or None without a certificate.

        Raises:
            ConfigurationError: the certificate cannot be read.
        """
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate)
        except OSError as error:
            raise ConfigurationError(f"Certificate {self.certificate} cannot be used: {error}.") from None
        return context

    def open(self, listening: socket.socket) -> Listener:
        """Open the warehouse, and return what answers the clients of this process."""
        reopen = self.start()
        warehouse = HiveWarehouse(OpenedMetastore(reopen(), reopen), self.choices)
        every(_SWEEP_SECONDS, lambda: warehouse.folders.sweep(warehouse.metastore))
        settle_memory()
        password = None if self.password is None else self.password.encode()
        return Listener(Processor(warehouse), listening, self.context(), password)


def serve(
    served: ServedMetastore,
    address: tuple[str, int],
    *,
    workers: int = 1,
    open_to_all: bool = False,
    begin: Callable[[int], None] = lambda _: None,
) -> None:
    """Reply calls until the process is interrupted.

    Args:
        served: the warehouse.
        address: the address to listen on, and the port; 0 takes a free one.
        workers: number of processes that answer.
        open_to_all: whether everybody who reaches the port may read.
        begin: called with the port before the first call.

    Raises:
        ConfigurationError: others could read without a password, or the port is in use.
    """
    host, port = address
    if not open_to_all:
        require_secret(host, served.password, "give --password, or --open if they may, or leave --host out")
    served.context()
    start_log(served.log_level)
    try:
        listening = listen(host, port)
    except OSError as error:
        raise ConfigurationError(f"Nothing can listen on {host}:{port}: {error.strerror or error}.") from None
    begin(listening.getsockname()[1])
    others = [_start(served, listening) for _ in range(workers - 1)]
    listener = served.open(listening)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: listener.close())
    try:
        listener.serve()
    except KeyboardInterrupt:
        listener.close()
    finally:
        for each in others:
            each.terminate()
        for each in others:
            each.join()


def start_log(level: int) -> None:
    """Write what the server logs to the standard error."""
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s")


def _start(served: ServedMetastore, listening: socket.socket) -> Any:
    process = multiprocessing.get_context("spawn").Process(
        target=_work, args=(served, listening), daemon=True
    )
    process.start()
    return process


def _work(served: ServedMetastore, listening: socket.socket) -> None:
    """Reply in a process of its own, which ends with the first one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start_log(served.log_level)
    served.open(listening).serve()
