"""Count the files that queries read beside the least possible: the files with a row that the query needs.

The counts are exact, and do not depend on the machine. A query is run with plain Spark's rows beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

import parquetry
from benchmarks.lake import CATALOG, start
from benchmarks.measure import BenchmarkFinding, Result

MAX_RATIO = 1.1
"""Files read, as a multiple of the files with a row that the query needs."""
_DATABASE = f"{CATALOG}.least"
_FACTS, _HEAVY, _KNOWN = f"{_DATABASE}.facts", f"{_DATABASE}.heavy", f"{_DATABASE}.known"
_SMALL = f"{_DATABASE}.small"
_TABLES = {
    # 42 days by 5 numbers: 210 files, in each 20 values of v that follow each other
    _FACTS: (
        "(v INT, ts TIMESTAMP, day DATE, x INT) PARTITIONED BY (day, x)",
        "SELECT int(id), timestamp'2026-01-01' + make_interval(0, 0, 0, 0, 0, int(id * 14)), "
        "date_add(date'2026-01-01', int(id DIV 100)), int(id DIV 20 % 5) FROM range(4200)",
    ),
    # directories for 20 values of w
    _HEAVY: (
        "(v INT, w INT, day DATE) PARTITIONED BY (day) "
        f"SKEWED BY (w) ON ({', '.join(map(str, range(20)))}) STORED AS DIRECTORIES",
        "SELECT int(id), int(id % 25), date_add(date'2026-01-01', int(id % 4)) FROM range(2000)",
    ),
    # pairs that the metastore knows while a query is planned
    _KNOWN: (
        "(n INT, day DATE, x INT) PARTITIONED BY (day, x)",
        "SELECT int(id), date_add(date'2026-01-01', int(id * 4)), int(id % 5) FROM range(10)",
    ),
    _SMALL: (
        "(n INT, day DATE, until DATE, x INT)",
        "VALUES (3, date'2026-01-03', date'2026-01-05', 1), (41, date'2026-02-09', date'2026-02-11', 4), "
        "(99, NULL, date'2026-01-20', 2), (3977, date'2026-01-25', NULL, 0)",
    ),
}


class _Query(NamedTuple):
    """A query: the table that is pruned, what it is joined with, and the condition.

    Attributes:
        select: the query, with `{on}` for the condition; by default a join that counts and sums.
    """

    facts: str
    on: str
    build: str = _SMALL
    select: str = "SELECT count(*), sum(f.v) FROM {facts} f JOIN {build} d ON {on}"


_BESIDE_OR = "SELECT count(*), sum(f.v) FROM {facts} f WHERE {on}"
_KINDS = {
    "pairs known in planning": {
        "the small table knows": _Query(_FACTS, "f.day = d.day AND f.x = d.x", _KNOWN),
        "one key computed": _Query(_FACTS, "f.day = d.day AND f.x + 1 = d.x + 1", _KNOWN),
    },
    "intervals and inequalities": {
        "BETWEEN": _Query(_FACTS, "f.day BETWEEN d.day AND d.until"),
        "BETWEEN beside an equality": _Query(_FACTS, "f.day BETWEEN d.day AND d.until AND f.x = d.x"),
        "data columns": _Query(_FACTS, "f.v BETWEEN d.n AND d.n + 30"),
        "functions of data columns": _Query(_FACTS, "f.v * 2 BETWEEN d.n AND d.n + 30"),
    },
    "OR of keys": {
        "two keys": _Query(_FACTS, "f.day = d.day OR f.day = d.until"),
        "pairs": _Query(_FACTS, "(f.day = d.day AND f.x = d.x) OR (f.day = d.until AND f.x = d.n)"),
    },
    "tuples with a computed key": {
        "of partition columns": _Query(_FACTS, "f.day = d.day AND f.x + 1 = d.x + 1"),
        "of a data column": _Query(_FACTS, "f.x = d.n DIV 20 % 5 AND f.v - 1 = d.n"),
        "the day of a moment": _Query(_FACTS, "f.x <> 7 AND CAST(f.ts AS DATE) = d.day"),
    },
    "IN beside OR": {
        "one subquery": _Query(_FACTS, f"f.day IN (SELECT day FROM {_SMALL}) OR f.x = 4", select=_BESIDE_OR),
        "two subqueries": _Query(
            _FACTS,
            f"f.day IN (SELECT day FROM {_SMALL}) OR f.x IN (SELECT x FROM {_SMALL} WHERE n = 41)",
            select=_BESIDE_OR,
        ),
        "a skewed column": _Query(_HEAVY, f"f.w IN (SELECT n FROM {_SMALL}) OR f.w = 7", select=_BESIDE_OR),
    },
    "keys computed from data columns": {
        "v + 1": _Query(_FACTS, "f.v + 1 = d.n"),
        "-v": _Query(_FACTS, "-f.v = -d.n"),
        "date_trunc": _Query(_FACTS, "date_trunc('DAY', f.ts) = timestamp(d.day)"),
        "coalesce": _Query(_FACTS, "coalesce(f.v, -1) = d.n"),
    },
}
_NEEDED = {
    "a join by partition columns": f"SELECT d.n, count(*) FROM {_FACTS} f JOIN {_SMALL} d ON f.day = d.day GROUP BY d.n",
    "a join by a skewed column": f"SELECT d.n, count(*) FROM {_HEAVY} f JOIN {_SMALL} d ON f.w = d.n GROUP BY d.n",
    "GROUP BY partition columns": f"SELECT day, count(*) FROM {_FACTS} GROUP BY day",
    "count(DISTINCT) of one": f"SELECT count(DISTINCT day) FROM {_FACTS}",
}
"""Queries that need no column of the files."""


def run(folder: Path, scale: float) -> Result:  # noqa: ARG001
    """Run each query, and compare the files that it reads with the files that have a row for it."""
    spark = start(folder)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    _fill(spark)
    result = Result("least")
    for kind, queries in _KINDS.items():
        for name, query in queries.items():
            read, least, of = _counts(spark, query)
            result.details.setdefault(kind, {})[name] = {"read": read, "least": least, "of": of}
            result.findings.append(
                BenchmarkFinding(
                    f"{kind}: {name}: {read} of {of} files read / {least}", read / least, MAX_RATIO
                )
            )
    for name, text in _NEEDED.items():
        opened = _opened(spark, text)
        result.details.setdefault("files opened", {})[name] = opened
        result.findings.append(BenchmarkFinding(f"{name}: files opened", opened, 0, "files"))
    spark.stop()
    return result


def _fill(spark: SparkSession) -> None:
    spark.sql(f"DROP NAMESPACE IF EXISTS {_DATABASE} CASCADE")
    spark.sql(f"CREATE NAMESPACE {_DATABASE}")
    for name, (columns, rows) in _TABLES.items():
        spark.sql(f"CREATE TABLE {name} {columns}")
        spark.sql(f"INSERT OVERWRITE {name} {rows}")


def _counts(spark: SparkSession, query: _Query) -> tuple[int, int, int]:
    """Return the files that a query reads, the files that have a row for it, and all files.

    Raises:
        AssertionError: the rows are not the rows that a query without runtime filters has.
    """
    text = query.select.format(facts=query.facts, build=query.build, on=query.on)
    frame = spark.sql(text)
    rows = frame.collect()
    needed = f"SELECT DISTINCT f._file FROM {query.facts} f WHERE {query.on}"
    if query.select is not _BESIDE_OR:
        needed = f"SELECT DISTINCT f._file FROM {query.facts} f JOIN {query.build} d ON {query.on}"
    spark.conf.set("parquetry.runtime-pruning", "false")
    try:
        least = spark.sql(needed).count()
        of = spark.sql(f"SELECT DISTINCT _file FROM {query.facts}").count()
        assert spark.sql(text).collect() == rows, text
    finally:
        spark.conf.unset("parquetry.runtime-pruning")
    return _kept(frame, query.facts), least, of


def _scan(frame: Any, table: str) -> dict[str, Any]:
    scans: list[dict[str, Any]] = parquetry.report(frame).to_dict()["scans"]
    return next(scan for scan in scans if scan["table"] == table)


def _kept(frame: Any, table: str) -> int:
    steps = _scan(frame, table)["steps"]
    return next(int(step["kept"]) for step in steps if step["name"] == "files")


def _opened(spark: SparkSession, text: str) -> int:
    """Return the files of the large table that a query opens."""
    frame = spark.sql(text)
    frame.collect()
    table = next(name for name in (_FACTS, _HEAVY) if name in text)
    scan = _scan(frame, table)
    return _kept(frame, table) - int(scan.get("counted", 0))
