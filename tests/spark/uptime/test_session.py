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
    """After 300 statements, a session has as many threads, open files, connections and rows as after 90."""
    rounds = 300 // STATEMENTS_PER_ROUND
    assert soak(spark, db, warehouse / "lake", tmp_path, rounds, memory=False) == {}


@pytest.mark.exhaustive("test_nothing_grows runs 300 statements")
def test_nothing_grows_in_an_hour(tmp_path: Path) -> None:
    """After 10,000 statements, a session has what it had after 1,000, and no more memory is in use."""
    rounds = 10_000 // STATEMENTS_PER_ROUND
    command = [sys.executable, "-m", "tests.support.soak", str(tmp_path), str(rounds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    print(done.stdout)
    assert json.loads(done.stdout.splitlines()[-1]) == {}


def test_at_the_limit_of_open_files(spark: SparkSession, db: str) -> None:
    """A statement that needs a file more than the process may open fails within seconds, and the error names
    the limit. Later ones succeed.
    """
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, n INT)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 0)")
    done, errors = 0, []
    for left in (0, 1, 2, 4):
        began = time.monotonic()
        try:
            with open_files_left(left):
                spark.sql(f"UPDATE {db}.t SET n = n + 1 WHERE id = 1")
            done += 1
        except PySparkException as error:
            errors.append(error)
        assert time.monotonic() - began < 60
    assert errors
    assert {error.getCondition() for error in errors} <= {
        "PARQUETRY_OPEN_FILES",
        "PARQUETRY_PLANNER_UNREACHABLE",
    }
    assert all("ulimit -n 65536" in str(error) for error in errors)
    spark.sql(f"UPDATE {db}.t SET n = n + 1 WHERE id = 1")
    assert spark.sql(f"SELECT n FROM {db}.t").collect() == [(done + 1,)]
