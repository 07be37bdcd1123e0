"""Rounds of statements as in a session of months, and what they leave behind in processes and the store.

    python -m tests.support.soak FOLDER ROUNDS [--process]

runs rounds in a session of its own, prints what it counted, and as its last line what has grown, as JSON.
With `--process` the planner is a process of its own, as it is for SQL shells and servers. The tests' own
session keeps the plans of all its statements for Spark's user interface, so its memory grows.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

import parquetry
from tests.support.growth import (
    growth,
    heap,
    java_threads,
    print_table,
    process_counts,
    process_memory,
    store_counts,
)

STATEMENTS_PER_ROUND = 15
STREAM_EVERY = 5
"""Rounds: a stream takes as long as ten other statements."""
WARM_UP = 3
"""Rounds, one of them with a stream. Later ones do nothing for the first time, such as to start a thread."""


def one_round(spark: SparkSession, db: str, number: int, checkpoint: Path) -> None:
    """Make a table, run statements of each kind on it and on a table that stays, and drop it."""
    t, kept = f"{db}.t{number}", f"{db}.kept"

    def sql(*statements: str) -> None:
        for statement in statements:
            spark.sql(statement).collect()

    sql(
        f"CREATE TABLE {t} (id BIGINT, v BIGINT, p INT) PARTITIONED BY (p)",
        f"INSERT INTO {t} SELECT id, id * 2, id % 2 FROM range(20)",
        f"UPDATE {t} SET v = v + 1 WHERE id = {number % 20}",
        f"SELECT sum(v) FROM {t} WHERE p = 1 AND id > 3",
        f"SELECT a.p, sum(a.v) FROM {kept} a JOIN {t} b ON a.id = b.id WHERE b.p = 1 GROUP BY a.p",
        f"DELETE FROM {t} WHERE id = 3",
        f"SELECT count(*) FROM {t} a JOIN {kept} b ON a.id = b.id AND a.p = b.p WHERE b.v < {number % 7 + 2}",
        f"MERGE INTO {t} USING (SELECT id FROM {kept} WHERE p = 0) s ON {t}.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, 1, 1)",
        f"ALTER TABLE {t} SET TBLPROPERTIES ('note' = '{number}')",
        f"UPDATE {t} SET p = 2 WHERE p = 1",
        f"CREATE VIEW {db}.v AS SELECT id FROM {t}",
        f"SELECT count(*) FROM {db}.v",
        f"DROP VIEW {db}.v",
        f"DELETE FROM {t} WHERE p = 0",
    )
    if number % STREAM_EVERY == 0:
        stream = spark.readStream.table(t).writeStream.trigger(availableNow=True)
        stream.option("checkpointLocation", str(checkpoint / str(number))).toTable(
            t + "_copy"
        ).awaitTermination()
        sql(f"DROP TABLE {t}_copy")
    sql(f"DROP TABLE {t}")


def soak(
    spark: SparkSession, db: str, warehouse: Path, folder: Path, rounds: int, *, memory: bool
) -> dict[str, tuple[int, int]]:
    """Run rounds of statements. Return what has grown after the first tenth of them.

    Args:
        spark: the session.
        db: a database.
        warehouse: of the database.
        folder: for checkpoints of streams.
        rounds: number of them.
        memory: whether the memory of both processes counts.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    java = psutil.Process(int(jvm.java.lang.ProcessHandle.current().pid()))
    running = [child for child in java.children() if child.status() != psutil.STATUS_ZOMBIE]
    pythons = {"Python": psutil.Process()}
    if (
        planner := next((child for child in running if "parquetry" in " ".join(child.cmdline())), None)
    ) is not None:
        pythons["planner"] = planner

    def counts() -> dict[str, int]:
        of_java = process_counts(java, "JVM") | java_threads(jvm)
        found = of_java | store_counts(warehouse)
        for name, python in pythons.items():
            found |= process_counts(python, name)
            if memory:
                found |= process_memory(python, name)
        return found | heap(jvm) if memory else found

    spark.sql(f"CREATE TABLE {db}.kept (id BIGINT, v BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.kept SELECT id, id * 2, id % 2 FROM range(10)")
    tenth = max(WARM_UP, rounds // 10)
    moments = {0: counts()}
    for number in range(1, rounds + 1):
        one_round(spark, db, number - 1, folder)
        if number in {tenth, rounds // 4, rounds // 2, rounds}:
            moments[number * STATEMENTS_PER_ROUND] = counts()
    print_table("statements", moments)
    return growth(moments[tenth * STATEMENTS_PER_ROUND], moments[rounds * STATEMENTS_PER_ROUND])


def main() -> None:
    """Run rounds in a session whose user interface would keep 200 statements."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("rounds", type=int)
    arguments.add_argument("--process", action="store_true")
    given = arguments.parse_args()
    folder, rounds = given.folder.absolute(), given.rounds
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.buffer.pageSize", "1m")  # Spark keeps pages, of 64 MB each by default
        # A JVM may drop softly held objects at any time, such as Jackson's buffers: they are no growth.
        .config("spark.driver.extraJavaOptions", "-XX:SoftRefLRUPolicyMSPerMB=0")
        .config("spark.sql.warehouse.dir", str(folder / "plain"))
    )
    for kept in ("sql.ui.retainedExecutions", "ui.retainedJobs", "ui.retainedStages", "ui.retainedTasks"):
        builder = builder.config(f"spark.{kept}", "200")
    if given.process:
        of_shells = {**parquetry.settings("lake", folder / "lake"), "spark.parquetry.python": sys.executable}
        for name, value in of_shells.items():
            builder = builder.config(name, value)
    else:
        builder = parquetry.configure(builder, "lake", folder / "lake")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("CREATE NAMESPACE lake.db")
    grown = soak(spark, "lake.db", folder / "lake", folder / "checkpoints", rounds, memory=True)
    spark.stop()
    print(json.dumps(grown))


if __name__ == "__main__":
    main()
