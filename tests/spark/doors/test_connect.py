"""Clients of a Spark Connect server have `pyspark[connect]`, and the server's JVM starts the planner."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.spark.doors.conftest import RunningServer
from tests.support.processes import ROOT
from tests.support.spark import doors

BEGIN = """
import json, sys, threading
from pathlib import Path
import parquetry
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

url, folder = sys.argv[1:]

def session(catalog="lake"):
    builder = SparkSession.Builder().remote(url)
    return parquetry.configure(builder, catalog, folder + "/" + catalog).create()

def rows(query):
    return [list(row) for row in spark.sql(query).collect()]

said = {}
spark = session()
"""
END = """
print("SAID " + json.dumps(said, default=str), flush=True)
import os; os._exit(0)
"""


def client(server: RunningServer, program: str, schema: str) -> dict[str, object]:
    """Run a program in a separate process; it gets a session `spark` with its own namespace, and fills
    `said`.
    """
    text = (
        BEGIN
        + f'spark.sql("CREATE NAMESPACE lake.{schema}"); spark.sql("USE lake.{schema}")\n'
        + program
        + END
    )
    environment = doors.environment(PYTHONPATH=f"{ROOT / 'src'}")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        text,
        f"sc://127.0.0.1:{server.port}",
        str(server.folder),
    ]
    done = subprocess.run(
        command, cwd=server.folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    line = next((line for line in done.stdout.splitlines() if line.startswith("SAID ")), None)
    assert line is not None, "\n".join(
        each for each in done.stderr.splitlines() if not each.startswith("\tat")
    )[:4000]
    found: dict[str, object] = json.loads(line.removeprefix("SAID "))
    return found


STATEMENTS = """
spark.sql("CREATE TABLE skewed (x INT, d STRING) PARTITIONED BY (d) SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES")
spark.sql("INSERT OVERWRITE skewed VALUES (1, 'a'), (2, 'a'), (3, 'b')")
said["skewed"] = rows("SELECT x FROM skewed WHERE d = 'a' AND x = 2")
spark.sql("CREATE TABLE t (x INT, v STRING, d INT) PARTITIONED BY (d)")
spark.range(9).selectExpr("CAST(id AS INT) AS x", "'v' AS v", "CAST(id % 3 AS INT) AS d").writeTo("t").append()
spark.sql("MERGE INTO t USING (SELECT 1 AS x) s ON t.x = s.x WHEN MATCHED THEN UPDATE SET v = 'merged'")
spark.sql("UPDATE t SET v = 'updated' WHERE x = 2")
spark.sql("DELETE FROM t WHERE d = 0")
said["changed"] = rows("SELECT x, v FROM t ORDER BY x")
said["before"] = rows("SELECT count(*) FROM t VERSION AS OF 1")
said["compacted"] = [row[0] for row in rows("CALL lake.system.history('t')")]
spark.createDataFrame([(7, "local", 1)], "x INT, v STRING, d INT").writeTo("t").append()
said["local"] = rows("SELECT v FROM t WHERE x = 7 ORDER BY v")
errors = said["errors"] = []
for statement in ("SELECT nothing FROM t", "SELECT * FROM missing", "INSERT INTO skewed VALUES (4, 'a')",
                  "ALTER TABLE t SET TBLPROPERTIES ('target-file-size' = 'x')"):
    try:
        rows(statement)
    except PySparkException as error:
        errors.append([error.getCondition(), error.getSqlState()])
"""


def test_statements(connect: RunningServer) -> None:
    """DDL, writes in SQL and by frames, MERGE, time travel and procedures work; errors keep their condition
    and SQLSTATE.
    """
    said = client(connect, STATEMENTS, "statements")
    assert said["skewed"] == [[2]]
    assert said["changed"] == [[1, "merged"], [2, "updated"], [4, "v"], [5, "v"], [7, "v"], [8, "v"]]
    assert said["before"] == [[9]]
    assert said["compacted"] == [4, 3, 2, 1, 0]
    assert said["local"] == [["local"], ["v"]]
    assert said["errors"] == [
        ["UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"],
        ["TABLE_OR_VIEW_NOT_FOUND", "42P01"],
        ["PARQUETRY_LIST_BUCKETING", "0A000"],
        ["PARQUETRY_PROPERTY", "22023"],
    ]


STREAMS = """
spark.sql("CREATE TABLE source (x INT, d INT) PARTITIONED BY (d)")
spark.sql("CREATE TABLE target (x INT, d INT) PARTITIONED BY (d)")
def copy():
    stream = spark.readStream.table("lake.streams.source").writeStream.trigger(availableNow=True)
    stream = stream.option("checkpointLocation", folder + "/checkpoint")
    query = stream.toTable("lake.streams.target")
    query.awaitTermination()
    return rows("SELECT count(*), sum(x) FROM target")
spark.sql("INSERT INTO source SELECT id, id % 2 FROM range(6)")
said["first"] = copy()
spark.sql("INSERT INTO source SELECT id, id % 2 FROM range(6, 8)")
said["second"] = copy()
"""


def test_streams(connect: RunningServer) -> None:
    """A client's stream reads each version's rows once, and writes each batch once."""
    said = client(connect, STREAMS, "streams")
    assert said == {"first": [[6, 15]], "second": [[8, 28]]}


SESSIONS = """
spark.sql("CREATE TABLE z (n INT, at TIMESTAMP) PARTITIONED BY (at)")
zones = ["America/New_York", "Asia/Tokyo", "UTC"]
sessions = [session() for _ in zones]
for each, zone in zip(sessions, zones):
    each.conf.set("spark.sql.session.timeZone", zone)
    each.sql("USE lake.sessions")
    each.sql("INSERT INTO z VALUES (1, TIMESTAMP '2026-01-01 00:00:00')")
said["partitions"] = spark.sql("SHOW PARTITIONS z").count()
found = said["found"] = {}
def ask(each, zone):
    answers = set()
    for _ in range(15):
        answers.add(each.sql("SELECT count(*) FROM z WHERE at <= TIMESTAMP '2026-01-01 00:00:00'").collect()[0][0])
    found[zone] = sorted(answers)
threads = [threading.Thread(target=ask, args=pair) for pair in zip(sessions, zones)]
for thread in threads: thread.start()
for thread in threads: thread.join()
other = session("well")
other.sql("CREATE NAMESPACE IF NOT EXISTS well.sessions")
other.sql("USE well.sessions")
other.sql("CREATE TABLE only_here (a INT)")
said["tables"] = [sorted(row.tableName for row in each.sql("SHOW TABLES").collect()) for each in (spark, other)]
"""


def test_several_sessions_at_once(connect: RunningServer) -> None:
    """Each question is answered for its own session: with the session's time zone, current catalog and
    catalogs.
    """
    said = client(connect, SESSIONS, "sessions")
    assert said["partitions"] == 3
    assert said["found"] == {"America/New_York": [3], "UTC": [2], "Asia/Tokyo": [1]}
    assert said["tables"] == [["z"], ["only_here"]]


REPORTS = """
spark.sql("CREATE TABLE f (x INT, d INT) PARTITIONED BY (d)")
spark.sql("INSERT INTO f SELECT id, id % 8 FROM range(80)")
spark.sql("CREATE TABLE dim (d INT, name STRING)")
spark.sql("INSERT INTO dim VALUES (3, 'three'), (4, 'four')")
frame = spark.sql("SELECT count(x) FROM f JOIN dim USING (d) WHERE name = 'three'")
before = parquetry.report(frame).to_dict()
frame.collect()
after = parquetry.report(frame)
said["report"] = [[scan["steps"][0][name] for name in ("kept", "of")]
                  for report in (before, after.to_dict()) for scan in report["scans"] if scan["table"].endswith(".f")]
said["text"] = str(after).splitlines()[0]
said["explained"] = str(parquetry.explain("SELECT * FROM f WHERE d = 5 AND x > 0"))
said["rows"] = [row[5:9] for row in rows("CALL lake.system.last_reports(1)")][:1]
said["views"] = [row.viewName for row in spark.sql("SHOW VIEWS IN spark_catalog.default").collect()]
"""


def test_reports(connect: RunningServer) -> None:
    """`report` describes a client's frame before and after its run, `explain` a query text, and
    `last_reports` returns rows.
    """
    said = client(connect, REPORTS, "reports")
    assert said["report"] == [[8, 8], [1, 8]]
    assert str(said["text"]).startswith("lake.reports.f: partitions 1 of 8 (")
    assert str(said["explained"]).startswith("lake.reports.f: partitions 1 of 8 (d = 5)")
    assert said["rows"] == [["lake.reports.f", "partitions", 1, 8]]
    assert said["views"] == []


REFUSED = """
for warehouse in ("relative/lake",):
    try:
        parquetry.configure(SparkSession.Builder().remote(url), "lake", warehouse)
    except parquetry.ConfigurationError as error:
        said["relative"] = str(error)
"""


def test_a_relative_warehouse(connect: RunningServer) -> None:
    """A path that the server cannot know is refused before anything is asked."""
    said = client(connect, REFUSED, "refused")
    assert "'relative/lake' is a relative path, and the Spark Connect server may run elsewhere" in str(
        said["relative"]
    )


def test_a_server_without_the_bridge(tmp_path: Path) -> None:
    """`configure` says what the server has to be started with."""
    port = doors.free_port()
    settings = ["--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false"]
    program = (
        BEGIN.replace("spark = session()", "")
        + """
try:
    session()
except parquetry.ParquetryError as error:
    said["error"] = [error.code, str(error)]
"""
        + END
    )
    with doors.server("org.apache.spark.sql.connect.service.SparkConnectServer", settings, tmp_path, port):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, f"sc://127.0.0.1:{port}", str(tmp_path)],
            env=doors.environment(), capture_output=True, text=True, timeout=200, check=False, cwd=tmp_path,
        )  # fmt: skip
    assert "The Spark Connect server cannot plan for catalog lake: its sessions are without" in done.stdout, (
        done.stderr[-2000:]
    )
    assert "spark.jars, spark.sql.extensions, spark.parquetry.python" in done.stdout
