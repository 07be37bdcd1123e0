"""A driver killed in the middle of a write leaves no process behind, and the table as it was."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

import parquetry
from tests.support.clusters import gates
from tests.support.clusters.driver import Driver
from tests.support.clusters.statements import STATEMENTS, World
from tests.support.spark import doors


@pytest.mark.parametrize(
    "victim",
    [
        "python",
        pytest.param("jvm", marks=pytest.mark.exhaustive("the case `python` kills the other process")),
    ],
)
def test_a_killed_driver(victim: str, tmp_path: Path) -> None:
    """If the driver's Python or JVM is killed, the other process ends, with the threads that answer calls,
    and so do the executors.
    """
    gate = gates.Gate(tmp_path / "gate")
    settings = gates.settings(tmp_path / "gate")
    with Driver("local-cluster[1,1,1024]", tmp_path, settings) as driver:
        world = World(driver, gate, tmp_path)
        table = world.begin("t", STATEMENTS["insert"], "create hold 2")
        executor = psutil.Process(gate.held())
        python = psutil.Process(driver.process.pid)
        processes = python.children(recursive=True)
        assert executor in processes
        (jvm,) = python.children()
        if victim == "python":
            python.kill()
        else:
            jvm.kill()
            with pytest.raises(RuntimeError, match=r"Py4JNetworkError|ConnectionRefusedError|Py4JError"):
                driver.answer()
            assert driver.process.stdin is not None
            driver.process.stdin.close()  # the end of the program
        driver.process.wait(60)
        assert doors.wait_until_gone(processes), [each for each in processes if each.is_running()]
    with parquetry.open(tmp_path / "lake") as catalog:
        assert catalog.table("db.t").version == 2
        assert catalog.fsck("db.t") == []
    assert world.remains(table)
