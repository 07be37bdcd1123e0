"""The Arrow types of a table's columns. Spark's own `toArrow` gives the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from parquetry.data_files import TableColumn
from parquetry.errors import UnsupportedError
from parquetry.hashing import HashType
from parquetry.types import ColumnType, type_from_json, type_text


def arrow_schema(columns: Iterable[TableColumn]) -> pa.Schema:
    """Return the Arrow schema of columns, with the names that the table has now.

    Raises:
        UnsupportedError: Arrow has no such type, or PyArrow cannot read it; the message names the column.

    >>> arrow_schema([TableColumn("c", "char(3)"), TableColumn("t", "timestamp", nullable=False)])
    c: string
    t: timestamp[us, tz=UTC] not null
    """
    fields = []
    for column in columns:
        try:
            kind = arrow_type(column.type)
        except UnsupportedError:
            raise UnsupportedError(
                f"Column {column.name} is {type_text(column.type)}, which is read by Spark alone: select other columns."
            ) from None
        fields.append(pa.field(column.name, kind, column.nullable))
    return pa.schema(fields)


def arrow_type(type: Any) -> pa.DataType:
    """Return the Arrow type of a type of Spark's schema JSON.

    Raises:
        UnsupportedError: there is none.

    >>> arrow_type({"type": "array", "elementType": "decimal(5,2)", "containsNull": True})
    ListType(list<element: decimal128(5, 2)>)
    """
    match type:
        case {"type": "struct", "fields": fields}:
            return pa.struct(
                [
                    pa.field(field["name"], arrow_type(field["type"]), field.get("nullable", True))
                    for field in fields
                ]
            )
        case {"type": "array", "elementType": element}:
            return pa.list_(pa.field("element", arrow_type(element), type.get("containsNull", True)))
        case {"type": "map", "keyType": key, "valueType": value}:
            values = pa.field("value", arrow_type(value), type.get("valueContainsNull", True))
            return pa.map_(pa.field("key", arrow_type(key), nullable=False), values)
    return primitive_arrow_type(type_from_json(type))


def primitive_arrow_type(type: ColumnType) -> pa.DataType:
    """Return the Arrow type of a type without parts.

    Raises:
        UnsupportedError: there is none. Arrow's intervals of months have no values in Python.
    """
    if type.interval and type.facts.bits == 64:
        return pa.duration("us")
    return HashType.from_column_type(type).arrow
