"""No query reads a directory of heavy values without an answer, in any form of query, also in tables that
Hive wrote.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import (
    SparkSession,
    functions as F,  # noqa: N812 - its usual name
)

import parquetry
from parquetry import metastore as ms
from parquetry.data_files.footers.parquet_statistics import read_footers
from parquetry.layout.cells import REST
from parquetry.layout.skew_map import DEFAULT_DIRECTORY, cell_directory
from parquetry.locations.partition_path import unescape_path_name
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.types import parse_type
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import local_frame, plainly

pytestmark = pytest.mark.core

Rows = Callable[[str], list[tuple[Any, ...]]]
_HIVE = Path(__file__).resolve().parents[2] / "fixtures" / "hive-4.0.1"
_MAPS = {
    1: ms.SkewMap(("x", "y"), ((10, "a"), (20, None), (None, "a")), directories=True),
    2: ms.SkewMap(("x",), ((10,), (30,)), directories=True),
    3: None,
}
"""Directories of the partitions: 4, 3, and none."""


def steps(scan: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {step["name"]: (step["kept"], step["of"]) for step in scan["steps"]}


def directories(found: Any) -> list[tuple[int, ...]]:
    """Return what each scan of a report says of directories, in order."""
    return [steps(scan).get("directories", ()) for scan in found.to_dict()["scans"]]


@pytest.fixture(scope="module")
def table(spark: SparkSession, warehouse: Path) -> Iterator[str]:
    """A table whose files are in the directories of their cells, and a view `plain_rows` of the same rows."""
    name = "lake.heavy.t"
    spark.sql("CREATE NAMESPACE lake.heavy")
    spark.sql(f"CREATE TABLE {name} (x int, y string, v int, p int) USING parquet PARTITIONED BY (p)")
    every = [
        (x, y, v, p)
        for p in _MAPS
        for x in (10, 20, 30, 40, None)
        for y in ("a", "b", None)
        for v in range(2)
    ]
    local_frame(spark, every, "x int, y string, v int, p int").createOrReplaceTempView("plain_rows")
    types = {"x": parse_type("int"), "y": parse_type("string")}
    with ms.open_metastore(str(warehouse / "lake")) as metastore:
        snapshot = metastore.table("heavy", "t")
        transaction = Transaction(snapshot, "fill")
        for p, skew in _MAPS.items():
            folder = Path(snapshot.placement.default_location((p,)).removeprefix("file:"))
            cells: dict[int | None, list[tuple[Any, ...]]] = {}
            for row in every:
                if row[-1] == p:
                    found = None if skew is None else row[: len(skew.columns)]
                    cell = None if skew is None else skew.cells.index(found) if found in skew.cells else REST
                    cells.setdefault(cell, []).append(row)
            files = []
            for cell, rows in cells.items():
                place = ""
                if skew is not None and cell is not None:
                    place = cell_directory(skew, [types[name] for name in skew.columns], cell) + "/"
                path = folder / f"{place}pq-{snapshot.id.hex()}-fill-{cell}.parquet"
                path.parent.mkdir(parents=True)
                arrays = zip("xyv", list(zip(*rows, strict=True))[:3], strict=True)
                pq.write_table(
                    pa.table({n: pa.array(v, pa.string() if n == "y" else pa.int32()) for n, v in arrays}),
                    path,
                )
                (file,) = read_footers(
                    pa.fs.LocalFileSystem(), [str(path.relative_to(folder))], root=str(folder)
                )
                files.append(msgspec.structs.replace(file, cell=cell))
            transaction.replace((p,), files, arrangement=ms.ArrangementSpec(skew))
        commit(transaction)
    yield name
    spark.sql("DROP NAMESPACE lake.heavy CASCADE")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("x = 10 AND y = 'a'", (3, 8)),
        ("x = 10", (4, 8)),
        ("x <=> NULL", (4, 8)),
        ("x IS NULL AND y = 'a'", (3, 8)),
        ("x IN (10, 30) AND y IN ('a', 'b')", (5, 8)),
        ("x NOT IN (10, 30)", (4, 8)),
        ("NOT (x = 10 OR y IS NULL)", (4, 8)),
        ("x BETWEEN 11 AND 29 AND p < 3", (3, 7)),
        ("y LIKE 'b%'", (5, 8)),
        ("(x, y) IN ((10, 'a'), (30, 'b'))", (5, 8)),
        ("(x, y) NOT IN ((10, 'a'), (30, 'b'), (CAST(NULL AS INT), 'a'))", (6, 8)),
        ("(p, x) IN ((1, 20), (2, 30), (2, 10))", (4, 7)),
        ("p = 1 AND x = 20 AND y IS NULL OR p = 2 AND x = 30", (2, 7)),
        ("x = 10 AND v = 1 AND x + 1 = 11", (4, 8)),
        ("v = 1 OR x = 10", (8, 8)),
    ],
)
def test_conditions(spark: SparkSession, table: str, where: str, expected: tuple[int, int]) -> None:
    """A condition returns the rows of a table without directories, and reads the directories that may contain
    them.
    """
    query = f"SELECT * FROM {table} WHERE {where}"
    frame = spark.sql(query)
    assert sorted(frame.collect(), key=str) == sorted(
        spark.sql(f"SELECT * FROM plain_rows WHERE {where}").collect(), key=str
    )
    assert directories(parquetry.report(frame)) == [expected]


def test_wherever_a_query_asks(spark: SparkSession, table: str, rows: Rows) -> None:
    """Pruning works through a view, subqueries, aliases, a join of two scans, groups and a frame; a report
    shows each scan.
    """
    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW heavy_rows AS SELECT x AS weight, y, v * 2 AS double, p FROM {table}"
    )
    for query, expected in {
        "SELECT double FROM heavy_rows WHERE weight = 30": [(3, 8)],
        "SELECT w, count(*), sum(v) FROM (SELECT x AS w, v FROM {0}) s WHERE w IN (10, 20) AND v = 1 GROUP BY w": [
            (6, 8)
        ],
        "SELECT a.v, b.y FROM {0} a JOIN {0} b ON a.p = b.p AND a.v = b.v WHERE a.x = 30 AND b.x IS NULL AND b.y = 'a'": [
            (3, 8),
            (3, 8),
        ],
        "SELECT count(*) FROM {0} WHERE p = 2 AND x = 10 HAVING count(*) > 1": [(1, 3)],
    }.items():
        frame = spark.sql(query.format(table))
        plain = query.format("plain_rows").replace(
            "heavy_rows", "(SELECT x AS weight, y, v * 2 AS double, p FROM plain_rows)"
        )
        assert sorted(frame.collect(), key=str) == sorted(spark.sql(plain).collect(), key=str), query
        assert directories(parquetry.report(frame)) == expected, query
    frame = spark.table(table).where(F.col("x").isin(10, 30) & (F.col("p") == 2)).select("v").distinct()
    assert {row.v for row in frame.collect()} == {0, 1}
    report = parquetry.report(frame)
    assert directories(report) == [(2, 3)]
    assert "directories 2 of 3 (x IN (10, 30)) · files 2 of 2" in str(report)
    assert "directories 2 of 3 (x IN (10, 30))" in frame._jdf.queryExecution().executedPlan().toString()


@pytest.mark.needs("values of subqueries")
def test_the_value_of_a_subquery(spark: SparkSession, table: str) -> None:
    """It leaves out directories; the subquery's own scan is of a partition without any."""
    query = "SELECT v FROM {0} WHERE x = (SELECT max(x) FROM {0} WHERE p = 3 AND y = 'a') AND p = 2"
    frame = spark.sql(query.format(table))
    assert sorted(frame.collect()) == sorted(spark.sql(query.format("plain_rows")).collect())
    assert directories(parquetry.report(frame)) == [(1, 3), ()]


def test_the_metastore_counts_what_cells_decide(spark: SparkSession, table: str) -> None:
    """The metastore counts without a scan if cells decide the condition; otherwise a scan returns the same
    numbers.
    """
    for where, alone in {
        "p = 2 AND x = 10": True,
        "p < 3 AND x = 10 AND y = 'a' AND x > 5": False,  # half of the cell of partition 2
        "p = 1 AND x IS NULL AND y = 'a'": True,
        "p = 2 AND x IN (10, 40)": False,
    }.items():
        query = "SELECT count(*), min(v), max(y) FROM {0} WHERE " + where
        frame = spark.sql(query.format(table))
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert frame.collect() == spark.sql(query.format("plain_rows")).collect(), where
        assert ("BatchScan" not in plan) == alone, where


_TYPES = {
    "double": ("0.0D", "CAST('NaN' AS DOUBLE)", "1.5D", "-0.0D"),
    "float": ("0.1F", "CAST('-Infinity' AS FLOAT)", "-0.0F", "2.5F"),
    "decimal(9,2)": ("1.50BD", "-0.01BD", "0.00BD", "7.25BD"),
    "timestamp": ("TIMESTAMP'2026-03-29 01:30:00'", "TIMESTAMP'1960-01-01 00:00:00'", "TIMESTAMP'1970-01-01 00:00:00'", "now()"),
    "binary": ("X''", "X'00FF'", "X'61'", "X'62'"),
    "varchar(4)": ("'a b'", "''", "'x/y='", "'z'"),
    "char(4)": ("'a b'", "'ab'", "''", "'z'"),
    "date": ("DATE'2026-03-29'", "DATE'1960-02-29'", "DATE'1970-01-01'", "DATE'9999-12-31'"),
}  # fmt: skip
"""For each type, two heavy values and two others; one of the others may be equal to a heavy one."""


@pytest.mark.parametrize("kind", _TYPES)
def test_values_of_all_types(spark: SparkSession, db: str, rows: Rows, kind: str) -> None:
    """Rows and counts equal the answers of a table without directories, where Spark evaluates the conditions
    itself.
    """
    one, two, three, four = _TYPES[kind]
    heavy = ", ".join(re.sub(r"CAST\((.*) AS .*\)", r"\1", value) for value in (one, two))
    spark.sql(
        f"CREATE TABLE {db}.t (x {kind}, v int, p int) USING parquet PARTITIONED BY (p) "
        f"SKEWED BY (x) ON ({heavy}, NULL) STORED AS DIRECTORIES"
    )
    values = ", ".join(
        f"({value}, {n}, {n % 2})" for n, value in enumerate((one, two, three, four, "NULL") * 2)
    )
    spark.sql(f"CREATE TABLE {db}.plain (x {kind}, v int, p int) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.plain VALUES {values}")
    spark.sql(f"INSERT OVERWRITE {db}.t SELECT * FROM {db}.plain")
    decided = [f"x = {one}", f"x <=> {two}", "x IS NULL", f"x IN ({one}, {two})"]
    conditions = [
        *decided,
        *(f"x {op} {value}" for op in ("=", ">=") for value in (two, three)),
        "x IS NOT NULL",
        f"NOT (x <=> {two} OR x = {three})",
        *(f"CAST(x AS STRING) = CAST({value} AS STRING)" for value in (one, two, four)),
    ]
    query = " UNION ALL ".join(
        f"SELECT {n}, x, v, p FROM {{0}} WHERE {each}" for n, each in enumerate(conditions)
    )
    query += "".join(
        f" UNION ALL SELECT -1, NULL, count(*), {n} FROM {{0}} WHERE {each}" for n, each in enumerate(decided)
    )
    found, expected = (sorted(map(str, rows(query.format(f"{db}.{name}")))) for name in ("t", "plain"))
    assert found == expected
    for where in (f"x <=> {two}", "x IS NULL"):
        ((kept, of),) = directories(parquetry.explain(f"SELECT * FROM {db}.t WHERE {where}"))
        assert kept == 2 < of, where
    for value, heavy in {one: 2, two: 2, three: 0, four: 0}.items():
        where = f"trim(CAST(x AS STRING)) = trim(CAST({value} AS STRING))"
        ((kept, of),) = directories(parquetry.explain(f"SELECT * FROM {db}.t WHERE {where}"))
        zero = 2 if kind == "double" and value != one else 0  # 0.0 and -0.0 have one directory and two texts
        assert kept == of - 6 + heavy + zero, (where, kept, of)
    for zone, time in {"Asia/Kolkata": "07:00", "UTC": "01:30"}.items() if kind == "timestamp" else ():
        spark.conf.set("spark.sql.session.timeZone", zone)
        where = f"date_format(x, 'HH:mm') = '{time}' AND x < TIMESTAMP'2026-06-01'"
        ((kept, of),) = directories(parquetry.explain(f"SELECT * FROM {db}.t WHERE {where}"))
        assert (kept, len(rows(f"SELECT * FROM {db}.t WHERE {where}"))) == (4, 2), zone


def test_deleting(spark: SparkSession, db: str, rows: Rows, warehouse: Path) -> None:
    """TRUNCATE, DROP PARTITION … PURGE, vacuum and DROP TABLE delete files in directories, and then the empty
    directories.
    """
    spark.sql(
        f"CREATE TABLE {db}.t (x int, v int, p int) USING parquet PARTITIONED BY (p) "
        "SKEWED BY (x) ON (10, 20) STORED AS DIRECTORIES"
    )
    fill = f"INSERT OVERWRITE {db}.t SELECT /*+ REPARTITION(1) */ element_at(array(10, 20, 30), CAST(id % 3 AS INT) + 1), id, id % 2 FROM range(30)"
    spark.sql(fill)
    (place,) = {
        Path(row[0].removeprefix("file:")).parent for row in rows(f"SELECT location FROM {db}.t.partitions")
    }

    def there() -> set[str]:
        return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_dir()}

    every = {
        f"{part}{cell}" for part in ("p=0", "p=1") for cell in ("", "/x=10", "/x=20", f"/{DEFAULT_DIRECTORY}")
    }
    assert there() == every
    assert rows(f"SELECT count(*) FROM {db}.t WHERE x = 20 AND p = 1") == [(5,)]
    spark.sql(f"ALTER TABLE {db}.t DROP PARTITION (p = 1) PURGE")
    assert there() == {path for path in every if "p=0" in path}
    spark.sql(f"TRUNCATE TABLE {db}.t")
    assert rows(f"SELECT count(*) FROM {db}.t WHERE x = 20") == [(0,)]
    spark.sql(fill)
    assert directories(parquetry.explain(f"SELECT * FROM {db}.t WHERE x = 20 AND p = 0")) == [(1, 3)]
    spark.sql(
        f"CALL lake.system.vacuum(table => '{db.removeprefix('lake.')}.t', older_than => current_timestamp(), allow_recent => true)"
    )
    assert there() == every
    assert len([path for path in place.rglob("*.parquet") if path.is_file()]) == 6
    spark.sql(f"DROP TABLE {db}.t")
    assert not place.exists()


CONDITIONS = (
    "x = '6'", "x = 'other1'", "x = '20'", "x = '30'", "x <> '6'", "NOT x = '6'", "x IN ('6', 'other1')", "x IN ('6', '20')",
    "x = 'a=b'", "x = 'a/b'", "x = ''", "x = 'a=b' OR x = 'zz'", "x = 'a/b' OR x = '6'", "x = '' OR x = 'zz'",
    "x IS NULL", "x <=> '6'", "x < '7'", "x = '6' OR v = 9", "x = '6' AND y = 'y0'", "x = '20' AND y = 'y2'",
    "y = 'y0'", "y <> 'y0'", "x = 'a b' AND y = 'y2'", "x = 'UP'", "x LIKE '6%'", "x = '6' AND ds = 'd'", "(x, y) IN (('6', 'y0'))",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        (
            "lb_part",
            {("6",), ("20",)},
            {"x = '6'": (2, 6), "x IN ('6', '20')": (4, 6), "x <> '6'": (4, 6), "x = 'a=b'": (2, 6)},
        ),
        ("lb_second", {("y0",)}, {"y = 'y0'": (1, 2), "y <> 'y0'": (1, 2), "x = '6' AND y = 'y0'": (1, 2)}),
        (
            "lb_two",
            {("6", "y0"), ("20", "y1"), ("a b", "y2")},
            {"x = '6'": (2, 4), "x = '20' AND y = 'y2'": (1, 4), "x = '6' AND y = 'y0'": (1, 4)},
        ),
    ],
)
def test_tables_that_hive_laid_down(
    spark: SparkSession,
    db: str,
    rows: Rows,
    warehouse: Path,
    tmp_path: Path,
    name: str,
    cells: set[tuple[Any, ...]],
    expected: dict[str, tuple[int, int]],
) -> None:
    """Tables that Hive 4.0.1 wrote, one with two INSERTs, return for every condition the rows that Hive reads
    without its pruner.
    """
    known = json.loads((_HIVE / "listbucket.json").read_text())["tables"][name]
    shutil.copytree(_HIVE / "listbucket" / name, tmp_path / name)
    kind = "parquet" if "PARQUET" in known["statements"][0] else "orc"
    columns = ", ".join(each.replace(":", " ") for each in known["columns"])
    spark.sql(
        f"CREATE TABLE {db}.t ({columns}) USING {kind} PARTITIONED BY (ds) LOCATION '{tmp_path / name}'"
    )
    found = rows(f"CALL lake.system.sync(table => '{db.removeprefix('lake.')}.t')")
    assert {row[0] for row in found} == {"added"}
    assert sum(row[3] for row in found) == len(known["rows"])
    said = [(x, y, int(v), ds) for _, x, y, v, ds in known["rows"]]
    assert sorted(rows(f"SELECT * FROM {db}.t")) == sorted(said)
    with ms.open_metastore(str(warehouse / "lake")) as metastore:
        for part in metastore.table(db.removeprefix("lake."), "t").partitions():
            skew = part.arrangement.skew
            assert skew is not None
            assert set(skew.cells) == cells
    local_frame(spark, said, columns).createOrReplaceTempView("hives_rows")
    query = " UNION ALL ".join(
        f"SELECT {n} AS n, * FROM {{0}} WHERE {where}" for n, where in enumerate(CONDITIONS)
    )
    frame = spark.sql(query.format(f"{db}.t"))
    assert plans.comparable(frame.collect()) == plainly(spark, query.format("hives_rows"))
    for where, counts in expected.items():
        assert directories(parquetry.explain(f"SELECT * FROM {db}.t WHERE {where}")) == [counts], where
    assert rows(f"CALL lake.system.sync(table => '{db.removeprefix('lake.')}.t')") == []
    place = next((tmp_path / name).iterdir())
    shutil.copytree(place, f"{place}-more")
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (ds = 'more') LOCATION '{place}-more'")
    assert rows(f"SELECT ds, count(*) FROM {db}.t WHERE ds = 'more' GROUP BY ds") == [
        ("more", len([ds for *_, ds in said if ds == unescape_path_name(place.name.removeprefix("ds="))])),
    ]
    assert rows(f"CALL lake.system.fsck(table => '{db.removeprefix('lake.')}.t')") == []
    if name == "lb_part":
        rows(f"CALL lake.system.compact(table => '{db.removeprefix('lake.')}.t')")
        assert sorted(rows(f"SELECT * FROM {db}.t WHERE ds != 'more'")) == sorted(said)
        for where, counts in {"x = '6'": (2, 6), "x = '6' OR x = '20'": (4, 6), "x = 'a=b'": (2, 6)}.items():
            assert directories(
                parquetry.explain(f"SELECT * FROM {db}.t WHERE ds != 'more' AND ({where})")
            ) == [counts]
        found = rows(f"CALL lake.system.sync(table => '{db.removeprefix('lake.')}.t')")
        assert {row[0] for row in found} <= {"ignored"}
