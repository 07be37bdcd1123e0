"""If a writer is killed before, during or after its commit, the table has the old or the new version, and
nothing waits.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import STEP

Rows = Callable[[str], list[tuple[Any, ...]]]

# Where the process is killed: before or after the n-th call of a method of the store since the insert began.
# Each process starts a session, so a sample has one point only. In `tests/conformance`, clients are killed at
# each row that they write.
POINTS = {
    "files_written": ("compare_and_set", 1, "before"),
    "ticket_taken": ("compare_and_set", 1, "after"),
    "entries_written": ("compare_and_set", 2, "before"),
    "published": ("compare_and_set", 2, "after"),
}

_WRITER = """
import os, signal, sys
from pyspark.sql import SparkSession
import parquetry
from parquetry.store.sqlite import SQLiteStore
warehouse, table, statement, method, number, when = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
spark = parquetry.configure(builder, "lake", warehouse).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.table(table).count()
done = getattr(SQLiteStore, method)
calls = 0

def deadly(self, *arguments, **options):
    global calls
    calls += 1
    if calls == int(number) and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    answer = done(self, *arguments, **options)
    if calls == int(number):
        os.kill(os.getpid(), signal.SIGKILL)
    return answer

setattr(SQLiteStore, method, deadly)
spark.sql(statement)
"""


def test_a_killed_writer(spark: SparkSession, db: str, rows: Rows, warehouse: Path) -> None:
    """If a writer is killed before its commit, nothing has changed; after it, everything has. The next writer
    runs at once.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = {}
    for name in POINTS if STEP == 1 else ("entries_written",):
        method, number, when = POINTS[name]
        table = f"{db}.{name}"
        spark.sql(f"CREATE TABLE {table} (id BIGINT, p INT) PARTITIONED BY (p)")
        spark.sql(f"INSERT INTO {table} SELECT id, cast(id % 3 AS INT) FROM range(30)")
        statement = f"INSERT OVERWRITE {table} SELECT id + 1000, cast(id % 3 + 1 AS INT) FROM range(30)"
        processes[name] = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(warehouse / "lake"), table, statement, method, str(number), when],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
    for name, process in processes.items():
        assert process.wait(600) == -signal.SIGKILL, name
        table = f"{db}.{name}"
        spark.catalog.refreshTable(table)
        old, new = [(30, 435, 0, 2)], [(30, 30_435, 1, 3)]
        state = f"SELECT count(*), sum(id), min(p), max(p) FROM {table}"
        assert rows(state) == (new if name == "published" else old), name
        with parquetry.open(warehouse / "lake") as catalog:
            seen = catalog.table(table.removeprefix("lake."))
            live = {
                Path(file.path.removeprefix("file:")) for file in catalog.files(table.removeprefix("lake."))
            }
        assert (seen.rows, seen.files, seen.version) == (30, 3, 2 if name == "published" else 1), name
        left = set(Path(seen.location.removeprefix("file:")).rglob("*.parquet"))
        assert live < left, name
        assert len(left) == 6, name
        # neither adopting nor the next writers take the dead one's files for data
        assert rows(f"CALL lake.system.sync(table => '{table.removeprefix('lake.')}')") == [], name
        spark.sql(f"INSERT INTO {table} VALUES (5000, 1)")
        spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 2) SELECT -1")
        assert rows(f"SELECT count(*) FROM {table} WHERE id = 5000") == [(1,)], name
        assert rows(f"SELECT id FROM {table} WHERE p = 2") == [(-1,)], name
        assert rows(f"SELECT count(*) FROM {table}") == [(22,)], name
