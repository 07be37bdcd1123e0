"""Each row of a write is in the bucket that its file name says, in one file for each bucket and partition.

The test reads the files without Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from parquetry.hashing.bucket_hash import bucket_ids
from parquetry.locations.file_names import bucket_from_name
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.types import type_text
from tests.support.effort import sampled
from tests.support.hive.values import TYPES, columns, for_arrow
from tests.support.stores.metastores import current_table
from tests.support.stores.rivals import meanwhile
from tests.support.tables.bucket_files import (
    file_table,
    files_by_bucket,
    in_order,
    misplaced,
    set_arrangement,
)
from tests.support.tables.skewed_tables import misplaced as misplaced_in_directories

Rows = Callable[[str], list[tuple[Any, ...]]]
VERSIONS: tuple[Any, ...] = (1, 2, "spark")
NOT_READ_FROM_ORC = ("c_maps", "c_deep")
"""Columns of ORC files whose times before 1677 PyArrow does not read."""


def spread(table: ms.TableSnapshot, ids: list[int]) -> set[int]:
    """Return the buckets that have rows with some values of one bigint column."""
    spec = table.metadata.arrangement.buckets
    assert spec is not None
    return set(bucket_ids(spec.version, spec.count, [pa.array(ids, pa.int64())]).tolist())


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_every_type_lies_where_its_hash_says(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, tmp_path: Path, fmt: str
) -> None:
    """Buckets by each type alone and by all together, in every version, hold the right rows after two
    inserts.
    """
    name = f"{db}.t"
    names = [each for each in TYPES if fmt == "parquet" or each not in NOT_READ_FROM_ORC]
    count = 60
    arrays = [for_arrow(TYPES[each], found) for each, _, found in columns(count, seed=3)]
    parquet.write_table(pa.table([pa.array(range(count)), *arrays], ["id", *TYPES]), tmp_path / "v.parquet")
    given = spark.read.parquet(str(tmp_path / "v.parquet"))
    given.createOrReplaceTempView("given_values")
    listed = ", ".join(f"{each} {type_text(TYPES[each])}" for each in names)
    spark.sql(
        f"CREATE TABLE {name} (id bigint, {listed}, p int) USING {fmt} PARTITIONED BY (p) TBLPROPERTIES ('empty-buckets' = 'false')"
    )
    without_maps = [each for each in names if "'map'" not in str(TYPES[each])]
    specs = [
        ms.BucketSpec((each,), 5, version)
        for version in VERSIONS
        for each in (without_maps if version == "spark" else names)
    ]
    specs = [*sampled(specs, fmt), *(ms.BucketSpec(tuple(without_maps), 7, version) for version in VERSIONS)]
    specs += [ms.BucketSpec(("id",), 3, 2), ms.BucketSpec(("id",), 3, 2, (ms.SortColumn("c_double", True),))]
    transaction = Transaction(current_table(store, name), "make")
    for p, spec in enumerate(specs):
        transaction.add((p,), arrangement=ms.ArrangementSpec(buckets=spec))
    commit(transaction)
    # PyArrow reads no other times, and the ORC library writes times in the second before 1970 one second
    # later (ORC-763).
    not_orc = (
        "c_timestamp < TIMESTAMP '1700-01-01' OR c_timestamp > TIMESTAMP '2200-01-01'"
        " OR unix_micros(c_timestamp) BETWEEN -999999 AND -1"
    )
    chosen = [
        f"if({not_orc}, NULL, c_timestamp)" if each == "c_timestamp" and fmt == "orc" else
        "if(c_date < DATE '1700-01-01', NULL, c_date)" if each == "c_date" and fmt == "orc" else each
        for each in names
    ]  # fmt: skip
    insert = f"INSERT INTO {name} SELECT v.id, {', '.join(chosen)}, cast(p.id AS int) FROM given_values v"
    last = len(specs)  # which has none of its own, nor has the table
    spark.sql(f"{insert} CROSS JOIN range({last + 1}) p WHERE v.id < {count - 1}")
    spark.sql(f"{insert} CROSS JOIN range({last + 1}) p WHERE v.id = {count - 1}")
    table = current_table(store, name)
    assert list(misplaced(table)) == []
    by_bucket = files_by_bucket(table)
    assert by_bucket.pop((last,)) == {None: 2}
    for (p,), counts in by_bucket.items():
        assert len(counts) > 1 or specs[p].columns == ("c_boolean",)
        assert sum(counts.values()) - len(counts) <= 1, specs[p]  # the second insert is one row
    wanted = [(p, count, count * (count - 1) // 2) for p in range(last + 1)]
    assert rows(f"SELECT p, count(*), sum(id) FROM {name} GROUP BY p ORDER BY p") == wanted
    plain = [each for each in without_maps if fmt == "parquet" or each not in ("c_timestamp", "c_date")]
    compared = f"SELECT {', '.join(plain)} FROM"
    assert rows(f"{compared} {name} WHERE p = 0 EXCEPT ALL {compared} {name} WHERE p = {last}") == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bucket_is_one_file_of_each_partition_however_many_tasks_write(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, version: Any
) -> None:
    """5 tasks write one file for each bucket and partition. An insert adds one to each, and each kind of
    overwrite leaves one.
    """
    name = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {name} (id bigint, v string, p int) PARTITIONED BY (p) CLUSTERED BY (id) SORTED BY (v) "
        f"INTO 8 BUCKETS TBLPROPERTIES ('bucketing-version' = '{version}', 'empty-buckets' = 'false')"
    )
    select = "SELECT id, if(id % 7 = 0, NULL, hex(id * 7919)), cast(id % 3 AS int)"
    spark.sql(f"INSERT INTO {name} {select} FROM range(0, 3000, 1, 5)")

    def check(times: int, where: Callable[[int], bool] = lambda _: True) -> None:
        table = current_table(store, name)
        assert list(misplaced(table)) == []
        for (p,), counts in files_by_bucket(table).items():
            assert counts == Counter({bucket: times if where(p) else 2 for bucket in range(8)}), p

    check(1)
    part = current_table(store, name).partition((0,))
    assert part is not None
    assert part.arrangement.buckets == ms.BucketSpec(("id",), 8, version, (ms.SortColumn("v"),))
    assert [bucket_from_name(file.path) for file in part.files] == [file.bucket for file in part.files]
    spark.sql(f"INSERT INTO {name} {select} FROM range(3000, 6000, 1, 5)")
    check(2)
    spark.sql(f"INSERT OVERWRITE {name} PARTITION (p = 1) SELECT id, NULL FROM range(0, 2000, 1, 5)")
    check(1, lambda p: p == 1)
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql(f"INSERT OVERWRITE {name} {select} FROM range(0, 6000, 1, 5) WHERE id % 3 = 2")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    check(1, lambda p: p in (1, 2))
    spark.sql(f"INSERT OVERWRITE {name} {select} FROM range(0, 6000, 1, 5)")
    check(1)
    assert rows(f"SELECT count(*), sum(id) FROM {name}") == [(6000, 17997000)]
    assert rows(f"SELECT id FROM {name} WHERE id IN (5, -1)") == [(5,)]


def test_a_table_without_partitions(spark: SparkSession, db: str, store: ms.Metastore) -> None:
    """CREATE TABLE AS SELECT and DataFrames write buckets: few values, one row and no rows make the same
    number of files.

    A random source is evaluated once.
    """
    spark.sql(
        f"CREATE TABLE {db}.t CLUSTERED BY (id) INTO 16 BUCKETS AS SELECT id, hex(id) h FROM range(0, 999, 1, 5)"
    )
    table = current_table(store, f"{db}.t")
    assert list(misplaced(table)) == []
    assert files_by_bucket(table) == {(): Counter(range(16))}
    spark.sql("SELECT 4711L AS id, 'one' AS h").writeTo(f"{db}.t").append()
    spark.sql("SELECT 1L AS id, 'no' AS h WHERE false").writeTo(f"{db}.t").append()
    table = current_table(store, f"{db}.t")
    (bucket,) = spread(table, [4711])
    assert files_by_bucket(table) == {(): Counter([*range(16), bucket])}
    spark.sql(f"INSERT OVERWRITE {db}.t VALUES (NULL, 'nothing')")
    assert files_by_bucket(current_table(store, f"{db}.t")) == {(): Counter([0])}
    spark.sql(
        f"INSERT OVERWRITE {db}.t SELECT cast(rand() * 1000000 AS bigint), uuid() FROM range(0, 999, 1, 5)"
    )
    table = current_table(store, f"{db}.t")
    assert list(misplaced(table)) == []
    assert files_by_bucket(table) == {(): Counter(range(16))}
    spark.sql(f"INSERT OVERWRITE {db}.t SELECT 1L, 'a' WHERE false")
    assert files_by_bucket(current_table(store, f"{db}.t")) in ({}, {(): Counter()})


def test_equal_values_meet(spark: SparkSession, db: str, rows: Rows, store: ms.Metastore) -> None:
    """Both zeros are in one bucket, and so is each NaN, also within structs and arrays; the stored values do
    not change.
    """
    spark.sql(
        f"CREATE TABLE {db}.t (d double, f float, s struct<x: double>, a array<float>, kind string, p int) "
        "PARTITIONED BY (p) TBLPROPERTIES ('empty-buckets' = 'false')"
    )
    transaction = Transaction(current_table(store, f"{db}.t"), "make")
    specs = [ms.BucketSpec((column,), 64, version) for version in VERSIONS for column in ("d", "f", "s", "a")]
    for p, spec in enumerate(specs):
        transaction.add((p,), arrangement=ms.ArrangementSpec(buckets=spec))
    commit(transaction)
    spark.sql(
        f"INSERT INTO {db}.t SELECT d, float(d), struct(d), array(float(d)), kind, cast(id AS int) FROM VALUES "
        f"(double('0.0'), 'zero'), (double('-0.0'), 'zero'), (double('nan'), 'nan'), (sqrt(double(-1)), 'nan'), (NULL, 'null') "
        f"AS v(d, kind) CROSS JOIN range({len(specs)})"
    )
    table = current_table(store, f"{db}.t")
    found = 0
    for part in table.partitions():
        buckets: dict[str, set[int | None]] = {}
        for file in part.files:
            held = file_table(table, part, file)
            assert len(held) == file.rows
            for kind in held["kind"].to_pylist():
                buckets.setdefault(kind, set()).add(file.bucket)
                found += 1
        assert {len(each) for each in buckets.values()} == {1}, (specs[part.values[0]], buckets)
    assert found == 5 * len(specs)
    assert rows(f"SELECT count(*) FROM {db}.t WHERE cast(d AS string) = '-0.0'") == [(len(specs),)]


@pytest.mark.exhaustive(
    "tests/spark/bucketing/test_rebucket.py::test_partitions_get_the_tables_buckets appends to partitions of "
    "other buckets, and test_histories.py::test_any_history overwrites them"
)
def test_partitions_of_other_buckets_and_orders_get_their_own_rows(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore
) -> None:
    """In a history of counts, columns, versions, orders and no buckets, each append uses its partition's, and
    overwrites use the newest.
    """
    name = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {name} (id bigint, Name string, m decimal(9,2), p int) PARTITIONED BY (p) "
        "TBLPROPERTIES ('empty-buckets' = 'false', 'sort-by' = 'm')"
    )
    select = (
        "SELECT id, if(id % 5 = 0, NULL, concat('n', id % 11)), if(id % 13 = 0, NULL, id * 37 % 101 / 10), "
    )
    sorts = (ms.SortColumn("Name", True), ms.SortColumn("id"))
    history = [
        None,
        ms.BucketSpec(("id",), 4),
        ms.BucketSpec(("id",), 6, 1, sorts),
        ms.BucketSpec(("Name", "id"), 4, "spark", (ms.SortColumn("m"),)),
        ms.BucketSpec(("m",), 3, 2, sorts[:1]),
        None,
        ms.BucketSpec(("id",), 4, 2, (ms.SortColumn("id", True),)),
    ]
    for p, spec in enumerate(history):
        set_arrangement(store, name.removeprefix("lake."), ms.ArrangementSpec(buckets=spec))
        spark.sql(f"INSERT INTO {name} {select} {p} FROM range(0, 200, 1, 3)")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN Name TO called")
    spark.sql(f"INSERT INTO {name} {select} cast(id % 8 AS int) FROM range(200, 1800, 1, 3)")
    table = current_table(store, name)
    assert list(misplaced(table)) == []
    specs = {part.values[0]: part.arrangement.buckets for part in table.partitions()}
    assert specs == {**dict(enumerate(history)), 7: history[-1]}
    for (p,), counts in files_by_bucket(table).items():
        assert max(counts.values()) == (1 if p == 7 else 2), p
        assert len(counts) == (1 if specs[p] is None else specs[p].count), p
    content = rows(f"SELECT count(*), sum(id), sum(m), count(called) FROM {name}")
    assert content[0][:2] == (3000, sum(range(1800)) + 6 * sum(range(200)))
    for part in table.partitions():
        if specs[part.values[0]] is None:  # sort-by alone
            for file in part.files:
                assert in_order(file_table(table, part, file), [ms.SortColumn("m")])
    spark.sql(f"INSERT OVERWRITE {name} PARTITION (p = 2) {select.removesuffix(', ')} FROM range(100)")
    assert list(misplaced(current_table(store, name))) == []
    (part,) = [each for each in current_table(store, name).partitions() if each.values == (2,)]
    assert part.arrangement.buckets == history[-1]
    assert sorted(file.bucket for file in part.files if file.bucket is not None) == [0, 1, 2, 3]


FILLED = ((1, None, True), (2, None, False), (2, "true", True), (1, "false", False))
"""Versions of the hash, values of `empty-buckets`, and whether files are written for empty buckets then."""


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_an_empty_bucket_gets_a_file(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, fmt: str
) -> None:
    """Version 1 writes an empty file for each empty bucket of a partition, and other versions none, unless a
    setting says otherwise.

    Queries read all of them as empty.
    """
    few = sampled(FILLED, fmt) if fmt == "orc" else FILLED
    for version, given, filled in few:
        setting = "" if given is None else f", 'empty-buckets' = '{given}'"
        spark.sql(
            f"CREATE OR REPLACE TABLE {db}.t (id bigint, h string, p int) USING {fmt} PARTITIONED BY (p) CLUSTERED BY (id) "
            f"SORTED BY (h) INTO 16 BUCKETS TBLPROPERTIES ('bucketing-version' = '{version}'{setting})"
        )
        name = f"{db}.t"
        spark.sql(f"INSERT INTO {name} SELECT id, hex(id), cast(id % 2 AS int) FROM range(10)")
        table = current_table(store, name)
        assert list(misplaced(table)) == []
        held = {p: spread(table, [i for i in range(10) if i % 2 == p]) for p in (0, 1)}
        for (p,), counts in files_by_bucket(table).items():
            assert counts == Counter(range(16) if filled else held[p])
        assert table.totals.rows == 10
        empty = [file for part in table.partitions() for file in part.files if not file.rows]
        assert len(empty) == (32 - sum(map(len, held.values())) if filled else 0)
        assert all(file.bytes for file in empty)
        assert rows(f"SELECT count(*), sum(id), max(h), min(id) FROM {name}") == [(10, 45, "9", 0)]
        assert rows(f"SELECT sum(id), max(h) FROM {name} WHERE length(h) = 1") == [(45, "9")]
        assert rows(f"SELECT id FROM {name} WHERE id IN (7, 11)") == [(7,)]
        spark.sql(f"INSERT INTO {name} VALUES (7, 'again', 1), (7, 'new', 2)")
        (bucket,) = spread(table, [7])
        table = current_table(store, name)
        assert list(misplaced(table)) == []
        after = files_by_bucket(table)
        assert after[1,] == Counter([*(range(16) if filled else held[1]), bucket])
        assert after[2,] == Counter(range(16) if filled else [bucket])


@pytest.mark.parametrize("skewed", ["ON (10, 20)", "ON AUTO"])
def test_directories_for_heavy_values_have_buckets(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, skewed: str
) -> None:
    """Under relaxed rules each directory has one file for each bucket, also for empty ones.

    Heavy values are measured if a property says so.
    """
    name = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {name} (id bigint, x int, p int) PARTITIONED BY (p) SKEWED BY (x) {skewed} STORED AS DIRECTORIES "
        "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed', 'auto-skew-share' = '0.2')"
    )
    skew = current_table(store, name).metadata.arrangement.skew
    spec = ms.BucketSpec(("id",), 4, 1, (ms.SortColumn("id", True),))
    set_arrangement(store, name.removeprefix("lake."), ms.ArrangementSpec(skew, spec))
    values = "CASE WHEN id % 3 = 0 THEN 10 WHEN id % 3 = 1 THEN 20 ELSE cast(id AS int) END"
    spark.sql(f"INSERT INTO {name} SELECT id, {values}, cast(id % 2 AS int) FROM range(0, 600, 1, 3)")
    spark.sql(f"INSERT INTO {name} SELECT id, 10, 2 FROM range(1)")
    table = current_table(store, name)
    assert list(misplaced(table)) == []
    assert list(misplaced_in_directories(table)) == []
    for part in table.partitions():
        places = Counter((file.cell, file.bucket) for file in part.files)
        cells = (-1, 0, 1) if part.values != (2,) else (0,)
        assert places == Counter((cell, bucket) for cell in cells for bucket in range(4))
    spark.sql(f"INSERT INTO {name} SELECT id, {values}, cast(id % 2 AS int) FROM range(600, 1200, 1, 3)")
    table = current_table(store, name)
    assert list(misplaced(table)) == list(misplaced_in_directories(table)) == []
    assert {len(part.files) for part in table.partitions()} == {18, 4}
    assert rows(f"SELECT count(*), sum(id) FROM {name} WHERE x = 10 AND p < 2") == [(400, 239400)]


def test_settings_of_files_hold_within_buckets(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore
) -> None:
    """A bucket larger than the target size has several sorted files. Without clustering it still has one for
    all tasks.
    """
    name = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {name} (id bigint, h string) CLUSTERED BY (id) SORTED BY (h) INTO 2 BUCKETS "
        "TBLPROPERTIES ('target-file-size' = '64kb', 'distribution' = 'none', 'compression' = 'none')"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, sha2(string(id), 256) FROM range(0, 10000, 1, 5)")
    table = current_table(store, name)
    assert list(misplaced(table)) == []
    counts = files_by_bucket(table)[()]
    assert set(counts) == {0, 1}
    assert min(counts.values()) > 2
    assert max(file.bytes for part in table.partitions() for file in part.files) < 200_000
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('target-file-size' = '64mb')")
    spark.sql(f"INSERT OVERWRITE {name} SELECT id, sha2(string(id), 256) FROM range(0, 10000, 1, 5)")
    assert files_by_bucket(current_table(store, name)) == {(): Counter([0, 1])}


def test_others_who_change_the_buckets_meanwhile_make_it_conflict(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore
) -> None:
    """Rows written for other buckets than the partition has by now are not committed, and leave no trace."""
    name = f"{db}.t"
    spark.sql(f"CREATE TABLE {name} (id bigint, p int) PARTITIONED BY (p) CLUSTERED BY (id) INTO 4 BUCKETS")
    spark.sql(f"INSERT INTO {name} SELECT id, 0 FROM range(100)")

    def change() -> None:
        table = current_table(store, name)
        transaction = Transaction(table, "other")
        transaction.replace((0,), (), arrangement=ms.ArrangementSpec(buckets=ms.BucketSpec(("id",), 8)))
        commit(transaction)

    with meanwhile(change), pytest.raises(AnalysisException, match="PARQUETRY_COMMIT_CONFLICT"):
        spark.sql(f"INSERT INTO {name} SELECT id, 0 FROM range(100, 200)")
    assert rows(f"SELECT count(*) FROM {name}") == [(0,)]
    spark.sql(f"INSERT INTO {name} SELECT id, 0 FROM range(100, 200)")
    table = current_table(store, name)
    assert list(misplaced(table)) == []
    assert files_by_bucket(table) == {(0,): Counter(range(8))}
    location = Path(table.metadata.location.removeprefix("file:"))
    assert len(list(location.rglob("*.parquet"))) == 4 + 8
