"""Comet reads our tables natively: the same rows, the same pruning, and no node of ours in between.

Comet has builds for Spark up to 4.1, so these tests run there: `make test-core SPARK=4.1`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.comet import SERIES
from tests.support.processes import ROOT, run

pytestmark = [pytest.mark.core, pytest.mark.only(SERIES)]
STATEMENTS = [
    "CREATE NAMESPACE lake.db",
    "CREATE TABLE lake.db.f (id BIGINT, k INT, x DOUBLE, s STRING, t TIMESTAMP, day DATE, n DECIMAL(9,2), p STRING) "
    "USING parquet PARTITIONED BY (p)",
    *(
        f"INSERT INTO lake.db.f SELECT id, int(id DIV 100), id * 0.5D, concat('s', id % 7), timestamp_seconds(id * 999983), "
        f"date_add(DATE '1890-01-01', int(id)), id * 0.01BD, concat('x y%/', id DIV 100 % 4) "
        f"FROM range({first}, {first + 400}, 1, 1)"
        for first in (0, 400)
    ),
    "CREATE TABLE lake.db.d (k INT, p STRING, name STRING) USING parquet",
    "INSERT INTO lake.db.d SELECT int(id), concat('x y%/', id % 4), concat('n', id) FROM range(0, 8, 1, 1)",
    *(
        f"CREATE TABLE lake.db.{name} USING parquet CLUSTERED BY (k) INTO 4 BUCKETS "
        f"TBLPROPERTIES ('bucketing-version' = 'spark') AS SELECT id % 211 AS k, id AS v FROM range({rows})"
        for name, rows in (("a", 300), ("b", 900))
    ),
    "CREATE TABLE lake.db.w (id INT, x FLOAT, n DECIMAL(5,2), d DATE) USING parquet",
    "INSERT INTO lake.db.w VALUES (1, 1.5, 2.25, DATE '0044-03-15'), (NULL, NULL, NULL, NULL)",
    "ALTER TABLE lake.db.w ALTER COLUMN id TYPE BIGINT",
    "ALTER TABLE lake.db.w ALTER COLUMN x TYPE DOUBLE",
    "ALTER TABLE lake.db.w ALTER COLUMN n TYPE DECIMAL(9,2)",
    "ALTER TABLE lake.db.w ADD COLUMN later STRING",
    "INSERT INTO lake.db.w VALUES (3000000000, 0.1, 1234567.89, DATE '9999-12-31', 'new')",
    "CREATE TABLE lake.db.v (id INT, d DATE, n DECIMAL(5,2), ts TIMESTAMP, b BOOLEAN) USING parquet PARTITIONED BY (d, n, ts, b)",
    "INSERT INTO lake.db.v VALUES (1, DATE '1582-10-14', -0.01, TIMESTAMP '1900-01-01 00:00:00.000001', true), "
    "(2, NULL, NULL, NULL, NULL)",
    "CREATE TABLE lake.db.l (id INT, list ARRAY<INT>) USING parquet",
    "INSERT INTO lake.db.l VALUES (1, array(1, 2))",
]
QUERIES = {
    "scan": "SELECT s, p, sum(x), max(t), min(day), sum(n) FROM lake.db.f WHERE k IN (2, 6) GROUP BY s, p",
    "broadcast": "SELECT d.name, f.* FROM lake.db.f f JOIN lake.db.d d ON f.k = d.k WHERE d.name IN ('n1', 'n5')",
    "partitions": "SELECT d.name, f.id FROM lake.db.f f JOIN lake.db.d d ON f.p = d.p WHERE d.name = 'n3'",
    "tuples": "SELECT d.name, f.id FROM lake.db.f f JOIN lake.db.d d ON f.k = d.k AND f.p = d.p WHERE d.name IN ('n1', 'n6')",
    "second run": "SELECT /*+ MERGE(d) */ d.name, f.id FROM lake.db.f f JOIN lake.db.d d ON f.k = d.k WHERE d.name = 'n2'",
    "buckets": "SELECT /*+ MERGE(b) */ count(*), sum(a.v), sum(b.v) FROM lake.db.a a JOIN lake.db.b b ON a.k = b.k",
    "partition values": "SELECT * FROM lake.db.v",
    "widened": "SELECT * FROM lake.db.w",
    "nested": "SELECT id, list FROM lake.db.l",
}
FILES = {
    "scan": [2],
    "broadcast": [2, 1],
    "partitions": [2, 1],
    "tuples": [2, 1],
    "second run": [1, 1],
    "buckets": [4, 4],
    "partition values": [2],
    "widened": [2],
    "nested": [],
}
"""How many files the native scans of each query read."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The answers of a session with Comet to all queries, with adaptive execution and without."""
    folder = tmp_path_factory.mktemp("comet")
    asked = json.dumps({"statements": STATEMENTS, "queries": QUERIES})
    command = [sys.executable, "-m", "tests.support.comet.session", str(folder / "warehouse")]
    printed = run(command, Path(folder), asked, PYTHONPATH=f"{ROOT / 'src'}:{ROOT}")
    lines = [line for line in printed.splitlines() if line.startswith("answers: ")]
    assert lines, printed
    found: dict[str, dict[str, Any]] = json.loads(lines[0].removeprefix("answers: "))
    return found


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("name", QUERIES)
def test_rows_and_files(answers: dict[str, dict[str, Any]], name: str, adaptive: str) -> None:
    """Comet's scans read the files that our pruning leaves, also at run time, and give the same rows."""
    found = answers[f"{name}, adaptive {adaptive}"]
    assert found["rows"] == found["expected"]
    assert found["rows"]
    assert sorted(found["files"], reverse=True) == FILES[name]


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "nested"])
def test_whole_plans_are_native(answers: dict[str, dict[str, Any]], name: str) -> None:
    """No node between the scans and the result falls back to Spark, and the report says who reads."""
    found = answers[f"{name}, adaptive true"]
    assert not [
        node
        for node in found["nodes"]
        if node in ("BatchScanExec", "FileSourceScanExec", "ProjectExec", "FilterExec")
    ]
    assert "native: Comet reads it" in found["report"]


def test_a_bucketed_join_shuffles_nothing(answers: dict[str, dict[str, Any]]) -> None:
    """Two tables in buckets by Spark's hash are joined natively without an exchange of their rows."""
    nodes = answers["buckets, adaptive true"]["nodes"]
    assert nodes.count("CometNativeScanExec") == 2
    assert len([node for node in nodes if "ShuffleExchange" in node]) == 1  # of the sums


def test_nested_columns_stay(answers: dict[str, dict[str, Any]]) -> None:
    """A scan of a nested column keeps our form, and the report says why."""
    found = answers["nested, adaptive true"]
    assert "BatchScanExec" in found["nodes"]
    assert "not native: column list is of type array<int>" in found["report"]
