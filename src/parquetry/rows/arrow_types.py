"""The Arrow types of a table's columns, and its literals as Arrow values. Spark's own `toArrow` gives the
same types.

Literals are partition values, defaults, and the constants of conditions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from parquetry.data_files import TableColumn
from parquetry.errors import UnsupportedError
from parquetry.hashing import HashType, number_type
from parquetry.types import ColumnType, Value, type_from_json, type_text


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


def constant_scalar(type: ColumnType, value: Value) -> pa.Scalar:
    """Return a value of a column as an Arrow scalar.

    Raises:
        UnsupportedError: Arrow has no such type.

    >>> from parquetry.types import parse_type
    >>> constant_scalar(parse_type("date"), 19782)
    <pyarrow.Date32Scalar: datetime.date(2024, 2, 29)>
    """
    arrow = primitive_arrow_type(type)
    if value is None:
        return pa.scalar(None, arrow)
    number: pa.Scalar = pa.scalar(value, number_type(type) or arrow)
    return number.cast(arrow)


def constant_array(type: ColumnType, value: Value, count: int) -> pa.Array:
    """Return an array of one value in each of `count` rows.

    Raises:
        UnsupportedError: Arrow has no such type.
    """
    if value is None:
        return pa.nulls(count, primitive_arrow_type(type))
    return pa.repeat(constant_scalar(type, value), count)


class Constants:
    """Arrays of one value, which batches of one partition share.

    A column's last array is kept, and shorter ones are slices of it.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[Value, pa.Array]] = {}

    def array(self, name: str, type: ColumnType, value: Value, count: int) -> pa.Array:
        """Return an array of a column's value in each of `count` rows.

        Raises:
            UnsupportedError: Arrow has no such type.
        """
        last = self._last.get(name)
        if last is None or last[0] is not value or len(last[1]) < count:
            self._last[name] = last = value, constant_array(type, value, count)
        return last[1].slice(0, count)


def value_array(type: ColumnType, values: tuple[Value, ...]) -> pa.Array:
    """Return an array of values, none of them NULL."""
    arrow = primitive_arrow_type(type)
    return pa.array(values, number_type(type) or arrow).cast(arrow)
