"""Bucketed tables that Hive, Spark for Hive and Spark itself wrote are adopted in place, then read, pruned
and joined by their buckets.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry import metastore as ms
from tests.support.effort import sampled
from tests.support.spark.plans import comparable, run, shuffles
from tests.support.tables.bucketed_tables import local_frame, local_view, plainly

Rows = Callable[[str], list[tuple[Any, ...]]]
_HIVE = Path(__file__).resolve().parents[2] / "fixtures" / "hive-4.0.1"
TABLES = json.loads((_HIVE / "bucketed.json").read_text())["tables"]
BUCKETED = sorted(name for name in TABLES if name != "src")
CLAIMED = [name for name in BUCKETED if not name.endswith("_bin")]


class Adopted:
    """A table of Hive's, its files copied and its statement run with a LOCATION, after a sync.

    Attributes:
        name: in Spark.
        short: without the catalog.
        place: of its files.
        keys: its bucket columns.
        rows: that Hive reads, as text.
        told: by the sync.
    """

    def __init__(self, spark: SparkSession, db: str, name: str, place: Path, version: str = "") -> None:
        known = TABLES[name]
        storage = known["metastore"]["table"]["sd"]
        self.name, self.short, self.place = f"{db}.{name}", f"{db}.{name}".removeprefix("lake."), place
        self.keys: list[str] = storage["bucketCols"]
        self.buckets: int = storage["numBuckets"]
        self.columns = [each.partition(":")[0].rpartition(".")[2] for each in known["columns"][1:]]
        self.rows = comparable([tuple(row[1:]) for row in known["rows_in_scan_order"]])  # type: ignore[misc]
        shutil.copytree(_HIVE / "bucketed" / name, place)
        statement = known["statements"][0].replace(f"CREATE TABLE {name}", f"CREATE TABLE {self.name}")
        if version:
            statement = re.sub(r"'bucketing_version'='\d'", f"'bucketing_version'='{version}'", statement)
        spark.sql(statement.replace(" TBLPROPERTIES", f" LOCATION '{place}' TBLPROPERTIES"))
        self.told = [tuple(row) for row in spark.sql(f"CALL lake.system.sync('{self.short}')").collect()]

    @property
    def as_text(self) -> str:
        return ", ".join(f"CAST({name} AS STRING) AS {name}" for name in self.columns)


@pytest.fixture
def adopted(spark: SparkSession, db: str, tmp_path: Path) -> Callable[..., Adopted]:
    def adopt(name: str, version: str = "", place: str = "t") -> Adopted:
        return Adopted(spark, db, name, tmp_path / place / name, version)

    return adopt


@pytest.fixture(scope="module")
def hives(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Adopted]]:
    """A table of Hive's, adopted once for all tests that only read it."""
    spark.catalog.setCurrentCatalog("spark_catalog")
    spark.sql("CREATE NAMESPACE lake.hives")
    place = tmp_path_factory.mktemp("hives")
    yield functools.cache(lambda name: Adopted(spark, "lake.hives", name, place / name))
    spark.sql("DROP NAMESPACE lake.hives CASCADE")


def recorded(
    warehouse: Path, table: str
) -> list[tuple[ms.BucketSpec | None, set[tuple[str, int | None, bool]]]]:
    """Return the buckets of each partition, with the name and the bucket of each file, and whether it is
    sorted.
    """
    with ms.open_metastore(str(warehouse / "lake")) as metastore:
        return [
            (each.arrangement.buckets, {(file.path, file.bucket, file.sorted) for file in each.files})
            for each in metastore.table(*table.split(".")).partitions()
        ]


@pytest.mark.parametrize("name", BUCKETED)
def test_tables_that_hive_wrote(
    spark: SparkSession, rows: Rows, warehouse: Path, hives: Callable[[str], Adopted], name: str
) -> None:
    """The rows are Hive's, every file is of the bucket and in the order that Hive says, and verify agrees."""
    table = hives(name)
    assert {row[0] for row in table.told} == {"added"}
    assert comparable(spark.sql(f"SELECT {table.as_text} FROM {table.name}").collect()) == table.rows
    claimed = name in CLAIMED
    for spec, files in recorded(warehouse, table.short):
        assert spec is not None
        assert (spec.count, spec.unsettled) == (table.buckets, not claimed)
        assert files == {(path, int(path[:6]), claimed) for path, _, _ in files}
    expected = [] if claimed else ["not judged"]
    assert [row[0] for row in rows(f"CALL lake.system.verify('{table.short}')")] == expected
    assert rows(f"CALL lake.system.sync('{table.short}')") == []


@pytest.mark.parametrize("name", BUCKETED)
def test_every_value_is_found(spark: SparkSession, hives: Callable[[str], Adopted], name: str) -> None:
    """A query by any key, also by NULL, returns the rows that Hive has, and reads no file of
    another bucket.
    """
    table = hives(name)
    at = [table.columns.index(key) for key in table.keys]
    every = sorted({tuple(row[place] for place in at) for row in table.rows}, key=repr)
    for keys in sampled([*filter(all, every), *(keys for keys in every if not all(keys))]):
        where = " AND ".join(
            f"{key} <=> CAST({'NULL' if value is None else repr(value)} AS {kind})"
            for key, value, kind in zip(table.keys, keys, types_of(name), strict=True)
        )
        query = f"SELECT {table.as_text} FROM {table.name} WHERE {where}"
        expected = [row for row in table.rows if tuple(row[place] for place in at) == keys]
        frame = spark.sql(query)
        assert comparable(frame.collect()) == expected, where
        (scan,) = parquetry.report(frame).to_dict()["scans"]
        steps = {step["name"]: (step["kept"], step["of"]) for step in scan["steps"]}
        if name in CLAIMED:
            kept, of = steps["buckets"]
            assert kept < of or of == 1, where
            assert kept <= (2 if "_part" in name else 1), where
        else:
            assert steps.get("buckets", (1, 1))[0] == steps.get("buckets", (1, 1))[1]


def types_of(name: str) -> list[str]:
    storage = TABLES[name]["metastore"]["table"]["sd"]
    types = {each["name"]: each["type"] for each in storage["cols"]}
    return [types[key] for key in storage["bucketCols"]]


@pytest.mark.parametrize("name", BUCKETED)
def test_joins_with_itself(spark: SparkSession, hives: Callable[[str], Adopted], name: str) -> None:
    """A join does not shuffle if the buckets are claimed, and returns the rows that plain
    DataFrames return.
    """
    table = hives(name)
    schema = ", ".join(f"{column} STRING" for column in table.columns)
    local_frame(spark, table.rows, schema).createOrReplaceTempView("hives")
    on = " AND ".join(f"a.{key} = b.{key}" for key in table.keys)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        for how in ("INNER", "FULL OUTER", "LEFT ANTI"):
            chosen = "a.id" if how == "LEFT ANTI" else "a.id, b.id AS other"
            query = f"SELECT {chosen} FROM {{0}} a {how} JOIN {{0}} b ON {on} AND a.id != b.id"
            found, nodes = run(spark.sql(query.format(table.name)))
            assert as_text(found) == as_text(plainly(spark, query.format("hives"))), how
            assert (nodes["Exchange"] == 0) is (name in CLAIMED), how
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def as_text(rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row)) for row in rows)


@pytest.mark.parametrize("name", ["b1_orc_part", "b2_pq_int"])
def test_a_wrong_version_is_told_and_put_right(
    spark: SparkSession, rows: Rows, adopted: Callable[..., Adopted], warehouse: Path, name: str
) -> None:
    """If the table declares the wrong version of the hash, a sync reads the files as not bucketed. With the
    right version, a sync with buckets reads them as bucketed.
    """
    right = name[1]
    table = adopted(name, version="1" if right == "2" else "2")
    told = [row[5] for row in table.told if row[0] == "ignored"]
    assert told
    for each in told:
        assert f"By version {right} of the hash all are in the right one" in each
    assert {spec for spec, _ in recorded(warehouse, table.short)} == {None}
    assert comparable(spark.sql(f"SELECT {table.as_text} FROM {table.name}").collect()) == table.rows
    spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ('bucketing-version' = '{right}')")
    assert rows(f"CALL lake.system.sync('{table.short}')") == []
    again = rows(f"CALL lake.system.sync('{table.short}', buckets => true)")
    assert {row[0] for row in again} == {"changed"}
    assert {spec.version for spec, _ in recorded(warehouse, table.short) if spec} == {int(right)}
    assert comparable(spark.sql(f"SELECT {table.as_text} FROM {table.name}").collect()) == table.rows
    assert rows(f"CALL lake.system.verify('{table.short}')") == []


VALUES = {
    "BIGINT": "id - 20",
    "STRING": "concat('é', id % 13)",
    "DOUBLE": "(id % 7 - 3) * CAST('-0.0' AS DOUBLE) + id % 3",
    "INT": "id % 11",
    "VARCHAR(5)": "concat('v', id % 9)",
    "CHAR(4)": "concat('c', id % 9)",
    "TIMESTAMP": "timestamp_micros(id * 86400000001)",
    "DECIMAL(9, 2)": "CAST(id / 4 AS DECIMAL(9, 2))",
    "BOOLEAN": "id % 2 = 0",
}
"""Values of each type for the column `id`."""


@pytest.mark.parametrize("kind", ["parquet", "orc"])
@pytest.mark.parametrize(
    ("types", "order"),
    [
        (["BIGINT"], ""),
        (["STRING"], "SORTED BY (k0)"),
        (["DOUBLE", "STRING"], ""),
        (["VARCHAR(5)", "CHAR(4)"], ""),
        (["TIMESTAMP"], ""),
        (["DECIMAL(9, 2)", "BOOLEAN"], "SORTED BY (k1, k0)"),
    ],
)
def test_tables_that_spark_wrote(
    spark: SparkSession,
    db: str,
    rows: Rows,
    warehouse: Path,
    tmp_path: Path,
    kind: str,
    types: list[str],
    order: str,
) -> None:
    """Every file of Spark's own buckets has a known bucket, after two inserts with several files each, and
    groups do not shuffle.

    Spark pads a char above the scan, so the grouped value is not the table's column.
    """
    keys = [f"k{n}" for n in range(len(types))]
    by = ", ".join(keys)
    columns = ", ".join(["id INT", *(f"{key} {type}" for key, type in zip(keys, types, strict=True))])
    declared = f"({columns}) USING {kind} CLUSTERED BY ({by}) {order} INTO 4 BUCKETS LOCATION '{tmp_path}/t'"
    some = [f"if(id % 17 = 5, NULL, {VALUES[type]}) AS {key}" for key, type in zip(keys, types, strict=True)]
    spark.sql(f"CREATE TABLE spark_catalog.default.theirs {declared}")
    try:
        for start in (0, 40):
            spark.range(start, start + 40, 1, 3).selectExpr("CAST(id AS INT) AS id", *some).write.insertInto(
                "spark_catalog.default.theirs"
            )
        local_view(spark.table("spark_catalog.default.theirs"), "rows_of_theirs")
    finally:
        spark.sql("DROP TABLE spark_catalog.default.theirs")
    spark.sql(f"CREATE TABLE {db}.t {declared} TBLPROPERTIES ('bucketing-version' = 'spark')")
    told = rows(f"CALL lake.system.sync('{db.removeprefix('lake.')}.t')")
    assert comparable(spark.table(f"{db}.t").collect()) == plainly(spark, "SELECT * FROM rows_of_theirs")
    ((spec, files),) = recorded(warehouse, f"{db.removeprefix('lake.')}.t")
    if kind == "orc" and "TIMESTAMP" in types:  # the file does not record the time zone of its timestamps
        assert spec is None
        assert "the file has k0 as timestamp[ns]" in told[1][5]
        return
    assert [row[0] for row in told] == ["added"]
    assert spec is not None
    assert len(files) > 8
    assert {bucket for _, bucket, _ in files} <= set(range(4))
    assert {in_order for *_, in_order in files} == {bool(order)}
    assert rows(f"CALL lake.system.verify('{db.removeprefix('lake.')}.t')") == []
    grouped = spark.sql(f"SELECT {by}, count(*), sum(id) FROM {db}.t GROUP BY {by}")
    found = comparable(grouped.collect())
    assert (shuffles(grouped) > 0) is ("CHAR(4)" in types)
    assert found == plainly(spark, f"SELECT {by}, count(*), sum(id) FROM rows_of_theirs GROUP BY {by}")


def test_what_comes_after_adoption(
    spark: SparkSession, rows: Rows, adopted: Callable[..., Adopted], warehouse: Path
) -> None:
    """Inserts join the buckets of Hive's files, compaction makes one file of each, and verify finds nothing
    wrong.
    """
    table = adopted("b2_orc_part")
    spark.sql(
        f"INSERT INTO {table.name} VALUES (100, 42, '2024-01-01'), (101, NULL, '2024-01-03'), (102, 7, '2024-01-02')"
    )
    more = [("100", "42", "2024-01-01"), ("101", None, "2024-01-03"), ("102", "7", "2024-01-02")]
    expected = comparable([*table.rows, *more])  # type: ignore[list-item]
    query = f"SELECT {table.as_text} FROM {table.name}"
    assert comparable(spark.sql(query).collect()) == expected
    assert all(
        None not in {bucket for _, bucket, _ in files} for _, files in recorded(warehouse, table.short)
    )
    assert rows(f"CALL lake.system.verify('{table.short}')") == []
    assert rows(f"CALL lake.system.sync('{table.short}')") == []
    rows(f"CALL lake.system.compact('{table.short}')")
    assert comparable(spark.sql(query).collect()) == expected
    for _, files in recorded(warehouse, table.short):
        assert len({bucket for _, bucket, _ in files}) == len(files)
        assert {in_order for *_, in_order in files} == {True}
    assert rows(f"CALL lake.system.verify('{table.short}')") == []


def test_files_that_are_not_bucketed_are_put_into_buckets(
    spark: SparkSession, rows: Rows, adopted: Callable[..., Adopted], warehouse: Path
) -> None:
    """The remedies that sync names work: rebucket for a partition that is not bucketed, compact for files."""
    table = adopted("b2_pq_int", version="1")
    query = f"SELECT {table.as_text} FROM {table.name}"
    assert "CALL system.rebucket" in table.told[1][5]
    rows(f"CALL lake.system.rebucket('{table.short}')")
    assert comparable(spark.sql(query).collect()) == table.rows
    ((spec, files),) = recorded(warehouse, table.short)
    assert spec is not None
    assert (spec.version, {bucket for _, bucket, _ in files}) == (1, {0, 1, 2, 3})
    shutil.copy(table.place / "000001_0", table.place / "000003_0_copy_7")
    told = rows(f"CALL lake.system.sync('{table.short}')")
    (of_file,) = [row[5] for row in told if row[0] == "ignored" and "taken out" not in row[5]]
    assert "000003_0_copy_7: k = " in of_file
    assert "CALL system.compact" in of_file
    ((_, files),) = recorded(warehouse, table.short)
    assert ("000003_0_copy_7", None, False) in files
    assert [row[0] for row in rows(f"CALL lake.system.verify('{table.short}')")] == ["no bucket"]
    rows(f"CALL lake.system.compact('{table.short}')")
    ((_, files),) = recorded(warehouse, table.short)
    assert None not in {bucket for _, bucket, _ in files}
    assert rows(f"CALL lake.system.verify('{table.short}')") == []


def test_partitions_that_are_added_by_name(
    spark: SparkSession, db: str, rows: Rows, warehouse: Path, tmp_path: Path, adopted: Callable[..., Adopted]
) -> None:
    """ADD PARTITION reads the files of a folder as bucketed, as sync does, and does not report files without
    a bucket.
    """
    table = adopted("b1_orc_part")
    for name, moved in (("right", None), ("wrong", "000000_0")):
        place = tmp_path / name
        shutil.copytree(table.place / "ds=2024-01-01", place)
        if moved:
            (place / moved).rename(place / "000002_0_copy_9")
        spark.sql(f"ALTER TABLE {table.name} ADD PARTITION (ds = '{name}') LOCATION '{place}'")
    found = [spec for spec, _ in recorded(warehouse, table.short)]
    assert [spec is not None for spec in found] == [True, True, True, False]
    counts = rows(f"SELECT ds, count(*) FROM {table.name} WHERE ds > 'a' GROUP BY ds ORDER BY ds")
    assert counts == [("right", 8), ("wrong", 8)]


def test_the_partition_from_which_on_files_lie_in_buckets(
    spark: SparkSession, rows: Rows, adopted: Callable[..., Adopted]
) -> None:
    """It can be set later, and limits what queries go by; what it cannot be is refused when it is set."""
    table = adopted("b2_orc_part")
    set_to = f"ALTER TABLE {table.name} SET TBLPROPERTIES ('bucket-begin-partition' = \"{{}}\")"

    def buckets(where: str) -> tuple[int, int] | None:
        (scan,) = parquetry.explain(f"SELECT * FROM {table.name} WHERE {where}").to_dict()["scans"]
        return next(((s["kept"], s["of"]) for s in scan["steps"] if s["name"] == "buckets"), None)

    def shuffled(where: str) -> bool:
        query = f"SELECT k, count(*) FROM {table.name} WHERE {where} GROUP BY k"
        return shuffles(spark.sql(query)) > 0

    assert buckets("k = 42") == (2, 6)
    assert not shuffled("true")
    spark.sql(set_to.format("2024-01-02"))
    assert buckets("k = 42") == (1, 3)
    assert (shuffled("true"), shuffled("ds = '2024-01-02'")) == (True, False)
    assert rows(f"SELECT count(*) FROM {table.name} WHERE k = 42") == [
        (len([row for row in table.rows if row[1] == "42"]),)
    ]
    spark.sql(set_to.format("ds > '2024-01-02'"))
    assert shuffled("ds = '2024-01-02'")
    with pytest.raises(Exception, match="bucket-begin-partition"):
        spark.sql(f"CREATE TABLE {table.name}_2 (a INT) TBLPROPERTIES ('bucket-begin-partition' = '1')")
