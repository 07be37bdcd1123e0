"""The file that a failed audit leaves: it has the claim, and `parquetry audit` tries it again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from parquetry.spark.audits import check_again, read_failed_audit
from tests.support.exchanged_files import alike, exchange
from tests.support.tables.bucketed_tables import settings, spare_classes

pytestmark = pytest.mark.unaudited("its tables have files that are not as recorded")

AUDITED = {"parquetry.audit": "on", "spark.sql.autoBroadcastJoinThreshold": -1}
DEADLINE = 20.0
"""Seconds that Spark's listeners may take to write a file."""


def failed(spark: SparkSession, query: str) -> Path:
    """Return the file that the error of an audited query names, after Spark has written it."""
    with settings(spark, AUDITED), pytest.raises(PySparkException, match="PARQUETRY_AUDIT") as caught:
        spark.sql(query).collect()
    named = re.search(r"`parquetry audit (\S+)`", str(caught.value))
    assert named, caught.value
    path, end = Path(named[1]), time.monotonic() + DEADLINE
    while not path.exists():
        assert time.monotonic() < end, f"{path} is not written"
        time.sleep(0.05)
    return path


@pytest.mark.every_case
def test_a_file_that_was_left_out(spark: SparkSession, db: str, warehouse: Path) -> None:
    """The command reads the file's rows by themselves, and says whether the claim is still wrong."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT, v STRING)")
    for first in (100, 200):
        spark.sql(
            f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, 'secret' FROM range({first}, {first + 9})"
        )
    files = alike(spark, table)
    exchange(*files)
    path = failed(spark, f"SELECT * FROM {table} WHERE id = 105 AND v = 'secret'")
    assert path.stat().st_mode & 0o077 == 0  # no other user may read it
    content = json.loads(path.read_text())
    assert (content["claim"], content["version"], len(content["rules"])) == ("files", "2", 1)
    assert "(id = 105)" in content["conditions"]
    command = [sys.executable, "-m", "parquetry.cli.main", "audit", str(path), "-w", f"{warehouse}/lake"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stderr
    (outcome,) = json.loads(done.stdout)
    assert outcome["fails"] is True
    assert outcome["outcome"] == "1 rows of the file satisfy the conditions, and a query returns 0 of them."
    exchange(*files)
    assert check_again(spark, read_failed_audit(path)).fails is False


@pytest.mark.every_case
@pytest.mark.parametrize("adaptive", [True, False])
def test_a_row_that_a_task_found(spark: SparkSession, db: str, adaptive: bool) -> None:
    """The driver writes the file of a claim about rows that a task found wrong; its statement runs again."""
    spare_classes(spark)
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (k INT, v INT) CLUSTERED BY (k) INTO 8 BUCKETS")
    spark.sql(f"INSERT INTO {table} SELECT id, id FROM range(8)")
    files = alike(spark, table)
    exchange(*files)
    query = f"SELECT k, sum(v) FROM {table} GROUP BY k"
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        path = failed(spark, query)
        content = json.loads(path.read_text())
        assert (content["claim"], content["statement"]) == ("location", query)
        assert re.search(r"are in bucket \d of 8 by hash of k, and the row with k = \d", content["words"])
        with settings(spark, AUDITED):
            again = check_again(spark, read_failed_audit(path))
            assert (again.fails, again.claim) == (True, content["words"])
            exchange(*files)
            assert check_again(spark, read_failed_audit(path)).fails is False
