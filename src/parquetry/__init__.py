"""Parquetry: table layouts and scan planning for Spark.

`open` reads a warehouse without Spark. `configure` and `attach` join a Spark session; `explain` and `report`
show what its queries read, and `trace` where planning takes its time. `register_data_source` is for sessions
that take no jar. `read_queries` reads Spark's event logs and lists of SQL.

Names are imported on first use, so that reading a metastore does not load PySpark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parquetry._version import __version__
from parquetry.errors import ConfigurationError, ParquetryError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from parquetry.adviser import Advice, Queries
    from parquetry.catalog import Catalog
    from parquetry.spark import (
        attach,
        configure,
        explain,
        read_trace,
        register_data_source,
        settings,
        trace,
        transaction,
    )
    from parquetry.spark.report import report
    from parquetry.workload import QueryRecord

__all__ = [
    "ParquetryError",
    "__version__",
    "advise",
    "attach",
    "configure",
    "explain",
    "open",
    "read_queries",
    "read_trace",
    "register_data_source",
    "report",
    "settings",
    "trace",
    "transaction",
]

_ON_SPARK = {
    "attach": "parquetry.spark.session",
    "configure": "parquetry.spark.session",
    "register_data_source": "parquetry.spark.python_source",
    "transaction": "parquetry.spark.transactions",
    "explain": "parquetry.spark.report",
    "read_trace": "parquetry.spark.report",
    "report": "parquetry.spark.report",
    "trace": "parquetry.spark.report",
    "settings": "parquetry.spark.configuration",
}


def open(
    warehouse: str | os.PathLike[str] | None = None,
    store: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store_password: str | None = None,
) -> Catalog:
    """Open the catalog of a warehouse, to see its tables, partitions and files. It never creates anything.

    Args:
        warehouse: folder or URI, or None for the one that the environment variable PARQUETRY_WAREHOUSE or
            the configuration file names; see `parquetry.warehouse`.
        store: URL of the metastore's store, such as ``sqlite:///path``. None takes the store from the source
            that names the warehouse, or else the SQLite file inside the warehouse.
        storage_options: credentials, endpoint and region of the warehouse's object store, by the names that
            pandas and Polars take. None takes them from the environment and its profiles.
        store_password: of a store on PostgreSQL. None takes the URL's, or PARQUETRY_STORE_PASSWORD, or what
            libpq finds: PGPASSWORD, ``~/.pgpass``.

    Raises:
        WarehouseError: no warehouse is named, or it has no metastore.
        ConfigurationError: the configuration file or the store cannot be used.
        MetastoreVersionError: a later version wrote the metastore, or the store holds something else.
    """
    from parquetry.catalog import Catalog

    return Catalog.open(warehouse, store, storage_options, store_password)


def advise(
    table: str | os.PathLike[str],
    queries: Queries = (),
    *,
    warehouse: str | os.PathLike[str] | None = None,
    store: str | None = None,
    sample_rows: int | None = None,
) -> Advice:
    """Say which layout a table should have for its queries, and what each of them would read.

    It reads a sample of the rows, and writes nothing. `print` shows the advice; its fields have all numbers.

    Args:
        table: ``database.table`` of the warehouse; or a folder of Parquet files; or a table of Spark's own
            catalog, as ``spark_catalog.database.table``, if a session is active.
        queries: conditions in SQL, one for each query, such as ``"day = '2026-01-01' AND id < 9"``. Or
            the path of a file with a condition on each line, of a file of SQL, or of Spark's event logs. Or
            records of queries. Without any, a table of a warehouse has the queries of its history.
        warehouse: folder or URI, as for `open`.
        store: URL of the metastore's store, as for `open`.
        sample_rows: rows to draw; the default is 200,000.

    Raises:
        TableNotFoundError: there is no such table.
        WarehouseError: the folder has no Parquet file, or no warehouse is named.
        UnsupportedError: there is no query of the table, or only Spark reads its rows.
    """
    from parquetry.catalog import Catalog, SampleOptions, advise_on_folder, is_folder
    from parquetry.identifiers import is_spark_table

    if is_folder(table):
        return advise_on_folder(table, queries, SampleOptions(sample_rows))
    name = str(table)
    if is_spark_table(name):
        from parquetry.spark import table_location

        return advise_on_folder(table_location(name), queries, SampleOptions(sample_rows), name)
    with Catalog.open(warehouse, store) as catalog:
        return catalog.advise(name, queries, sample_rows=sample_rows)


def read_queries(source: str | os.PathLike[str], *, spark: Any = None) -> list[QueryRecord]:
    """Return the queries of Spark's event logs, or of a file of SQL.

    Args:
        source: an event log, a folder of them, or a file whose name ends with ``.sql``. Tables may be of any
            format.
        spark: a session that plans the statements of a file of SQL, and runs none. Without it, conditions,
            joins and columns are read from the text.

    Raises:
        WarehouseError: there is no event log, or the file cannot be read.
    """
    from os import fspath

    from parquetry.workload import read_event_log, read_sql_file

    path = fspath(source)
    if not path.lower().endswith(".sql"):
        return list(read_event_log(path))
    if spark is None:
        return list(read_sql_file(path))
    from parquetry.spark import plan_queries

    return list(plan_queries(spark, path))


def __getattr__(name: str) -> Any:
    if name not in _ON_SPARK:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    try:
        value = getattr(importlib.import_module(_ON_SPARK[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise ConfigurationError(
            f"parquetry.{name} needs PySpark, which is not installed: pip install 'parquetry[spark]'"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
