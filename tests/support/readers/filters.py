"""Filters of tables, made from their columns and values, in the words of each reader.

The rows that they choose are found by brute force among Spark's rows of the whole table.
"""

from __future__ import annotations

import datetime as dt
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import expressions as iceberg

from parquetry.metastore import TableSnapshot

MAX_FILTERED_COLUMNS = 4
"""Columns of a table that get filters, at most: partition columns first."""
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "IN": lambda a, b: a in b,
}
_OF_ICEBERG = {
    "=": iceberg.EqualTo,
    "<=": iceberg.LessThanOrEqual,
    ">": iceberg.GreaterThan,
    "IN": iceberg.In,
}


@dataclass(frozen=True)
class RowFilter:
    """A test of one column.

    Attributes:
        column: its name.
        test: `=`, `<=`, `>`, `IN`, `IS NULL` or `IS NOT NULL`.
        value: what the column is compared with, for IN a tuple.
        is_arrows: whether PyArrow means the same by it. There NaN compares false, and IN tells -0.0 from 0.0.
    """

    column: str
    test: str
    value: Any = None
    is_arrows: bool = True

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row satisfies it, as SQL sees it. NaN is the greatest number."""
        given = row[self.column]
        if self.test.startswith("IS"):
            return (given is None) == (self.test == "IS NULL")
        if given is None:
            return False
        if isinstance(given, float) and math.isnan(given):
            return self.test == ">"
        return _ORDERS[self.test](given, self.value)

    def for_arrow(self) -> pc.Expression:
        """Return it as an expression of PyArrow."""
        column = pc.field(self.column)
        match self.test:
            case "IS NULL":
                return column.is_null()
            case "IS NOT NULL":
                return column.is_valid()
            case "IN":
                return column.isin(list(self.value))
            case "=":
                return column == self.value
        return column <= self.value if self.test == "<=" else column > self.value

    def in_spark_sql(self) -> str:
        """Return it in Spark's words, which `Scan.filter` takes."""
        name = "`{}`".format(self.column.replace("`", "``"))
        return f"{name} {self._rest(_spark_literal)}"

    def in_duckdb_sql(self) -> str:
        """Return it in DuckDB's words."""
        name = '"{}"'.format(self.column.replace('"', '""'))
        return f"{name} {self._rest(_duckdb_literal)}"

    def _rest(self, literal: Callable[[Any], str]) -> str:
        if self.test == "IN":
            return f"IN ({', '.join(map(literal, self.value))})"
        return self.test if self.test.startswith("IS") else f"{self.test} {literal(self.value)}"

    def for_polars(self) -> pl.Expr:
        """Return it as an expression of Polars."""
        column = pl.col(self.column)
        match self.test:
            case "IS NULL":
                return column.is_null()
            case "IS NOT NULL":
                return column.is_not_null()
            case "IN":
                return column.is_in(list(self.value))
            case "=":
                return column == self.value
        return column <= self.value if self.test == "<=" else column > self.value

    def for_iceberg(self) -> iceberg.BooleanExpression:
        """Return it as an expression of PyIceberg."""
        if self.test.startswith("IS"):
            return (iceberg.IsNull if self.test == "IS NULL" else iceberg.NotNull)(self.column)
        return _OF_ICEBERG[self.test](self.column, self.value)

    def __str__(self) -> str:
        return f"where {self.in_duckdb_sql()}"


def filters_of(
    snapshot: TableSnapshot, schema: pa.Schema, rows: Sequence[Mapping[str, Any]]
) -> Iterator[RowFilter]:
    """Yield filters of a table: of each chosen column one with a value, and one about NULL.

    Args:
        snapshot: the table.
        schema: of its rows.
        rows: all of them.
    """
    metadata = snapshot.metadata
    names = [
        column.name for column in metadata.columns if _has_literals(str(column.type), schema, column.name)
    ]
    number = zlib.crc32(snapshot.name.encode()) + snapshot.version
    partition = [name for name in names if name in metadata.partition_by]
    data = [name for name in names if name not in metadata.partition_by]
    turned = data[number % len(data) :] + data[: number % len(data)] if data else []
    chosen = [*partition[: MAX_FILTERED_COLUMNS // 2], *turned][:MAX_FILTERED_COLUMNS]
    for position, name in enumerate(chosen):
        values = [row[name] for row in rows]
        is_plain = not any(isinstance(each, float) and (math.isnan(each) or each == 0) for each in values)
        tests = [*_tests(name, _distinct(values))]
        if tests:
            yield replace(tests[(number + position) % len(tests)], is_arrows=is_plain)
        yield RowFilter(name, "IS NULL" if (number + position) % 2 else "IS NOT NULL")


def _tests(name: str, values: Sequence[Any]) -> Iterator[RowFilter]:
    if values:
        middle = values[len(values) // 2]
        yield RowFilter(name, "=", middle)
        yield RowFilter(name, "IN", (values[0], values[-1]) if len(values) > 1 else (values[0],))
        if not isinstance(middle, bool):
            yield RowFilter(name, "<=", middle)
            yield RowFilter(name, ">", values[0])


def _distinct(values: Sequence[Any]) -> list[Any]:
    """Return the values that are literals, each once, sorted."""
    known = {
        value
        for value in values
        if not (
            value is None
            or isinstance(value, bytes)
            or (isinstance(value, float) and not math.isfinite(value))
        )
    }
    return sorted(known)


def _has_literals(type: str, schema: pa.Schema, name: str) -> bool:
    """Return whether values of a column have literals that all readers take, and one order."""
    kind = schema.field(name).type
    if "collate" in type:
        return False
    return any(
        test(kind)
        for test in (
            pa.types.is_boolean,
            pa.types.is_integer,
            pa.types.is_floating,
            pa.types.is_decimal,
            pa.types.is_string,
            pa.types.is_date,
            pa.types.is_timestamp,
        )
    )


def _spark_literal(value: Any) -> str:
    match value:
        case str():
            return "'{}'".format(value.replace("\\", "\\\\").replace("'", "\\'"))
        case dt.datetime():
            local = value.replace(tzinfo=None).isoformat(" ")
            return f"TIMESTAMP_NTZ '{local}'" if value.tzinfo is None else f"TIMESTAMP '{local}'"
    return _literal(value)


def _duckdb_literal(value: Any) -> str:
    match value:
        case str():
            return "'{}'".format(value.replace("'", "''"))
        case dt.datetime():
            local = value.replace(tzinfo=None).isoformat(" ")
            return f"TIMESTAMP '{local}'" if value.tzinfo is None else f"TIMESTAMPTZ '{local}+00:00'"
    return _literal(value)


def _literal(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            text = repr(value)
            return text if "e" in text else f"{text}E0"
        case Decimal():
            return f"{value:f}"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
    return str(value)
