"""The readers of a table without our jar: our scan, a served Iceberg catalog, and a published Delta log.

Each takes a filter, or None for all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable
from pyiceberg.catalog.rest import RestCatalog

from parquetry.catalog import Scan
from tests.support.readers.filters import RowFilter


@dataclass(frozen=True)
class TableSource:
    """A table as the readers find it.

    Attributes:
        scan: of all rows.
        database: its database.
        name: its name.
        address: of the served catalog.
        connect: returns a connection of DuckDB, with the served catalog as `lake`.
        publish: publishes the table as a Delta log, and returns its folder.
    """

    scan: Scan
    database: str
    name: str
    address: str
    connect: Callable[[], duckdb.DuckDBPyConnection]
    publish: Callable[[], str]

    def filtered(self, where: RowFilter | None) -> Scan:
        """Return the scan of the rows of a filter."""
        return self.scan if where is None else self.scan.filter(where.in_spark_sql())


def _arrow(source: TableSource, where: RowFilter | None) -> pa.Table:
    return source.filtered(where).to_arrow()


def _pandas(source: TableSource, where: RowFilter | None) -> pa.Table:
    frame = source.filtered(where).to_pandas(types_mapper=pd.ArrowDtype)
    return pa.Table.from_pandas(frame, preserve_index=False)


def _polars(source: TableSource, where: RowFilter | None) -> pa.Table:
    frame = _narrow(source.scan.to_polars(), where).collect().to_arrow()
    columns = [column.cast(each.type) for column, each in zip(frame, source.scan.schema, strict=True)]
    return pa.table(columns, source.scan.schema)


def _duckdb(source: TableSource, where: RowFilter | None) -> pa.Table:
    relation = source.scan.to_duckdb(source.connect())
    chosen = relation if where is None else relation.filter(where.in_duckdb_sql())
    # DuckDB counts an interval's nanoseconds for Arrow, which overflow after 292 years.
    names = ['"{}"'.format(name.replace('"', '""')) for name in chosen.columns]
    kinds = zip(names, chosen.types, strict=True)
    table = chosen.project(
        ", ".join(f"epoch_us({name})" if str(kind) == "INTERVAL" else name for name, kind in kinds)
    ).to_arrow_table()
    values = [
        column.cast(each.type) if pa.types.is_duration(each.type) else column
        for column, each in zip(table.columns, source.scan.schema, strict=True)
    ]
    return pa.table(values, names=chosen.columns)


def _dataset(source: TableSource, where: RowFilter | None) -> pa.Table:
    return source.filtered(where).to_dataset().to_table()


def _served_table(source: TableSource) -> object:
    return RestCatalog("lake", uri=source.address).load_table((source.database, source.name))


def _by_pyiceberg(source: TableSource, where: RowFilter | None) -> pa.Table:
    options = {} if where is None else {"row_filter": where.for_iceberg()}
    return _served_table(source).scan(**options).to_arrow()  # type: ignore[attr-defined]


def _by_polars(source: TableSource, where: RowFilter | None) -> pa.Table:
    frame = pl.scan_iceberg(_served_table(source), reader_override="native")
    return _narrow(frame, where).collect().to_arrow()


def _by_duckdb(source: TableSource, where: RowFilter | None) -> pa.Table:
    return _by_sql(source.connect(), f'lake."{source.database}"."{source.name}"', where)


def _log_by_delta_rs(source: TableSource, where: RowFilter | None) -> pa.Table:
    dataset = DeltaTable(source.publish()).to_pyarrow_dataset()
    return dataset.to_table(filter=None if where is None else where.for_arrow())


def _log_by_polars(source: TableSource, where: RowFilter | None) -> pa.Table:
    return _narrow(pl.scan_delta(source.publish()), where).collect().to_arrow()


def _log_by_duckdb(source: TableSource, where: RowFilter | None) -> pa.Table:
    return _by_sql(source.connect(), f"delta_scan('{source.publish()}')", where)


def _narrow(frame: pl.LazyFrame, where: RowFilter | None) -> pl.LazyFrame:
    return frame if where is None else frame.filter(where.for_polars())


def _by_sql(connection: duckdb.DuckDBPyConnection, name: str, where: RowFilter | None) -> pa.Table:
    condition = "" if where is None else f" WHERE {where.in_duckdb_sql()}"
    return connection.sql(f"SELECT * FROM {name}{condition}").to_arrow_table()


Reader = Callable[[TableSource, RowFilter | None], pa.Table]

READERS: Mapping[str, Reader] = {
    "scan arrow": _arrow,
    "scan pandas": _pandas,
    "scan polars": _polars,
    "scan duckdb": _duckdb,
    "scan dataset": _dataset,
    "iceberg pyiceberg": _by_pyiceberg,
    "iceberg polars": _by_polars,
    "iceberg duckdb": _by_duckdb,
    "delta delta-rs": _log_by_delta_rs,
    "delta polars": _log_by_polars,
    "delta duckdb": _log_by_duckdb,
}
