"""Two sessions on two "machines": they share files on S3 and a metastore in PostgreSQL, and nothing else.

One is the session of these tests, the other a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import STEP
from tests.support.postgresql import launcher as postgresql
from tests.support.s3 import launcher as s3
from tests.support.spark import doors
from tests.support.spark.storages import BUCKET

pytestmark = [pytest.mark.s3, pytest.mark.postgresql]

PROGRAM = """
import json, sys
import parquetry
from pyspark.sql import SparkSession

settings = json.loads(sys.argv[1])
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for name, value in settings["spark"].items():
    builder = builder.config(name, value)
spark = parquetry.configure(builder, "shared", settings["warehouse"], store=settings["store"]).getOrCreate()
print("READY", flush=True)
for line in sys.stdin:
    try:
        answer = [list(row) for row in spark.sql(json.loads(line)).collect()]
    except Exception as error:
        answer = str(error).splitlines()[0]
    print("SAID " + json.dumps(answer, default=str), flush=True)
"""


class Machine(Protocol):
    """A session that runs a statement at a time."""

    def send(self, sql: str) -> None:
        """Have a statement run."""

    def answer(self) -> Any:
        """Return the rows of a statement that was sent, or the first line of its error."""

    def run(self, sql: str) -> Any:
        """Run a statement, and return its rows."""
        self.send(sql)
        return self.answer()


class Here(Machine):
    """The session of these tests."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._pool = ThreadPoolExecutor(1)

    def send(self, sql: str) -> None:
        self._sent = self._pool.submit(self._run, sql)

    def answer(self) -> Any:
        return self._sent.result()

    def _run(self, sql: str) -> Any:
        try:
            return [list(row) for row in self._spark.sql(sql).collect()]
        except Exception as error:  # noqa: BLE001  # any error is an answer
            return str(error).splitlines()[0]

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()


class There(Machine):
    """A process with a session, in a folder that no other process shares."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        folder.mkdir()
        local = {"spark.sql.warehouse.dir": str(folder / "plain"), "spark.local.dir": str(folder / "local")}
        given = {**settings, "spark": {**settings["spark"], **local}}
        self._errors = (folder / "log").open("w")
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps(given)],
            cwd=folder, env=doors.environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip
        self._log = folder / "log"

    def _line(self, beginning: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(beginning):
                return line.removeprefix(beginning)
        raise AssertionError(self._log.read_text()[-3000:])

    def wait(self) -> None:
        """Wait until the session is ready."""
        self._line("READY")

    def send(self, sql: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(sql) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        return json.loads(self._line("SAID "))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()


@pytest.fixture(scope="module")
def machines(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Machine, Machine]]:
    """Two machines, with sessions of one catalog."""
    server = s3.shared_server()
    server.make_bucket(BUCKET)
    warehouse, store = f"s3a://{BUCKET}/two-machines", postgresql.shared_server().url("two_machines")
    settings = {
        "spark": {"spark.jars": ",".join(map(str, s3.s3a_jars())), **server.settings()},
        "warehouse": warehouse,
        "store": store,
    }
    there = There(tmp_path_factory.mktemp("machines") / "there", settings)
    for name, value in server.settings().items():
        spark._jsc.hadoopConfiguration().set(name.removeprefix("spark.hadoop."), value)
    for name, value in parquetry.settings("shared", warehouse, store=store).items():
        if name.startswith("spark.sql.catalog."):
            spark.conf.set(name, value)
    here = Here(spark)
    assert here.run("CREATE NAMESPACE shared.db") == []
    there.wait()
    yield here, there
    here.close()
    there.close()


def test_each_sees_what_the_other_commits(machines: tuple[Machine, Machine]) -> None:
    """Tables, rows, versions and maintenance of one machine are visible to the other at once."""
    one, two = machines
    assert one.run("CREATE TABLE shared.db.t (id BIGINT, v STRING, p INT) PARTITIONED BY (p)") == []
    assert two.run("INSERT INTO shared.db.t SELECT id, 'two', id % 3 FROM range(9)") == []
    assert one.run("UPDATE shared.db.t SET v = 'one' WHERE id = 4") == []
    merge = "MERGE INTO shared.db.t t USING (SELECT 8L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'merged'"
    assert two.run(merge) == []
    expected = [[id, {4: "one", 8: "merged"}.get(id, "two")] for id in range(9)]
    for machine in machines:
        assert machine.run("SELECT id, v FROM shared.db.t ORDER BY id") == expected
        assert machine.run("SELECT count(*) FROM shared.db.t VERSION AS OF 1 WHERE v = 'two'") == [[9]]
    assert one.run("ALTER TABLE shared.db.t RENAME TO shared.db.renamed") == []
    assert two.run("CALL shared.system.compact('db.renamed')") == []
    assert (
        one.run(
            "CALL shared.system.vacuum(table => 'db.renamed', older_than => current_timestamp(), allow_recent => true)"
        )
        != []
    )
    assert two.run("CALL shared.system.fsck('db.renamed')") == []
    assert two.run("SELECT id, v FROM shared.db.renamed ORDER BY id") == expected
    assert "does not exist" in str(one.run("SELECT * FROM shared.db.t")) or "cannot be found" in str(
        one.run("SELECT * FROM shared.db.t")
    )


def test_the_doctor_compares_clocks(machines: tuple[Machine, Machine]) -> None:
    """The doctor of a session checks the clocks of S3 and PostgreSQL against the machine's, and finds all
    rights.
    """
    rows = machines[0].run("CALL shared.system.doctor(write => true)")
    found = {name: ok for name, ok, _, _ in rows}
    assert {found["clock of the metastore"], found["clock of the files"]} == {True}, rows
    assert False not in found.values(), rows


def test_both_append_at_once(machines: tuple[Machine, Machine]) -> None:
    """Appends that run at the same time all take place."""
    one, two = machines
    assert one.run("CREATE TABLE shared.db.a (id BIGINT, p INT) PARTITIONED BY (p)") == []
    for number in range(rounds := 5 if STEP == 1 else 2):
        for which, machine in enumerate(machines):
            machine.send(f"INSERT INTO shared.db.a SELECT id + {10 * (2 * number + which)}, 1 FROM range(10)")
        assert [machine.answer() for machine in machines] == [[], []]
    for machine in (one, two):
        assert machine.run("SELECT count(*), count(DISTINCT id) FROM shared.db.a") == [
            [20 * rounds, 20 * rounds]
        ]


def test_one_of_two_that_change_the_same_rows_is_refused(machines: tuple[Machine, Machine]) -> None:
    """Where both rewrite the same rows, no change is lost: one is refused, or they follow each other."""
    one, two = machines
    assert one.run("CREATE TABLE shared.db.c (n BIGINT)") == []
    assert one.run("INSERT INTO shared.db.c VALUES (0)") == []
    done = 0
    for _ in range(rounds := 4 if STEP == 1 else 2):
        for machine in machines:
            machine.send("UPDATE shared.db.c SET n = n + 1")
        answers = [machine.answer() for machine in machines]
        assert all(answer == [] or "CONFLICT" in answer for answer in answers), answers
        done += answers.count([])
    assert done >= rounds
    assert two.run("SELECT n FROM shared.db.c") == [[done]]
