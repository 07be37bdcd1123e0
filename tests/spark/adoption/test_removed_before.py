"""A file that the table removed on purpose stays out when a sync adopts foreign files, until it is readopted
or changes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from parquetry.adoption.compare import Difference
from parquetry.adoption.sync import synchronise
from parquetry.data_files import IdsInFile
from parquetry.data_files.footers.footer_reader import ArrowFooters
from parquetry.metastore import Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store.opening import open_store

Rows = Callable[[str], list[tuple[Any, ...]]]
Found = list[tuple[Any, ...]]
Snapshot = Callable[[str], TableSnapshot]

OPERATIONS = {
    "overwrite a partition": "INSERT OVERWRITE {t} PARTITION (ds = 'a') VALUES (100)",
    "overwrite dynamically": "INSERT OVERWRITE {t} VALUES (100, 'a')",
    "overwrite by nothing": "INSERT OVERWRITE {t} PARTITION (ds = 'a') SELECT 1 WHERE false",
    "replace where": "INSERT INTO {t} REPLACE WHERE ds = 'a' VALUES (100, 'a')",
    "delete": "DELETE FROM {t} WHERE ds = 'a'",
    "drop partition": "ALTER TABLE {t} DROP PARTITION (ds = 'a')",
    "purge partition": "ALTER TABLE {t} DROP PARTITION (ds = 'a') PURGE",
    "truncate partition": "TRUNCATE TABLE {t} PARTITION (ds = 'a')",
}
WHOLE = {
    "overwrite": "INSERT OVERWRITE {t} VALUES (100, 'z')",
    "truncate": "TRUNCATE TABLE {t}",
    "delete": "DELETE FROM {t}",
    "create or replace": "CREATE OR REPLACE TABLE {t} USING {f} PARTITIONED BY (ds) LOCATION '{place}'"
    " AS SELECT 100 AS id, 'z' AS ds",
    "replace by an empty table": "REPLACE TABLE {t} (id INT, ds STRING) USING {f} PARTITIONED BY (ds)"
    " LOCATION '{place}'",
}


def write(folder: Path, *ids: int, file_format: str = "parquet") -> Path:
    """Write rows as somebody else does; return the new file."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"part-{uuid4()}.{file_format}"
    found = pa.table({"id": pa.array(ids, pa.int32())})
    {"parquet": pq.write_table, "orc": po.write_table}[file_format](found, str(made))
    return made


def sync(rows: Rows, table: str, *more: str) -> Found:
    arguments = ", ".join([f"table => '{table}'", *more])
    return rows(f"CALL lake.system.sync({arguments})")


def told(found: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return action, partition and number of files of each row."""
    return [tuple(row[:3]) for row in found]


def found_by(sync: list[Difference]) -> list[tuple[Any, ...]]:
    """Return action, partition and number of files of each difference."""
    return [(found.action, found.partition, found.files) for found in sync]


def ids(rows: Rows, table: str) -> list[int]:
    return sorted(row[0] for row in rows(f"SELECT id FROM {table}"))


@pytest.fixture
def snapshot(warehouse: Path) -> Iterator[Snapshot]:
    """A table as it is now, for somebody who has begun to look."""
    with closing(open_store(None, str(warehouse / "lake"))) as store:
        yield lambda table: Metastore(store, str(warehouse / "lake")).table(*table.split(".")[1:])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of the foreign files."""
    return tmp_path / "tree"


@pytest.fixture
def adopt(spark: SparkSession, db: str, rows: Rows, place: Path) -> Callable[..., str]:
    """Make a tree `ds=a` with row 1, `ds=b` with row 2, and a table of it."""
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")

    def make(file_format: str = "parquet") -> str:
        for n, name in enumerate("ab", 1):
            write(place / f"ds={name}", n, file_format=file_format)
        spark.sql(
            f"CREATE TABLE {db}.t (id INT, ds STRING) USING {file_format} PARTITIONED BY (ds) LOCATION '{place}'"
        )
        assert told(sync(rows, f"{db}.t")) == [("added", "ds=a", 1), ("added", "ds=b", 1)]
        return f"{db}.t"

    return make


@pytest.fixture(autouse=True)
def static(spark: SparkSession) -> Any:
    """Leave the session as it was."""
    yield
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


@pytest.mark.parametrize("repair", ["MSCK REPAIR TABLE {t}", "CALL lake.system.sync(table => '{t}')"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_sync_leaves_out_what_was_taken_out(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], operation: str, repair: str
) -> None:
    """After any operation that removed a partition's file, a sync reports the file, and changes nothing."""
    file_format = "orc" if operation == "overwrite a partition" else "parquet"
    table = adopt(file_format)
    if operation == "overwrite by nothing":
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
    spark.sql(OPERATIONS[operation].format(t=table))
    before, version = ids(rows, table), rows(f"CALL lake.system.history(table => '{table}')")[0][0]
    assert 1 not in before
    for _ in range(2):
        (row,) = rows(repair.format(t=table))
        assert row[:3] == ("ignored", "ds=a", 1)
        assert row[5].startswith("ds=a/part-")
        assert f"taken out in version {version}" in row[5]
        assert "readopt => true" in row[5]
        assert ids(rows, table) == before
    assert rows(f"CALL lake.system.history(table => '{table}')")[0][0] == version


@pytest.mark.parametrize("operation", WHOLE)
def test_a_sync_leaves_out_what_a_whole_table_took_out(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path, operation: str
) -> None:
    """The same for what empties or replaces the whole table."""
    table = adopt()
    write(place / "ds=b", 3)
    sync(rows, table)
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
    spark.sql(WHOLE[operation].format(t=table, place=place, f="parquet"))
    before = ids(rows, table)
    assert before in ([], [100])
    found = sync(rows, table)
    assert told(found) == [("ignored", None, 3)]
    assert "3 files in 2 folders, such as ds=a/part-" in found[0][5]
    assert ": taken out in version" in found[0][5]
    assert ids(rows, table) == before


def test_readopt_takes_in_again_what_was_taken_out(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path
) -> None:
    """`readopt` adopts removed files: a dry run changes nothing, then one partition returns, then the others.

    Afterwards no file counts as removed.
    """
    table = adopt()
    version = rows(f"CALL lake.system.history(table => '{table}')")[0][0]
    spark.sql(f"INSERT OVERWRITE {table} VALUES (100, 'a')")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (ds = 'b')")
    tried = sync(rows, table, "readopt => true", "dry_run => true")
    assert told(tried) == [("added", "ds=b", 1), ("changed", "ds=a", 2)]
    assert ids(rows, table) == [100]
    only_b = "where => 'ds = \"b\"'"
    assert told(sync(rows, table, only_b)) == [("ignored", "ds=b", 1)]
    assert told(sync(rows, table, only_b, "readopt => true")) == [("added", "ds=b", 1)]
    assert ids(rows, table) == [2, 100]
    assert told(sync(rows, table)) == [("ignored", "ds=a", 1)]
    assert told(sync(rows, table, "readopt => true")) == [("changed", "ds=a", 2)]
    assert ids(rows, table) == [1, 2, 100]
    assert sync(rows, table) == []
    # a file that is removed a second time stays out again, and is reported with the later version
    spark.sql(f"DELETE FROM {table} WHERE ds = 'b'")
    (row,) = sync(rows, table)
    assert f"taken out in version {version + 5}." in row[5]
    (ds_a,) = place.glob("ds=a/part-*")
    assert ds_a.exists()


@pytest.mark.parametrize("change", ["size", "time", "rewritten", "deleted and made again"])
@pytest.mark.parametrize("operation", ["overwrite dynamically", "drop partition", "truncate partition"])
def test_a_file_that_changed_since_is_taken_in(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path, operation: str, change: str
) -> None:
    """A file of another size or time under the same name is new data. So is a file that returns after a sync
    saw that it was missing.
    """
    table = adopt()
    spark.sql(OPERATIONS[operation].format(t=table))
    before = ids(rows, table)
    is_new = operation == "drop partition" and change != "deleted and made again"
    (file,) = (place / "ds=a").glob("part-*")
    was = file.stat()
    fresh = write(place.parent / "fresh", 7, 8, 9)
    if change == "time":
        os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns + 2_000_000_000))
        expected = [1]
    elif change == "deleted and made again":
        aside = shutil.move(file, place.parent / "aside")
        empty = [("added", "ds=a", 0)] if operation == "drop partition" else []  # the folder exists
        assert told(sync(rows, table)) == empty
        shutil.move(aside, file)
        assert file.stat().st_mtime_ns == was.st_mtime_ns
        expected = [1]
    else:
        data = fresh.read_bytes()
        file.write_bytes(data)
        if change == "size":
            os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
            assert file.stat().st_size != was.st_size
        expected = [7, 8, 9]
    (row,) = sync(rows, table)
    assert row[0] == ("added" if is_new else "changed")
    assert ids(rows, table) == sorted(before + expected)
    assert sync(rows, table) == []


def test_a_rollback_brings_files_and_records_back(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str]
) -> None:
    """A file is live again where it was, taken out where it was, and new where the table had not met it."""
    table = adopt()
    spark.sql(f"DELETE FROM {table} WHERE ds = 'a'")
    spark.sql(f"CALL lake.system.rollback(table => '{table}', version => 1)")
    assert ids(rows, table) == [1, 2]
    assert sync(rows, table) == []
    spark.sql(f"CALL lake.system.rollback(table => '{table}', version => 2)")
    assert ids(rows, table) == [2]
    assert told(sync(rows, table)) == [("ignored", "ds=a", 1)]
    spark.sql(f"CALL lake.system.rollback(table => '{table}', version => 0)")
    assert ids(rows, table) == []
    assert told(sync(rows, table)) == [("added", "ds=a", 1), ("added", "ds=b", 1)]
    assert ids(rows, table) == [1, 2]


def test_operations_add_up(spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path) -> None:
    """Files of one partition that were removed at different times are reported in one row; new files beside
    them are adopted.
    """
    table = adopt()
    spark.sql(f"TRUNCATE TABLE {table} PARTITION (ds = 'a')")
    write(place / "ds=a", 3)
    assert told(sync(rows, table)) == [("changed", "ds=a", 1), ("ignored", "ds=a", 1)]
    spark.sql(f"INSERT INTO {table} VALUES (4, 'a')")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (ds = 'a')")
    spark.sql(f"INSERT INTO {table} VALUES (5, 'a')")
    (row,) = rows(f"MSCK REPAIR TABLE {table} SYNC PARTITIONS")
    assert row[:3] == ("ignored", "ds=a", 2)
    assert row[5].startswith("ds=a: 2 files taken out in versions 2 to 5.")
    assert ids(rows, table) == [2, 5]


def test_add_partition_takes_a_dropped_one_in_again(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path
) -> None:
    """ADD PARTITION lists the files in the folder, as it always did; a sync then has nothing to report."""
    table = adopt()
    for add in ("(ds = 'a')", f"(ds = 'c') LOCATION '{place}/ds=a'"):
        spark.sql(f"ALTER TABLE {table} DROP PARTITION (ds = 'a')")
        assert told(sync(rows, table)) == [("ignored", "ds=a", 1)]
        spark.sql(f"ALTER TABLE {table} ADD PARTITION {add}")
        assert ids(rows, table) == [1, 2]
        assert sync(rows, table) == []
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (ds = 'c')")
    assert told(sync(rows, table)) == [("ignored", "ds=a", 1)]


def test_a_rename_takes_nothing_out(spark: SparkSession, rows: Rows, adopt: Callable[..., str]) -> None:
    """A renamed partition keeps its files, and a renamed table its records. Files removed later are recorded
    by their location.
    """
    table = adopt()
    spark.sql(f"ALTER TABLE {table} PARTITION (ds = 'a') RENAME TO PARTITION (ds = 'z')")
    assert sync(rows, table) == []
    spark.sql(f"DELETE FROM {table} WHERE ds = 'z'")
    spark.sql(f"ALTER TABLE {table} RENAME TO {table.removeprefix('lake.')}2")
    assert told(sync(rows, f"{table}2")) == [("ignored", "ds=a", 1)]
    assert ids(rows, f"{table}2") == [2]


def test_files_are_told_apart_by_their_paths(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path, warehouse: Path
) -> None:
    """If a file elsewhere is live, and a file of the same name in the partition's folder was removed, the
    latter stays out.
    """
    table = adopt()
    (taken,) = (place / "ds=a").glob("part-*")
    elsewhere = place.parent / "elsewhere" / taken.name
    elsewhere.parent.mkdir()
    shutil.copy(taken, elsewhere)
    spark.sql(f"DELETE FROM {table} WHERE ds = 'a'")
    with ms.open_metastore(str(warehouse / "lake")) as metastore:
        transaction = Transaction(metastore.table(*table.split(".")[1:]), "append")
        transaction.append(
            ("a",),
            [
                ms.FileRecord(
                    f"file:{elsewhere}", elsewhere.stat().st_size, 1, field_ids=int(IdsInFile.ABSENT)
                )
            ],
        )
        commit(transaction)
    for _ in range(2):
        assert told(sync(rows, table)) == [("ignored", "ds=a", 1)]
        assert ids(rows, table) == [1, 2]


def test_what_a_sync_takes_out_itself_may_come_back(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path
) -> None:
    """A file that was gone from disk, or rewritten, was not taken out on purpose."""
    table = adopt()
    (file,) = (place / "ds=a").glob("part-*")
    aside = shutil.move(place / "ds=a", place.parent / "aside")
    assert told(sync(rows, table)) == [("gone", "ds=a", 1)]
    shutil.move(aside, place / "ds=a")
    assert told(sync(rows, table)) == [("added", "ds=a", 1)]
    aside = shutil.move(file, place.parent / "one")
    assert told(sync(rows, table)) == [("changed", "ds=a", 0)]
    shutil.move(aside, file)
    assert told(sync(rows, table)) == [("changed", "ds=a", 1)]
    assert ids(rows, table) == [1, 2]


def test_an_unpartitioned_table_and_a_new_table_of_the_same_folder(
    spark: SparkSession, db: str, rows: Rows, place: Path
) -> None:
    """The same without partition columns; a dropped table forgets, a replaced one does not."""
    write(place, 1)
    write(place, 2)
    table = f"{db}.t"
    create = f"TABLE {table} (id INT) USING parquet LOCATION '{place}'"
    spark.sql(f"CREATE {create}")
    assert told(sync(rows, table)) == [("added", None, 2)]
    spark.sql(f"INSERT OVERWRITE {table} VALUES (100)")
    (row,) = sync(rows, table)
    assert row[:3] == ("ignored", None, 2)
    assert row[5].startswith(".: 2 files taken out in version 2.")
    write(place, 3)
    assert told(sync(rows, table)) == [("changed", None, 2), ("ignored", None, 2)]
    assert ids(rows, table) == [3, 100]
    spark.sql(f"CREATE OR REPLACE {create}")
    assert told(sync(rows, table)) == [("ignored", None, 3)]
    assert ids(rows, table) == []
    spark.sql(f"DROP TABLE {table}")
    spark.sql(f"CREATE {create}")
    assert told(sync(rows, table)) == [("added", None, 3)]
    assert ids(rows, table) == [1, 2, 3]


def test_a_managed_table_passes_over_what_vacuum_has_not_deleted_yet(
    spark: SparkSession, db: str, rows: Rows, warehouse: Path
) -> None:
    """Vacuum deletes foreign files that were removed from a managed table, and then no record of them
    remains.
    """
    table = f"{db}.m"
    spark.sql(f"CREATE TABLE {table} (id INT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1)")
    ((location,),) = rows(f"SELECT DISTINCT location FROM {table}.partitions")
    folder = Path(location.removeprefix("file:"))
    write(folder, 2)
    assert told(sync(rows, table)) == [("changed", "p=1", 2)]
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 1) VALUES (3)")
    assert told(sync(rows, table)) == [("ignored", "p=1", 1)]
    spark.sql(
        f"CALL lake.system.vacuum(table => '{table}', older_than => current_timestamp(), allow_recent => true)"
    )
    assert not list(folder.glob("part-*.parquet"))
    assert sync(rows, table) == []
    assert ids(rows, table) == [3]


def test_two_who_adopt_one_file_at_once_list_it_once(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path, snapshot: Snapshot
) -> None:
    """Two syncs that looked at one version, with new, changed and unchanged partitions, both succeed; no row
    is doubled.
    """
    table = adopt()
    seen = snapshot(table)
    for name, number in (("b", 3), ("c", 4), ("d", 5)):
        write(place / f"ds={name}", number)
    found = [("added", "ds=c", 1), ("added", "ds=d", 1), ("changed", "ds=b", 2)]
    assert found_by(synchronise(seen, ArrowFooters())) == found
    assert synchronise(seen, ArrowFooters()) == []
    assert rows(f"SELECT ds, id FROM {table} ORDER BY id") == [
        ("a", 1),
        ("b", 2),
        ("b", 3),
        ("c", 4),
        ("d", 5),
    ]
    assert rows(f"SELECT count(*) FROM {table}") == [(5,)]


@pytest.mark.parametrize(
    "meanwhile",
    [
        ("ALTER TABLE {t} ADD PARTITION (ds = 'c')",),
        ("MSCK REPAIR TABLE {t}", "ALTER TABLE {t} PARTITION (ds = 'c') RENAME TO PARTITION (ds = 'z')"),
        ("MSCK REPAIR TABLE {t}", "INSERT INTO {t} VALUES (9, 'c')"),
    ],
)
def test_a_sync_lists_no_file_that_was_taken_in_since_it_looked(
    spark: SparkSession,
    rows: Rows,
    adopt: Callable[..., str],
    place: Path,
    snapshot: Snapshot,
    meanwhile: tuple[str, ...],
) -> None:
    """Whichever statement took a file in meanwhile, also if its partition was renamed since."""
    table = adopt()
    seen = snapshot(table)
    write(place / "ds=c", 3)
    for statement in meanwhile:
        spark.sql(statement.format(t=table))
    before = ids(rows, table)
    assert before.count(3) == 1
    synchronise(seen, ArrowFooters())
    assert ids(rows, table) == before
    assert rows(f"SELECT count(*) FROM {table}") == [(len(before),)]


def test_a_sync_brings_nothing_back_that_was_taken_out_since_it_looked(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path, snapshot: Snapshot
) -> None:
    """A sync skips a file that was adopted and removed after the sync looked, and keeps an INSERT into its
    partition.
    """
    table = adopt()
    seen = snapshot(table)
    write(place / "ds=c", 3)
    sync(rows, table)
    spark.sql(f"DELETE FROM {table} WHERE ds = 'c'")
    assert found_by(synchronise(seen, ArrowFooters())) == [("ignored", "ds=c", 1)]
    seen = snapshot(table)
    spark.sql(f"INSERT INTO {table} VALUES (9, 'c')")
    assert found_by(synchronise(seen, ArrowFooters())) == [("ignored", "ds=c", 1)]
    assert ids(rows, table) == [1, 2, 9]


def test_repairs_at_once_all_succeed(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path
) -> None:
    """Three MSCKs at once beside an INSERT into a partition that they find: none fails, no row is doubled."""
    table = adopt()
    for n, name in enumerate("cdef", 3):
        write(place / f"ds={name}", n)
    repair = [lambda: spark.sql(f"MSCK REPAIR TABLE {table}")] * 3
    with ThreadPoolExecutor(4) as pool:
        works = [*repair, lambda: spark.sql(f"INSERT INTO {table} VALUES (9, 'c')")]
        for future in [pool.submit(work) for work in works]:
            future.result()
    assert ids(rows, table) == [1, 2, 3, 4, 5, 6, 9]
    assert rows(f"SELECT count(*) FROM {table}") == [(7,)]


def test_a_folder_without_files_is_an_empty_partition_as_in_spark_itself(
    spark: SparkSession, rows: Rows, db: str, tmp_path: Path
) -> None:
    """SHOW PARTITIONS lists a folder without files as it does for Spark's own table, also after DROP
    PARTITION.
    """
    schema = db.replace("lake.", "spark_catalog.")
    spark.sql(f"CREATE DATABASE {schema}")
    shown = []
    for number, table in enumerate((f"{db}.t", f"{schema}.t")):
        place = tmp_path / f"tree{number}"
        file = write(place / "ds=a", 1)
        (place / "ds=b").mkdir()
        spark.sql(
            f"CREATE TABLE {table} (id INT, ds STRING) USING parquet PARTITIONED BY (ds) LOCATION '{place}'"
        )
        seen = []
        for step in ("", "a", "b"):
            if step:
                spark.sql(f"ALTER TABLE {table} DROP PARTITION (ds = '{step}')")
                file.unlink(missing_ok=True)
            spark.sql(f"MSCK REPAIR TABLE {table} SYNC PARTITIONS")
            seen.append(rows(f"SHOW PARTITIONS {table}"))
        shown.append(seen)
        assert ids(rows, table) == []
    spark.sql(f"DROP DATABASE {schema} CASCADE")
    assert shown == [[[("ds=a",), ("ds=b",)]] * 3] * 2


def test_the_folder_named_for_a_partition_that_lies_elsewhere(
    spark: SparkSession, rows: Rows, adopt: Callable[..., str], place: Path
) -> None:
    """Files in such a folder are reported, and do not keep the partition alive if its own folder is deleted.

    After that, a sync adopts the folder as the partition.
    """
    table = adopt()
    spark.sql(f"ALTER TABLE {table} PARTITION (ds = 'a') RENAME TO PARTITION (ds = 'z')")
    (place / "ds=z").mkdir()
    assert sync(rows, table) == []
    write(place / "ds=z", 3)
    ((action, *_, detail),) = sync(rows, table)
    assert (action, detail.partition(":")[0]) == ("ignored", "ds=z")
    assert f"the partition lies at file:{place}/ds=a." in detail
    assert ids(rows, table) == [1, 2]
    shutil.rmtree(place / "ds=a")
    assert told(sync(rows, table)) == [("gone", "ds=z", 1), ("ignored", None, None)]
    assert told(sync(rows, table)) == [("added", "ds=z", 1)]
    assert ids(rows, table) == [2, 3]
