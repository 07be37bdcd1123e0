"""CALL system.rebucket gives partitions the table's buckets; compaction makes one sorted file
of each bucket.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.spark import compaction
from tests.support.spark import plans
from tests.support.stores.metastores import current_table
from tests.support.tables.bucket_files import files_by_bucket, misplaced, set_arrangement
from tests.support.tables.skewed_tables import misplaced as misplaced_in_directories

Rows = Callable[[str], list[tuple[Any, ...]]]
SORT = (ms.SortColumn("v", True), ms.SortColumn("id"))
SELECT = "SELECT id, if(id % 5 = 0, NULL, hex(id * 7919)), "


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_partitions_get_the_tables_buckets(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, tmp_path: Path, fmt: str
) -> None:
    """Rebucketing moves the selected or all partitions to the table's buckets, or to another number, in one
    version.

    Other partitions do not change, and a second call finds nothing to do.
    """
    name = f"{db}.t"
    short = name.removeprefix("lake.")
    spark.sql(
        f"CREATE TABLE {name} (id bigint, v string, p int) USING {fmt} PARTITIONED BY (p) LOCATION '{tmp_path}/t'"
    )
    history = [
        None,
        ms.BucketSpec(("id",), 4),
        ms.BucketSpec(("v",), 3, 1, (ms.SortColumn("id"),)),
        ms.BucketSpec(("id",), 4, "spark", SORT),
        ms.BucketSpec(("id",), 6, 2, SORT),
    ]
    with pytest.raises(AnalysisException, match="has no buckets: say by which columns with ALTER TABLE"):
        spark.sql(f"CALL lake.system.rebucket('{short}')")
    set_arrangement(store, short, ms.ArrangementSpec(buckets=history[-1]))
    transaction = Transaction(current_table(store, name), "make")
    for p, spec in enumerate(history):
        transaction.add((p,), arrangement=ms.ArrangementSpec(buckets=spec))
    commit(transaction)
    spark.sql(f"INSERT INTO {name} {SELECT} cast(id % 5 AS int) FROM range(0, 500, 1, 3)")
    spark.sql(f"INSERT INTO {name} {SELECT} cast(id % 5 AS int) FROM range(500, 700)")
    content = plans.comparable(spark.table(name).collect())
    before = current_table(store, name)
    old = spark.read.option("versionAsOf", before.version).table(name)
    old.count()  # an early reader
    with pytest.raises(AnalysisException, match="no partition where p > 9"):
        spark.sql(f"CALL lake.system.rebucket('{short}', where => 'p > 9')")
    with pytest.raises(AnalysisException, match="has a count of 0"):
        spark.sql(f"CALL lake.system.rebucket('{short}', buckets => 0)")
    told = rows(f"CALL lake.system.rebucket(table => '{short}', where => 'p < 2')")
    assert [each[:3] for each in told] == [("p=0", 2, 6), ("p=1", 8, 6)]
    table = current_table(store, name)
    assert table.version == before.version + 1
    for p in (2, 3, 4):
        assert table.partition((p,)) is not None
        assert table.partition((p,)).entry == before.partition((p,)).entry  # type: ignore[union-attr]
    told = rows(f"CALL lake.system.rebucket('{short}')")
    assert [each[0] for each in told] == ["p=2", "p=3"]
    table = current_table(store, name)
    assert table.totals.all_arranged(ms.ArrangementSpec(buckets=history[-1]))
    assert list(misplaced(table)) == []
    assert rows(f"CALL lake.system.rebucket('{short}')") == []
    assert current_table(store, name).version == table.version
    assert [each[:3] for each in rows(f"CALL lake.system.compact('{short}')")] == [("p=4", 12, 6)]
    table = current_table(store, name)
    assert list(misplaced(table)) == []
    assert set(map(frozenset, (c.items() for c in files_by_bucket(table).values()))) == {
        frozenset((bucket, 1) for bucket in range(6))
    }
    told = rows(f"CALL lake.system.rebucket(table => '{short}', where => 'p = 3', buckets => 2)")
    assert [each[:3] for each in told] == [("p=3", 6, 2)]
    assert rows(f"CALL lake.system.rebucket(table => '{short}', where => 'p = 3', buckets => 2)") == []
    table = current_table(store, name)
    assert list(misplaced(table)) == []
    assert files_by_bucket(table)[3,] == Counter([0, 1])
    assert table.metadata.arrangement.buckets == history[-1]
    assert plans.comparable(spark.table(name).collect()) == content
    assert plans.comparable(old.collect()) == content
    operations = [row[0] for row in rows(f"SELECT operation FROM {name}.history ORDER BY version")]
    assert operations[-4:] == ["rebucket", "rebucket", "compact", "rebucket"]
    spark.sql(
        f"CALL lake.system.vacuum(table => '{short}', older_than => current_timestamp(), allow_recent => true)"
    )
    assert len(list((tmp_path / "t").rglob(f"*.{fmt}"))) == current_table(store, name).totals.files == 26
    assert plans.comparable(spark.table(name).collect()) == content


def test_files_of_no_known_bucket_come_into_buckets(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore
) -> None:
    """Compaction and rebucketing rewrite files without a recorded bucket and unsorted files; rebucketing
    keeps the others.
    """
    name = f"{db}.t"
    short = name.removeprefix("lake.")
    for statement in ("compact", "rebucket"):
        spark.sql(
            f"CREATE OR REPLACE TABLE {name} (id bigint, v string) CLUSTERED BY (id) SORTED BY (v) INTO 3 BUCKETS"
        )
        spark.sql(f"INSERT INTO {name} {SELECT.removesuffix(', ')} FROM range(100)")
        table = current_table(store, name)
        (part,) = table.partitions()
        files = list(part.files)
        files[0] = msgspec.structs.replace(files[0], bucket=None)
        files[2] = msgspec.structs.replace(files[2], sorted=False)
        transaction = Transaction(table, "forget")
        transaction.replace((), files)
        commit(transaction)
        told = rows(f"CALL lake.system.{statement}('{short}')")
        assert [each[:3] for each in told] == [(None, 3, 3)]
        table = current_table(store, name)
        assert list(misplaced(table)) == []
        (part,) = table.partitions()
        kept = {file.path for file in part.files} & {file.path for file in files}
        assert kept == ({files[1].path} if statement == "rebucket" else set())
        assert files_by_bucket(table) == {(): Counter([0, 1, 2])}
        assert rows(f"SELECT count(*), sum(id) FROM {name}") == [(100, 4950)]


def test_partitions_with_directories(spark: SparkSession, db: str, rows: Rows, store: ms.Metastore) -> None:
    """A rebucketed partition keeps its directories for heavy values; each bucket in each directory is one
    file, also if empty.
    """
    name = f"{db}.t"
    short = name.removeprefix("lake.")
    spark.sql(f"CREATE TABLE {name} (id bigint, x int, p int) PARTITIONED BY (p)")
    skew = ms.SkewMap(("x",), ((1,), (2,)), directories=True)
    set_arrangement(store, short, ms.ArrangementSpec(skew))
    for start in (0, 50):
        spark.sql(
            f"INSERT INTO {name} SELECT id, if(id > 97, 2, cast(id % 3 AS int)), 0 FROM range({start}, {start + 50})"
        )
    spec = ms.BucketSpec(("id",), 8, 1)
    set_arrangement(store, short, ms.ArrangementSpec(None, spec))
    spark.sql(f"CALL lake.system.rebucket('{short}')")
    table = current_table(store, name)
    assert list(misplaced(table)) == list(misplaced_in_directories(table)) == []
    (part,) = table.partitions()
    assert part.arrangement == ms.ArrangementSpec(skew, spec)
    places = Counter((file.cell, file.bucket) for file in part.files)
    assert places == Counter((cell, bucket) for cell in (-1, 0, 1) for bucket in range(8))
    assert rows(f"CALL lake.system.compact('{short}')") == []
    for _ in range(2):
        spark.sql(f"INSERT INTO {name} SELECT id, cast(id % 2 AS int), 0 FROM range(100, 108)")
    told = rows(f"CALL lake.system.compact('{short}')")
    assert [each[2] for each in told] == [24]
    table = current_table(store, name)
    assert list(misplaced(table)) == list(misplaced_in_directories(table)) == []
    assert rows(f"CALL lake.system.compact('{short}')") == []
    assert rows(f"SELECT count(*), sum(id) FROM {name}") == [(116, 4950 + 2 * 828)]


def test_partitions_without_rows_and_others_meanwhile(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore
) -> None:
    """Rebucketing records the buckets of a partition without files. It conflicts if rows are added in the
    meantime, and leaves no trace.
    """
    name = f"{db}.t"
    short = name.removeprefix("lake.")
    spark.sql(f"CREATE TABLE {name} (id bigint, p int) PARTITIONED BY (p) CLUSTERED BY (id) INTO 2 BUCKETS")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION (p = 1)")
    spark.sql(f"INSERT INTO {name} SELECT id, 0 FROM range(100)")
    spec = ms.BucketSpec(("id",), 5)
    set_arrangement(store, short, ms.ArrangementSpec(buckets=spec))
    real = compaction.collect

    def collect(*given: Any) -> Any:
        compaction.collect = real
        spark.sql(f"INSERT INTO {name} VALUES (100, 0)")
        return real(*given)

    compaction.collect = collect
    try:
        with pytest.raises(AnalysisException, match="PARQUETRY_COMMIT_CONFLICT"):
            spark.sql(f"CALL lake.system.rebucket('{short}')")
    finally:
        compaction.collect = real
    table = current_table(store, name)
    assert [part.file_count for part in table.partitions()] == [3, 0]
    location = Path(table.metadata.location.removeprefix("file:"))
    assert len(list(location.rglob("*.parquet"))) == 3
    told = rows(f"CALL lake.system.rebucket('{short}')")
    assert [each[:3] for each in told] == [("p=0", 3, 5), ("p=1", 0, 0)]
    table = current_table(store, name)
    assert list(misplaced(table)) == []
    assert table.totals.all_arranged(ms.ArrangementSpec(buckets=spec))
    assert rows(f"SELECT count(*), sum(id) FROM {name}") == [(101, 5050)]
