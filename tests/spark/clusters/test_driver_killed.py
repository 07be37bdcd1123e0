"""A driver whose JVM is killed in the middle of a write leaves no process behind, and the table as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clusters import gates
from tests.support.clusters.driver import Driver
from tests.support.clusters.killing import check_a_killed_driver
from tests.support.clusters.statements import World


@pytest.mark.exhaustive(
    "tests/spark/clusters/test_failures.py::test_a_killed_driver kills the driver's Python"
)
def test_a_killed_jvm(tmp_path: Path) -> None:
    """If the driver's JVM is killed, the driver's Python ends, with the threads that answer calls, and so do
    the executors.
    """
    gate = gates.Gate(tmp_path / "gate")
    settings = gates.settings(tmp_path / "gate")
    with Driver("local-cluster[1,1,1024]", tmp_path, settings) as driver:
        check_a_killed_driver(World(driver, gate, tmp_path), "jvm")
