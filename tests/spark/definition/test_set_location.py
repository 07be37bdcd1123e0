"""ALTER TABLE … SET LOCATION of external tables, compared with Spark's own: rows, folders, versions, and
conflicts with other tables.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry.errors import CommitConflictError
from parquetry.metastore import Transaction, open_metastore
from parquetry.metastore.commits.committer import commit

Rows = Callable[[str], list[tuple[Any, ...]]]


def external(spark: SparkSession, schema: str, root: Path, by: str = "") -> str:
    """Make a table in a database over files that Spark wrote, and return its name; the folder beside it has
    other files.
    """
    for folder, start in (("old", 0), ("new", 10)):
        writer = spark.range(start, start + 3).selectExpr("id", "id % 2 AS p").coalesce(1).write
        (writer.partitionBy(by) if by else writer).parquet(str(root / folder))
    partitioned = f"PARTITIONED BY ({by})" if by else ""
    spark.sql(
        f"CREATE TABLE {schema}.t (id BIGINT, p BIGINT) USING parquet {partitioned} LOCATION '{root}/old'"
    )
    if by or schema.startswith("lake."):
        spark.sql(f"MSCK REPAIR TABLE {schema}.t")
    return f"{schema}.t"


def folders(root: Path) -> dict[str, int]:
    """Return the number of data files in each folder."""
    found: dict[str, int] = {}
    for path in root.rglob("*.parquet"):
        if path.is_file() and path.name[0] not in "._":
            folder = path.parent.relative_to(root).as_posix()
            found[folder] = found.get(folder, 0) + 1
    return found


def test_partitions_stay_and_new_ones_lie_in_the_new_place(
    spark: SparkSession, db: str, stock: str, rows: Rows, tmp_path: Path
) -> None:
    """As in Spark's own table, existing partitions are read and written in their old folders, and older
    versions do not change.
    """
    for schema, root in ((db, tmp_path / "ours"), (stock, tmp_path / "theirs")):
        table = external(spark, schema, root, "p")
        spark.sql(f"ALTER TABLE {table} SET LOCATION '{root}/new'")
        assert sorted(row[0] for row in rows(f"SELECT id FROM {table}")) == [0, 1, 2]
        spark.sql(
            f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM VALUES (20L, 0L), (27L, 7L) AS v(id, p)"
        )
        assert sorted(row[0] for row in rows(f"SELECT id FROM {table}")) == [0, 1, 2, 20, 27]
    assert folders(tmp_path / "ours") == folders(tmp_path / "theirs")
    assert folders(tmp_path / "ours")["new/p=7"] == 1
    assert folders(tmp_path / "ours")["old/p=0"] == 2
    shown = rows(f"SELECT p, replace(location, 'file:', '') FROM {db}.t.partitions ORDER BY p")
    assert shown == [
        (0, f"{root_of(tmp_path)}/old/p=0"),
        (1, f"{root_of(tmp_path)}/old/p=1"),
        (7, f"{root_of(tmp_path)}/new/p=7"),
    ]
    assert sorted(rows(f"SELECT id FROM {db}.t VERSION AS OF 1")) == [(0,), (1,), (2,)]
    assert f"LOCATION 'file:{root_of(tmp_path)}/new'" in rows(f"SHOW CREATE TABLE {db}.t")[0][0]
    # sync reports the files in the new location, and partitions elsewhere keep their rows
    changes = {row[0]: row for row in rows(f"CALL lake.system.sync('{db}.t')")}
    assert sorted(row[0] for row in rows(f"SELECT id FROM {db}.t")) == [0, 1, 2, 20, 27], changes
    assert rows(f"CALL lake.system.fsck(table => '{db}.t')") == []
    spark.sql(f"CALL lake.system.rollback('{db}.t', 1)")
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(0,), (1,), (2,)]
    spark.sql(f"INSERT INTO {db}.t VALUES (30, 8)")
    assert folders(tmp_path / "ours")["old/p=8"] == 1


def root_of(folder: Path) -> Path:
    """Return the folder of our own table."""
    return folder / "ours"


def test_a_table_without_partitions_shows_what_lies_there(
    spark: SparkSession, db: str, stock: str, rows: Rows, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As in Spark's own table, the rows come from the new folder, after a sync adopts its files, as after
    CREATE TABLE.

    No file is deleted, and the table can return to its old location.
    """
    for schema, root in ((db, tmp_path / "ours"), (stock, tmp_path / "theirs")):
        table = external(spark, schema, root)
        assert sorted(row[0] for row in rows(f"SELECT id FROM {table}")) == [0, 1, 2]
        spark.sql(f"ALTER TABLE {table} SET LOCATION '{root}/new'")
        if schema == db:
            assert rows(f"SELECT * FROM {table}") == []
            assert f"which MSCK REPAIR TABLE {db}.t takes in" in caplog.text
            assert "is empty as yet. It has a file" in caplog.text
            spark.sql(f"MSCK REPAIR TABLE {table}")
        assert sorted(row[0] for row in rows(f"SELECT id FROM {table}")) == [10, 11, 12]
        spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ 20L, 0L")
        assert sorted(row[0] for row in rows(f"SELECT id FROM {table}")) == [10, 11, 12, 20]
        spark.sql(f"ALTER TABLE {table} SET LOCATION '{root}/none/yet'")
        assert rows(f"SELECT * FROM {table}") == []
        spark.sql(f"ALTER TABLE {table} SET LOCATION '{root}/old/'")
        if schema == db:
            spark.sql(f"MSCK REPAIR TABLE {table}")  # nothing of it counts as taken out
        assert sorted(row[0] for row in rows(f"SELECT id FROM {table}")) == [0, 1, 2]
    assert folders(tmp_path / "ours") == folders(tmp_path / "theirs") == {"old": 1, "new": 2}


def test_files_of_the_same_name_are_others(spark: SparkSession, db: str, rows: Rows, tmp_path: Path) -> None:
    """A file that was removed in the old location is adopted in the new one, though it is an
    identical copy.
    """
    table = external(spark, db, tmp_path, "p")
    spark.sql(f"DELETE FROM {table} WHERE p = 1")
    (tmp_path / "copy").mkdir()
    for path in sorted((tmp_path / "old").rglob("p=1/*.parquet")):
        target = tmp_path / "copy" / "p=1" / path.name
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
    spark.sql(f"ALTER TABLE {table} SET LOCATION '{tmp_path}/copy'")
    spark.sql(f"MSCK REPAIR TABLE {table}")
    assert sorted(row[0] for row in rows(f"SELECT id FROM {table}")) == [0, 1, 2]


def test_what_cannot_be(spark: SparkSession, db: str, tmp_path: Path, warehouse: Path) -> None:
    """A managed table keeps the location that the catalog chose, and another managed table's location is
    refused.

    A concurrent write conflicts.
    """
    table = external(spark, db, tmp_path)
    spark.sql(f"CREATE TABLE {db}.managed (id BIGINT) USING parquet")
    with pytest.raises(Exception, match=r"managed.*managed: its files are in .*relocate FROM TO"):
        spark.sql(f"ALTER TABLE {db}.managed SET LOCATION '{tmp_path}/new'")
    place = spark.sql(f"DESCRIBE EXTENDED {db}.managed").where("col_name = 'Location'").first()
    assert place is not None
    with pytest.raises(Exception, match="PARQUETRY_LOCATION_TAKEN"):
        spark.sql(f"ALTER TABLE {table} SET LOCATION '{place[1]}/below'")
    with pytest.raises(Exception, match=r"'location' cannot be changed|is a reserved table property"):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('location' = '{tmp_path}/new')")
    assert spark.table(table).count() == 3
    spark.sql(f"INSERT INTO {table} VALUES (7, 7)")
    shutil.copytree(tmp_path / "old", tmp_path / "moved")
    with pytest.raises(
        Exception,
        match=rf"has written files that are in .*moved.*relocate file:{tmp_path}/old file:{tmp_path}/moved",
    ):
        spark.sql(f"ALTER TABLE {table} SET LOCATION '{tmp_path}/moved'")
    assert spark.table(table).count() == 4
    with open_metastore(str(warehouse / "lake")) as metastore:
        snapshot = metastore.table(db.removeprefix("lake."), "t")
        transaction = Transaction(snapshot, "append")
        transaction.append((), [])
        spark.sql(f"ALTER TABLE {table} SET LOCATION '{tmp_path}/new'")
        with pytest.raises(CommitConflictError, match="location"):
            commit(transaction)
