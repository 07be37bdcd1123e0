"""A proxy before an S3 server that counts requests.

It throttles, refuses, cuts or delays them, as a network and a busy store would.
"""

from __future__ import annotations

import contextlib
import io
import select
import socket
import socketserver
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from typing import Literal, NamedTuple

from tests.support.s3 import uploads

Fate = Literal["delivered", "throttled", "refused", "request lost", "cut off", "late", "reply lost"]
"""The fate of a request. Half of a request that is cut off arrives; a late one seems lost, and arrives at
`arrive_late`.
"""


def _error(status: bytes, code: bytes, message: bytes) -> bytes:
    body = b"<?xml version='1.0'?><Error><Code>%s</Code><Message>%s</Message></Error>" % (code, message)
    head = b"HTTP/1.1 %s\r\nContent-Type: application/xml\r\nConnection: close\r\n" % status
    return b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body)


_ERRORS = {
    "throttled": _error(b"503 Slow Down", b"SlowDown", b"Reduce your request rate."),
    "refused": _error(b"403 Forbidden", b"AccessDenied", b"Access Denied"),
}


class S3Request(NamedTuple):
    """A request as the proxy sees it.

    Attributes:
        kind: the method, or S3's meaning of it where they differ: ``LIST``, ``LIST UPLOADS``,
            ``BULK DELETE``, ``UPLOAD``.
        target: path and query.
    """

    kind: str
    target: str


class S3TestProxy:
    """Forwards to a port of 127.0.0.1, and decides request by request what becomes of it.

    Args:
        port: of the server.
        credentials: access key and secret key. The proxy uses them to list multipart uploads.

    Attributes:
        port: to connect to.
        fate: is asked what becomes of a request.
        seconds: is asked how long a request waits.
        requests: all that have arrived so far.
        late: whole requests with the fate ``late`` that the server has not got yet.
        uploads: by id, when each multipart upload began, in seconds since the epoch; a test may set it back.
    """

    def __init__(self, port: int, credentials: tuple[str, str]) -> None:
        self.credentials = credentials
        self.fate: Callable[[S3Request], Fate] = lambda _: "delivered"
        self.seconds: Callable[[S3Request], float] = lambda _: 0.0
        self.requests: list[S3Request] = []
        self.late: list[bytes] = []
        self.uploads: dict[str, float] = {}
        self._upstream = port
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def upstream(self) -> socket.socket:
        """Return a connection to the server."""
        connection = socket.create_connection(("127.0.0.1", self._upstream), 60)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    @contextlib.contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """Count the requests of a block, by kind."""
        start, counts = len(self.requests), Counter[str]()
        yield counts
        counts.update(request.kind for request in self.requests[start:])

    def arrive_late(self) -> list[int]:
        """Deliver the late requests to the server now, and return the status of each reply."""
        late, self.late = self.late, []
        statuses = []
        for request in late:
            with self.upstream() as upstream, upstream.makefile("rb") as replies:
                upstream.sendall(request)
                statuses.append(int(_head(replies)[0].split()[1]))
        return statuses

    def undisturbed(self) -> None:
        """Deliver everything at once from now on."""
        self.fate, self.seconds = (lambda _: "delivered"), (lambda _: 0.0)

    def close(self) -> None:
        """Stop to listen."""
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    proxy: S3TestProxy

    def handle_error(self, request: object, client_address: object) -> None:
        """Let a broken connection be one."""


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    disable_nagle_algorithm = True  # a body behind its head would wait 40 ms for an acknowledgement

    def handle(self) -> None:
        """Forward the requests of one connection, each with its reply."""
        proxy = self.server.proxy
        with contextlib.closing(_Upstream(proxy)) as upstream:
            while head := _head(self.rfile):
                request = _request(head)
                proxy.requests.append(request)
                time.sleep(proxy.seconds(request))
                if not self._decide(upstream, head, request, proxy.fate(request)):
                    return

    def _decide(self, upstream: _Upstream, head: list[bytes], request: S3Request, fate: Fate) -> bool:
        """Do with a request as its fate says, and return whether the connection goes on."""
        if fate == "request lost":
            return False
        if _header(head, b"expect"):
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.wfile.flush()
        body = _Body(head)
        if request.kind == "LIST UPLOADS":
            head = uploads.understood(request.target, self.server.proxy.credentials)
        if fate in _ERRORS:
            body.copy(self.rfile, None)
            self.wfile.write(_ERRORS[fate])
            return False
        upstream.renew_if_ended()
        sent = b"".join(line for line in head if not line.lower().startswith(b"expect:"))
        if fate in ("cut off", "late"):
            whole = io.BytesIO()
            body.copy(self.rfile, whole)
            if fate == "late":
                self.server.proxy.late.append(sent + whole.getvalue())
            elif whole.tell() > 1:
                upstream.requests.write(sent + whole.getvalue()[: whole.tell() // 2])
            return False
        upstream.requests.write(sent)
        body.copy(self.rfile, upstream.requests)
        upstream.requests.flush()
        reply = _head(upstream.replies)
        if not reply or fate == "reply lost":
            return False
        self.wfile.write(b"".join(reply))
        if request.kind in ("LIST UPLOADS", "POST UPLOAD"):
            listed = io.BytesIO()
            _Body(reply, reply=True).copy(upstream.replies, listed)
            self.wfile.write(uploads.with_times(listed.getvalue(), self.server.proxy.uploads))
        elif not request.kind.startswith("HEAD"):
            _Body(reply, reply=True).copy(upstream.replies, self.wfile)
        self.wfile.flush()
        return _header(reply, b"connection").lower() != b"close"


class _Upstream:
    """A connection to the server.

    The server ends one that was idle, which must not look like a lost reply.
    """

    def __init__(self, proxy: S3TestProxy) -> None:
        self._proxy = proxy
        self._connect()

    def _connect(self) -> None:
        self._socket = self._proxy.upstream()
        self.replies = self._socket.makefile("rb")
        self.requests = self._socket.makefile("wb")

    def renew_if_ended(self) -> None:
        """Connect again if the server has ended the connection."""
        waiting = select.poll()  # unlike select, it takes sockets of any number
        waiting.register(self._socket, select.POLLIN)
        if waiting.poll(0):
            self.close()
            self._connect()

    def close(self) -> None:
        """End the connection."""
        with contextlib.suppress(OSError):  # what is left of a request cannot be sent any more
            self.requests.close()
        self.replies.close()
        self._socket.close()


class _Body:
    """The body behind a head: of a length, in chunks, or none."""

    def __init__(self, head: list[bytes], *, reply: bool = False) -> None:
        self._chunked = b"chunked" in _header(head, b"transfer-encoding").lower()
        length = _header(head, b"content-length")
        empty = reply and head[0].split()[1] in (b"204", b"304")
        self._length = 0 if empty or not length else int(length)

    def copy(self, source: BufferedIOBase, target: BufferedIOBase | None) -> None:
        """Read the body, and write it on if there is a target."""
        if not self._chunked:
            _copy(source, target, self._length)
            return
        size = -1
        while size:
            line = source.readline()
            _write(target, line)
            size = int(line.split(b";")[0], 16)
            if size:
                _copy(source, target, size + 2)
        while (line := source.readline()) not in (b"\r\n", b""):
            _write(target, line)
        _write(target, line)


def _copy(source: BufferedIOBase, target: BufferedIOBase | None, length: int) -> None:
    while length:
        some = source.read(min(length, 1 << 16))
        if not some:
            raise ConnectionError("a body was cut off")
        _write(target, some)
        length -= len(some)


def _write(target: BufferedIOBase | None, data: bytes) -> None:
    if target is not None:
        target.write(data)


def _head(source: BufferedIOBase) -> list[bytes]:
    """Return the lines of a head, the empty one included; none if the connection has ended."""
    lines: list[bytes] = []
    while line := source.readline():
        lines.append(line)
        if line == b"\r\n":
            return lines
    return []


def _header(head: list[bytes], name: bytes) -> bytes:
    for line in head[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip()
    return b""


def _request(head: list[bytes]) -> S3Request:
    method, target = head[0].decode("latin-1").split()[:2]
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query, keep_blank_values=True)
    kind = method
    if method == "GET" and "uploads" in query:
        kind = "LIST UPLOADS"
    elif method == "GET" and ("list-type" in query or "prefix" in query or "delimiter" in query):
        kind = "LIST"
    elif method == "POST" and "delete" in query:
        kind = "BULK DELETE"
    elif "uploadId" in query or "uploads" in query:
        kind = f"{method} UPLOAD"
    return S3Request(kind, target)
