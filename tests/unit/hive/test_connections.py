"""Connections to a served metastore: framed and plain, with TLS and passwords, hostile, slow, and many."""

from __future__ import annotations

import contextlib
import random
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

from parquetry.errors import ConfigurationError
from parquetry.hive import ServedMetastore, serve
from tests.support.clients.hive import client, connect, served
from tests.support.readers.python_tables import PythonLake

CALL = struct.pack(">Ii", 0x80010001, 13) + b"get_databases" + struct.pack(">i", 1)
STATUS = struct.pack(">Ii", 0x80010001, 9) + b"getStatus" + struct.pack(">i", 1) + b"\0"


@pytest.fixture
def port(lake: PythonLake) -> Iterator[int]:
    with served(lake.folder) as port:
        yield port


def is_well(port: int) -> bool:
    """Return whether another client is answered at once."""
    started = time.monotonic()
    with client(port) as hms:
        return hms.get_all_tables("default") == ["e", "t"] and time.monotonic() - started < 10


def reply(connected: socket.socket) -> bytes:
    """Return what the server sends until it closes the connection, or the first bytes of an answer."""
    with contextlib.suppress(ConnectionResetError):
        return connected.recv(1 << 16)
    return b""


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("accelerated", [False, True])
def test_plain_and_framed(port: int, framed: bool, accelerated: bool) -> None:
    """Clients with frames and without are recognised by their first bytes, and may ask many times."""
    with client(port, framed=framed, accelerated=accelerated) as hms:
        assert [hms.get_all_tables("default") for _ in range(3)] == [["e", "t"]] * 3
        assert len(hms.get_partitions("default", "t", -1)) == 9


def test_the_form_without_a_version(port: int) -> None:
    """A call of Thrift's older form, which begins with the name's length, is answered."""
    transport = TSocket.TSocket("127.0.0.1", port)
    transport.open()
    hms = ThriftHiveMetastore.Client(
        TBinaryProtocol(TTransport.TBufferedTransport(transport), strictWrite=False)
    )
    assert hms.get_all_tables("default") == ["e", "t"]
    transport.close()


HOSTILE = {
    "HTTP": b"POST / HTTP/1.1\r\n\r\n",
    "TLS": bytes.fromhex("160301020001000001fc0303"),
    "nothing": bytes(64),
    "ones": b"\xff" * 64,
    "a frame of 2 GB": struct.pack(">I", (1 << 31) - 1) + STATUS,
    "a frame that is too long": struct.pack(">I", len(STATUS) + 4) + STATUS + b"more",
    "a name of 2 GB": struct.pack(">Ii", 0x80010001, (1 << 31) - 1),
    "a text of 2 GB": CALL + struct.pack(">bhi", 11, 1, (1 << 31) - 1),
    "deep records": CALL + struct.pack(">bh", 12, 7) * 100_000,
    "a reply": struct.pack(">Ii", 0x80010002, 9) + b"getStatus" + struct.pack(">i", 1) + b"\0",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_end_their_own_connection(port: int, name: str) -> None:
    """Bytes that are no call close the connection; no memory is taken, and others are answered."""
    before = psutil.Process().memory_info().rss
    with connect(port) as connected:
        with contextlib.suppress(OSError):
            connected.sendall(HOSTILE[name])
        assert reply(connected) == b""
    assert psutil.Process().memory_info().rss - before < 64 << 20
    assert is_well(port)


def test_random_bytes_end(port: int) -> None:
    """Random changes of a call, and random bytes, never keep the server from answering others."""
    chance = random.Random(7)
    good = CALL + struct.pack(">bhi", 11, 1, 1) + b"*\0"
    for _ in range(300):
        data = bytearray(good if chance.random() < 0.7 else chance.randbytes(60))
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with connect(port) as connected, contextlib.suppress(OSError):
            connected.sendall(data)
    assert is_well(port)


def test_many_connections(port: int) -> None:
    """500 idle connections and 50 with half a call leave the server answering; an idle one still works."""
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect(port)) for _ in range(500)]
        for _ in range(50):
            stack.enter_context(connect(port)).sendall(CALL[:10])
        assert is_well(port)
        idle[0].sendall(STATUS)
        assert b"getStatus" in reply(idle[0])


def test_slow_readers_wait_alone(port: int) -> None:
    """Clients that ask for much and read nothing do not keep others waiting."""
    ask = struct.pack(">Ii", 0x80010001, 14) + b"get_partitions" + struct.pack(">i", 1)
    ask += struct.pack(">bhi", 11, 1, 7) + b"default" + struct.pack(">bhi", 11, 2, 1) + b"t" + b"\0"
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(connect(port)).sendall(ask * 200)
        assert is_well(port)


def test_the_longest_idle_make_room(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """When too many are connected, the one that has been idle for longest is closed."""
    monkeypatch.setattr("parquetry.hive.listener.MAX_CONNECTIONS", 5)
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(connect(port)) for _ in range(5)]
        time.sleep(0.3)
        assert is_well(port)
        assert reply(waiting[0]) == b""
        waiting[4].sendall(STATUS)
        assert b"getStatus" in reply(waiting[4])


# --- passwords and TLS


def sasl(port: int, mechanism: bytes, initial: bytes) -> tuple[socket.socket, int, bytes]:
    """Begin SASL, and return the connection, the status of the answer, and its text."""
    connected = connect(port)
    connected.sendall(struct.pack(">BI", 1, len(mechanism)) + mechanism)
    if initial:
        connected.sendall(struct.pack(">BI", 2, len(initial)) + initial)
    status, length = struct.unpack(">BI", connected.recv(5, socket.MSG_WAITALL))
    return connected, status, connected.recv(length, socket.MSG_WAITALL) if length else b""


def test_passwords(lake: PythonLake) -> None:
    """With a password, a client that gives it by SASL PLAIN is answered, and no other."""
    with served(lake.folder, password="sesame") as port:
        connected, status, _ = sasl(port, b"PLAIN", b"\0me\0sesame")
        with connected:
            assert status == 5
            connected.sendall(struct.pack(">I", len(STATUS)) + STATUS)
            assert b"getStatus" in reply(connected)
        for given in (b"\0me\0wrong", b"\0me\0", b"me", b"\0me\0sesame2"):
            refused, status, text = sasl(port, b"PLAIN", given)
            with refused:
                assert (status, text, reply(refused)) == (3, b"The password is wrong.", b"")
        with connect(port) as plain:
            plain.sendall(STATUS)
            assert reply(plain) == b""


def test_kerberos_is_refused_in_words(port: int) -> None:
    """A client with Kerberos gets an error that names the mechanism that is served."""
    connected, status, text = sasl(port, b"GSSAPI", b"")
    with connected:
        assert status == 3
        assert b"GSSAPI is not served" in text
        assert b"hive.metastore.sasl.enabled" in text


def test_tls(lake: PythonLake, tmp_path: Path) -> None:
    """With a certificate, connections have TLS; those without are closed."""
    file = tmp_path / "server.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    subprocess.run(
        [*made, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{file}.key", "-out", f"{file}.crt"],
        check=True,
        capture_output=True,
    )
    file.write_bytes(Path(f"{file}.crt").read_bytes() + Path(f"{file}.key").read_bytes())
    context = ssl.create_default_context(cafile=f"{file}.crt")
    with served(lake.folder, certificate=str(file)) as port:
        with context.wrap_socket(connect(port), server_hostname="127.0.0.1") as connected:
            connected.sendall(STATUS)
            assert b"getStatus" in reply(connected)
        with connect(port) as plain:
            plain.sendall(STATUS)
            assert b"getStatus" not in reply(plain)


def test_others_need_a_password(lake: PythonLake) -> None:
    """An address that others reach needs a password, or the option that everybody may read."""
    with pytest.raises(ConfigurationError, match="give --password, or --open"):
        serve(ServedMetastore(str(lake.folder)), ("0.0.0.0", 0))
    with pytest.raises(ConfigurationError, match=r"Certificate .*nothing\.pem cannot be used"):
        serve(ServedMetastore(str(lake.folder), certificate="/nothing.pem"), ("127.0.0.1", 0))


def test_calls_at_once(port: int) -> None:
    """Twenty clients that ask at the same time get their own answers."""
    wrong: list[object] = []

    def ask(number: int) -> None:
        with client(port) as hms:
            for _ in range(20):
                found = hms.get_partitions_by_filter("default", "t", f"p = {number % 3}", -1)
                if {each.values[0] for each in found} != {str(number % 3)}:
                    wrong.append(found)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_answer_that_no_frame_holds_is_refused(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A framed client gets an error instead of an answer that is too long; a plain one gets the answer."""
    monkeypatch.setattr("parquetry.hive.processor.MAX_FRAME_BYTES", 5_000)
    with client(port, framed=True) as hms:
        with pytest.raises(ttypes.MetaException, match="ask for fewer partitions"):
            hms.get_partitions("default", "t", -1)
        assert len(hms.get_partitions("default", "t", 2)) == 2
    with client(port) as hms:
        assert len(hms.get_partitions("default", "t", -1)) == 9


def test_readers_that_are_too_slow_are_left(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks for much and reads next to nothing loses its connection after a while."""
    monkeypatch.setattr("parquetry.hive.wire.connection.CALL_SECONDS", 0.5)
    ask = struct.pack(">Ii", 0x80010001, 14) + b"get_partitions" + struct.pack(">i", 1)
    ask += struct.pack(">bhi", 11, 1, 7) + b"default" + struct.pack(">bhi", 11, 2, 1) + b"t" + b"\0"
    with connect(port) as connected:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        with contextlib.suppress(OSError):
            connected.sendall(ask * 3_000)
            for _ in range(200):  # the connection ends within seconds, on a busy machine too
                time.sleep(0.1)
                connected.sendall(ask)
            pytest.fail("the server still reads")
    assert is_well(port)
