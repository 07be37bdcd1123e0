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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

import duckdb
import pyarrow as pa

from parquetry.catalog import Catalog
from parquetry.errors import UnsupportedError
from parquetry.iceberg import IcebergCatalog
from parquetry.locations import library_path
from parquetry.metastore import TableSnapshot
from parquetry.publishing import publish_delta
from tests.support.clients.iceberg import attach, duckdb_for_iceberg, served
from tests.support.readers.filters import RowFilter, filters_of
from tests.support.readers.table_readers import READERS, Reader, TableSource
from tests.support.readers.values import comparable, python_rows

_REASONS = (
    "is encrypted, and only Spark has the keys",  # within an error of DuckDB
    "cannot be read outside of Spark",  # of our scan, in an error of DuckDB's
    "cannot be read by Iceberg's readers",
    "which PyArrow does not read in ORC",  # of our scan, in an error of DuckDB's
    "PyIceberg takes",
    "PyIceberg finds no row",
    "PyIceberg reads NULL",
    "has a text that is not UTF-8",  # of our scan, in an error of Polars'
)
"""Parts of our refusals, in errors of clients."""
_FAILURES = {
    "iceberg pyiceberg": r"No match for FieldRef\.Nested",  # a condition on a column with a dot in its name
    "iceberg polars": r"non-parquet format: FileFormat.ORC|contained invalid UTF-8",
    "iceberg duckdb": r"File format 'ORC' not supported|is not valid UTF8",
    "delta delta-rs": r"is not a valid decimal128",
    "delta polars": r"path contains column not present in the given Hive schema|ShapeError|contained invalid UTF-8",  # folders of their own
    "delta duckdb": r"is not valid UTF8",
}
"""Errors of readers themselves, which read no row of such tables."""
_BROKEN_CONNECTION = (duckdb.FatalException, duckdb.InternalException)
"""Errors after which DuckDB answers nothing until one connects anew."""
FILTERED_READERS = frozenset(READERS) - {"scan pandas", "scan dataset"}
"""Readers that get filters. pandas has Arrow's rows, and a dataset of whole files refuses most filters."""
_FILTERED_BY_ARROW = ("iceberg pyiceberg", "delta delta-rs")
MAX_COMPARED_ROWS = 20_000
"""Rows of a table whose values are compared; of larger tables the number of rows is."""


@dataclass
class Comparison:
    """The outcome of comparing tables.

    Attributes:
        agreeing: number of tables with right rows, by reader.
        refused: the reasons of refusals, by table and reader.
        agreeing_filters: number of filters with right rows, by reader.
        refused_filters: the reasons of refusals, by table, reader and filter.
        wrong: the differences to Spark's rows, and failures without a reason, by table and reader.
    """

    agreeing: Counter[str] = field(default_factory=Counter)
    refused: dict[str, dict[str, str]] = field(default_factory=dict)
    agreeing_filters: Counter[str] = field(default_factory=Counter)
    refused_filters: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    def find_right(self, where: str, given: list[str] | _Failure, wanted: list[str] | None) -> bool:
        """Return whether given rows are the wanted ones, and record what is wrong."""
        if isinstance(given, _Failure):
            self.wrong[where] = given.text
        elif given != wanted:
            self.wrong[where] = _difference(given, wanted or [])
        return where not in self.wrong

    def add(self, other: Comparison) -> None:
        """Add the outcome of other tables."""
        self.agreeing.update(other.agreeing)
        self.refused.update(other.refused)
        self.agreeing_filters.update(other.agreeing_filters)
        self.refused_filters.update(other.refused_filters)


_FREE_CONNECTIONS: list[duckdb.DuckDBPyConnection] = []
"""Connections of DuckDB's that no warehouse uses now: to load their extensions takes half a second."""


def _with_extensions() -> duckdb.DuckDBPyConnection:
    """Return a new connection of DuckDB's that reads Iceberg's and Delta's tables."""
    connection = duckdb_for_iceberg()
    package = Path(str(resources.files("duckdb_extension_delta")))
    (extension,) = package.glob(f"extensions/v{duckdb.__version__}/delta.duckdb_extension")
    connection.execute(f"LOAD '{extension}'")
    return connection


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
        readers: Mapping[str, Reader] = READERS,
    ) -> None:
        self._catalog, self._address, self._readers = catalog, address, readers
        self._signed_zeros = True
        self._connection: duckdb.DuckDBPyConnection | None = None

    def close(self) -> None:
        """Leave DuckDB's connection to other warehouses."""
        if self._connection is not None:
            self._connection.execute("DETACH lake")
            _FREE_CONNECTIONS.append(self._connection)
        self._connection = None

    def _connect(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = _FREE_CONNECTIONS.pop() if _FREE_CONNECTIONS else _with_extensions()
            attach(self._connection, self._address)
        return self._connection

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

        source = TableSource(scan, snapshot.database, snapshot.name, self._address, self._connect, publish)
        self._signed_zeros = snapshot.metadata.format != "orc"
        wanted = None if expected is None else self._rows(expected)
        small = expected is not None and expected.num_rows <= MAX_COMPARED_ROWS
        filters = self._filtered_rows(snapshot, expected) if small else []
        try:
            for name, read in self._readers.items():
                where = f"{snapshot.label} {name}"
                given = self._rows_or_refusal(name, lambda read=read: read(source, None))  # type: ignore[misc]
                if isinstance(given, str):
                    into.refused.setdefault(snapshot.name, {})[name] = given
                elif into.find_right(where, given, wanted):
                    into.agreeing[name] += 1
                    if name in FILTERED_READERS:
                        chosen = [
                            each for each in filters if each[0].is_arrows or name not in _FILTERED_BY_ARROW
                        ]
                        self._compare_filters(name, source, chosen, where, into)
        finally:
            for made in ("_delta_log", "_iceberg"):
                shutil.rmtree(Path(folder, made), ignore_errors=True)

    def _compare_filters(
        self,
        name: str,
        source: TableSource,
        filters: Sequence[tuple[RowFilter, list[str]]],
        label: str,
        into: Comparison,
    ) -> None:
        """Compare the rows that filters choose."""
        read = self._readers[name]
        for condition, wanted in filters:
            where = f"{label} {condition}"
            given = self._rows_or_refusal(name, lambda condition=condition: read(source, condition))  # type: ignore[misc]
            if isinstance(given, str):
                into.refused_filters[where] = given
            elif into.find_right(where, given, wanted):
                into.agreeing_filters[name] += 1

    def _rows_or_refusal(self, name: str, read: Callable[[], pa.Table]) -> list[str] | str | _Failure:
        """Return the rows that a reader gives, or the text of its refusal, or its failure."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of previews, and of types
                return self._rows(read())
        except UnsupportedError as error:
            return error.message
        except Exception as error:  # noqa: BLE001 - of any library
            if isinstance(error, _BROKEN_CONNECTION) and self._connection is not None:
                self._connection.close()
                self._connection = None
            text = f"{type(error).__name__}: {error}"
            known = _FAILURES.get(name)
            if any(reason in text for reason in _REASONS) or (known is not None and re.search(known, text)):
                return text
            return _Failure(text)

    def _rows(self, table: pa.Table) -> list[str]:
        """Return the rows to compare, or of a large table their number."""
        if table.num_rows > MAX_COMPARED_ROWS:
            return [f"{table.num_rows} rows"]
        return comparable(python_rows(table), signed_zeros=self._signed_zeros)

    def _filtered_rows(self, snapshot: TableSnapshot, rows: pa.Table) -> list[tuple[RowFilter, list[str]]]:
        """Return filters of a table, each with the rows that it chooses."""
        values = python_rows(rows)
        return [
            (each, comparable((row for row in values if each.holds(row)), signed_zeros=self._signed_zeros))
            for each in filters_of(snapshot, rows.schema, values)
        ]


@dataclass(frozen=True)
class _Failure:
    """An error without a reason for the user."""

    text: str


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
