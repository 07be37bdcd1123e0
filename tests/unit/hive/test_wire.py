"""Bytes on the wire: what others' code of Thrift writes and reads, and bytes that are no calls."""

from __future__ import annotations

import contextlib
import itertools
import struct
from pathlib import Path
from typing import Any

import pytest
from hive_metastore import ThriftHiveMetastore, ttypes
from hypothesis import given, settings, strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from parquetry.hive.calls.registry import answered_calls
from parquetry.hive.wire.decoding import MAX_CALL_BYTES, MAX_DEPTH, Decoder, ProtocolError
from parquetry.hive.wire.encoding import MAX_MEMORY_BYTES, Encoded, Reply, Stream, encode, writer
from parquetry.hive.wire.idl import Container, Struct, definitions

RECORDS = definitions().records


class Bytes:
    """A client that has sent some bytes, and no more."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self.reserved = 0

    def take(self, count: int) -> bytes:
        if count > MAX_CALL_BYTES:
            raise ProtocolError("too long")
        self._at += count
        if self._at > len(self._data):
            raise EOFError
        return self._data[self._at - count : self._at]

    def reserve(self, count: int) -> None:
        self.reserved += count


def _type_text(kind: int, arguments: Any) -> str:
    """Return a type of generated code as the excerpt writes it."""
    match kind:
        case TType.STRUCT:
            return str(arguments[0].__name__)
        case TType.STRING:
            return "binary" if arguments == "BINARY" else "string"
        case TType.LIST | TType.SET:
            return f"{'list' if kind == TType.LIST else 'set'}<{_type_text(arguments[0], arguments[1])}>"
        case TType.MAP:
            return f"map<{_type_text(arguments[0], arguments[1])}, {_type_text(arguments[2], arguments[3])}>"
    return {2: "bool", 3: "byte", 4: "double", 6: "i16", 8: "i32", 10: "i64"}[kind]


def _our_text(type: Any) -> str:
    if isinstance(type, Struct):
        return type.name
    if isinstance(type, Container):
        within = f"{_our_text(type.key)}, " if type.kind == "map" else ""
        return f"{type.kind}<{within}{_our_text(type.element)}>"
    return str(type)


def _generated(record: Any) -> dict[tuple[int, str], str]:
    return {
        (each[0], each[2]): _type_text(each[1], each[3]) for each in record.thrift_spec if each is not None
    }


def _ours(record: Struct) -> dict[tuple[int, str], str]:
    return {(number, each.name): _our_text(each.type) for number, each in record.fields.items()}


def test_definitions_are_those_of_others() -> None:
    """Records, arguments and answers have the numbers, names and types of code that PyIceberg distributes.

    The excerpt has more, as it was made of a later version of Hive.
    """
    compared = 0
    for name, record in RECORDS.items():
        if (other := getattr(ttypes, name, None)) is not None:
            assert _generated(other).items() <= _ours(record).items(), name
            compared += 1
    for name, call in definitions().calls.items():
        if (other := getattr(ThriftHiveMetastore, f"{name}_args", None)) is None:
            continue
        if name in answered_calls() and name != "get_partitions_by_names":  # has two errors more since
            assert _generated(other).items() <= _ours(call.arguments).items(), name
            answer = _generated(getattr(ThriftHiveMetastore, f"{name}_result")).get((0, "success"))
            assert answer == (None if call.result is None else _our_text(call.result)), name
            compared += 1
    assert compared > 200


def test_all_definitions_are_read() -> None:
    """Every record, field and call of the excerpt is read."""
    text = (Path(__file__).parents[3] / "src/parquetry/hive/wire/metastore.thrift").read_text("utf-8")
    records, service = text.split("service ThriftHiveMetastore")
    fields = sum(len(record.fields) for record in RECORDS.values())
    assert fields == sum(line.startswith("  ") and ":" in line for line in records.splitlines())
    assert len(definitions().calls) == sum(line.startswith("  ") for line in service.splitlines())


FIELD = {"name": "größe", "type": "bigint", "comment": None}
TABLE = {
    "tableName": "t",
    "createTime": -1,
    "parameters": {"a": "b", "ü": ""},
    "temporary": True,
    "sd": {
        "cols": [FIELD],
        "skewedInfo": {"skewedColValues": [["6"], ["20"]]},
        "sortCols": [{"col": "a", "order": 1}],
    },
    "partitionKeys": [],
}


def test_others_read_what_is_written() -> None:
    """A record with lists, maps and records within is read by Thrift's own code as it was."""
    table = ttypes.Table()
    table.read(TBinaryProtocol(TMemoryBuffer(bytes(encode(RECORDS["Table"], TABLE)))))
    assert (table.tableName, table.createTime, table.parameters, table.temporary) == (
        "t",
        -1,
        {"a": "b", "ü": ""},
        True,
    )
    assert table.sd.cols == [ttypes.FieldSchema("größe", "bigint", None)]
    assert table.sd.skewedInfo.skewedColValues == [["6"], ["20"]]
    assert (table.partitionKeys, table.viewOriginalText) == ([], None)


def test_what_others_write_is_read() -> None:
    """A record that Thrift's own code writes is read as it was, and unknown fields are skipped."""
    buffer = TMemoryBuffer()
    stats = ttypes.ColumnStatistics(ttypes.ColumnStatisticsDesc(True, "d", "t"), [])
    ttypes.Table(
        tableName="t", sd=ttypes.StorageDescriptor(cols=[ttypes.FieldSchema("a", "int")]), colStats=stats
    ).write(TBinaryProtocol(buffer))
    data = buffer.getvalue()
    assert Decoder(Bytes(data)).record(RECORDS["Table"])["sd"]["cols"] == [
        {"name": "a", "type": "int", "comment": None}
    ]
    assert Decoder(Bytes(data)).record(RECORDS["FieldSchema"]) == {"name": "t", "type": None, "comment": None}


def test_long_lists_leave_the_memory() -> None:
    """A list of unknown length is written through a file, with its length at its beginning."""
    reply = Reply()
    records = (Encoded(b"x" * 1000) for _ in range(20_000))
    writer(Container("list", RECORDS["FieldSchema"]))(Stream(records), reply)
    assert len(reply) <= MAX_MEMORY_BYTES + 1000 < reply.length == 5 + 20_000 * 1000
    chunks = list(reply.chunks())
    assert b"".join(chunks)[:5] == struct.pack(">Bi", 12, 20_000)
    assert max(map(len, chunks)) <= MAX_MEMORY_BYTES
    reply.close()


def _nested(depth: int) -> bytes:
    return struct.pack(">bh", 12, 1) * depth + bytes(depth + 1)


HOSTILE = {
    "a text of 2 GB": struct.pack(">bhi", 11, 1, (1 << 31) - 1),
    "a negative length": struct.pack(">bhi", 11, 1, -1),
    "a list of two billion": struct.pack(">bhbi", 15, 1, 2, (1 << 31) - 1),
    "a map of two billion": struct.pack(">bhbbi", 13, 1, 2, 2, (1 << 31) - 1),
    "a list of two billion nothings": struct.pack(">bhbi", 15, 9, 0, (1 << 31) - 1),
    "records in records": _nested(MAX_DEPTH + 2),
    "lists in lists": struct.pack(">bh", 15, 1) + struct.pack(">bi", 15, 1) * 5_000,
    "a type that there is not": struct.pack(">bh", 77, 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_are_refused(name: str) -> None:
    """Lengths and depths of no call end the reading before memory or stack is used for them."""
    for record in ("FieldSchema", "Table", "PartitionsByExprRequest"):
        source = Bytes(HOSTILE[name])
        with pytest.raises(ProtocolError):
            Decoder(source).record(RECORDS[record])
        assert source.reserved < 1 << 20


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(sorted(RECORDS)))
def test_any_bytes_end(data: bytes, record: str) -> None:
    """Any bytes of a client are a record, too short, or refused; nothing else happens."""
    try:
        values = Decoder(Bytes(data)).record(RECORDS[record])
    except (EOFError, ProtocolError):
        return
    assert values.keys() == {field.name for field in RECORDS[record].fields.values()}


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_changed_bytes_end(data: st.DataObject) -> None:
    """A record with a few bytes changed is read, too short, or refused."""
    encoded = bytearray(encode(RECORDS["Table"], TABLE))
    for _ in range(data.draw(st.integers(1, 4))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(EOFError, ProtocolError):
        Decoder(Bytes(bytes(encoded))).record(RECORDS["Table"])


TEXTS = st.text(max_size=5)
SIMPLE: dict[str, Any] = {
    "string": TEXTS,
    "binary": st.binary(max_size=5),
    "bool": st.booleans(),
    "byte": st.integers(-128, 127),
    "i16": st.integers(-(1 << 15), (1 << 15) - 1),
    "i32": st.integers(-(1 << 31), (1 << 31) - 1),
    "i64": st.integers(-(1 << 63), (1 << 63) - 1),
    "double": st.floats(allow_nan=False),
}


@given(st.data())
def test_values_come_back(data: st.DataObject) -> None:
    """Every type of number, text and container is read as it was written."""
    for (name, strategy), kind in itertools.product(SIMPLE.items(), ("one", "list", "map")):
        type: Any = name if kind == "one" else Container(kind, name, "string")
        values = {
            "one": strategy,
            "list": st.lists(strategy, max_size=3),
            "map": st.dictionaries(TEXTS, strategy, max_size=3),
        }
        value = data.draw(values[kind])
        reply = Reply()
        writer(type)(value, reply)
        assert Decoder(Bytes(bytes(reply)))._value(type, 0) == value
