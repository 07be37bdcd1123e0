"""A warehouse that is copied or moved with its metastore is independent: no statement reads, writes or
deletes in the old location.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.spark.configuration import settings
from tests.support.spark import series

Rows = Callable[[str], list[tuple[Any, ...]]]

TABLES = ("plain", "skewed", "bucketed", "adopted", "d.near", "rolled")


def catalog(spark: SparkSession, name: str, warehouse: Path | str) -> str:
    """Make a catalog known to the running session."""
    for key, value in settings(name, str(warehouse)).items():
        if key.startswith("spark.sql.catalog."):
            spark.conf.set(key, value)
    return name


def full(lake: str, table: str) -> str:
    return f"{lake}.{table}" if "." in table else f"{lake}.default.{table}"


def build(spark: SparkSession, lake: str, folder: Path) -> None:
    """Make a table of each kind, with each location that can be below the warehouse, in all
    forms of a URI.
    """
    spark.sql(f"CREATE TABLE {lake}.default.plain (id INT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(
        f"CREATE TABLE {lake}.default.skewed (id INT, x INT, p INT) USING parquet PARTITIONED BY (p) "
        "SKEWED BY (x) ON (1, 2) STORED AS DIRECTORIES TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"
    )
    spark.sql(
        f"CREATE TABLE {lake}.default.bucketed (id INT, p INT) USING parquet PARTITIONED BY (p) CLUSTERED BY (id) INTO 2 BUCKETS"
    )
    spark.sql(f"CREATE NAMESPACE {lake}.d LOCATION 'file://{folder}/elsewhere'")
    spark.sql(f"CREATE TABLE {lake}.d.near (id INT, p INT) USING parquet PARTITIONED BY (p)")
    for p in (1, 2):
        spark.range(3).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(f"{folder}/theirs/p={p}")
    spark.range(3).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(f"{folder}/third")
    spark.sql(
        f"CREATE TABLE {lake}.default.adopted (id INT, p INT) USING parquet PARTITIONED BY (p) LOCATION 'file:///{folder}/theirs'"
    )
    spark.sql(f"MSCK REPAIR TABLE {lake}.default.adopted")
    spark.sql(f"ALTER TABLE {lake}.default.adopted ADD PARTITION (p = 3) LOCATION '{folder}/third'")
    spark.sql(f"CREATE TABLE {lake}.default.rolled (id INT, p INT) USING parquet PARTITIONED BY (p)")
    for table in ("plain", "bucketed", "rolled", "d.near", "adopted"):
        spark.sql(f"INSERT INTO {full(lake, table)} SELECT id, id % 3 FROM range(30)")
    spark.sql(f"INSERT INTO {lake}.default.skewed SELECT id, id % 4, id % 3 FROM range(30)")
    spark.sql(f"ALTER TABLE {lake}.d.near PARTITION (p = 1) RENAME TO PARTITION (p = 7)")
    spark.sql(f"DELETE FROM {lake}.default.rolled WHERE p = 1")
    spark.sql(f"CALL {lake}.system.rollback('default.rolled', 1)")
    if series.has("views"):
        spark.sql(f"CREATE VIEW {lake}.default.v AS SELECT count(*) AS n FROM {lake}.default.plain")


def content(rows: Rows, lake: str) -> dict[str, list[tuple[Any, ...]]]:
    return {table: sorted(rows(f"SELECT * FROM {full(lake, table)}")) for table in TABLES}


def on_disk(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files but the metastore's."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "_parquetry" not in path.parts
    }


def test_a_copy_and_its_original_go_ways_of_their_own(
    spark: SparkSession, rows: Rows, tmp_path: Path
) -> None:
    """The copy can be read, written, vacuumed, dropped and moved again, and no file of the original is
    touched.
    """
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    one = catalog(spark, "moving_one", first)
    build(spark, one, first)
    before, told = on_disk(first), content(rows, one)
    shutil.copytree(first, second)
    two = catalog(spark, "moving_two", second)
    assert content(rows, two) == told
    if series.has("views"):
        assert rows(f"SELECT * FROM {two}.default.v") == [(30,)]
    for table in TABLES:
        places = rows(f"SELECT location FROM {full(two, table)}.partitions")
        assert places
        assert all(place.startswith(f"file:{second}/") for (place,) in places)
        assert rows(f"CALL {two}.system.fsck('{full(two, table)}')") == []
        files = spark.table(full(two, table)).inputFiles()
        assert all(str(second) in file for file in files)

    for table in ("plain", "bucketed", "rolled", "d.near", "adopted"):
        spark.sql(f"INSERT INTO {full(two, table)} VALUES (100, 1), (100, 9)")
        spark.sql(f"INSERT OVERWRITE {full(two, table)} PARTITION (p = 0) VALUES (200)")
        spark.sql(f"DELETE FROM {full(two, table)} WHERE id = 5")
    spark.sql(f"UPDATE {two}.default.skewed SET id = -id")
    changed = content(rows, two)
    for table in TABLES:
        removed = rows(
            f"CALL {two}.system.vacuum('{full(two, table)}', older_than => current_timestamp(), allow_recent => true)"
        )
        assert all(
            path is None or path.removeprefix("file:").startswith(f"{second}/") for _, path, *_ in removed
        )
        rows(f"CALL {two}.system.sync('{full(two, table)}')")
    assert content(rows, two) == changed
    assert changed != told
    assert (on_disk(first), content(rows, one)) == (before, told)

    second.rename(third)
    three = catalog(spark, "moving_three", third)
    assert content(rows, three) == changed
    with parquetry.open(third) as warehouse:
        assert all(warehouse.fsck(table) == [] for table in TABLES)
    for table in TABLES:
        spark.sql(f"DROP TABLE {full(three, table)}")
    spark.sql(f"DROP NAMESPACE {three}.d")
    assert all("pq-" not in name or name.startswith(("theirs/", "third/")) for name in on_disk(third))
    assert not second.exists()
    assert (on_disk(first), content(rows, one)) == (before, told)


def test_what_lies_outside_is_shared_until_it_is_relocated(
    spark: SparkSession, rows: Rows, tmp_path: Path
) -> None:
    """After `relocate`, the copy looks for the table in its new location; after `claim`, it may
    write there.
    """
    outside = tmp_path / "outside"
    one = catalog(spark, "sharing_one", tmp_path / "one")
    spark.range(3).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(f"{outside}/t/p=1")
    spark.sql(
        f"CREATE TABLE {one}.default.t (id INT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{outside}/t'"
    )
    spark.sql(f"MSCK REPAIR TABLE {one}.default.t")
    spark.sql(f"INSERT INTO {one}.default.t VALUES (7, 2)")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    shutil.copytree(outside, tmp_path / "outside2")
    two = catalog(spark, "sharing_two", tmp_path / "two")
    everything = sorted(rows(f"SELECT * FROM {two}.default.t"))
    with parquetry.open(tmp_path / "two") as warehouse:
        (moved,) = warehouse.relocate(outside, tmp_path / "outside2")
        assert (moved.kind, moved.name, moved.after) == ("table", "default.t", f"file:{tmp_path}/outside2/t")
        warehouse.claim(outside=True)
    before = on_disk(outside)
    spark.sql(f"INSERT OVERWRITE {two}.default.t PARTITION (p = 2) VALUES (8)")
    assert sorted(rows(f"SELECT * FROM {two}.default.t")) == [(0, 1), (1, 1), (2, 1), (8, 2)]
    rows(f"CALL {two}.system.vacuum('default.t', older_than => current_timestamp(), allow_recent => true)")
    spark.sql(f"DROP TABLE {two}.default.t")
    assert on_disk(outside) == before
    assert sorted(rows(f"SELECT * FROM {one}.default.t")) == everything


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "file://{}/"])
def test_two_names_of_one_warehouse(spark: SparkSession, rows: Rows, tmp_path: Path, form: str) -> None:
    """Sessions that reach it by a link, or by another form of its URI, see and write the same tables."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    number = len(form)
    real = catalog(spark, f"real{number}", tmp_path / "real")
    link = catalog(spark, f"link{number}", form.format(tmp_path / "link"))
    spark.sql(f"CREATE TABLE {real}.default.t (id INT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"ALTER TABLE {link}.default.t ADD PARTITION (p = 1) LOCATION '{tmp_path}/real/one'")
    spark.sql(f"ALTER TABLE {real}.default.t ADD PARTITION (p = 2) LOCATION 'file:{tmp_path}/link/two'")
    for lake in (real, link):
        spark.sql(f"INSERT INTO {lake}.default.t VALUES (1, 1), (2, 2), (3, 3)")
    expected = [(1, 1), (1, 1), (2, 2), (2, 2), (3, 3), (3, 3)]
    for lake, name in ((real, "real"), (link, "link")):
        assert sorted(rows(f"SELECT * FROM {lake}.default.t")) == expected
        places = rows(f"SELECT p, location FROM {lake}.default.t.partitions")
        assert sorted(places)[:2] == [(1, f"file:{tmp_path}/{name}/one"), (2, f"file:{tmp_path}/{name}/two")]
        assert rows(f"CALL {lake}.system.fsck('default.t')") == []
    (tmp_path / "link").unlink()
    (tmp_path / "real").rename(tmp_path / "moved")
    moved = catalog(spark, f"moved{number}", tmp_path / "moved")
    assert sorted(rows(f"SELECT * FROM {moved}.default.t")) == expected
