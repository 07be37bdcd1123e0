"""A procedure's argument names a table as SELECT does, by the session's current database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def twins(spark: SparkSession, db: str) -> Iterator[tuple[str, str]]:
    """Two databases, each with a table `x` of the same kind, and one in `default`; the first is the current
    one.
    """
    other = f"{db}b"
    spark.sql(f"CREATE NAMESPACE {other}")
    for name in (db, other, "lake.default"):
        spark.sql(
            f"CREATE TABLE {name}.x (id int, p int, q int, r int) PARTITIONED BY (p, q, r) "
            "CLUSTERED BY (id) INTO 2 BUCKETS TBLPROPERTIES ('partition-indexes' = 'q')"
        )
        spark.sql(f"INSERT INTO {name}.x VALUES (1, 1, 1, 1)")
        spark.sql(f"INSERT INTO {name}.x VALUES (2, 2, 2, 2)")
    spark.sql(f"USE {db}")
    yield db, other
    spark.sql("USE spark_catalog.default")
    spark.sql(f"DROP NAMESPACE IF EXISTS {other} CASCADE")
    spark.sql("DROP TABLE IF EXISTS lake.default.x")


def _state(rows: Rows, database: str) -> tuple[int, int]:
    """Return a table's newest version and its rows."""
    (version,) = rows(f"SELECT max(version) FROM {database}.x.history")[0]
    (count,) = rows(f"SELECT count(*) FROM {database}.x")[0]
    return version, count


def test_a_rollback_is_of_the_current_databases_table(
    spark: SparkSession, twins: tuple[str, str], rows: Rows
) -> None:
    """After USE, a bare name is the table that SELECT reads; tables of the same name elsewhere
    do not change.
    """
    here, other = twins
    untouched = {name: _state(rows, name) for name in (other, "lake.default")}
    spark.sql("CALL lake.system.rollback('x', 0)")
    assert rows("SELECT count(*) FROM x") == [(0,)]
    assert _state(rows, here) == (untouched[other][0] + 1, 0)
    spark.sql(f"USE {other}")
    spark.sql("CALL lake.system.rollback('`X`', 1)")
    assert rows("SELECT id FROM x") == [(1,)]
    assert _state(rows, "lake.default") == untouched["lake.default"]
    spark.sql("USE spark_catalog")
    spark.sql("USE lake")  # its default database is the current one then
    spark.sql("CALL lake.system.rollback('x', 0)")
    assert _state(rows, "lake.default")[1] == 0
    assert _state(rows, here)[1] == 0
    assert _state(rows, other)[1] == 1


# publish, which needs a session with Hive support, is in test_publishing
_CALLS = {
    "sync": "sync('{0}')",
    "history": "history('{0}')",
    "vacuum": "vacuum('{0}')",
    "fsck": "fsck('{0}')",
    "verify": "verify('{0}')",
    "compact": "compact('{0}')",
    "rebucket": "rebucket('{0}', buckets => 3)",
    "compact_metadata": "compact_metadata('{0}')",
    "suggest_skew": "suggest_skew('{0}')",
    "create_partition_index": "create_partition_index('{0}', array('r'))",
    "drop_partition_index": "drop_partition_index('{0}', array('q'))",
    "rebuild_partition_index": "rebuild_partition_index(table => '{0}', name => 'q')",
}


@pytest.mark.parametrize("call", _CALLS.values(), ids=_CALLS)
def test_every_procedure_takes_a_bare_name_for_the_current_databases_table(
    spark: SparkSession, twins: tuple[str, str], rows: Rows, call: str
) -> None:
    """A table that only the current database has is found, and one that only `default` has is not."""
    here, other = twins
    untouched = {name: _state(rows, name) for name in (other, "lake.default")}
    spark.sql("ALTER TABLE x RENAME TO only_here")
    spark.sql(f"CALL lake.system.{call.format('only_here')}")
    with pytest.raises(AnalysisException, match=rf"{here.removeprefix('lake.')}\.x"):
        spark.sql(f"CALL lake.system.{call.format('x')}")
    assert {name: _state(rows, name) for name in untouched} == untouched


@pytest.mark.parametrize("use", ["spark_catalog.default", "pond.default"])
def test_a_bare_name_is_refused_where_another_catalog_is_current(
    spark: SparkSession, twins: tuple[str, str], rows: Rows, use: str
) -> None:
    """A SELECT from that name would not read this catalog: the error says what to say instead."""
    here, other = twins
    before = {name: _state(rows, name) for name in (here, other, "lake.default")}
    spark.sql(f"USE {use}")
    with pytest.raises(AnalysisException) as caught:
        spark.sql("CALL lake.system.rollback('x', 0)")
    assert "PARQUETRY_UNSUPPORTED" in str(caught.value)
    assert f"the current database is {use}" in str(caught.value)
    assert "USE lake.database" in str(caught.value)
    assert {name: _state(rows, name) for name in before} == before
    # a database is one of the catalog that is called
    spark.sql(f"CALL lake.system.rollback('{here.removeprefix('lake.')}.x', 0)")
    assert _state(rows, here)[1] == 0
    spark.sql(f"CALL lake.system.rollback(table => '{other}.x', version => 0)")
    assert _state(rows, other)[1] == 0
    assert _state(rows, "lake.default") == before["lake.default"]


def test_names_in_backticks_may_hold_dots(spark: SparkSession, db: str, rows: Rows) -> None:
    """Parts of names are separated as in SQL, and the calls that an error suggests work."""
    database = db.removeprefix("lake.")
    spark.sql(f"CREATE TABLE {db}.`a.b` (id int)")
    spark.sql(f"CREATE TABLE {db}.`it``s` (id int)")
    for name in (
        f"{database}.`a.b`",
        f"`{database}` . `A.B`",
        f"lake.{database}.`a.b`",
        f"`lake`.{database}.`it``s`",
    ):
        assert len(rows(f'CALL lake.system.history("{name}")')) == 1, name
    assert spark.table(f"{db}.`a.b`")._jdf.queryExecution().toString().count(f"{db}.`a.b`")
    for name in (f"{database}.a.b", f"{database}.`a", f"{database}.", ".t", "", "`", f"{database}..t"):
        with pytest.raises(AnalysisException, match="PARQUETRY_UNSUPPORTED") as caught:
            spark.sql(f'CALL lake.system.history("{name}")')
        assert "'database.table'" in str(caught.value)


@pytest.mark.parametrize("name", ["pond.{0}.x", "spark_catalog.{0}.x", "a.lake.{0}.x"])
def test_a_table_of_another_catalog_is_refused(
    spark: SparkSession, twins: tuple[str, str], rows: Rows, name: str
) -> None:
    """A procedure works on the tables of its own catalog, and says which to call for another's."""
    here, _ = twins
    before = _state(rows, here)
    given = name.format(here.removeprefix("lake."))
    with pytest.raises(AnalysisException, match="PARQUETRY_UNSUPPORTED") as caught:
        spark.sql(f"CALL lake.system.rollback('{given}', 0)")
    assert given in str(caught.value)
    assert "'database.table'" in str(caught.value)
    if given.count(".") == 2:
        assert f"CALL {given.split('.')[0]}.system" in str(caught.value)
    assert _state(rows, here) == before
