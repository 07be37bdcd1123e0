"""The differential test of all tables of the suite: every reader reads all tables of the tests.

Just before a test, or the fixture of a module, drops a database of the session's warehouses, every reader
without our jar reads all tables of the database (`comparison`). Each must give Spark's rows, or refuse with a
reason. Otherwise the test that drops the database fails, and names the reader and the rows. `make test-all`
does this after every test, and a sample after some tests of a few folders, always the same ones. With
`PARQUETRY_COMPARE_READERS=1` in the environment, a sample does it after every test that it runs, too.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import parquetry
from parquetry.errors import ParquetryError
from parquetry.iceberg import IcebergCatalog
from parquetry.metastore import open_metastore
from tests.support.effort import STEP
from tests.support.readers.comparison import Comparison, TableReaders, table_readers

_DROP = re.compile(
    r"\s*DROP\s+(?:NAMESPACE|DATABASE|SCHEMA)\s+(?:IF\s+EXISTS\s+)?(\w+)\.`?(\w+)`?\s+CASCADE\s*", re.I
)
SAMPLED_FOLDERS = tuple(f"tests/spark/{name}/" for name in ("doors", "partitions", "readers", "schema"))
"""Folders whose tests have tables of the most kinds. A sample looks at their tables alone."""
_EVERYWHERE = STEP == 1 or os.environ.get("PARQUETRY_COMPARE_READERS") == "1"
MAX_SPARK_ROWS = 200_000
"""Rows of a table that is compared, at most."""
MAX_COLUMNS = 1_000
"""Columns of a table that is compared, at most: delta-rs takes many minutes to read a log of 3,000."""
TOTAL = Comparison()
"""The outcome of all comparisons of this process."""
UNREAD: Counter[str] = Counter()
"""Numbers of tables that Spark itself does not read, by the error."""


def watch_drops(session: type[Any], warehouses: Mapping[str, Path]) -> None:
    """Have the tables of a database be compared before calls of a class's `sql` drop it.

    Args:
        session: the class of sessions.
        warehouses: the folders of the catalogs whose databases are compared.
    """
    run = session.sql

    def sql(self: SparkSession, query: str, *args: Any, **options: Any) -> Any:
        match = _DROP.fullmatch(query)
        if match is not None and match[1] in warehouses and _is_chosen():
            compare_database(self, match[1], warehouses[match[1]], match[2])
        return run(self, query, *args, **options)

    session.sql = sql


def _is_chosen() -> bool:
    """Return whether the test that runs is one of the sample."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    return _EVERYWHERE or (test.startswith(SAMPLED_FOLDERS) and zlib.crc32(test.encode()) % STEP == 0)


@functools.cache
def _readers(warehouse: Path) -> TableReaders:
    """Return the readers of a warehouse, open until the process ends: opening takes seconds."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    opened = stack.enter_context(parquetry.open(warehouse))
    metastore = stack.enter_context(open_metastore(str(warehouse)))
    return stack.enter_context(table_readers(opened, IcebergCatalog(metastore)))


def compare_database(spark: SparkSession, catalog: str, warehouse: Path, database: str) -> None:
    """Compare all readers of the tables of a database.

    Raises:
        AssertionError: a reader gave other rows, or failed without a reason.
    """
    if not (warehouse / "_parquetry").exists():
        return
    with open_metastore(str(warehouse)) as metastore:
        if database.lower() not in metastore.databases():
            return
        comparison = Comparison()
        readers = _readers(warehouse)
        for name in metastore.tables(database):
            try:
                snapshot = metastore.table(database, name)
                rows = snapshot.totals.rows
                if (rows or 0) > MAX_SPARK_ROWS or len(snapshot.metadata.columns) > MAX_COLUMNS:
                    continue
                expected = spark.table(f"`{catalog}`.`{snapshot.database}`.`{name}`").toArrow()
            except (PySparkException, Py4JJavaError, ParquetryError, pa.ArrowException) as error:
                UNREAD[type(error).__name__] += 1
                continue
            readers.compare(snapshot, expected, comparison)
    TOTAL.add(comparison)
    assert comparison.wrong == {}, "\n".join(f"{where}: {text}" for where, text in comparison.wrong.items())
