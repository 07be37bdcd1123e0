"""Spark with its metastore on a server: queries, and streams that read and write."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.hbase import launcher as hbase
from tests.support.postgresql import launcher as postgresql
from tests.support.processes import ROOT
from tests.support.spark.streams import batches, forget_last_commit

Rows = Callable[[str], list[tuple[Any, ...]]]

LOOK = """
import sys
from parquetry.metastore import Metastore
from parquetry.store import open_store
metastore = Metastore(open_store(sys.argv[2], sys.argv[1]), sys.argv[1])
table = metastore.table("db", "t")
assert [part.values for part in table.partitions()] == [("a",), ("b",), ("c",)]
assert table.totals.rows == 4, table.totals
"""


class Catalog(NamedTuple):
    """A catalog of the session.

    Attributes:
        name: of it.
        warehouse: its folder.
        store: the URL of its metastore.
    """

    name: str
    warehouse: Path
    store: str


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("postgresql", "hbase")],
)
def catalog(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Catalog:
    """A catalog with the database `db`, on a server of each kind."""
    server = {"postgresql": postgresql, "hbase": hbase}[request.param].shared_server()
    name = f"on_{request.param}"
    made = Catalog(name, tmp_path_factory.mktemp(name), server.url(name))
    parquetry.configure(SparkSession.builder, name, made.warehouse, store=made.store).getOrCreate()
    spark.sql(f"CREATE NAMESPACE {name}.db")
    return made


def test_queries(spark: SparkSession, catalog: Catalog, rows: Rows) -> None:
    """A session makes a table, fills it and reads a part of it; another process finds the same metastore."""
    table = f"{catalog.name}.db.t"
    spark.sql(f"CREATE TABLE {table} (x INT, ds STRING) PARTITIONED BY (ds)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'b')")
    spark.sql(f"INSERT INTO {table} VALUES (4, 'c')")
    assert sorted(rows(f"SELECT x, ds FROM {table} WHERE ds >= 'b'")) == [(2, "b"), (3, "b"), (4, "c")]
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(catalog.warehouse), catalog.store],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]


def test_streams(spark: SparkSession, catalog: Catalog, rows: Rows, tmp_path: Path) -> None:
    """A stream between two tables gives each row once, over restarts and a crash; it ends at removed rows."""
    read, written = f"{catalog.name}.db.read", f"{catalog.name}.db.written"
    for table in (read, written):
        spark.sql(f"CREATE TABLE {table} (x INT, ds STRING) PARTITIONED BY (ds)")

    def copy() -> list[int]:
        """Read a table as a stream into another, as far as there is anything, by one file a batch."""
        frame = spark.readStream.option("maxFilesPerTrigger", "1").table(read)
        writer = frame.writeStream.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
        query = writer.toTable(written)
        query.awaitTermination()
        return batches(query)

    def versions() -> int:
        return spark.table(f"{written}.history").count()

    spark.sql(f"INSERT INTO {read} VALUES (1, 'a'), (2, 'b')")
    assert copy() == [1, 1]
    spark.sql(f"INSERT INTO {read} VALUES (3, 'b'), (4, 'c')")
    spark.sql(f"INSERT INTO {read} VALUES (5, 'c')")
    assert copy() == [1, 1, 1]
    expected = [(1, "a"), (2, "b"), (3, "b"), (4, "c"), (5, "c")]
    assert sorted(rows(f"SELECT * FROM {written}")) == expected
    assert copy() == []
    assert sorted(rows(f"SELECT * FROM {written}")) == expected
    # a query that dies between its commit and the word of it runs its last batch again, which commits nothing
    before = versions()
    forget_last_commit(tmp_path)
    assert copy() == [1]
    assert (sorted(rows(f"SELECT * FROM {written}")), versions()) == (expected, before)
    spark.sql(f"INSERT OVERWRITE {read} PARTITION (ds = 'c') SELECT 9")
    with pytest.raises(Exception, match="took rows away or changed them"):
        copy()
    assert sorted(rows(f"SELECT * FROM {written}")) == expected
