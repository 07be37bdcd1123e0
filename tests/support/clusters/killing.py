"""A driver that is killed in the middle of a write, and what must hold afterwards."""

from __future__ import annotations

import psutil
import pytest

import parquetry
from tests.support.clusters.statements import STATEMENTS, World
from tests.support.spark import doors


def check_a_killed_driver(world: World, victim: str) -> None:
    """Kill the `python` or the `jvm` of a driver, and require that all of its processes end.

    The table is as it was before the write, and the files of the write are beside it.
    """
    driver = world.driver
    table = world.begin("driver_killed", STATEMENTS["insert"], "create hold 2")
    executor = psutil.Process(world.gate.held())
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
    name = table.removeprefix("lake.")
    with parquetry.open(world.warehouse) as catalog:
        assert catalog.table(name).version == 2
        assert catalog.fsck(name) == []
    assert world.remains(table)
