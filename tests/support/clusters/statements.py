"""Statements that write on a cluster, the rows that they leave, and what must hold for a table afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import parquetry
from tests.support.clusters.driver import Driver
from tests.support.clusters.gates import Gate

Rows = dict[int, tuple[int, int]]
"""Values and partitions by id."""


def filled(first: int, end: int) -> Rows:
    """Return the rows of some ids, as statements insert them."""
    return {n: (10 * n, n % 4) for n in range(first, end)}


def _select(first: int, end: int) -> str:
    return f"SELECT int(id) AS id, int(10 * id) AS v, int(id % 4) AS p FROM range({first}, {end}, 1, 4)"


BY_PARTITION = "'distribution' = 'auto'"
"""A table's property: rows are shuffled to tasks by partition before they are written."""
BY_SOURCE = "'distribution' = 'none'"
"""A table's property: the tasks that read also write."""


class Statement(NamedTuple):
    """A statement and what it makes of a table's rows.

    Attributes:
        text: with `{t}` for the table, `{name}` for its name in the catalog.
        after: the rows afterwards, given those before.
        kind: `sql`, or `python`.
    """

    text: str
    after: Callable[[Rows], Rows]
    kind: str = "sql"


_STREAM = """
writer = spark.readStream.table("lake.db.source").writeStream.trigger(availableNow=True)
query = writer.option("checkpointLocation", "checkpoints/{name}").toTable("{t}")
query.awaitTermination()
"""
_EXECUTORS = """
import time
status, deadline = spark.sparkContext._jsc.sc().statusStore(), time.monotonic() + 180
while True:
    spark.range(0, {count}, 1, {count}).collect()
    every = status.executorList(True)
    tasks = [e.totalTasks() for e in map(every.apply, range(every.size())) if e.id() != "driver"]
    if len(tasks) == {count} and min(tasks) > 0:
        break
    assert time.monotonic() < deadline, tasks
"""
STATEMENTS = {
    "insert": Statement(
        f"INSERT INTO {{t}} {_select(400, 800)}", lambda before: {**before, **filled(400, 800)}
    ),
    "overwrite": Statement(f"INSERT OVERWRITE {{t}} {_select(400, 800)}", lambda _: filled(400, 800)),
    "update": Statement(
        "UPDATE {t} SET v = -1 WHERE id % 3 = 0",
        lambda before: {n: (v if n % 3 else -1, p) for n, (v, p) in before.items()},
    ),
    "delete": Statement(
        "DELETE FROM {t} WHERE id % 3 = 0", lambda before: {n: row for n, row in before.items() if n % 3}
    ),
    "merge": Statement(
        f"MERGE INTO {{t}} t USING ({_select(200, 600)}) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = -1 WHEN NOT MATCHED THEN INSERT *",
        lambda before: {
            **before,
            **filled(200, 600),
            **{n: (-1, p) for n, (_, p) in before.items() if n in range(200, 600)},
        },
    ),
    "compact": Statement("CALL lake.system.compact('{name}')", lambda before: before),
    "stream": Statement(_STREAM, lambda before: {**before, **filled(400, 800)}, "python"),
}


class World:
    """Tables of one driver.

    Args:
        driver: on a cluster.
        gate: of its executors.
        folder: of the driver.
    """

    def __init__(self, driver: Driver, gate: Gate, folder: Path) -> None:
        self.driver = driver
        self.gate = gate
        self._folder = folder
        self._before: set[str] = set()
        driver.sql("CREATE NAMESPACE lake.db")
        self._make("source", filled(400, 800))

    @property
    def warehouse(self) -> Path:
        """The folder of the catalog `lake`."""
        return self._folder / "lake"

    def _make(self, name: str, rows: Rows, properties: str = BY_PARTITION) -> str:
        self.gate.remove()
        table = f"lake.db.{name}"
        first, end = min(rows), max(rows) + 1
        self.driver.sql(
            f"CREATE TABLE {table} (id INT, v INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ({properties})",
            f"INSERT INTO {table} {_select(first, (first + end) // 2)}",
            f"INSERT INTO {table} {_select((first + end) // 2, end)}",
        )
        return table

    def wait_for_executors(self, count: int) -> None:
        """Wait until so many executors run tasks: each then has a part of the next shuffle."""
        self.driver.begin(_EXECUTORS.format(count=count), "python")
        self.driver.answer()

    def begin(self, name: str, statement: Statement, plan: str, properties: str = BY_PARTITION) -> str:
        """Begin a statement on a new table of 400 rows in two versions; return the table.

        Args:
            name: of the table.
            statement: to begin.
            plan: of the gate, see `Gate.close`.
            properties: of the table.
        """
        table = self._make(name, filled(0, 400), properties)
        self._before = self.files(table)
        self.gate.close(plan)
        self.driver.begin(statement.text.format(t=table, name=f"db.{name}"), statement.kind)
        return table

    def check(self, table: str, statement: Statement) -> None:
        """Require the right rows once, one more version, and after a vacuum only that version's files."""
        rows = self.driver.sql(f"SELECT id, v, p FROM {table} ORDER BY id, v")
        expected = [[n, *row] for n, row in sorted(statement.after(filled(0, 400)).items())]
        assert rows == expected, (len(rows), len(expected), rows[:5])
        name = table.removeprefix("lake.")
        with parquetry.open(self.warehouse) as catalog:
            assert catalog.table(name).version == 3
            assert (findings := catalog.fsck(name)) == [], findings
        live = self.data_files(table)
        days_ago = time.time() - 2 * 86_400
        for path in self.files(table) - live:  # a day has passed, and no writer is at work any longer
            os.utime(path, (days_ago, days_ago))
        self.driver.sql(
            f"CALL lake.system.vacuum(table => '{name}', older_than => current_timestamp(), allow_recent => true)"
        )
        assert (left := self.files(table) ^ live) == set(), left
        assert self.driver.sql(f"SELECT count(*) FROM {table}") == [[len(rows)]]

    def data_files(self, table: str) -> set[str]:
        """Return the files of a table's newest version, with their checksum files."""
        with parquetry.open(self.warehouse) as catalog:
            listed = catalog.files(table.removeprefix("lake."))
            data = [Path(file.path.removeprefix("file:")) for file in listed]
        return {str(path) for file in data for path in (file, file.with_name(f".{file.name}.crc"))}

    def remains(self, table: str) -> set[str]:
        """Return the files that the last statement has left and that are no part of the newest version."""
        return self.files(table) - self._before - self.data_files(table)

    def wait_until_clean(self, table: str) -> None:
        """Wait until the last statement's killed tasks have deleted their files."""
        deadline = time.monotonic() + 180
        while left := self.remains(table):
            assert time.monotonic() < deadline, left
            time.sleep(0.05)

    def files(self, table: str) -> set[str]:
        """Return all files in a table's folder."""
        folder = self.warehouse / "db.db" / table.rpartition(".")[2]
        return {str(path) for path in folder.rglob("*") if path.is_file()}


def stages_again(attempts: set[tuple[int, ...]]) -> list[Any]:
    """Return the stages whose later attempts came to the gate."""
    return sorted({attempt[0] for attempt in attempts if attempt[1] > 0})
