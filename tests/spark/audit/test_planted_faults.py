"""An audit finds small faults of Parquetry's rules, which are planted one by one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from parquetry.counters import COUNTERS
from tests.spark.audit.faults import FAULTS
from tests.support.plants import Fault, planted

_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def audited(spark: SparkSession) -> Iterator[Callable[[str], None]]:
    """A function that runs a statement with audit on, over tables that all faults can be seen with."""
    db = "lake.faults"
    spark.sql(f"CREATE NAMESPACE {db}")
    for statement in _TABLES:
        spark.sql(statement.format(db=db))
    spark.conf.set("parquetry.audit", "on")

    def run(statement: str) -> None:
        if statement.startswith("DELETE"):
            spark.sql(f"CREATE OR REPLACE TABLE {db}.gone (id INT, p INT) USING parquet PARTITIONED BY (p)")
            spark.sql(f"INSERT INTO {db}.gone SELECT id, id % 5 FROM range(2000)")
        for table in re.findall(r"(?:FROM|JOIN) \{db\}\.(\w+)", statement):
            # the session has no answer about a new version yet
            spark.sql(f"ALTER TABLE {db}.{table} SET TBLPROPERTIES ('audited' = '{next(_NUMBERS)}')")
        spark.sql(statement.format(db=db)).collect()

    yield run
    spark.conf.unset("parquetry.audit")
    spark.sql(f"DROP NAMESPACE {db} CASCADE")


_T = "SELECT /*+ COALESCE(1) */ id, concat('s', id + 100), if(id % 7 = 0, NULL, id % 10), nullif(id % 5, 4) FROM range({0}, {1})"
_TABLES = (
    "CREATE TABLE {db}.t (id INT, s STRING, v INT, p INT) USING parquet PARTITIONED BY (p)",
    *(f"INSERT INTO {{db}}.t {_T.format(first, first + 25)}" for first in range(0, 100, 25)),
    "CREATE TABLE {db}.b (k INT, n INT) USING parquet CLUSTERED BY (k) SORTED BY (k) INTO 8 BUCKETS",
    "INSERT INTO {db}.b SELECT id % 40, id FROM range(200)",
    "CREATE TABLE {db}.b2 (k INT, w INT) USING parquet CLUSTERED BY (k) SORTED BY (k) INTO 8 BUCKETS",
    "INSERT INTO {db}.b2 SELECT id, id FROM range(60)",
    "CREATE TABLE {db}.x (k INT, n INT) USING parquet SKEWED BY (k) ON (1, 2) STORED AS DIRECTORIES TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
    "INSERT INTO {db}.x SELECT id % 10, id FROM range(100)",
    "CREATE TABLE {db}.dim (k INT, m INT) USING parquet",
    "INSERT INTO {db}.dim SELECT id, id % 9 FROM range(90)",
    "CREATE TABLE {db}.spans (first INT, last INT) USING parquet",
    "INSERT INTO {db}.spans VALUES (10, 40)",
    "CREATE TABLE {db}.long (id INT, s STRING) USING parquet",
    "INSERT INTO {db}.long SELECT id, concat(repeat('x', 400), id) FROM range(9)",
    "CREATE TABLE {db}.rows (id INT, s STRING) USING parquet TBLPROPERTIES ('sort-by' = 'id', 'parquet.block.size' = '20000')",
    "INSERT INTO {db}.rows SELECT id, sha2(string(id), 256) FROM range(20000)",
    "INSERT INTO {db}.rows SELECT id, sha2(string(id), 256) FROM range(20000, 40000)",
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_an_audit_finds_a_planted_fault(audited: Callable[[str], None], fault: Fault) -> None:
    """A query whose claims are wrong because of a fault ends in the audit's error, and not in wrong rows."""
    for statement in fault.statements:
        before = COUNTERS.values()["audits_failed"]
        with planted(fault), pytest.raises(PySparkException, match="PARQUETRY_AUDIT"):
            audited(statement)
        assert COUNTERS.values()["audits_failed"] == before + 1, "the metric counts it"


@pytest.mark.parametrize("statement", sorted({each for fault in FAULTS for each in fault.statements}))
def test_right_claims_hold(audited: Callable[[str], None], statement: str) -> None:
    """Without a fault, each of these statements runs with audit on."""
    audited(statement)


def test_there_are_thirty_faults() -> None:
    """At least thirty different faults are planted."""
    assert len({(fault.module, fault.function, fault.wrong) for fault in FAULTS}) >= 30
