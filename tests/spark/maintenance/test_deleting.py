"""DROP, REPLACE, PURGE and vacuum delete the table's own files and no others; colliding locations are
refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

Rows = Callable[..., list[tuple[Any, ...]]]


def location(rows: Rows, table: str) -> Path:
    """Return the folder of a table."""
    found = {row[0]: row[1] for row in rows(f"DESCRIBE EXTENDED {table}")}
    return Path(found["Location"].removeprefix("file:"))


def tree(folder: Path) -> set[str]:
    """Return all that is below a folder, directories with a slash; links are not followed."""
    found = set()
    for path, folders, files in os.walk(folder):
        here = Path(path).relative_to(folder)
        found |= {f"{here / name}/" for name in folders}
        found |= {str(here / name) for name in files}
    return found


def vacuumed(spark: SparkSession, table: str) -> None:
    """Have a table's earlier versions go."""
    name = table.removeprefix("lake.")
    spark.sql(f"CALL lake.system.vacuum('{name}', current_timestamp(), allow_recent => true)")


def refused(spark: SparkSession, statement: str, says: str) -> None:
    with pytest.raises(AnalysisException, match=says) as caught:
        spark.sql(statement)
    assert caught.value.getCondition() == "PARQUETRY_LOCATION_TAKEN"


# -- places


def test_a_table_called_as_a_databases_folder(
    spark: SparkSession, rows: Rows, db: str, warehouse: Path
) -> None:
    """Table `x.db` in `default` and database `x` have different folders, in any order of creation; dropping
    one leaves the other.
    """
    short = db.removeprefix("lake.")
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    table = f"lake.default.`{short}.DB`"
    spark.sql(f"CREATE TABLE {table} AS SELECT 2 AS a")
    folder = location(rows, table)
    assert folder.parent == warehouse / "lake"
    assert folder.name.startswith(f"{short}.db-")
    before = tree(location(rows, f"{db}.t"))
    spark.sql(f"DROP TABLE {table}")
    assert not folder.exists()
    assert tree(location(rows, f"{db}.t")) == before
    assert rows(f"SELECT a FROM {db}.t") == [(1,)]

    later = f"{short}_later"
    spark.sql(f"CREATE TABLE lake.default.`{later}.db` AS SELECT 3 AS a")
    refused(
        spark,
        f"CREATE DATABASE lake.{later}",
        rf"this is the folder of table default\.{later}\.db, at .*Choose another LOCATION",
    )
    assert (later,) not in rows("SHOW DATABASES IN lake")
    spark.sql(f"CREATE DATABASE lake.{later} LOCATION 'elsewhere/{later}'")
    below = f"{warehouse}/lake/{later}.db/below"
    refused(spark, f"ALTER DATABASE lake.{later} SET LOCATION '{below}'", "above it is the folder of table")
    spark.sql(f"CREATE TABLE lake.{later}.t AS SELECT 4 AS a")
    spark.sql(f"DROP TABLE lake.default.`{later}.db`")
    assert rows(f"SELECT a FROM lake.{later}.t") == [(4,)]
    spark.sql(f"DROP DATABASE lake.{later} CASCADE")


def test_places_that_are_taken(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """A managed table's folder, in any spelling, is refused to tables and partitions; no folder is made, and
    no file is lost.
    """
    spark.sql(f"CREATE TABLE {db}.t PARTITIONED BY (p) AS SELECT 1 AS a, 2 AS p")
    spark.sql(f"CREATE TABLE {db}.e (a int, p int) PARTITIONED BY (p) LOCATION '{tmp_path}/e'")
    folder = location(rows, f"{db}.t")
    (tmp_path / "link").symlink_to(folder)
    before = tree(folder.parent)
    for place in (folder, f"{folder}/p=2", f"{tmp_path}/link/x", f"{folder}/../t/", folder.parent.parent):
        for statement in (
            f"CREATE TABLE {db}.x (a int) LOCATION '{place}'",
            f"CREATE TABLE {db}.x LOCATION '{place}' AS SELECT 1 AS a",
            f"CREATE OR REPLACE TABLE {db}.e LOCATION '{place}' AS SELECT 1 AS a",
            f"ALTER TABLE {db}.e ADD PARTITION (p = 7) LOCATION '{place}'",
        ):
            # the warehouse has the metastore's own folder, too, which is looked for first
            own = "the metastore's own folder"
            taken_by = (
                own
                if place == folder.parent.parent
                else rf"the folder of table {db.removeprefix('lake.')}\.t"
            )
            refused(spark, statement, rf"cannot be at file:/.*{taken_by}, ")
    refused(spark, f"CREATE DATABASE {db}_x LOCATION '{folder}/p=2'", "above it is the folder of table")
    refused(spark, f"CREATE TABLE {db}.x (a int) LOCATION '.'", "this is|below it is")
    assert tree(folder.parent) == before
    assert rows(f"SHOW PARTITIONS {db}.e") == []
    assert [row[1] for row in rows(f"SHOW TABLES IN {db}")] == ["e", "t"]
    # a folder below the database that an external table has taken first
    spark.sql(f"CREATE TABLE {db}.x (a int) USING parquet LOCATION 'y/below'")
    spark.sql(f"CREATE TABLE {db}.y AS SELECT 5 AS a")
    assert location(rows, f"{db}.y").name.startswith("y-")
    spark.sql(f"DROP TABLE {db}.y")
    assert rows(f"SELECT * FROM {db}.t") == [(1, 2)]


def test_a_new_table_that_is_refused_leaves_no_folder(spark: SparkSession, rows: Rows, db: str) -> None:
    """Neither does one whose query fails."""
    spark.sql(f"CREATE TABLE {db}.t (a int)")
    before = tree(location(rows, f"{db}.t").parent)
    for statement in (
        f"CREATE TABLE {db}.T (a int)",
        f"CREATE TABLE {db}.u PARTITIONED BY (p) AS SELECT id, id % 2 AS p, assert_true(id < 15) AS x FROM range(20)",
    ):
        with pytest.raises(PySparkException):
            spark.sql(statement)
    assert tree(location(rows, f"{db}.t").parent) == before


# -- dropping


def test_drop_takes_a_tables_own_and_nothing_else(
    spark: SparkSession, rows: Rows, db: str, tmp_path: Path
) -> None:
    """Adopted files, files of old versions and checksums are deleted; foreign files, and the targets of
    links, stay.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id bigint, p int) PARTITIONED BY (p)")
    folder = location(rows, table)
    spark.range(3).coalesce(1).write.parquet(str(folder / "p=1"))
    spark.range(2).coalesce(1).write.parquet(str(folder / "p=2"))
    spark.range(2).coalesce(1).write.parquet(str(tmp_path / "away"))
    spark.range(1).write.parquet(str(tmp_path / "linked"))
    outside = tree(tmp_path)
    (folder / "p=5").symlink_to(tmp_path / "linked")
    spark.sql(f"MSCK REPAIR TABLE {table}")
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 3) LOCATION '{tmp_path}/away'")
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 1) SELECT 7L")
    spark.sql(f"INSERT INTO {table} VALUES (8, 3), (9, 4)")
    assert rows(f"SELECT count(*) FROM {table}") == [(8,)]
    (folder / "notes").mkdir()
    (folder / "notes" / "README").write_text("x")
    assert tree(tmp_path) > outside  # the table has written to a partition there
    spark.sql(f"DROP TABLE {table} PURGE")
    assert tree(tmp_path) == outside
    strangers = {"p=1/", "p=1/_SUCCESS", "p=1/._SUCCESS.crc", "p=2/", "p=2/_SUCCESS", "p=2/._SUCCESS.crc"}
    assert tree(folder) == {"notes/", "notes/README", "p=5/", *strangers}


def test_drop_namespace_cascade(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """Managed tables are deleted with their files; an external table's files, and other databases in the same
    folder, stay.
    """
    for name in (f"{db}_a", f"{db}_b"):
        spark.sql(f"CREATE DATABASE {name} LOCATION '{tmp_path}/d'")
        spark.sql(f"CREATE TABLE {name}.t PARTITIONED BY (p) AS SELECT 1 AS a, 2 AS p")
    spark.sql(f"CREATE TABLE {db}_a.e LOCATION 'e' AS SELECT 1 AS a")
    ours, theirs = location(rows, f"{db}_a.t"), location(rows, f"{db}_b.t")
    assert ours != theirs
    before = tree(tmp_path)
    spark.sql(f"DROP DATABASE {db}_a CASCADE")
    gone = {name for name in before if f"{tmp_path}/{name}".startswith(f"{ours}/")}
    assert tree(tmp_path) == before - gone
    assert rows(f"SELECT a FROM {db}_b.t") == [(1,)]
    assert spark.read.parquet(f"{tmp_path}/d/e").count() == 1
    spark.sql(f"DROP DATABASE {db}_b CASCADE")


def test_what_cannot_be_deleted_is_told(spark: SparkSession, rows: Rows, db: str) -> None:
    """The table is gone, and the error names what is left and why."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    folder = location(rows, f"{db}.t")
    (checksum,) = folder.glob(".pq-*.crc")
    checksum.unlink()
    (checksum / "in the way").mkdir(parents=True)
    says = f"Table {db.removeprefix('lake.')}.t is gone, but 1 of its files are left: .*cannot be deleted"
    with pytest.raises(AnalysisException, match=says) as caught:
        spark.sql(f"DROP TABLE {db}.t")
    assert caught.value.getCondition() == "PARQUETRY_WAREHOUSE"
    assert rows(f"SHOW TABLES IN {db}") == []


# -- replacing


def test_vacuum_leaves_no_folder_of_what_was_replaced(
    spark: SparkSession, rows: Rows, db: str, tmp_path: Path
) -> None:
    """Vacuum leaves no empty folder of replaced partitions, for an external or a managed table, or at an
    earlier location.
    """
    spark.sql(f"CREATE TABLE {db}.e PARTITIONED BY (p) LOCATION '{tmp_path}/e' AS SELECT 1 AS a, 2 AS p")
    spark.sql(f"INSERT OVERWRITE {db}.e PARTITION (p = 2) SELECT 3")
    spark.sql(
        f"CREATE OR REPLACE TABLE {db}.e PARTITIONED BY (q) LOCATION '{tmp_path}/e' AS SELECT 1 AS a, 5 AS q"
    )
    spark.sql(f"CREATE TABLE {db}.t PARTITIONED BY (p) AS SELECT 1 AS a, 2 AS p")
    folder = location(rows, f"{db}.t")
    spark.sql(f"CREATE OR REPLACE TABLE {db}.t PARTITIONED BY (q) AS SELECT 2 AS b, 3 AS q")
    assert {path.name for path in folder.iterdir()} == {"p=2", "q=3"}
    for name in ("e", "t"):
        vacuumed(spark, f"{db}.{name}")
    ((new,), (managed,)) = (_listed(rows, f"{db}.{name}") for name in ("e", "t"))
    assert tree(tmp_path / "e") == {"q=5/", f"q=5/{new}", f"q=5/.{new}.crc"}
    assert tree(folder) == {"q=3/", f"q=3/{managed}", f"q=3/.{managed}.crc"}
    spark.sql(f"CREATE OR REPLACE TABLE {db}.t LOCATION '{tmp_path}/t' AS SELECT 4 AS c")
    vacuumed(spark, f"{db}.t")
    assert tree(folder) == set()
    assert rows(f"SELECT * FROM {db}.t") == [(4,)]


def _listed(rows: Rows, table: str) -> set[str]:
    return {path.rpartition("/")[2] for (path,) in rows(f"SELECT path FROM {table}.files")}


# -- partitions


def test_a_partition_that_others_own(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """Files outside of a managed table that are one of its partitions survive PURGE and vacuum; the table's
    own are deleted.
    """
    spark.sql(
        f"CREATE TABLE {db}.owner PARTITIONED BY (p) LOCATION '{tmp_path}/owner' AS SELECT 1 AS a, 2 AS p"
    )
    spark.sql("SELECT 5 AS a").coalesce(1).write.parquet(f"{tmp_path}/nobody")
    before = tree(tmp_path)
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (a int, p int) PARTITIONED BY (p)")
    spark.sql(
        f"ALTER TABLE {table} ADD PARTITION (p = 1) LOCATION '{tmp_path}/owner/p=2' "
        f"PARTITION (p = 3) LOCATION '{tmp_path}/nobody'"
    )
    spark.sql(f"INSERT INTO {table} VALUES (6, 1), (7, 3), (8, 4)")
    assert sorted(rows(f"SELECT * FROM {table}")) == [(1, 1), (5, 3), (6, 1), (7, 3), (8, 4)]
    assert {path for path in tree(location(rows, table)) if path.endswith("/")} == {"p=1/", "p=4/"}
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (p = 1) PURGE")
    assert {path for path in tree(location(rows, table)) if path.endswith("/")} == {"p=4/"}
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (p = 3)")
    short = table.removeprefix("lake.")
    spark.sql(f"CALL lake.system.vacuum('{short}', current_timestamp(), allow_recent => true)")
    (live,) = _listed(rows, table)
    assert tree(location(rows, table)) == {"p=4/", f"p=4/{live}", f"p=4/.{live}.crc"}
    assert tree(tmp_path) == before
    assert rows(f"SELECT * FROM {db}.owner") == [(1, 2)]


def test_a_failed_write_leaves_a_link(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """A failed write deletes the files that it wrote through a link to a directory; the link and the other
    files stay.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (a bigint, p int) PARTITIONED BY (p)")
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "theirs").write_text("x")
    folder = location(rows, table)
    (folder / "p=1").symlink_to(tmp_path / "away")
    with pytest.raises(PySparkException, match="USER_RAISED_EXCEPTION"):
        spark.sql(f"INSERT INTO {table} SELECT id + ifnull(assert_true(id < 900), 0), 1 FROM range(1000)")
    assert tree(tmp_path) == {"away/", "away/theirs"}
    assert tree(folder) == {"p=1/"}


# -- vacuum


def test_vacuum_leaves_no_checksum(spark: SparkSession, rows: Rows, db: str) -> None:
    """After a vacuum, the folder has the live files and their checksums, and no others."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} PARTITIONED BY (p) AS SELECT id, id % 2 AS p FROM range(4)")
    spark.sql(f"INSERT OVERWRITE {table} SELECT id, 0L FROM range(3)")
    call = (
        f"CALL lake.system.vacuum('{table.removeprefix('lake.')}', current_timestamp(), allow_recent => true)"
    )
    kinds = [row[0] for row in rows(call)]
    assert kinds.count("data file") == kinds.count("checksum file") == 2
    (live,) = _listed(rows, table)
    assert tree(location(rows, table)) == {"p=0/", f"p=0/{live}", f"p=0/.{live}.crc"}


def test_a_dropped_database_leaves_no_folder(
    spark: SparkSession, db: str, warehouse: Path, tmp_path: Path
) -> None:
    """A dropped database's folder is deleted when it is empty. A folder with any content, or named by
    LOCATION, stays, and so do its neighbours.
    """
    name, lake = f"{db.removeprefix('lake.')}_gone", warehouse / "lake"
    before = tree(lake)
    for cascade in ("", "CASCADE"):
        spark.sql(f"CREATE DATABASE lake.`{name}.x`")
        spark.sql(f"CREATE TABLE lake.`{name}.x`.t AS SELECT 1 AS a")
        assert (lake / f"{name}.x.db" / "t").is_dir()
        if not cascade:
            spark.sql(f"DROP TABLE lake.`{name}.x`.t")
        spark.sql(f"DROP DATABASE lake.`{name}.x` {cascade}")
        assert tree(lake) == before
    spark.sql(f"CREATE DATABASE lake.{name}")
    (lake / f"{name}.db" / "theirs").mkdir(parents=True)
    spark.sql(f"DROP DATABASE lake.{name}")
    assert tree(lake) - before == {f"{name}.db/", f"{name}.db/theirs/"}
    (lake / f"{name}.db" / "theirs").rmdir()
    (lake / f"{name}.db").rmdir()
    spark.sql(f"CREATE DATABASE lake.{name} LOCATION '{tmp_path}'")
    spark.sql(f"DROP DATABASE lake.{name}")
    assert tmp_path.is_dir()
    spark.sql(f"CREATE DATABASE lake.{name}")  # nothing was written yet
    spark.sql(f"DROP DATABASE lake.{name}")
    assert tree(lake) == before
