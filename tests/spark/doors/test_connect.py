"""Clients of a Spark Connect server have `pyspark[connect]`, and the server's JVM starts the planner."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spark.doors.conftest import RunningServer
from tests.support.clients import connect_clients
from tests.support.effort import examples
from tests.support.processes import ROOT
from tests.support.spark import doors

Said = Callable[[str], dict[str, object]]

KILLS = examples(4, 2)
ANSWERS = 2
"""Answers between two deaths of planners: the planner in use has started, and statements wait for it."""
_SECONDS = 120
READS_UNTIL_STOPPED = """
spark.sql("CREATE TABLE t (x INT, d INT) PARTITIONED BY (d)")
spark.sql("INSERT INTO t SELECT id, id % 4 FROM range(40)")
answers, count, stop = [], Path(folder, "count"), Path(folder, "stop")
while not stop.exists():
    answers.append(rows(f"SELECT count(*), {len(answers)} FROM t WHERE d = {len(answers) % 4} AND x >= 0")[0][0])
    Path(folder, "counting").write_text(str(len(answers)))
    Path(folder, "counting").rename(count)
said["answers"] = sorted(set(answers))
"""

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
said["changes"] = rows("SELECT _change_type, x, v FROM table_changes('t', 2, 3, keys => 'x') ORDER BY ALL")
said["made"] = sorted({(row.door,) for row in spark.sql("CALL lake.system.history('t')").collect()})
said["compacted"] = [row[0] for row in rows("CALL lake.system.history('t')")]
spark.createDataFrame([(7, "local", 1)], "x INT, v STRING, d INT").writeTo("t").append()
said["local"] = rows("SELECT v FROM t WHERE x = 7 ORDER BY v")
spark.conf.set("parquetry.pruning-history", "values")
rows("SELECT x FROM t WHERE d = 2 AND x > 4")
spark.conf.set("parquetry.pruning-history", "off")
said["queries"] = rows("SELECT door, conditions, partitions_read FROM lake.statements.t.queries")
errors = said["errors"] = []
for statement in ("SELECT nothing FROM t", "SELECT * FROM missing", "INSERT INTO skewed VALUES (4, 'a')",
                  "ALTER TABLE t SET TBLPROPERTIES ('target-file-size' = 'x')"):
    try:
        rows(statement)
    except PySparkException as error:
        errors.append([error.getCondition(), error.getSqlState()])
"""
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
    for _ in range(ROUNDS):
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
TRANSACTIONS = """
for name in "ab":
    spark.sql(f"CREATE TABLE {name} AS SELECT 1 AS x")
one, two = session(), session()
def ask(each, text):
    return [list(row) for row in each.sql(text).collect()]
for each in (one, two):
    each.sql("USE lake.transactions")
    ask(each, "CALL lake.system.begin()")
one.sql("INSERT INTO a VALUES (2)")
one.sql("INSERT INTO b VALUES (2)")
two.sql("INSERT INTO a VALUES (3), (4)")
two.sql("CREATE TABLE c AS SELECT * FROM a")
counts = "SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)"
said["seen"] = [ask(each, counts)[0] for each in (spark, one, two)]
said["made"] = ask(two, "SELECT count(*) FROM c")
ask(one, "CALL lake.system.commit()")
said["then"] = [ask(each, counts)[0] for each in (spark, one, two)]
ask(two, "CALL lake.system.commit()")
said["last"] = [ask(each, counts)[0] for each in (spark, one, two)]
with parquetry.transaction("lake", one):
    one.sql("DELETE FROM a")
    one.sql("DROP TABLE c")
    said["within"] = ask(one, counts)[0]
    said["tables"] = [len(ask(each, "SHOW TABLES")) for each in (one, two)]
said["after"] = [len(ask(each, "SHOW TABLES")) for each in (one, two)]
"""
REFUSED = """
for warehouse in ("relative/lake",):
    try:
        parquetry.configure(SparkSession.Builder().remote(url), "lake", warehouse)
    except parquetry.ConfigurationError as error:
        said["relative"] = str(error)
"""


@pytest.fixture(scope="module")
def answers(connect: RunningServer) -> dict[str, dict[str, object]]:
    """The answers of the programs, each in a session of its own."""
    programs = {
        "reports": REPORTS,  # `explain` uses the active session, which is a process's first
        "statements": STATEMENTS,
        "streams": STREAMS,
        "sessions": f"ROUNDS = {examples(15, 4)}\n{SESSIONS}",
        "transactions": TRANSACTIONS,
        "refused": REFUSED,
    }
    return connect_clients.answers(connect.port, connect.folder, programs)


@pytest.fixture
def answered(answers: dict[str, dict[str, object]]) -> Said:
    """Return what a program has said, which has not failed."""

    def of(program: str) -> dict[str, object]:
        assert "failed" not in answers[program], answers[program]["failed"]
        return answers[program]

    return of


def test_statements(answered: Said) -> None:
    """DDL, writes in SQL and by frames, MERGE, time travel and procedures work; errors keep their condition
    and SQLSTATE.
    """
    said = answered("statements")
    assert said["skewed"] == [[2]]
    assert said["made"] == [["connect"]]
    assert said["changed"] == [[1, "merged"], [2, "updated"], [4, "v"], [5, "v"], [7, "v"], [8, "v"]]
    assert said["before"] == [[9]]
    assert said["changes"] == [
        ["update_postimage", 1, "merged"],
        ["update_postimage", 2, "updated"],
        ["update_preimage", 1, "v"],
        ["update_preimage", 2, "v"],
    ]
    assert said["compacted"] == [4, 3, 2, 1, 0]
    assert said["local"] == [["local"], ["v"]]
    assert said["queries"] == [["connect", "d = 2 AND x > 4", 1]]
    assert said["errors"] == [
        ["UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"],
        ["TABLE_OR_VIEW_NOT_FOUND", "42P01"],
        ["PARQUETRY_LIST_BUCKETING", "0A000"],
        ["PARQUETRY_PROPERTY", "22023"],
    ]


def test_streams(answered: Said) -> None:
    """A client's stream reads each version's rows once, and writes each batch once."""
    said = answered("streams")
    assert said == {"first": [[6, 15]], "second": [[8, 28]]}


def test_several_sessions_at_once(answered: Said) -> None:
    """Each question is answered for its own session: with the session's time zone, current catalog and
    catalogs.
    """
    said = answered("sessions")
    assert said["partitions"] == 3
    assert said["found"] == {"America/New_York": [3], "UTC": [2], "Asia/Tokyo": [1]}
    assert said["tables"] == [["z"], ["only_here"]]


def test_transactions_of_two_sessions(answered: Said) -> None:
    """Each session sees its own transaction, and the other's after its commit; appends are merged."""
    assert answered("transactions") == {
        "seen": [[1, 1], [2, 2], [3, 1]],
        "made": [[3]],
        "then": [[2, 2], [2, 2], [3, 1]],
        "last": [[4, 2], [4, 2], [4, 2]],
        "within": [0, 2],
        "tables": [2, 3],
        "after": [2, 2],
    }


def test_reports(answered: Said) -> None:
    """`report` describes a client's frame before and after its run, `explain` a query text, and
    `last_reports` returns rows.
    """
    said = answered("reports")
    assert said["report"] == [[8, 8], [1, 8]]
    assert str(said["text"]).startswith("lake.reports.f: partitions 1 of 8 (")
    assert str(said["explained"]).startswith("lake.reports.f: partitions 1 of 8 (d = 5)")
    assert said["rows"] == [["lake.reports.f", "partitions", 1, 8]]
    assert said["views"] == []


def test_a_relative_warehouse(answered: Said) -> None:
    """A path that the server cannot know is refused before anything is asked."""
    said = answered("refused")
    assert "'relative/lake' is a relative path, and the Spark Connect server may run elsewhere" in str(
        said["relative"]
    )


def wait_for_answers(folder: Path, more: int) -> None:
    """Wait until the client has more answers than now."""
    count, deadline = folder / "count", time.monotonic() + _SECONDS
    before = int(count.read_text()) if count.exists() else 0
    while not count.exists() or int(count.read_text()) < before + more:
        assert time.monotonic() < deadline, "no answers"
        time.sleep(0.01)


def test_reads_go_on_while_planners_are_killed(connect: RunningServer) -> None:
    """After the planner's process dies, the next query starts another: queries return the same rows while
    planners are killed, and afterwards exactly one planner runs.
    """
    killed: list[int] = []
    failed: list[BaseException] = []

    def kill() -> None:
        try:
            for _ in range(KILLS):
                wait_for_answers(connect.folder, ANSWERS)
                (planner,) = doors.planners(connect.process)
                planner.kill()
                planner.wait(_SECONDS)
                killed.append(planner.pid)
            wait_for_answers(connect.folder, ANSWERS)
        except BaseException as error:  # noqa: BLE001 - the test tells it
            failed.append(error)
        finally:
            (connect.folder / "stop").touch()

    killer = threading.Thread(target=kill)
    killer.start()
    said = connect_clients.answers(connect.port, connect.folder, {"deaths": READS_UNTIL_STOPPED})["deaths"]
    killer.join()
    assert failed == []
    assert said == {"answers": [10]}
    assert len(set(killed)) == KILLS
    assert len(doors.planners(connect.process)) == 1


GROWS = """
sys.path.insert(0, ROOT)
import psutil
from tests.support.growth import growth, process_counts
from tests.support.spark import doors

spark.sql("CREATE TABLE kept (id BIGINT, v BIGINT, p INT) PARTITIONED BY (p)")
spark.sql("INSERT INTO kept SELECT id, id * 2, id % 2 FROM range(10)")
def one_round(number):
    spark.sql(f"CREATE TABLE t{number} (id BIGINT, v BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO t{number} SELECT id, id * 2, id % 2 FROM range(10)")
    spark.sql(f"UPDATE t{number} SET v = 0 WHERE id = 3")
    rows(f"SELECT sum(a.v) FROM kept a JOIN t{number} b ON a.id = b.id WHERE b.p = 1")
    spark.sql(f"MERGE INTO t{number} t USING kept s ON t.id = s.id WHEN MATCHED AND s.p = 0 THEN DELETE")
    spark.sql(f"DROP TABLE t{number}")
for number in range(ROUNDS):
    one_round(number)
    if number == max(1, ROUNDS // 10):
        (planner,) = doors.planners(psutil.Process(SERVER))
        before = process_counts(planner, "planner")
said["grown"] = growth(before, process_counts(planner, "planner"))
"""


def test_nothing_grows_in_the_planner(connect: RunningServer) -> None:
    """Each statement is run by a thread of its own. The planner keeps no thread, file or connection."""
    given = f"ROOT, SERVER, ROUNDS = {str(ROOT)!r}, {connect.process.pid}, {examples(240, 12)}\n"
    said = connect_clients.answers(connect.port, connect.folder, {"grows": given + GROWS})["grows"]
    assert said == {"grown": {}}, said


@pytest.mark.exhaustive(
    "tests/spark/session/test_joining.py::test_sessions_without_the_bridge_or_its_extensions shows it of other sessions"
)
def test_a_server_without_the_bridge(tmp_path: Path) -> None:
    """`configure` says what the server has to be started with."""
    port = doors.free_port()
    settings = ["--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false"]
    program = """
try:
    session()
except parquetry.ParquetryError as error:
    said["error"] = str(error)
"""
    with doors.server("org.apache.spark.sql.connect.service.SparkConnectServer", settings, tmp_path, port):
        said = connect_clients.answers(port, tmp_path, {"plain": program}, connect_clients.BEGIN)["plain"]
    error = str(said.get("error", said))
    assert "The Spark Connect server cannot plan for catalog lake: its sessions are without" in error
    assert "spark.jars, spark.sql.extensions, spark.parquetry.python" in error
