"""`erase` with a metastore on a server: its files have the value until the answer's statement is run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.erasing.holders import holders
from tests.support.hbase.launcher import shared_server as shared_hbase
from tests.support.postgresql.launcher import PostgreSQLServer
from tests.support.processes import run

VALUE = "Zyxwvut"


def make_people(spark: SparkSession, catalog: str, warehouse: Path, store: str) -> None:
    """Make a table whose partitions, minimum and maximum, and statements have the value."""
    parquetry.configure(SparkSession.builder, catalog, warehouse, store=store).getOrCreate()
    spark.sql(f"CREATE NAMESPACE {catalog}.db")
    spark.sql(f"CREATE TABLE {catalog}.db.people (id INT, name STRING, part STRING) PARTITIONED BY (part)")
    spark.sql(f"INSERT INTO {catalog}.db.people VALUES (1, '{VALUE}', 'of{VALUE}'), (2, 'b', 'q')")
    spark.sql(f"INSERT INTO {catalog}.db.people VALUES (1, '{VALUE}', 'q'), (3, 'c', 'q')")


@pytest.fixture
def postgresql() -> Iterator[PostgreSQLServer]:
    """A PostgreSQL of this test's own, whose files have no values of others."""
    server = PostgreSQLServer.start_in_temporary_folder()
    yield server
    server.remove()


@pytest.mark.postgresql
@pytest.mark.exhaustive(
    "test_nothing_is_left of test_erasing.py shows the steps, and tests/postgresql its pages"
)
def test_the_command_and_postgresql(
    spark: SparkSession, postgresql: PostgreSQLServer, tmp_path: Path
) -> None:
    """`parquetry erase` leaves no file of the warehouse, and PostgreSQL's pages until VACUUM (FULL)."""
    store = postgresql.url("erased")
    make_people(spark, "erased_there", tmp_path, store)
    assert holders(tmp_path, VALUE)
    arguments = ["erase", "db.people", f"name = '{VALUE}'", "-w", str(tmp_path), "--store", store, "--json"]
    printed = run([sys.executable, "-m", "parquetry.cli.main", *arguments], tmp_path)
    assert "[Stage" not in printed, "no bar in a pipe"
    steps = {step["step"]: step for step in json.loads(printed[printed.index("[{") :])}
    assert (steps["rows"]["count"], steps["versions"]["count"]) == (2, 3)
    assert steps["statements in the history"]["outcome"] == "done"
    assert holders(tmp_path, VALUE) == []
    assert spark.sql("SELECT id FROM erased_there.db.people ORDER BY id").collect() == [(2,), (3,)]
    assert 'VACUUM (FULL) "erased"' in steps["store"]["detail"]
    pages = postgresql.folder / "data" / "base"
    with psycopg.connect(store.partition("?")[0], autocommit=True) as connection:
        connection.execute("VACUUM erased")
        connection.execute("CHECKPOINT")
        assert holders(pages, VALUE), "VACUUM alone leaves free space as it is"
        connection.execute('VACUUM (FULL) "erased"')
        connection.execute("CHECKPOINT")
    assert holders(pages, VALUE) == []


@pytest.mark.hbase
@pytest.mark.exhaustive("test_nothing_is_left of test_erasing.py shows the steps, and tests/hbase its files")
def test_hbase(spark: SparkSession, tmp_path: Path) -> None:
    """HBase's files of the table have the value until the answer's flush and major_compact."""
    server = shared_hbase()
    make_people(spark, "erased_in_hbase", tmp_path, server.url("erased_in_hbase"))
    table = server.folder / "data" / "root" / "data" / "default" / "erased_in_hbase"
    server.ask("flush erased_in_hbase")
    assert holders(table, VALUE)
    steps = spark.sql("CALL erased_in_hbase.system.erase('db.people', 'id = 1')").collect()
    (said,) = (step.detail for step in steps if step.step == "store")
    assert "until flush and major_compact in HBase's shell, in its archive for some minutes more" in said
    assert holders(tmp_path, VALUE) == []
    assert holders(table, VALUE)
    assert server.ask("compact erased_in_hbase") == "done"
    assert holders(table, VALUE) == []
