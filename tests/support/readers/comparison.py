"""Every reader of a warehouse without our jar beside Spark: the same rows, or a refusal with a reason.

| readers | what they read |
|---|---|
| `scan …` | `Catalog.scan`: planned and read by Parquetry |
| `iceberg …` | a served Iceberg catalog of the warehouse |
| `delta …` | a Delta log, published for the time of the comparison |
"""

from __future__ import annotations

import contextlib
import re
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable
from pyiceberg.catalog.rest import RestCatalog

from parquetry.catalog import Catalog, Scan
from parquetry.errors import UnsupportedError
from parquetry.iceberg import IcebergCatalog
from parquetry.locations import library_path
from parquetry.metastore import TableSnapshot
from parquetry.publishing import publish_delta
from tests.support.clients.iceberg import duckdb_of, served
from tests.support.readers.values import comparable

_REASONS = (
    "cannot be read outside of Spark",  # of our scan, in an error of DuckDB's
    "cannot be read by Iceberg's readers",
    "PyIceberg takes",
    "PyIceberg finds no row",
)
"""Parts of our refusals, in errors of clients."""
_FAILURES = {
    "iceberg polars": r"non-parquet format: FileFormat.ORC",
    "iceberg duckdb": r"File format 'ORC' not supported",
    "delta delta-rs": r"is not a valid decimal128",
}
"""Errors of readers themselves, which read no row of such tables."""
MAX_COMPARED_ROWS = 20_000
"""Rows of a table whose values are compared; of larger tables the number of rows is."""


@dataclass(frozen=True)
class TableSource:
    """A table as the readers find it.

    Attributes:
        scan: of all rows.
        database: its database.
        name: its name.
        address: of the served catalog.
        connection: of DuckDB, with the served catalog as `lake`.
        publish: publishes the table as a Delta log, and returns its folder.
    """

    scan: Scan
    database: str
    name: str
    address: str
    connection: duckdb.DuckDBPyConnection
    publish: Callable[[], str]


def _polars(source: TableSource) -> pa.Table:
    frame = source.scan.to_polars().collect().to_arrow()
    columns = [column.cast(each.type) for column, each in zip(frame, source.scan.schema, strict=True)]
    return pa.table(columns, source.scan.schema)


def _pandas(source: TableSource) -> pa.Table:
    return pa.Table.from_pandas(source.scan.to_pandas(types_mapper=pd.ArrowDtype), preserve_index=False)


def _duckdb(source: TableSource) -> pa.Table:
    return source.scan.to_duckdb(source.connection).to_arrow_table()


def _served_table(source: TableSource) -> object:
    return RestCatalog("lake", uri=source.address).load_table((source.database, source.name))


def _by_pyiceberg(source: TableSource) -> pa.Table:
    return _served_table(source).scan().to_arrow()  # type: ignore[attr-defined]


def _by_polars(source: TableSource) -> pa.Table:
    return pl.scan_iceberg(_served_table(source), reader_override="native").collect().to_arrow()


def _by_duckdb(source: TableSource) -> pa.Table:
    return source.connection.sql(f'SELECT * FROM lake."{source.database}"."{source.name}"').to_arrow_table()


def _log_by_delta_rs(source: TableSource) -> pa.Table:
    return DeltaTable(source.publish()).to_pyarrow_table()


def _log_by_polars(source: TableSource) -> pa.Table:
    return pl.scan_delta(source.publish()).collect().to_arrow()


def _log_by_duckdb(source: TableSource) -> pa.Table:
    return source.connection.sql(f"SELECT * FROM delta_scan('{source.publish()}')").to_arrow_table()


READERS: Mapping[str, Callable[[TableSource], pa.Table]] = {
    "scan arrow": lambda source: source.scan.to_arrow(),
    "scan pandas": _pandas,
    "scan polars": _polars,
    "scan duckdb": _duckdb,
    "scan dataset": lambda source: source.scan.to_dataset().to_table(),
    "iceberg pyiceberg": _by_pyiceberg,
    "iceberg polars": _by_polars,
    "iceberg duckdb": _by_duckdb,
    "delta delta-rs": _log_by_delta_rs,
    "delta polars": _log_by_polars,
    "delta duckdb": _log_by_duckdb,
}


@dataclass
class Comparison:
    """What the readers gave of some tables.

    Attributes:
        agreeing: number of tables with right rows, by reader.
        refused: the reasons of refusals, by table and reader.
        wrong: the differences to Spark's rows, and failures without a reason, by table and reader.
    """

    agreeing: Counter[str] = field(default_factory=Counter)
    refused: dict[str, dict[str, str]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)


class TableReaders:
    """The readers of one warehouse.

    Args:
        catalog: the warehouse without Spark.
        address: of the served catalog.
        readers: by their names.
    """

    def __init__(
        self,
        catalog: Catalog,
        address: str,
        readers: Mapping[str, Callable[[TableSource], pa.Table]] = READERS,
    ) -> None:
        self._catalog, self._address, self._readers = catalog, address, readers
        self._connection = duckdb_of(address)
        package = Path(str(resources.files("duckdb_extension_delta")))
        (extension,) = package.glob(f"extensions/v{duckdb.__version__}/delta.duckdb_extension")
        self._connection.execute(f"LOAD '{extension}'")

    def close(self) -> None:
        """Close DuckDB's connection."""
        self._connection.close()

    def compare(self, snapshot: TableSnapshot, expected: pa.Table | None, into: Comparison) -> None:
        """Compare the rows of one table.

        Args:
            snapshot: the table.
            expected: Spark's rows, or None if Arrow cannot have them, so that every reader must refuse.
            into: gets the outcome.
        """
        scan = self._catalog.scan(f"`{snapshot.database}`.`{snapshot.name}`", time_zone="UTC")
        folder = library_path(snapshot.metadata.location)
        published: list[str] = []

        def publish() -> str:
            if not published:
                publish_delta(snapshot)
                published.append(folder)
            return folder

        source = TableSource(scan, snapshot.database, snapshot.name, self._address, self._connection, publish)
        wanted = None if expected is None else _rows(expected)
        try:
            for name, read in self._readers.items():
                given = _rows_or_refusal(name, read, source)
                if isinstance(given, _Failure):
                    into.wrong[f"{snapshot.label} {name}"] = given.text
                elif isinstance(given, str):
                    into.refused.setdefault(snapshot.name, {})[name] = given
                elif given == wanted:
                    into.agreeing[name] += 1
                else:
                    into.wrong[f"{snapshot.label} {name}"] = _difference(given, wanted or [])
        finally:
            for made in ("_delta_log", "_iceberg"):
                shutil.rmtree(Path(folder, made), ignore_errors=True)


@dataclass(frozen=True)
class _Failure:
    """An error without a reason for the user."""

    text: str


def _rows_or_refusal(
    name: str, read: Callable[[TableSource], pa.Table], source: TableSource
) -> list[str] | str | _Failure:
    """Return the rows that a reader gives, or the text of its refusal, or its failure."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of previews, and of types
            return _rows(read(source))
    except UnsupportedError as error:
        return error.message
    except Exception as error:  # noqa: BLE001 - of any library
        text = f"{type(error).__name__}: {error}"
        known = _FAILURES.get(name)
        if any(reason in text for reason in _REASONS) or (known is not None and re.search(known, text)):
            return text
        return _Failure(text)


def _rows(table: pa.Table) -> list[str]:
    """Return the rows to compare, or of a large table their number."""
    if table.num_rows > MAX_COMPARED_ROWS:
        return [f"{table.num_rows} rows"]
    return comparable(table.to_pylist())


def _difference(given: list[str], wanted: list[str]) -> str:
    lacking, added = Counter(wanted) - Counter(given), Counter(given) - Counter(wanted)
    return f"{len(given)} rows instead of {len(wanted)}: lacks {sorted(lacking)[:2]}, and has {sorted(added)[:2]}"


@contextlib.contextmanager
def table_readers(catalog: Catalog, iceberg: IcebergCatalog) -> Iterator[TableReaders]:
    """Serve a warehouse within a block, and yield its readers."""
    with served(iceberg) as address:
        readers = TableReaders(catalog, address)
        try:
            yield readers
        finally:
            readers.close()
