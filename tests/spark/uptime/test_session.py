"""A session that runs for months: what it has done leaves nothing behind in its processes and its store."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.open_files import open_files_left
from tests.support.soak import STATEMENTS_PER_ROUND, soak

ROOT = Path(__file__).parents[3]


def test_nothing_grows(spark: SparkSession, db: str, warehouse: Path, tmp_path: Path) -> None:
    """After 180 statements, a session has as many threads, open files, connections and rows as after 45."""
    rounds = 180 // STATEMENTS_PER_ROUND
    assert soak(spark, db, warehouse / "lake", tmp_path, rounds, memory=False) == {}


@pytest.mark.exhaustive("test_nothing_grows runs 180 statements")
def test_nothing_grows_in_an_hour(tmp_path: Path) -> None:
    """After 10,000 statements, a session has what it had after 1,000, and no more memory is in use."""
    assert _apart(tmp_path, 10_000) == {}


@pytest.mark.exhaustive(
    "tests/spark/doors/test_connect.py counts what a planner's process has after statements"
)
def test_nothing_grows_in_a_planner_process(tmp_path: Path) -> None:
    """A planner that is a process of its own keeps as many threads, files and connections, and its memory."""
    assert _apart(tmp_path, 3_000, "--process") == {}


def _apart(folder: Path, statements: int, *options: str) -> dict[str, tuple[int, int]]:
    """Run statements in a session that is a process of its own. Return what has grown."""
    rounds = str(statements // STATEMENTS_PER_ROUND)
    command = [sys.executable, "-m", "tests.support.soak", str(folder), rounds, *options]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    print(done.stdout)
    assert ("planner: threads" in done.stdout) == ("--process" in options)
    grown: dict[str, tuple[int, int]] = json.loads(done.stdout.splitlines()[-1])
    return grown


def test_at_the_limit_of_open_files(spark: SparkSession, db: str) -> None:
    """A statement that needs a file more than the process may open fails within seconds, and the error names
    the limit. Later ones succeed.
    """
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, n INT)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 0)")

    def error_of_update(left: int) -> PySparkException | None:
        began = time.monotonic()
        try:
            with open_files_left(left):
                spark.sql(f"UPDATE {db}.t SET n = n + 1 WHERE id = 1")
        except PySparkException as error:
            return error
        finally:
            assert time.monotonic() - began < 60
        return None

    outcomes = [error_of_update(0)]
    while outcomes[-1] is None and len(outcomes) < 10:  # what earlier tests had open was closed meanwhile
        outcomes.append(error_of_update(0))
    outcomes += [error_of_update(left) for left in (1, 2, 4)]
    errors = [each for each in outcomes if each is not None]
    assert errors
    assert {error.getCondition() for error in errors} <= {
        "PARQUETRY_OPEN_FILES",
        "PARQUETRY_PLANNER_UNREACHABLE",
    }
    assert all("ulimit -n 65536" in str(error) for error in errors)
    spark.sql(f"UPDATE {db}.t SET n = n + 1 WHERE id = 1")
    assert spark.sql(f"SELECT n FROM {db}.t").collect() == [(outcomes.count(None) + 1,)]
