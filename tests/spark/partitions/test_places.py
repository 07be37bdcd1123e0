"""A partition may have another folder than the one named for its values: rows go there, as in Spark's own
tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry.metastore.deletion import table_locations

Rows = Callable[[str], list[tuple[Any, ...]]]


def _files(root: Path) -> dict[str, int]:
    """Return the number of data files in each folder."""
    found: dict[str, int] = {}
    for path in root.rglob("*"):
        if path.is_file() and path.name[0] not in "._":
            folder = path.parent.relative_to(root).as_posix()
            found[folder] = found.get(folder, 0) + 1
    return found


def test_rows_are_written_where_the_partition_lies(
    spark: SparkSession, db: str, stock: str, rows: Rows, tmp_path: Path
) -> None:
    """INSERT INTO and OVERWRITE, static and dynamic, write to the folders of Spark's own table, and return
    its rows.
    """
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    for schema, root in ((db, tmp_path / "ours"), (stock, tmp_path / "theirs")):
        table = f"{schema}.t"
        for folder, month in (("t/month=02", 2), ("t/month=3", 3), ("t/april", 4)):
            spark.range(month, month + 1).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(
                str(root / folder)
            )
        spark.sql(
            f"CREATE TABLE {table} (id INT, month INT) USING parquet PARTITIONED BY (month) LOCATION '{root}/t'"
        )
        if schema == db:
            spark.sql(f"MSCK REPAIR TABLE {table}")
        else:  # where MSCK makes a partition of the text '02', besides which an INSERT makes one of 2
            spark.sql(
                f"ALTER TABLE {table} ADD PARTITION (month = 2) LOCATION '{root}/t/month=02' PARTITION (month = 3)"
            )
        spark.sql(f"ALTER TABLE {table} ADD PARTITION (month = 4) LOCATION '{root}/t/april'")
        spark.sql(
            f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, id FROM VALUES (2), (3), (4), (5) AS v(id)"
        )
    folders = {"t/month=02": 2, "t/month=3": 2, "t/april": 2, "t/month=5": 1}
    assert _files(tmp_path / "ours") == folders == _files(tmp_path / "theirs")
    for schema in (db, stock):
        spark.sql(f"INSERT OVERWRITE {schema}.t PARTITION (month = 2) VALUES (20)")
        spark.sql(f"INSERT OVERWRITE {schema}.t VALUES (40, 4), (60, 6)")
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert sorted(rows(f"SELECT * FROM {db}.t")) == sorted(rows(f"SELECT * FROM {stock}.t"))
    assert set(_files(tmp_path / "ours")) == set(_files(tmp_path / "theirs")) == {*folders, "t/month=6"}
    places = rows(f"SELECT month, replace(location, 'file:', '') FROM {db}.t.partitions")
    assert sorted(places)[:3] == [
        (2, f"{tmp_path}/ours/t/month=02"),
        (3, f"{tmp_path}/ours/t/month=3"),
        (4, f"{tmp_path}/ours/t/april"),
    ]
    told = rows(f"CALL lake.system.sync(table => '{db}.t')")
    assert all(row[0] == "ignored" and "taken out" in row[5] for row in told)
    assert rows(f"CALL lake.system.fsck(table => '{db}.t')") == []
    spark.sql(f"UPDATE {db}.t SET id = -id WHERE month IN (2, 4)")
    assert set(_files(tmp_path / "ours")) == {*folders, "t/month=6"}
    spark.sql(
        f"CALL lake.system.vacuum(table => '{db}.t', older_than => current_timestamp(), allow_recent => true)"
    )
    assert sorted(rows(f"SELECT * FROM {db}.t")) == [(-40, 4), (-20, 2), (3, 3), (3, 3), (5, 5), (60, 6)]


def test_buckets_and_heavy_values_in_a_place_of_its_own(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path
) -> None:
    """Buckets, empty ones too, and directories for heavy values are made below the partition's own place."""
    clauses = {
        "b": "CLUSTERED BY (id) INTO 2 BUCKETS TBLPROPERTIES ('empty-buckets' = 'true', 'bucketing-version' = '1')",
        "h": "SKEWED BY (x) ON (10) STORED AS DIRECTORIES TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
    }
    for name, clause in clauses.items():
        table = f"{db}.{name}"
        (tmp_path / name / "odd").mkdir(parents=True)
        spark.sql(
            f"CREATE TABLE {table} (id INT, x INT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}/{name}' {clause}"
        )
        spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 1) LOCATION '{tmp_path}/{name}/odd'")
        spark.sql(f"INSERT INTO {table} VALUES (2, 10, 1), (4, 10, 1), (6, 11, 1), (4, 10, 2)")
        assert sorted(rows(f"SELECT * FROM {table} WHERE x = 10 AND id = 4")) == [(4, 10, 1), (4, 10, 2)]
        assert sorted(rows(f"SELECT id FROM {table}")) == [(2,), (4,), (4,), (6,)]
        assert rows(f"CALL lake.system.fsck(table => '{table}')") == []
    assert _files(tmp_path / "b") == {"odd": 2, "p=2": 2}
    folders = _files(tmp_path / "h")
    assert {"odd/x=10", "p=2/x=10"} < set(folders)
    assert all(folder.startswith(("odd/", "p=2/")) for folder in folders)


@pytest.mark.parametrize("why", ["many partitions", "another table's", "above the table"])
def test_rows_are_found_where_they_go_elsewhere(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """With very many partitions, or in another table's folder, rows go to the usual folders and are read from
    them.
    """
    if why == "many partitions":
        monkeypatch.setattr(table_locations, "MAX_SEARCHED_PARTITIONS", 1)
    odd = tmp_path / {"many partitions": "t/odd", "another table's": "u/p=9", "above the table": "."}[why]
    odd.mkdir(parents=True, exist_ok=True)
    if why == "another table's":
        spark.sql(f"CREATE TABLE {db}.u (id INT) USING parquet LOCATION '{tmp_path}/u'")
    spark.sql(f"CREATE TABLE {db}.t (id INT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}/t'")
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 1) LOCATION '{odd}' PARTITION (p = 2)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    assert _files(tmp_path) == {"t/p=1": 1, "t/p=2": 1}
    assert sorted(rows(f"SELECT * FROM {db}.t")) == [(1, 1), (2, 2)]


def test_a_place_outside_of_the_table(
    spark: SparkSession, db: str, stock: str, rows: Rows, tmp_path: Path
) -> None:
    """Every statement writes rows to such a folder, as in Spark's own table; a failing statement leaves no
    file in it.
    """
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    for schema, root in ((db, tmp_path / "ours"), (stock, tmp_path / "theirs")):
        spark.range(1).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(f"{root}/away/one")
        table = f"{schema}.t"
        spark.sql(
            f"CREATE TABLE {table} (id INT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{root}/t'"
        )
        spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 1) LOCATION '{root}/away/one' PARTITION (p = 2)")
        spark.sql(f"INSERT INTO {table} VALUES (10, 1), (20, 2), (30, 3)")
    folders = {"away/one": 2, "t/p=2": 1, "t/p=3": 1}
    assert _files(tmp_path / "ours") == folders == _files(tmp_path / "theirs")
    with pytest.raises(Exception, match="on purpose"):
        spark.sql(
            f"INSERT INTO {db}.t SELECT /*+ COALESCE(1) */ IF(id < 5000, id, raise_error('on purpose')), 1 FROM range(5001)"
        )
    assert _files(tmp_path / "ours") == folders
    for schema in (db, stock):
        spark.sql(f"INSERT OVERWRITE {schema}.t PARTITION (p = 1) VALUES (100)")
        spark.sql(f"INSERT INTO {schema}.t VALUES (101, 1)")
        spark.sql(f"INSERT OVERWRITE {schema}.t VALUES (200, 2)")
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert sorted(rows(f"SELECT * FROM {db}.t")) == sorted(rows(f"SELECT * FROM {stock}.t"))
    spark.sql(f"UPDATE {db}.t SET id = -id WHERE p = 1")
    assert sorted(rows(f"SELECT id FROM {db}.t WHERE p = 1")) == [(-101,), (-100,)]
    assert set(_files(tmp_path / "ours")) == set(folders)
    assert {
        Path(row[0].removeprefix("file:")).parent
        for row in rows(f"SELECT path FROM {db}.t.files WHERE p = 1")
    } == {tmp_path / "ours/away/one"}
    assert rows(f"CALL lake.system.fsck(table => '{db}.t')") == []


def _own(folder: Path) -> list[str]:
    """Return the data files that a table of ours has written into a folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and "pq-" in path.name)


@pytest.mark.parametrize("managed", [True, False])
def test_what_is_deleted_outside_of_the_table(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, managed: bool
) -> None:
    """Vacuum, PURGE and DROP delete the files that the table wrote in such a folder and does not need.

    Foreign files stay, and so do live files of an external table.
    """
    away, other = tmp_path / "away", tmp_path / "other"
    for folder in (away, other):
        spark.range(1).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.parquet(str(folder))
    foreign = _files(tmp_path)
    where = "" if managed else f"LOCATION '{tmp_path}/t'"
    spark.sql(f"CREATE TABLE {db}.t (id INT, p INT) USING parquet PARTITIONED BY (p) {where}")
    spark.sql(
        f"ALTER TABLE {db}.t ADD PARTITION (p = 1) LOCATION '{away}' PARTITION (p = 2) LOCATION '{other}'"
    )
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 1) VALUES (3)")
    first = _own(away)
    assert (len(first), len(_own(other))) == (4, 2)  # each with its checksum
    (leftover := away / first[-1].replace(first[-1][-30:-20], "0000000000")).write_bytes(
        b"of a write that died"
    )
    os.utime(leftover, (1e9, 1e9))
    spark.sql(
        f"CALL lake.system.vacuum(table => '{db}.t', older_than => current_timestamp(), allow_recent => true)"
    )
    assert len(_own(away)) == 2
    assert not leftover.exists()
    assert sorted(rows(f"SELECT * FROM {db}.t")) == [(0, 2), (2, 2), (3, 1)]
    spark.sql(f"ALTER TABLE {db}.t DROP PARTITION (p = 2) PURGE")
    assert len(_own(other)) == (0 if managed else 2)
    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 1) VALUES (4)")
    (live,) = (Path(row[0]).name for row in rows(f"SELECT path FROM {db}.t.files"))
    spark.sql(f"DROP TABLE {db}.t")
    assert [name for name in _own(away) if not name.endswith(".crc")] == ([] if managed else [live])
    assert _own(other) == []
    assert {folder: len(list((tmp_path / folder).glob("part-*.parquet"))) for folder in foreign} == foreign
