"""Clients of JDBC and of Python's DB-API, of a Thrift server that has no Python driver."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from pyhive import hive

from tests.spark.doors.conftest import RunningServer
from tests.support.jvm import quick_start
from tests.support.spark import doors


def beeline(port: int, *statements: str) -> list[str]:
    """Run statements in the client that PySpark's jars bring; return its lines, in CSV."""
    java = shutil.which("java")
    assert java is not None
    options = ["--silent=true", "--outputformat=csv2", "-n", "ann", "-u", f"jdbc:hive2://127.0.0.1:{port}/"]
    said = [part for statement in statements for part in ("-e", statement)]
    command = [
        java,
        *quick_start.FLAGS.split(),
        "-cp",
        str(doors.SPARK / "jars" / "*"),
        "org.apache.hive.beeline.BeeLine",
        *options,
        *said,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    return [line.rpartition("> ")[2] for line in (done.stdout + done.stderr).splitlines()]


def test_a_connection_that_ends_leaves_classes_to_others(thrift: RunningServer) -> None:
    """When a connection ends, Hive closes its class loaders. The next connection still finds our classes.

    The test has to be the first of this module, because later the classes are loaded.
    """
    with hive.connect("127.0.0.1", thrift.port, username="ann") as connection, connection.cursor() as cursor:
        cursor.execute("SHOW NAMESPACES IN lake")
    with hive.connect("127.0.0.1", thrift.port, username="bob") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE NAMESPACE lake.c")
        cursor.execute("CREATE TABLE lake.c.t (x INT, d INT) PARTITIONED BY (d)")
        cursor.execute("INSERT INTO lake.c.t VALUES (1, 2), (3, 4)")
        cursor.execute("SELECT x FROM lake.c.t WHERE d = 4")
        assert cursor.fetchall() == [(3,)]


@pytest.mark.exhaustive("tests/spark/session/test_sql_clients.py has beeline")
def test_beeline(thrift: RunningServer) -> None:
    """The server's first statement is Hive's DDL; rows are written, changed and read; errors have readable
    messages.
    """
    lines = beeline(
        thrift.port,
        "CREATE NAMESPACE lake.b",
        "CREATE TABLE lake.b.t (x INT, d INT) PARTITIONED BY (d) CLUSTERED BY (x) INTO 4 BUCKETS",
        "INSERT INTO lake.b.t SELECT id, id % 2 FROM range(10)",
        "UPDATE lake.b.t SET d = 5 WHERE x = 4",
        "SELECT x, d FROM lake.b.t WHERE x = 4",
        "CALL lake.system.last_reports()",
        "SELECT nothing FROM lake.b.t",
    )
    assert "4,5" in lines, lines
    assert any(line.endswith(",0,lake.b.t,buckets,3,7,x = 4") for line in lines), "\n".join(lines)
    assert any("UNRESOLVED_COLUMN" in line for line in lines)


def test_a_python_client(thrift: RunningServer) -> None:
    """A client of Python's DB-API does the same, and sees what others committed."""
    with hive.connect("127.0.0.1", thrift.port, username="bob") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE NAMESPACE IF NOT EXISTS lake.p")
        cursor.execute("CREATE TABLE lake.p.t (x INT, d STRING) PARTITIONED BY (d)")
        cursor.execute("INSERT INTO lake.p.t VALUES (1, 'a'), (2, 'b')")
        cursor.execute("SELECT door, user_name, statement FROM lake.p.t.history WHERE version = 1")
        assert cursor.fetchall() == [("thrift", "bob", "INSERT INTO lake.p.t VALUES (1, 'a'), (2, 'b')")]
        cursor.execute("SET `parquetry.pruning-history` = values")
        cursor.execute("SELECT x FROM lake.p.t WHERE d = %s", ("b",))
        assert cursor.fetchall() == [(2,)]
        cursor.execute("SET `parquetry.pruning-history` = off")
        cursor.execute("SELECT door, conditions, partitions_read, rows FROM lake.p.t.queries")
        assert cursor.fetchall() == [("thrift", "d = 'b'", 1, 1)]
        cursor.execute("SELECT _change_type, x FROM table_changes('lake.p.t', 1) WHERE d = 'b'")
        assert cursor.fetchall() == [("insert", 2)]
        cursor.execute("CALL lake.system.explain(query => 'SELECT * FROM lake.p.t WHERE d = \"a\"')")
        assert cursor.fetchall()[0][:5] == (0, "lake.p.t", "partitions", 1, 2)


def test_transactions_of_two_connections(thrift: RunningServer) -> None:
    """Each connection has a transaction of its own; one is committed, and one rolled back."""

    def connect() -> hive.Connection:
        return hive.connect("127.0.0.1", thrift.port, username="ann")

    def ask(cursor: hive.Cursor, *statements: str) -> list[tuple[object, ...]]:
        for statement in statements:
            cursor.execute(statement)
        rows: list[tuple[object, ...]] = cursor.fetchall()
        return rows

    counts = "SELECT (SELECT count(*) FROM lake.x.a), (SELECT count(*) FROM lake.x.b)"
    with connect() as first, connect() as second, first.cursor() as one, second.cursor() as two:
        one.execute("CREATE NAMESPACE lake.x")
        for name in ("a", "b"):
            one.execute(f"CREATE TABLE lake.x.{name} AS SELECT 1 AS x")
        for cursor in (one, two):
            cursor.execute("CALL lake.system.begin()")
        one.execute("INSERT INTO lake.x.a VALUES (2)")
        one.execute("CREATE OR REPLACE TABLE lake.x.b AS SELECT x FROM lake.x.a")
        two.execute("DELETE FROM lake.x.a")
        assert [ask(cursor, counts) for cursor in (one, two)] == [[(2, 2)], [(0, 1)]]
        assert ask(one, "CALL lake.system.commit()") == [("x.a", 2), ("x.b", 2)]
        assert ask(two, counts) == [(0, 1)]
        two.execute("CALL lake.system.rollback()")
        assert ask(two, counts) == [(2, 2)]


def test_the_planner_ends_with_its_server(thrift: RunningServer, tmp_path: Path) -> None:
    """One planner serves all clients of a server; a server that is killed leaves no process behind."""
    with hive.connect("127.0.0.1", thrift.port, username="eve") as connection, connection.cursor() as cursor:
        cursor.execute("SHOW NAMESPACES IN lake")
    planners = doors.planners(thrift.process)
    assert len(planners) == 1
    for process in [thrift.process, *thrift.process.children(recursive=True)]:
        if process not in planners:
            process.kill()
    assert doors.wait_until_gone(planners)
