"""CALL system.compact merges many files into few, in one version, changes no row, and disturbs no reader or
writer.
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
from tests.support.tables.skewed_tables import arrange, files_by_cell, misplaced, read_rows

Rows = Callable[[str], list[tuple[Any, ...]]]
SKEW = ms.SkewMap(("x",), ((1,), (None,)), directories=True)


@pytest.mark.parametrize(
    "fmt",
    [
        "parquet",
        pytest.param("orc", marks=pytest.mark.exhaustive("the case `parquet` has all but the format")),
    ],
)
def test_compaction(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, tmp_path: Path, fmt: str
) -> None:
    """Afterwards each directory of each partition has one file, by the partition's own map and in its order;
    vacuum deletes the old files.
    """
    name = f"{db.removeprefix('lake.')}.t"

    def table() -> ms.TableSnapshot:
        return store.table(*name.split("."))

    spark.sql(
        f"CREATE TABLE {db}.t (id bigint, x int, old string, p int) USING {fmt} PARTITIONED BY (p) "
        f"LOCATION '{tmp_path}/t' TBLPROPERTIES ('sort-by' = 'id')"
    )
    insert = f"INSERT INTO {db}.t SELECT id, if(id % 2 = 0, 1, nullif(cast(id % 5 AS int), 3)), 'old', "
    spark.sql(f"{insert} cast(id % 2 AS int) FROM range(100)")
    spark.sql(f"{insert} 0 FROM range(100, 200)")
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN more string")
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN id TO number")
    arrange(store, name, SKEW)
    for start in (200, 300, 400):
        spark.sql(f"{insert} 'new', cast(id % 4 AS int) FROM range({start}, {start + 100})")
    spark.sql(f"{insert} 'new', 9 FROM range(500, 600)")  # one file in each directory: nothing to do
    before = table()
    # a file without a known cell, and one in a directory such as Hive makes for a second insert
    part = before.partition((9,))
    assert part is not None
    flat = tmp_path / "t" / "p=9"
    moved = []
    for file, place in zip(part.files, ("unknown", "x=1_copy_1", None), strict=True):
        if place is None:
            moved.append(file)
            continue
        (flat / place).mkdir()
        (flat / file.path).rename(flat / place / Path(file.path).name)
        cell = None if place == "unknown" else file.cell
        moved.append(msgspec.structs.replace(file, path=f"{place}/{Path(file.path).name}", cell=cell))
    transaction = Transaction(before, "move")
    transaction.replace((9,), moved)
    before = commit(transaction)
    state = f"SELECT * FROM {db}.t ORDER BY number"
    content = rows(state)
    old = spark.read.option("versionAsOf", before.version).table(f"{db}.t")
    old.count()  # an early reader
    assert rows(f"CALL lake.system.compact('{name}', where => 'p > 9')") == []
    told = rows(f"CALL lake.system.compact('{name}', where => 'p < 3')")
    assert [each[:3] for each in told] == [("p=0", 5, 1), ("p=1", 4, 1), ("p=2", 3, 1)]
    after = table()
    assert after.version == before.version + 1
    assert [(each[3], each[4]) for each in told] == [
        (before.partition((p,)).bytes, after.partition((p,)).bytes)  # type: ignore[union-attr]
        for p in (0, 1, 2)
    ]
    told = rows(f"CALL lake.system.compact(table => '{name}')")
    assert [each[:3] for each in told] == [("p=3", 9, 3), ("p=9", 3, 3)]
    after = table()
    assert rows(f"CALL lake.system.compact(table => '{name}')") == []
    assert table().version == after.version
    assert rows(state) == content
    assert {part.values[0]: part.arrangement for part in after.partitions()} == {
        part.values[0]: part.arrangement for part in before.partitions()
    }
    assert list(misplaced(after)) == []
    assert all(set(counts.values()) == {1} for counts in files_by_cell(after).values())
    assert set(files_by_cell(after)[2,]) <= {-1, 0, 1}
    for part in after.partitions():
        for file in part.files:
            numbers = [row["id"] for row in read_rows(after, part, file)]
            assert numbers == sorted(numbers)
    assert old.orderBy("number").collect() == [tuple(row) for row in content]
    spark.sql(
        f"CALL lake.system.vacuum(table => '{name}', older_than => current_timestamp(), allow_recent => true)"
    )
    files = set((tmp_path / "t").rglob(f"*.{fmt}"))
    assert len(files) == table().totals.files
    assert rows(state) == content


def test_others_meanwhile(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, tmp_path: Path
) -> None:
    """An append to a partition that is being compacted makes the compaction conflict, without a trace; an
    append elsewhere does not.
    """
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(f"CREATE TABLE {db}.t (id bigint, p int) PARTITIONED BY (p) LOCATION '{tmp_path}/t'")
    for _ in range(2):
        spark.sql(f"INSERT INTO {db}.t SELECT id, cast(id % 2 AS int) FROM range(10)")
    real = compaction.collect
    for p, fails in ((5, False), (0, True)):

        def collect(*given: Any, p: int = p) -> Any:
            spark.sql(f"INSERT INTO {db}.t VALUES (100, {p})")
            return real(*given)

        compaction.collect = collect
        try:
            if fails:
                with pytest.raises(AnalysisException, match="PARQUETRY_COMMIT_CONFLICT"):
                    spark.sql(f"CALL lake.system.compact('{name}')")
            else:
                spark.sql(f"CALL lake.system.compact('{name}')")
                spark.sql(f"INSERT INTO {db}.t SELECT id, 0 FROM range(10)")
        finally:
            compaction.collect = real
    table = store.table(*name.split("."))
    assert files_by_cell(table) == {
        (0,): Counter({None: 3}),
        (1,): Counter({None: 1}),
        (5,): Counter({None: 1}),
    }
    assert rows(f"SELECT count(*), sum(id) FROM {db}.t") == [(32, 335)]
    spark.sql(
        f"CALL lake.system.vacuum(table => '{name}', older_than => current_timestamp(), allow_recent => true)"
    )
    assert len(list((tmp_path / "t").rglob("*.parquet"))) == 5


def test_unpartitioned_and_others_files(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, tmp_path: Path
) -> None:
    """Compaction works without partitions, foreign files that it replaced are not adopted again, and such a
    table accepts no filter.

    Its rows are moved to its directories, and so are rows of a partition of NaN.
    """
    spark.range(0, 100, 1, 5).selectExpr("id", "cast(id % 3 AS int) AS x").write.parquet(f"{tmp_path}/t")
    spark.sql(f"CREATE TABLE {db}.t (id bigint, x int) USING parquet LOCATION '{tmp_path}/t'")
    name = f"{db.removeprefix('lake.')}.t"
    rows(f"CALL lake.system.sync('{name}')")
    state = f"SELECT count(*), sum(id), sum(x) FROM {db}.t"
    assert rows(state) == [(100, 4950, 99)]
    ((partition, files, now, _, _),) = rows(f"CALL lake.system.compact('{name}')")
    assert (partition, files, now) == (None, 5, 1)
    assert all(each[0] != "changed" for each in rows(f"CALL lake.system.sync('{name}')"))
    assert rows(state) == [(100, 4950, 99)]
    with pytest.raises(AnalysisException, match="no partition columns to filter by"):
        rows(f"CALL lake.system.compact('{name}', where => 'x = 1')")

    spark.sql(f"CREATE TABLE {db}.u (x int, y int)")
    spark.sql(f"CREATE TABLE {db}.v (x int, p double) PARTITIONED BY (p)")
    for table, value, directories in (("u", "2", [2]), ("v", "if(id % 3 = 0, 0D, double('NaN'))", [1, 2])):
        name = f"{db.removeprefix('lake.')}.{table}"
        arrange(store, name, SKEW)
        for _ in range(2):
            spark.sql(f"INSERT INTO {db}.{table} SELECT cast(id % 3 AS int), {value} FROM range(30)")
        state = f"SELECT *, count(*) FROM {db}.{table} GROUP BY ALL ORDER BY ALL"
        content = repr(rows(state))
        told = rows(f"CALL lake.system.compact('{name}')")
        assert [each[1:3] for each in told] == [(2 * count, count) for count in directories]
        assert list(misplaced(store.table(*name.split(".")))) == []
        assert repr(rows(state)) == content


def test_writes_compact_by_themselves(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, caplog: pytest.LogCaptureFixture
) -> None:
    """With `auto-compact`, statements leave fewer small files than the property says; what stops a compaction
    is no error of the statement.
    """
    spark.sql(
        f"CREATE TABLE {db}.t (id bigint, p int) USING parquet PARTITIONED BY (p) "
        "TBLPROPERTIES ('auto-compact' = 'true', 'auto-compact-min-files' = 3)"
    )
    files = []
    for n in range(5):
        spark.sql(f"INSERT INTO {db}.t SELECT /*+ COALESCE(1) */ id, 1 FROM range({n}, {n} + 1)")
        files.append(rows(f"SELECT count(*) FROM {db}.t.files")[0][0])
    assert files == [1, 2, 1, 2, 1]
    spark.sql(f"INSERT INTO {db}.t VALUES (10, 2)")  # only partitions of the write are looked at
    spark.sql(f"INSERT INTO {db}.t VALUES (11, 1)")
    spark.sql(f"UPDATE {db}.t SET p = 1 WHERE p = 2")
    assert rows(f"SELECT id FROM {db}.t ORDER BY id") == [(0,), (1,), (2,), (3,), (4,), (10,), (11,)]
    operations = [row[0] for row in rows(f"SELECT operation FROM {db}.t.history ORDER BY version")]
    assert " ".join(operations) == (
        "create append append append auto-compact append append auto-compact append append update auto-compact"
    )
    spark.sql(f"INSERT INTO {db}.t VALUES (12, 1)")
    part = store.table(*f"{db.removeprefix('lake.')}.t".split(".")).partition((1,))
    assert part is not None
    Path(part.location.removeprefix("file:"), part.files[0].path).rename(
        Path(part.location.removeprefix("file:"), "moved")
    )
    spark.sql(f"INSERT INTO {db}.t VALUES (13, 1)")
    assert "small files could not be compacted" in caplog.text
    assert rows(f"SELECT count(*) FROM {db}.t.files WHERE rows = 1") == [(2,)]
