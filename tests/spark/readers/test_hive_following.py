"""Servers of Hive's metastore that follow tables: the tests of `tests/unit/hive`, and Spark's Hive client."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.hive import following_clients
from tests.support.hive.following_clients import ATTACKS, FOLLOWED, RESULT
from tests.support.hive.metastore_server import metastore_server
from tests.support.processes import ROOT, run
from tests.unit.hive.test_following import *  # noqa: F403 - the same tests, by other servers

pytestmark = pytest.mark.newest


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a metastore of Hive 2.3, which PySpark's jars have."""
    with metastore_server(tmp_path_factory.mktemp("metastore")) as started:
        yield started


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, port: int) -> dict[str, Any]:
    """The results of a session with Spark's Hive client, by the metastore that follows."""
    work = tmp_path_factory.mktemp("clients")
    command = [sys.executable, following_clients.__file__, str(work), str(port)]
    printed = run(command, Path(work), PYTHONPATH=f"{ROOT / 'src'}:{ROOT}")
    lines = [line for line in printed.splitlines() if line.startswith(RESULT)]
    assert lines, printed[-3000:]
    read: dict[str, Any] = json.loads(lines[0].removeprefix(RESULT))
    return read


def test_spark_reads_the_tables(results: dict[str, Any]) -> None:
    """Spark's Hive client reads our rows from each followed table, and others are refused in words."""
    assert sorted(results["refused"]) == ["swapped", "times"]
    assert "as another column is now" in results["refused"]["swapped"]
    assert "a partition column is a TIMESTAMP" in results["refused"]["times"]
    assert sorted(results["tables"]) == sorted(FOLLOWED)
    for ours, theirs in results["tables"].values():
        assert theirs == ours
    assert results["live"] == ["(777,)"]


def test_spark_loses_no_row_of_ours(results: dict[str, Any]) -> None:
    """No statement of Spark's Hive client loses a row of ours, and `publish` undoes what they did there."""
    attacks = results["attacks"]
    assert attacks["ours"] == dict.fromkeys(ATTACKS, True)
    assert attacks["again"] == ["", ""]
    assert attacks["theirs"] is True
    accepted = [statement for statement, said in attacks["said"].items() if not said]
    assert len(accepted) >= 8
