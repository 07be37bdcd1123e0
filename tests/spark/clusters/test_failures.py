"""If tasks fail or executors die in the middle of a write of each kind, each row is in the table once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.clusters import gates
from tests.support.clusters.driver import Driver
from tests.support.clusters.killing import check_a_killed_driver
from tests.support.clusters.statements import BY_SOURCE, STATEMENTS, World, stages_again
from tests.support.effort import sampled

SETTINGS = {
    # executors share a disk: one could read the shuffle files of another, and no stage would run again
    "spark.shuffle.readHostLocalDisk": "false",
    "spark.shuffle.io.retryWait": "100ms",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Two executors, each a process of its own, with a gate at their files."""
    folder = tmp_path_factory.mktemp("cluster")
    gate = gates.Gate(folder / "gate")
    settings = SETTINGS | gates.settings(folder / "gate")
    with Driver("local-cluster[2,1,1024]", folder, settings) as driver:
        yield World(driver, gate, folder)


@pytest.mark.parametrize("kind", sampled(list(STATEMENTS), "fails"))
def test_a_task_that_fails(cluster: World, kind: str) -> None:
    """A task that fails when it has written a file runs again; its first file is deleted at once."""
    table = cluster.begin(f"failed_{kind}", STATEMENTS[kind], "create fail 2")
    cluster.driver.answer()
    cluster.gate.held()
    assert cluster.remains(table) == set()
    assert max(attempt[3] for attempt in cluster.gate.attempts()) == 1
    cluster.check(table, STATEMENTS[kind])


@pytest.mark.parametrize("kind", sampled(list(STATEMENTS), "death"))
def test_an_executor_that_dies(cluster: World, kind: str) -> None:
    """An executor killed while it writes leaves a file, and its part of the shuffle is lost: both stages run
    again.
    """
    cluster.wait_for_executors(2)
    table = cluster.begin(f"killed_{kind}", STATEMENTS[kind], "create hold 2")
    os.kill(cluster.gate.held(), signal.SIGKILL)
    cluster.driver.answer()
    assert stages_again(cluster.gate.attempts()), cluster.gate.attempts()
    assert cluster.remains(table)
    cluster.check(table, STATEMENTS[kind])


@pytest.mark.parametrize(
    "kind",
    ["insert", pytest.param("merge", marks=pytest.mark.exhaustive("the case `insert` has the same scene"))],
)
def test_an_executor_that_dies_with_all_rows_written(cluster: World, kind: str) -> None:
    """Complete files of a killed executor that the driver does not know yet do not become part
    of the table.
    """
    table = cluster.begin(f"written_{kind}", STATEMENTS[kind], "written hold 1", BY_SOURCE)
    os.kill(cluster.gate.held(), signal.SIGKILL)
    cluster.driver.answer()
    assert cluster.remains(table)
    cluster.check(table, STATEMENTS[kind])


def test_what_an_executor_has(cluster: World) -> None:
    """An executor in the middle of a write has no file of the driver's open, and no process of Python."""
    table = cluster.begin("looked_at", STATEMENTS["insert"], "create hold 2")
    executor = psutil.Process(cluster.gate.held())
    opened = [Path(each.path) for each in executor.open_files()]
    children = executor.children(recursive=True)
    cluster.gate.open()
    cluster.driver.answer()
    (bridge,) = [path for path in opened if "parquetry-bridge" in path.name]
    assert bridge.parent == Path(executor.cwd())
    assert not [path for path in opened if ".sqlite" in path.name or path.suffix == ".py"]
    assert children == []
    cluster.check(table, STATEMENTS["insert"])


def test_a_killed_driver(cluster: World) -> None:
    """If the driver's Python is killed, its JVM ends, and so do the executors.

    It is the last test of this module, as the others need the driver.
    """
    check_a_killed_driver(cluster, "python")
