"""Requests to a Thrift2 server: one connection per thread, tried again for a bounded time.

After any error a connection is closed. Nothing ties a reply to its request, so a late reply to one request
would be taken for the reply to the next. The caller says whether a request may be repeated.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
import weakref
from pathlib import Path
from typing import Any

from parquetry.errors import ConfigurationError, StoreError

try:
    import thriftpy2
    from thriftpy2.protocol import TCyBinaryProtocol
    from thriftpy2.thrift import TClient, TException
    from thriftpy2.transport import TCyBufferedTransport, TSocket, TTransportException
except ImportError as missing:
    raise ConfigurationError(
        f"A store on HBase needs thriftpy2 ({missing}): pip install 'parquetry[hbase]'"
    ) from missing

thrift: Any = thriftpy2.load(
    str(Path(__file__).with_name("thrift2.thrift")), module_name="parquetry_hbase_thrift"
)
"""The structs and the service of `thrift2.thrift`."""

CONNECT_SECONDS = 5.0
"""Seconds to wait for a connection, and to try again to reach a server that never answered before."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.05, 1.0
FATAL_EXCEPTIONS = (
    "TableNotFoundException",
    "NoSuchColumnFamilyException",
    "TableExistsException",
    "AccessDeniedException",
    "IllegalArgumentException",
    "DoNotRetryIOException",
)
"""Exceptions of HBase after which a request fails again however often it is repeated."""


class RequestError(StoreError):
    """A request failed.

    Attributes:
        sent: whether the server may have carried out the request, or may still.
        passing: whether the request may succeed when tried again.
    """

    def __init__(self, message: str, *, sent: bool, passing: bool) -> None:
        super().__init__(message)
        self.sent = sent
        self.passing = passing


class _Connection:
    """A connection of one thread of one process."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self.process = os.getpid()
        self._socket = socket.create_connection((host, port), CONNECT_SECONDS)
        # Also frees the server's thread when this thread ends. A forked child leaves the parent's alone.
        self.close = weakref.finalize(self, self._socket.close)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._socket.settimeout(seconds)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        transport = TCyBufferedTransport(TSocket(sock=self._socket))
        self.client = TClient(thrift.THBaseService, TCyBinaryProtocol(transport))

    def is_usable(self) -> bool:
        """Return whether a request can be sent: the server has not hung up, and no parent process owns it."""
        return self.process == os.getpid() and not self._poll.poll(0)


class Connections:
    """The connections of a store's threads.

    Args:
        host: host of the Thrift2 server.
        port: port of the Thrift2 server.
        seconds: seconds to wait for an answer.
        patience: seconds during which a request is tried again while the server is away.
    """

    def __init__(self, host: str, port: int, seconds: float, patience: float) -> None:
        self.address = f"{host}:{port}"
        self._host, self._port = host, port
        self._seconds, self._patience = seconds, patience
        self._local = threading.local()
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._reached = False

    def call(self, method: str, *arguments: Any, repeat: bool = True) -> Any:
        """Make a request and return its answer.

        Args:
            method: method of the service.
            arguments: arguments of the method.
            repeat: whether to repeat the request if the server may have carried it out already.

        Raises:
            RequestError: no answer came, or HBase refused.
        """
        return self.call_noting(method, *arguments, repeat=repeat)[0]

    def call_noting(self, method: str, *arguments: Any, repeat: bool = True) -> tuple[Any, bool]:
        """Make a request as `call` does.

        Returns:
            its answer, and whether an earlier try, which got no answer, may still be carried out.
        """
        started, pause = time.monotonic(), FIRST_PAUSE_SECONDS
        in_doubt = False
        while True:
            try:
                return self._request(method, arguments), in_doubt
            except RequestError as error:
                in_doubt |= error.sent
                patience = self._patience if self._reached else min(CONNECT_SECONDS, self._patience)
                over = time.monotonic() + pause > started + patience
                if over or not error.passing or (error.sent and not repeat):
                    raise
            time.sleep(pause)
            pause = min(MAX_PAUSE_SECONDS, pause * 2)

    def _request(self, method: str, arguments: tuple[Any, ...]) -> Any:
        connection = self._connection()
        try:
            answer = getattr(connection.client, method)(*arguments)
        except thrift.TIOError as error:
            self._reached = True
            raise self._request_error(method, error) from error
        except TimeoutError as error:
            self._drop(connection)
            raise RequestError(
                f"HBase's Thrift2 server at {self.address} did not answer within "
                f"{self._seconds:g} s; look at its log, or give it more time: hbase://…?timeout=SECONDS.",
                sent=True,
                passing=False,
            ) from error
        except (OSError, EOFError, TException) as error:
            self._drop(connection)
            raise RequestError(
                f"The connection to HBase's Thrift2 server at {self.address} broke: {_reason(error)}; "
                "is the server running, and is it a Thrift2 server?",
                sent=True,
                passing=isinstance(error, OSError | EOFError | TTransportException),
            ) from error
        except BaseException:
            # Interrupted while the answer was on its way.
            self._drop(connection)
            raise
        self._reached = True
        return answer

    def _connection(self) -> _Connection:
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            if connection.is_usable():
                return connection
            self._drop(connection)
        try:
            connection = _Connection(self._host, self._port, self._seconds)
        except OSError as error:
            raise RequestError(
                f"HBase's Thrift2 server at {self.address} cannot be reached: {_reason(error)}; start it "
                "(hbase thrift2 start), or correct the store's host and port.",
                sent=False,
                passing=True,
            ) from error
        self._open.add(connection)
        self._local.connection = connection
        return connection

    def _drop(self, connection: _Connection) -> None:
        self._local.connection = None
        connection.close()

    def _request_error(self, method: str, error: Any) -> RequestError:
        text = str(error.message or "no reason given")
        hopeless = any(name in text for name in FATAL_EXCEPTIONS)
        return RequestError(
            f"HBase at {self.address} failed to {method}: {text.splitlines()[0]}",
            sent=not hopeless,
            passing=not hopeless,
        )

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in list(self._open):
            connection.close()
        self._local = threading.local()


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
