"""Speculative tasks, and executors that come and go, on two workers that are to Spark two machines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.clusters import gates, standalone
from tests.support.clusters.driver import Driver
from tests.support.clusters.statements import BY_SOURCE, STATEMENTS, World

SETTINGS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    # where a stage has one task, there is none to compare it with
    "spark.speculation.task.duration.threshold": "1s",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.executorIdleTimeout": "5s",
    "spark.dynamicAllocation.shuffleTracking.timeout": "5s",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.executor.memory": "512m",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An application that speculates, and whose executors leave when they are idle."""
    folder = tmp_path_factory.mktemp("speculation")
    gate = gates.Gate(folder / "gate")
    settings = SETTINGS | gates.settings(folder / "gate")
    with standalone.cluster(folder / "cluster") as master, Driver(master, folder, settings) as driver:
        yield World(driver, gate, folder)


@pytest.mark.parametrize("kind", ["insert", "merge", "compact", "stream"])
def test_a_slow_task_is_killed(cluster: World, kind: str) -> None:
    """While a task waits in the middle of its files, another writes the same rows; the first is killed and
    deletes its files.
    """
    table = cluster.begin(f"slow_{kind}", STATEMENTS[kind], "create hold 2")
    cluster.driver.answer()
    cluster.gate.interrupted()
    cluster.wait_until_clean(table)
    assert max(attempt[3] for attempt in cluster.gate.attempts()) == 1
    cluster.check(table, STATEMENTS[kind])


@pytest.mark.exhaustive("test_a_slow_task_that_has_written_all has another task that cannot be interrupted")
def test_a_slow_task_that_goes_on(cluster: World) -> None:
    """A task that cannot be interrupted ends after the commit of the other task's files; its own never get
    into the table.
    """
    table = cluster.begin("stubborn", STATEMENTS["insert"], "create insist 2")
    cluster.driver.answer()
    cluster.gate.interrupted()
    cluster.gate.open()
    cluster.wait_until_clean(table)
    cluster.check(table, STATEMENTS["insert"])


def test_a_slow_task_that_has_written_all(cluster: World) -> None:
    """If two tasks both write all of the same rows, one task's files are the table's, and a vacuum deletes
    the other's.
    """
    table = cluster.begin("twice", STATEMENTS["insert"], "written insist 1", BY_SOURCE)
    cluster.driver.answer()
    cluster.gate.interrupted()
    assert cluster.remains(table)
    cluster.gate.open()
    cluster.check(table, STATEMENTS["insert"])


@pytest.mark.exhaustive("in test_failures.py, executors are lost with their part of a shuffle")
def test_executors_that_left(cluster: World) -> None:
    """When all executors have left, with their shuffles, new ones give a frame the same rows."""
    program = """
import time
frame = spark.sql("SELECT p, count(*) AS n FROM lake.db.source JOIN (SELECT DISTINCT p FROM lake.db.source WHERE id < 500) USING (p) GROUP BY p ORDER BY p")
first = [list(row) for row in frame.collect()]
deadline = time.monotonic() + 180
while spark.sparkContext._jsc.sc().getExecutorIds().size() and time.monotonic() < deadline:
    time.sleep(0.1)
left = spark.sparkContext._jsc.sc().getExecutorIds().size()
rows = [first, [list(row) for row in frame.collect()], left]
"""
    cluster.driver.begin(program, "python")
    first, second, left = cluster.driver.answer()
    assert left == 0
    assert first == second == [[p, 100] for p in range(4)]
