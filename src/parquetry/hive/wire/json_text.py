"""Write records as Thrift's JSON. Hive's notifications have tables in this form.

A record is an object: each field's number, with an object of the value's kind and the value.

    {"1": {"str": "orders"}, "2": {"str": "shop"}, "8": {"lst": ["rec", 1, {"1": {"str": "day"}}]}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from parquetry.hive.wire.idl import Container, Struct, ThriftType

_KINDS = {
    "bool": "tf",
    "byte": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "double": "dbl",
    "string": "str",
    "list": "lst",
    "set": "set",
    "map": "map",
}


def json_text(record: Struct, values: Mapping[str, Any]) -> str:
    """Return a record in Thrift's JSON.

    Args:
        record: its definition.
        values: the values by the names of fields; absent and None are left out.
    """
    return msgspec.json.encode(_record(record, values)).decode()


def _record(record: Struct, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        str(field.number): {_kind(field.type): _value(field.type, values[field.name])}
        for field in record.fields.values()
        if values.get(field.name) is not None
    }


def _kind(type: ThriftType) -> str:
    if isinstance(type, Struct):
        return "rec"
    return _KINDS[type.kind if isinstance(type, Container) else type]


def _value(type: ThriftType, value: Any) -> Any:
    if isinstance(type, Struct):
        return _record(type, value)
    if not isinstance(type, Container):
        return int(value) if type == "bool" else value
    if type.kind != "map":
        return [_kind(type.element), len(value), *(_value(type.element, each) for each in value)]
    if type.key != "string":
        return [
            _kind(type.key),
            _kind(type.element),
            0,
            {},
        ]  # locations of heavy values: readers list folders
    pairs = {each: _value(type.element, value[each]) for each in value}
    return [_kind(type.key), _kind(type.element), len(value), pairs]
