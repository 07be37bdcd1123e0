"""Literals of a table as Arrow values: partition values, defaults, and the constants of conditions."""

from __future__ import annotations

import pyarrow as pa

from parquetry.hashing import number_type
from parquetry.rows.arrow_types import primitive_arrow_type
from parquetry.types import ColumnType, Value


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
