"""A session stays open while somebody empties its metastore and restores a dump into it.

The restored table has the ids and the numbers of versions that the session knows. From the dump on, the
numbers are of other versions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import parquetry
from parquetry.metastore import dump, open_metastore, restore
from tests.support.postgresql import launcher as postgresql

Rows = Callable[[str], list[tuple[Any, ...]]]


def empty(warehouse: Path, url: str) -> None:
    """Delete all rows of a store in place, as TRUNCATE does."""
    with open_metastore(str(warehouse), url) as metastore:
        rows = metastore.store.rows
        rows.delete_many([key for key, _ in rows.scan(b"", None)])


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
@pytest.mark.every_case
def test_versions_with_the_numbers_of_lost_ones(
    spark: SparkSession, rows: Rows, tmp_path: Path, kind: str
) -> None:
    """Columns, partitions, files and counts are the restored table's. A DataFrame of a lost
    version fails, or reads the restored table. What the session writes then is in the restored table.
    """
    warehouse, open, other = tmp_path / "lake", f"open_{kind}", f"other_{kind}"
    url = f"sqlite://{tmp_path}/m.sqlite" if kind == "sqlite" else postgresql.shared_server().url("restored")
    for name in (open, other):
        parquetry.configure(SparkSession.builder, name, warehouse, store=url).getOrCreate()
    table, same = f"{open}.db.t", f"{other}.db.t"
    spark.sql(f"CREATE NAMESPACE {open}.db")
    spark.sql(f"CREATE TABLE {table} (x INT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1)")
    with open_metastore(str(warehouse), url) as metastore:
        dump(metastore, tmp_path / "dump")
    queries = [f"SELECT * FROM {table} WHERE p = 2", f"SELECT count(*), max(x) FROM {table}"]
    spark.sql(f"ALTER TABLE {table} ADD COLUMN lost INT")
    spark.sql(f"INSERT INTO {table} VALUES (2, 20, 2)")
    assert [rows(query) for query in queries] == [[(2, 20, 2)], [(2, 2)]]
    lost = spark.table(table).where("x >= 2").select("x")

    empty(warehouse, url)
    with open_metastore(str(warehouse), url, create=True) as metastore:
        restore(metastore, tmp_path / "dump")
    spark.sql(f"ALTER TABLE {same} ADD COLUMN won STRING")
    spark.sql(f"INSERT INTO {same} VALUES (3, 'three', 2)")
    assert [rows(query) for query in queries] == [[(3, "three", 2)], [(2, 3)]]
    assert sorted(rows(f"SELECT * FROM {table}")) == [(1, None, 1), (3, "three", 2)]
    try:
        assert [tuple(row) for row in lost.collect()] == [(3,)]
    except PySparkException as error:
        assert "again" in str(error)  # noqa: PT017
    spark.sql(f"INSERT INTO {table} VALUES (4, 'four', 2)")
    assert sorted(rows(f"SELECT x, won FROM {same} WHERE p = 2")) == [(3, "three"), (4, "four")]
