"""The readers of a scan. Each gives the rows of a table, in a form that can be compared, or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import duckdb
import pyarrow as pa

from parquetry.catalog import Scan
from parquetry.errors import UnsupportedError

Rows: TypeAlias = list[str]


def _arrow(scan: Scan) -> pa.Table:
    return scan.to_arrow()


def _polars(scan: Scan) -> pa.Table:
    frame = scan.to_polars().collect().to_arrow()
    return pa.table(
        [column.cast(field.type) for column, field in zip(frame, scan.schema, strict=True)], scan.schema
    )


def _duckdb(scan: Scan) -> pa.Table:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        table = scan.to_duckdb(connection).to_arrow_table()
    columns = [_cast(column, field.type) for column, field in zip(table, scan.schema, strict=True)]
    return pa.table(columns, scan.schema)


def _cast(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    """Return a column of DuckDB's in the table's type. Its intervals have months, days and nanoseconds."""
    if column.type != pa.month_day_nano_interval():
        return column.cast(type)
    intervals = [
        None if each is None else each.days * 86_400_000_000 + each.nanoseconds // 1000
        for each in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(intervals, pa.int64()).cast(type)])


def _dataset(scan: Scan) -> pa.Table:
    return scan.to_dataset().to_table()


READERS: dict[str, Callable[[Scan], pa.Table]] = {
    "arrow": _arrow,
    "polars": _polars,
    "duckdb": _duckdb,
    "dataset": _dataset,
}


def comparable(table: pa.Table) -> Rows:
    """Return the rows as sorted texts: NaN equals NaN there, and a NULL differs from all values."""
    return sorted(repr(list(row.values())) for row in table.to_pylist())


def rows_or_refusal(reader: str, scan: Scan) -> Rows | str:
    """Return the rows that a reader gives, or the text of its refusal."""
    try:
        return comparable(READERS[reader](scan))
    except UnsupportedError as error:
        return error.message
    except duckdb.Error as error:
        if "cannot be read outside of Spark" not in str(error):
            raise
        return str(error)
