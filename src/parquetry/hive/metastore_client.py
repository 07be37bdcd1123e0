"""A client of another Hive metastore: it sends calls in Thrift's binary protocol, without frames.

It makes the few calls that keep a table there, in forms that Hive 2.3 to 4 define. Servers with
Kerberos or TLS are not reached.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, Self

from parquetry.errors import HiveError
from parquetry.hive.wire.decoding import Decoder, ProtocolError
from parquetry.hive.wire.encoding import EXCEPTION, Encoded, encode_call
from parquetry.hive.wire.idl import Field, Struct, definitions

MADE_CALLS = (
    *("add_partitions", "alter_partitions_with_environment_context", "alter_table_with_environment_context"),
    *("create_database", "create_table", "drop_partition_by_name", "drop_table", "get_database"),
    *("get_partition_names", "get_partitions_by_names", "get_table"),
)
"""The calls that this client makes."""
_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 300
_MAX_ANSWER_ELEMENTS = 100_000_000
PARTITIONS_PER_CALL = 500
_ALL = -1
_AS_IT_IS = {"properties": {"DO_NOT_UPDATE_STATS": "true"}}
"""The server does not list folders for statistics, which the records have."""
_APPLICATION_ERROR = Struct("TApplicationException", {1: Field(1, "message", "string")})
_NOT_THERE = "NoSuchObjectException"


class MetastoreRefusalError(HiveError):
    """A server answered with an error of Hive's.

    Attributes:
        kind: the name of the error in Hive.
    """

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class MetastoreClient:
    """A connection to a server. It is a context manager.

    Args:
        connected: the socket.
        server: the server, for messages.
    """

    def __init__(self, connected: socket.socket, server: str) -> None:
        self._socket, self._server = connected, server
        self._bytes = _ServerBytes(connected)
        self._numbers = itertools.count(1)

    @classmethod
    def connect(cls, servers: Sequence[tuple[str, int]]) -> Self:
        """Connect to the first server that can be reached.

        Raises:
            HiveError: none can.
        """
        reasons = []
        for host, port in servers:
            try:
                connected = socket.create_connection((host, port), _CONNECT_SECONDS)
            except OSError as error:
                reasons.append(f"{host}:{port}: {error.strerror or error}")
                continue
            connected.settimeout(_ANSWER_SECONDS)
            return cls(connected, f"{host}:{port}")
        raise HiveError(f"No server of Hive's metastore is reached ({'; '.join(reasons)}): start one there.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    # --- tables

    def table(self, database: str, name: str) -> dict[str, Any] | None:
        """Return the record of a table, or None if there is none."""
        try:
            record: dict[str, Any] = self._call("get_table", dbname=database, tbl_name=name)
        except MetastoreRefusalError as error:
            if error.kind != _NOT_THERE:
                raise
            return None
        return record

    def create_table(self, database: str, record: Encoded) -> None:
        """Create a table, and its database if it is missing."""
        try:
            self._call("get_database", name=database)
        except MetastoreRefusalError as error:
            if error.kind != _NOT_THERE:
                raise
            self._call("create_database", database={"name": database, "parameters": {}})
        self._call("create_table", tbl=record)

    def alter_table(self, database: str, name: str, record: Encoded) -> None:
        """Change a table's record."""
        self._call(
            "alter_table_with_environment_context",
            dbname=database, tbl_name=name, new_tbl=record, environment_context=_AS_IT_IS,
        )  # fmt: skip

    def drop_table(self, database: str, name: str) -> None:
        """Drop a table, and leave all files."""
        self._call("drop_table", dbname=database, name=name, deleteData=False)

    # --- partitions

    def partition_names(self, database: str, name: str) -> list[str]:
        """Return the names of a table's partitions, such as `day=2026-11-27`."""
        names: list[str] = self._call("get_partition_names", db_name=database, tbl_name=name, max_parts=_ALL)
        return names

    def partitions(self, database: str, name: str, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the records of partitions by their names."""
        for start in range(0, len(names), PARTITIONS_PER_CALL):
            some = list(names[start : start + PARTITIONS_PER_CALL])
            yield from self._call("get_partitions_by_names", db_name=database, tbl_name=name, names=some)

    def add_partitions(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Add partitions."""
        self._call("add_partitions", new_parts=records)

    def alter_partitions(self, database: str, name: str, records: Sequence[Mapping[str, Any]]) -> None:
        """Change the records of partitions."""
        self._call(
            "alter_partitions_with_environment_context",
            db_name=database, tbl_name=name, new_parts=records, environment_context=_AS_IT_IS,
        )  # fmt: skip

    def drop_partition(self, database: str, name: str, partition: str) -> None:
        """Drop a partition by its name, and leave all files."""
        self._call(
            "drop_partition_by_name", db_name=database, tbl_name=name, part_name=partition, deleteData=False
        )

    # --- the wire

    def _call(self, name: str, /, **arguments: Any) -> Any:
        """Make a call, and return its answer.

        Raises:
            MetastoreRefusalError: the server answers with an error.
            HiveError: it does not answer.
        """
        call = definitions().calls[name]
        fields = {field.number: field for field in call.errors.values()}
        if call.result is not None:
            fields[0] = Field(0, "success", call.result)
        try:
            for chunk in encode_call(call, next(self._numbers), arguments).chunks():
                self._socket.sendall(chunk)
            decoder = Decoder(self._bytes, _MAX_ANSWER_ELEMENTS)
            _, kind, _ = decoder.head()
            answer = decoder.record(
                _APPLICATION_ERROR if kind == EXCEPTION else Struct(f"{name}_result", fields)
            )
        except (OSError, EOFError, ProtocolError) as error:
            raise HiveError(
                f"The Hive metastore at {self._server} does not answer {name}: {error or 'it closes the connection'}. Look into its "
                "log. A server with Kerberos or TLS is not reached: publish by a Spark session."
            ) from None
        if kind == EXCEPTION:
            self._refuse(name, "TApplicationException", answer)
        for kind_of_error, field in call.errors.items():
            if answer[field.name] is not None:
                self._refuse(name, kind_of_error, answer[field.name])
        return answer.get("success")

    def _refuse(self, name: str, kind: str, error: Mapping[str, Any]) -> NoReturn:
        raise MetastoreRefusalError(
            f"The Hive metastore at {self._server} refuses {name}: {kind}: {error['message']}.", kind
        )


class _ServerBytes:
    """The bytes of answers."""

    def __init__(self, connected: socket.socket) -> None:
        self._file = connected.makefile("rb")

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        taken = self._file.read(count)
        if len(taken) < count:
            raise EOFError
        return taken

    def reserve(self, count: int) -> None:
        """Do nothing: the server is trusted with this process's memory."""
