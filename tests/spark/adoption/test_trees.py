"""Trees written by plain Spark and by Hive become tables in place, and sync follows foreign
changes of them.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.errors import ParquetryError

Rows = Callable[[str], list[tuple[Any, ...]]]
_HIVE = Path(__file__).resolve().parents[2] / "fixtures" / "hive-4.0.1"


def actions(found: list[tuple[Any, ...]]) -> set[tuple[str, str | None]]:
    return {(row[0], row[1]) for row in found}


def snapshot(spark: SparkSession, table: str) -> list[tuple[str, int]]:
    """Return what the metastore lists of a table, without Spark."""
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
    files = parquetry.open(str(warehouse)).files(table.removeprefix("lake."))
    return sorted((file.path, file.bytes) for file in files)


def step(query: str, name: str) -> tuple[int, int]:
    (scan,) = parquetry.explain(query).to_dict()["scans"]
    return next((s["kept"], s["of"]) for s in scan["steps"] if s["name"] == name)


@pytest.fixture(scope="module")
def trees(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Trees of plain Spark's by file format: 3 days and NULL, text keys that need escapes, two files in each
    partition.
    """

    @functools.cache
    def make(file_format: str) -> Path:
        place = tmp_path_factory.mktemp("trees") / file_format
        for low in (0, 40):
            rows = spark.range(low, low + 40, 1, 1).selectExpr(
                "CAST(id AS INT) AS id",
                "concat('s', id) AS s",
                "nullif(date_add(DATE'2024-01-01', CAST(id % 4 AS INT)), DATE'2024-01-04') AS day",
                "element_at(array('a=b', 'x/y%', 'plain', NULL), CAST(id % 4 + 1 AS INT)) AS k",
            )
            rows.write.partitionBy("day", "k").mode("append").format(file_format).save(str(place))
        return place

    return make


@pytest.fixture(params=["parquet", "orc"])
def tree(request: pytest.FixtureRequest, trees: Callable[[str], Path], tmp_path: Path) -> tuple[str, Path]:
    """A copy of a tree, and its format."""
    return request.param, shutil.copytree(trees(request.param), tmp_path / "tree")


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("repair", ["MSCK REPAIR TABLE {0}", "CALL lake.system.sync(table => '{1}')"])
def test_a_tree_of_plain_sparks_becomes_a_table(
    spark: SparkSession, db: str, rows: Rows, tree: tuple[str, Path], listed: bool, repair: str
) -> None:
    """CREATE TABLE … LOCATION, with columns or without, then MSCK or sync: the rows are those Spark reads."""
    file_format, place = tree
    columns = "(id int, s string, day date, k string)" if listed else ""
    partitioned = "PARTITIONED BY (day, k)" if listed else ""
    spark.sql(f"CREATE TABLE {db}.t {columns} USING {file_format} {partitioned} LOCATION '{place}'")
    assert spark.table(f"{db}.t").count() == 0
    done = rows(repair.format(f"{db}.t", f"{db}.t".removeprefix("lake.")))
    assert [row[0] for row in done] == ["added"] * 4
    assert {row[2] for row in done} == {2}
    assert sum(row[3] for row in done) == 80
    assert sum(row[4] for row in done) == sum(p.stat().st_size for p in place.rglob(f"*.{file_format}"))
    assert ("added", "day=2024-01-01/k=a%3Db") in actions(done)
    expected = spark.read.format(file_format).load(str(place)).select("id", "s", "day", "k")
    table = spark.table(f"{db}.t").select("id", "s", "day", "k")
    assert sorted(map(tuple, table.collect()), key=str) == sorted(map(tuple, expected.collect()), key=str)
    # statistics came from the footers
    assert step(f"SELECT * FROM {db}.t WHERE id < 40 AND k = 'x/y%'", "files") == (1, 2)
    assert rows(f"SELECT count(*), min(id), max(s) FROM {db}.t WHERE day IS NULL") == [(20, 3, "s79")]
    assert rows(repair.format(f"{db}.t", f"{db}.t".removeprefix("lake."))) == []


def test_sync_finds_what_was_added_changed_and_removed(
    spark: SparkSession, db: str, rows: Rows, tree: tuple[str, Path]
) -> None:
    """A sync finds new, rewritten and deleted files and folders, reports them as rows, and commits them at
    once.
    """
    file_format, place = tree
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} USING {file_format} LOCATION '{place}'")
    spark.sql(f"MSCK REPAIR TABLE {table}")
    shutil.rmtree(place / "day=2024-01-01")
    changed = place / "day=2024-01-02" / "k=x%2Fy%25"
    first, second = sorted(changed.glob(f"*.{file_format}"))
    second.unlink()
    new = spark.range(500, 503, 1, 1).selectExpr("CAST(id AS INT) AS id", "'new' AS s")
    new.write.format(file_format).mode("append").save(str(changed))
    new.write.format(file_format).save(str(place / "day=2024-02-02" / "k=zz"))
    before = snapshot(spark, table)
    told = rows(f"CALL lake.system.sync(table => '{table}', dry_run => true)")
    assert actions(told) == {
        ("gone", "day=2024-01-01/k=a%3Db"),
        ("changed", "day=2024-01-02/k=x%2Fy%25"),
        ("added", "day=2024-02-02/k=zz"),
    }
    assert snapshot(spark, table) == before
    only = rows(
        f"CALL lake.system.sync(table => '{table}', where => \"day > DATE '2024-01-31'\", dry_run => true)"
    )
    assert actions(only) == {("added", "day=2024-02-02/k=zz")}
    assert rows(f"CALL lake.system.sync(table => '{table}')") == told
    expected = spark.read.format(file_format).load(str(place)).select("id", "s", "day", "k").collect()
    found = spark.table(table).select("id", "s", "day", "k").collect()
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert first.exists()
    assert rows(f"CALL lake.system.sync(table => '{table}')") == []


def test_msck_adds_drops_and_syncs_partitions_as_it_is_told(
    spark: SparkSession, db: str, rows: Rows, tree: tuple[str, Path]
) -> None:
    """Plain MSCK and ADD take in only, DROP takes out only, SYNC does both."""
    file_format, place = tree
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} USING {file_format} LOCATION '{place}'")
    spark.sql(f"MSCK REPAIR TABLE {table} ADD PARTITIONS")
    shutil.rmtree(place / "day=2024-01-01")
    shutil.copytree(place / "day=2024-01-02", place / "day=2024-05-05")
    gone, added = ("gone", "day=2024-01-01/k=a%3Db"), ("added", "day=2024-05-05/k=x%2Fy%25")
    listed = lambda: len(rows(f"SHOW PARTITIONS {table}"))  # noqa: E731
    assert listed() == 4
    kept = rows(f"MSCK REPAIR TABLE {table}")
    assert actions(kept) == {gone, added}
    assert any("SYNC PARTITIONS" in str(row[5]) for row in kept if row[0] == "gone")
    assert listed() == 5
    shutil.rmtree(place / "day=2024-05-05")
    shutil.copytree(place / "day=2024-01-02", place / "day=2024-06-06")
    dropped = rows(f"MSCK REPAIR TABLE {table} DROP PARTITIONS")
    assert {action for action, _ in actions(dropped)} == {"gone"}
    assert listed() == 3
    assert ("added", "day=2024-06-06/k=x%2Fy%25") in actions(
        rows(f"MSCK REPAIR TABLE {table} SYNC PARTITIONS")
    )
    assert listed() == 4
    assert spark.table(table).count() == 80


def test_own_files_of_older_versions_are_not_adopted_again(spark: SparkSession, db: str, rows: Rows) -> None:
    """After INSERT OVERWRITE and DELETE, sync does not bring back what the table left behind."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id int, p int) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)")
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 1) VALUES (10)")
    spark.sql(f"DELETE FROM {table} WHERE p = 2")
    for statement in (
        f"CALL lake.system.sync(table => '{table}')",
        f"MSCK REPAIR TABLE {table} SYNC PARTITIONS",
    ):
        assert rows(statement) == []
    assert sorted(rows(f"SELECT id, p FROM {table}")) == [(3, 3), (10, 1)]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_a_data_file_that_somebody_deleted_is_named_and_forgotten_by_sync(
    spark: SparkSession, db: str, rows: Rows, file_format: str
) -> None:
    """A query names the missing file, its table and the remedy; the remedy works."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id int, p int) USING {file_format} PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    path = next(path for path, _ in snapshot(spark, table) if "p=1" in path).removeprefix("file:")
    Path(path).unlink()
    with pytest.raises(Exception, match="PARQUETRY_FILE_MISSING") as caught:
        spark.sql(f"SELECT * FROM {table}").collect()
    text = str(caught.value)
    assert table in text
    assert Path(path).name in text
    remedy = f"CALL lake.system.sync(table => '{table}')"
    assert remedy in text
    assert [row[0] for row in rows(remedy)] == ["changed"]
    assert rows(f"SELECT id FROM {table}") == [(2,)]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize("damage", ["cut", "not a data file", "empty of sense"])
def test_a_damaged_file_is_named_when_read_and_when_adopted(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, file_format: str, damage: str
) -> None:
    """A file cut short or overwritten: reading names it, adopting it names it, and takes it not in."""
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} (id int, p int) USING {file_format} PARTITIONED BY (p) LOCATION '{tmp_path}/t'"
    )
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    path = Path(next(path for path, _ in snapshot(spark, table) if "p=1" in path).removeprefix("file:"))
    whole = path.read_bytes()
    broken = {
        "cut": whole[: len(whole) // 2],
        "not a data file": b"x" * len(whole),
        "empty of sense": whole[:4],
    }[damage]
    path.write_bytes(broken)
    if damage != "cut":  # without a checksum, the file's own format has to show it
        path.with_name(f".{path.name}.crc").unlink()
    with pytest.raises(Exception, match="PARQUETRY_FILE_CORRUPT") as caught:
        spark.sql(f"SELECT * FROM {table} WHERE id > 0").collect()
    assert table in str(caught.value)
    assert path.name in str(caught.value)
    path.write_bytes(whole)
    alien = tmp_path / "t" / "p=7"
    alien.mkdir()
    (alien / f"bad.{file_format}").write_bytes(broken)
    for statement in (
        f"CALL lake.system.sync(table => '{table}', dry_run => true)",
        f"MSCK REPAIR TABLE {table}",
    ):
        told = rows(statement)
        assert actions(told) >= {("added", "p=7"), ("broken", "p=7")}
        (detail,) = [row[5] for row in told if row[0] == "broken"]
        assert f"p=7/bad.{file_format}" in detail
        assert "Remove or restore it" in detail
    assert {path for path, _ in snapshot(spark, table) if "p=7" in path} == set()
    assert sorted(rows(f"SELECT id FROM {table}")) == [(1,), (2,)]


def test_sync_refuses_what_it_cannot_use(spark: SparkSession, db: str) -> None:
    """Unknown tables, columns that are not keys, invalid filters, and a missing location are errors."""
    spark.sql(f"CREATE TABLE {db}.t (id int, p int) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1)")
    for call, code, named in (
        (f"table => '{db}.nope'", "nope", "nope"),
        (f"table => '{db}.t', where => 'id = 1'", "PARQUETRY_FILTER", "id"),
        (f"table => '{db}.t', where => 'p = '", "PARQUETRY_FILTER", "p ="),
        (f"table => '{db}.t', where => 'p = \"x\"'", "PARQUETRY", "x"),
    ):
        with pytest.raises(Exception, match=code) as caught:
            spark.sql(f"CALL lake.system.sync({call})")
        assert named in str(caught.value)
    with pytest.raises(Exception, match=r"system\.nothing"):
        spark.sql("CALL lake.system.nothing()")
    with pytest.raises(Exception, match="sync"):
        spark.sql(f"CALL lake.elsewhere.sync(table => '{db}.t')")
    assert spark.table(f"{db}.t").count() == 1


def test_a_renamed_partition_and_an_empty_one_are_not_taken_for_gone(
    spark: SparkSession, db: str, rows: Rows
) -> None:
    """A renamed partition stays in its folder, and one added empty has none: sync finds nothing to do."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id int, p int) PARTITIONED BY (p)")
    assert rows(f"MSCK REPAIR TABLE {table} SYNC PARTITIONS") == []
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    spark.sql(f"ALTER TABLE {table} PARTITION (p = 1) RENAME TO PARTITION (p = 100)")
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 50)")
    assert rows(f"MSCK REPAIR TABLE {table} SYNC PARTITIONS") == []
    spark.sql(f"INSERT INTO {table} VALUES (3, 1)")
    assert rows(f"CALL lake.system.sync(table => '{table}')") == []
    assert sorted(rows(f"SELECT id, p FROM {table}")) == [(1, 100), (2, 2), (3, 1)]
    assert len(rows(f"SHOW PARTITIONS {table}")) == 4


def test_a_partition_with_a_location_of_its_own_is_followed(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """A folder below the table that is not named for its values is followed; one elsewhere is left alone."""
    table = f"{db}.t"
    for name, low in (("t/p=1", 0), ("t/odd", 10), ("away", 20)):
        spark.range(low, low + 2).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(
            str(tmp_path / name)
        )
    spark.sql(f"CREATE TABLE {table} (id int, p int) PARTITIONED BY (p) LOCATION '{tmp_path}/t'")
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 2) LOCATION '{tmp_path}/t/odd'")
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 3) LOCATION '{tmp_path}/away'")
    assert actions(rows(f"CALL lake.system.sync(table => '{table}')")) == {("added", "p=1")}
    shutil.rmtree(tmp_path / "t" / "odd")
    assert actions(rows(f"CALL lake.system.sync(table => '{table}')")) == {("gone", "p=2")}
    assert sorted(rows(f"SELECT id, p FROM {table}")) == [(0, 1), (1, 1), (20, 3), (21, 3)]


def test_what_belongs_to_no_partition_is_told_and_left_alone(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """Stray files, folders of another shape and keys of another type are rows of the result, not errors."""
    place = tmp_path / "t"
    spark.range(3).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(str(place / "p=1"))
    spark.range(3).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(str(place / "p=word"))
    spark.range(3).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(str(place / "p=1" / "below"))
    (place / "stray.parquet").write_bytes(b"stray")
    (place / "_SUCCESS").touch()
    (place / ".hidden").mkdir()
    spark.sql(f"CREATE TABLE {db}.t (id int, p int) PARTITIONED BY (p) LOCATION '{place}'")
    done = rows(f"CALL lake.system.sync(table => '{db}.t')")
    assert ("added", "p=1") in actions(done)
    ignored = sorted(row[5] for row in done if row[0] == "ignored")
    assert [text.split(":")[0] for text in ignored] == ["p=1/below", "p=word", "stray.parquet"]
    assert spark.table(f"{db}.t").count() == 3


def test_two_folders_of_one_partition_are_not_mixed(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """`p=7` and `p=007` are one partition: one folder is adopted, the other reported, and no row is read
    twice.
    """
    for name, low in (("p=007", 0), ("p=7", 10)):
        spark.range(low, low + 3).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(
            str(tmp_path / "t" / name)
        )
    spark.sql(f"CREATE TABLE {db}.t (id int, p int) PARTITIONED BY (p) LOCATION '{tmp_path}/t'")
    done = rows(f"MSCK REPAIR TABLE {db}.t")
    assert [row[0] for row in done] == ["added", "ignored"]
    assert sorted(rows(f"SELECT id, p FROM {db}.t")) == [(0, 7), (1, 7), (2, 7)]
    spark.sql(f"INSERT INTO {db}.t VALUES (99, 7)")
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(0,), (1,), (2,), (99,)]


def test_a_folder_of_minus_zero_is_read_where_it_lies(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """Plain Spark writes `f=-0.0`, which is the partition 0.0: its files are not looked for in `f=0.0`."""
    for kind in ("double", "float"):
        spark.range(3).coalesce(1).write.parquet(str(tmp_path / kind / "f=-0.0"))
        spark.sql(
            f"CREATE TABLE {db}.{kind}_ (id BIGINT, f {kind}) USING parquet PARTITIONED BY (f) LOCATION '{tmp_path}/{kind}'"
        )
        done = rows(f"CALL lake.system.sync(table => '{db.removeprefix('lake.')}.{kind}_')")
        assert actions(done) == {("added", "f=0.0")}
        assert sorted(rows(f"SELECT id FROM {db}.{kind}_ WHERE f = 0")) == [(0,), (1,), (2,)]
        spark.sql(f"INSERT INTO {db}.{kind}_ VALUES (99, CAST('-0.0' AS {kind}))")
        assert spark.table(f"{db}.{kind}_").count() == 4
        assert rows(f"CALL lake.system.sync(table => '{db.removeprefix('lake.')}.{kind}_')") == []


def test_a_tree_of_hives_becomes_a_table(spark: SparkSession, db: str, rows: Rows, tmp_path: Path) -> None:
    """Hive 4's partitions of date, int, timestamp, decimal and boolean come with the values Hive prints."""
    shutil.copytree(_HIVE / "pv_typed", tmp_path / "pv")
    told = json.loads((_HIVE / "pv_typed.json").read_text())
    spark.sql(
        f"CREATE TABLE {db}.pv (id int, d date, i int, ts timestamp, dc decimal(10,2), b boolean) USING parquet"
        f" PARTITIONED BY (d, i, ts, dc, b) LOCATION '{tmp_path}/pv'"
    )
    done = rows(f"MSCK REPAIR TABLE {db}.pv")
    assert [row[0] for row in done] == ["added"] * 3
    query = (
        "SELECT CAST(id AS STRING), CAST(d AS STRING), CAST(i AS STRING), CAST(ts AS STRING), CAST(dc AS STRING),"
        f" CAST(b AS STRING) FROM {db}.pv"
    )
    expected = [tuple(row) for row in told["rows"] if row[1] is not None]
    # where the boolean is NULL, Hive itself prints true
    expected += [(*row[:5], None) for row in told["rows"] if row[1] is None]
    assert sorted(rows(query), key=str) == sorted(expected, key=str)
    assert rows(f"SELECT id FROM {db}.pv WHERE ts = TIMESTAMP'2024-02-29 12:34:56.5'") == [(1,)]
    assert rows(f"SELECT id FROM {db}.pv WHERE dc = 1.5 AND b") == [(1,)]
    assert rows(f"SELECT id FROM {db}.pv WHERE d IS NULL AND b IS NULL") == [(2,)]
    assert step(f"SELECT id FROM {db}.pv WHERE d < DATE'2000-01-01'", "partitions") == (1, 3)
    spark.sql(
        f"INSERT INTO {db}.pv VALUES (9, DATE'2024-02-29', -5, TIMESTAMP'2024-02-29 12:34:56.5', 1.50, true)"
    )
    assert sorted(rows(f"SELECT id FROM {db}.pv WHERE i = -5")) == [(1,), (9,)]


def test_an_unpartitioned_folder_is_adopted(spark: SparkSession, db: str, rows: Rows, tmp_path: Path) -> None:
    """A folder of files is a table without partitions; files that come and go are found."""
    spark.range(5).coalesce(1).write.parquet(str(tmp_path / "t"))
    spark.sql(f"CREATE TABLE {db}.t USING parquet LOCATION '{tmp_path}/t'")
    assert [row[:4] for row in rows(f"CALL lake.system.sync(table => '{db}.t')")] == [("added", None, 1, 5)]
    spark.range(5, 8).coalesce(1).write.mode("append").parquet(str(tmp_path / "t"))
    assert [row[:4] for row in rows(f"CALL lake.system.sync(table => '{db}.t')")] == [("changed", None, 2, 8)]
    assert sorted(rows(f"SELECT * FROM {db}.t")) == [(n,) for n in range(8)]
    with pytest.raises(Exception, match="no partition columns"):
        spark.sql(f"CALL lake.system.sync(table => '{db}.t', where => 'id = 1')")


def test_a_location_that_is_gone_is_an_error_and_forgets_nothing(
    spark: SparkSession, db: str, tmp_path: Path
) -> None:
    """A vanished folder (a volume not mounted, say) does not empty the table."""
    spark.range(5).coalesce(1).write.parquet(str(tmp_path / "t"))
    spark.sql(f"CREATE TABLE {db}.t USING parquet LOCATION '{tmp_path}/t'")
    spark.sql(f"MSCK REPAIR TABLE {db}.t")
    before = snapshot(spark, f"{db}.t")
    os.rename(tmp_path / "t", tmp_path / "elsewhere")
    for statement in (
        f"MSCK REPAIR TABLE {db}.t SYNC PARTITIONS",
        f"CALL lake.system.sync(table => '{db}.t')",
    ):
        with pytest.raises(Exception, match="PARQUETRY_FILE_MISSING") as caught:
            spark.sql(statement)
        assert str(tmp_path / "t") in str(caught.value)
    assert snapshot(spark, f"{db}.t") == before
    assert not isinstance(caught.value, ParquetryError)
