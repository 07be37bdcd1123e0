"""One client's connection: its bytes are read as calls, plain or in frames, and answers are sent likewise.

The first bytes say which of the two a client uses, or that it begins with SASL, as clients with a password
do. With SASL, each frame has its length before it, and the server asks for the mechanism PLAIN.

| first bytes | the client |
|---|---|
| `80 01 …` | calls without frames, the usual form |
| a length, then `80 01 …` | calls in frames |
| `01`, a length, a mechanism's name | SASL |
"""

from __future__ import annotations

import hmac
import socket
import struct
import threading
import time
from collections.abc import Iterable

from parquetry.hive.wire.decoding import MAX_CALL_BYTES, ProtocolError
from parquetry.hive.wire.encoding import Reply

IDLE_SECONDS = 3600
"""Seconds after which a connection without a call is closed. Clients of Hive connect again by themselves."""
CALL_SECONDS = 60
"""Seconds until a call that has begun must have arrived, and until each part of an answer must have left."""
LEAST_BYTES_PER_SECOND = 1 << 16
"""Speed at which a client must read a long answer, which holds a file meanwhile."""
MAX_HELD_BYTES = 512 << 20
"""Memory of all calls that are being read or answered."""
_FREE_BYTES = 1 << 16
"""Memory of each call that is not counted."""
_RECEIVED_BYTES = 1 << 16
_SENT_BYTES = 1 << 18
_START, _OK, _BAD, _COMPLETE = 1, 2, 3, 5
_MAX_SASL_BYTES = 1 << 12
"""Length of a mechanism's name, and of a user's name with a password, at most."""


class Memory:
    """The memory of all calls together. Several threads may ask at once.

    Args:
        limit: bytes at most.
    """

    def __init__(self, limit: int = MAX_HELD_BYTES) -> None:
        self._left = limit
        self._lock = threading.Lock()

    def reserve(self, count: int) -> None:
        """Count bytes.

        Raises:
            ProtocolError: there are not so many left.
        """
        with self._lock:
            if count > self._left:
                raise ProtocolError("The calls of all clients together are too long at the moment.")
            self._left -= count

    def release(self, count: int) -> None:
        """Count bytes no more."""
        with self._lock:
            self._left += count


class Connection:
    """A client's connection, after its TLS.

    Args:
        connected: the socket.
        password: that the client must give by SASL, or None if it gives none.
        memory: of all calls together.
    """

    def __init__(
        self, connected: socket.socket, password: bytes | None = None, memory: Memory | None = None
    ) -> None:
        self._socket, self._password = connected, password
        self._memory = memory or Memory()
        self._used = self._reserved = 0
        self._received, self._at = b"", 0
        self._left = 0
        self._deadline = 0.0
        self._framed: bool | None = None
        self.user: str | None = None

    def wait(self) -> bool:
        """Wait for the next call, and return False if the client has gone.

        Raises:
            ProtocolError: the bytes are of another protocol, or the client has not the password.
            OSError: the connection is broken, or the client waits too long.
        """
        self._deadline = 0.0
        if self._at == len(self._received) and not self._receive():
            return False
        self._deadline = time.monotonic() + CALL_SECONDS
        self._left = MAX_CALL_BYTES
        if self._framed is None:
            self._recognise()
            if self.user is not None:
                return self.wait()
        if self._framed:
            length = struct.unpack(">i", self.take(4))[0]
            if not 0 < length <= MAX_CALL_BYTES:
                raise ProtocolError(
                    f"A frame of {length} bytes is not possible: calls have up to {MAX_CALL_BYTES:,}."
                )
            self._left = length
        return True

    def reserve(self, count: int) -> None:
        """Count memory that the call needs besides its bytes; see `decoding.ClientBytes`."""
        self._used += count
        missing = self._used - self._reserved - _FREE_BYTES
        if missing > 0:
            self._memory.reserve(missing)
            self._reserved += missing

    @property
    def framed(self) -> bool:
        """Return whether calls and answers are in frames."""
        return bool(self._framed)

    def release(self) -> None:
        """Count the memory of the call no more: it is answered, or given up."""
        self._memory.release(self._reserved)
        self._used = self._reserved = 0

    def end_call(self) -> None:
        """Make sure that a call filled its frame.

        Raises:
            ProtocolError: the frame has more bytes.
        """
        if self._framed and self._left:
            raise ProtocolError("A frame has more than a call.")

    def take(self, count: int) -> bytes:
        """Return the next bytes of the call.

        Raises:
            ProtocolError: they are more than a call, or its frame, may have.
            EOFError: the client has gone.
            OSError: they do not come in time.
        """
        self._left -= count
        if self._left < 0:
            raise ProtocolError(f"A call has more than {MAX_CALL_BYTES:,} bytes, or more than its frame.")
        end = self._at + count
        if end <= len(self._received):
            taken = self._received[self._at : end]
            self._at = end
            return taken
        self.reserve(count)
        parts = [self._received[self._at :]]
        missing = count - len(parts[0])
        while missing:
            if not self._receive():
                raise EOFError
            parts.append(self._received[:missing])
            self._at = len(parts[-1])
            missing -= self._at
        return b"".join(parts)

    def _receive(self) -> bool:
        """Read what has come, and wait for it; return False at the end."""
        left = self._deadline - time.monotonic() if self._deadline else IDLE_SECONDS
        if left <= 0:
            raise TimeoutError("A call did not arrive in time.")
        self._socket.settimeout(left)
        self._received, self._at = self._socket.recv(_RECEIVED_BYTES), 0
        return bool(self._received)

    def send(self, answer: Reply) -> None:
        """Send an answer.

        Raises:
            OSError: the connection is broken, or the client does not read.
        """
        deadline = time.monotonic() + CALL_SECONDS + answer.length / LEAST_BYTES_PER_SECOND
        chunks: Iterable[bytes] = answer.chunks()
        if self._framed:
            head = struct.pack(">I", answer.length)
            if answer.length <= _SENT_BYTES:
                chunks = (head + b"".join(chunks),)
            else:
                self._send(head, deadline)
        for chunk in chunks:
            for start in range(0, len(chunk), _SENT_BYTES):
                self._send(memoryview(chunk)[start : start + _SENT_BYTES], deadline)

    def _send(self, data: bytes | memoryview, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("The client reads an answer too slowly.")
        self._socket.settimeout(min(CALL_SECONDS, left))
        self._socket.sendall(data)

    # --- the beginning

    def _recognise(self) -> None:
        begin = self.take(5)
        if begin[0] == 0x80:
            self._framed = False
        elif begin[0] == _START and begin[1:4] == b"\0\0\0":
            self._left = _MAX_SASL_BYTES
            self._sasl(self.take(begin[4]).decode("ascii", "replace"))
            return
        elif begin[4] == 0x80:
            self._framed = True
        elif (
            begin[:2] == b"\0\0" and 32 < begin[4] < 127
        ):  # a name's first letter: the form without a version
            self._framed = False
        else:
            raise ProtocolError(_other_protocol(begin))
        if self._password is not None:
            raise ProtocolError(
                "The client gives no password: set hive.metastore.client.auth.mode to PLAIN, or use a client that can."
            )
        self._received, self._at = begin + self._received[self._at :], 0
        self._left += len(begin)

    def _sasl(self, mechanism: str) -> None:
        """Read a user's name and password, and compare the password."""
        if mechanism != "PLAIN":
            kerberos = mechanism in ("GSSAPI", "DIGEST-MD5")
            self._refuse(
                f"{mechanism} is not served: this metastore knows {'no Kerberos, but ' if kerberos else ''}passwords by PLAIN. "
                "Set hive.metastore.sasl.enabled to false, and hive.metastore.client.auth.mode to PLAIN."
            )
        status, length = struct.unpack(">BI", self.take(5))
        if status != _OK:
            self._refuse("The client did not go on with SASL.")
        _, user, password = [*self.take(length).split(b"\0"), b"", b"", b""][:3]
        if self._password is not None and not hmac.compare_digest(password, self._password):
            self._refuse("The password is wrong.")
        self.user = user.decode("utf-8", "replace")
        self._socket.sendall(struct.pack(">BI", _COMPLETE, 0))
        self._framed = True

    def _refuse(self, reason: str) -> None:
        text = reason.encode()
        self._socket.sendall(struct.pack(">BI", _BAD, len(text)) + text)
        raise ProtocolError(reason)


def _other_protocol(begin: bytes) -> str:
    if begin[:2] == b"\x16\x03":
        return "The client speaks TLS, and the server was started without --certificate."
    if begin[:4] in (b"GET ", b"POST", b"HEAD", b"PUT "):
        return "The client speaks HTTP: this port has Thrift's binary protocol (hive.metastore.client.thrift.transport.mode)."
    return "These bytes are not of Thrift's binary protocol."
