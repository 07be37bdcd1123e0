"""Heavy values are measured while a partition is loaded, in one run of the source, and follow its rows after
that.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import parquetry
from parquetry import metastore as ms
from parquetry.locations.uri import join_location
from parquetry.spark.write import insert as writes
from parquetry.spark.write.heavy_hitters import cached_rows
from tests.support.spark import series
from tests.support.tables.skewed_tables import arrange, files_by_cell, misplaced

Rows = Callable[[str], list[tuple[Any, ...]]]
AUTO = ms.SkewMap(("x",), (), directories=True, auto=ms.AutoSkew(0.1, 3))
LONG = "z" * 260
DISTRIBUTIONS = {
    0: "CASE WHEN id % 10 < 5 THEN 'ten' WHEN id % 10 < 7 THEN 'a/b=c' ELSE concat('u', id) END",
    1: "concat('u', id % 20)",  # twenty of a twentieth each
    2: "CASE WHEN id % 10 < 6 THEN NULL WHEN id % 10 < 8 THEN '' ELSE concat('u', id) END",
    3: f"CASE WHEN id % 10 < 6 THEN '{LONG}' WHEN id % 10 < 7 THEN 'b' ELSE concat('u', id) END",
    4: "concat('v', id % 5)",  # five of a fifth each: three may be heavy
    5: "if(id < 100, 'tenth', if(id < 199, 'less', concat('u', id)))",
}
HEAVY: dict[int, tuple[tuple[str | None], ...]] = {
    0: (("ten",), ("a/b=c",)),
    1: (),
    2: ((None,), ("",)),
    3: (("b",),),
    4: (("v0",), ("v1",), ("v2",)),
    5: (("tenth",),),
}


def own(cells: tuple[tuple[Any, ...], ...]) -> ms.ArrangementSpec:
    return ms.ArrangementSpec(ms.SkewMap(("x",), cells, directories=True))


def test_known_distributions(spark: SparkSession, db: str, rows: Rows, store: ms.Metastore) -> None:
    """Each partition gets directories for its heavy values; appends add directories for new heavy values, up
    to the limit.

    Overwritten and new partitions are measured again.
    """
    name = f"{db.removeprefix('lake.')}.t"

    def table() -> ms.TableSnapshot:
        return store.table(*name.split("."))

    spark.sql(f"CREATE TABLE {db}.t (id bigint, x string, p int) PARTITIONED BY (p)")
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 8)")
    arrange(store, name, AUTO)
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 0)")  # which has nothing to measure yet
    cases = " ".join(f"WHEN {p} THEN {text}" for p, text in DISTRIBUTIONS.items())
    source = f"SELECT id, CASE p {cases} END AS x, p FROM range(1000), (SELECT explode(sequence(0, 5)) AS p)"
    spark.sql(f"INSERT INTO {db}.t {source}")
    assert list(misplaced(table())) == []
    found = {part.values[0]: part.arrangement for part in table().partitions()}
    assert found == {p: own(cells) for p, cells in HEAVY.items()} | {8: ms.PLAIN}
    assert files_by_cell(table())[0,] == {-1: 1, 0: 1, 1: 1}
    assert files_by_cell(table())[1,] == {-1: 1}

    spark.sql(f"INSERT INTO {db}.t SELECT id, 'other', cast(id % 7 AS int) FROM range(7000)")
    spark.sql(f"INSERT INTO {db}.t SELECT id, 'other', 8 FROM range(10)")
    assert list(misplaced(table())) == []
    found = {part.values[0]: part.arrangement for part in table().partitions()}
    grown = {p: cells if len(cells) == 3 else (*cells, ("other",)) for p, cells in HEAVY.items()}
    assert found == {p: own(cells) for p, cells in grown.items()} | {6: own((("other",),)), 8: ms.PLAIN}
    # elsewhere statistics tell that no older row has it
    earlier = {part.values[0] for part in table().partitions() for file in part.files if file.rest_of}
    assert earlier == {5}

    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 0) SELECT id, if(id < 9, 'new', '9') FROM range(10)")
    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 1) SELECT id, 'x' FROM range(10) WHERE id < 0")
    spark.table(f"{db}.t").where("p = 2").selectExpr("id", "'y'", "2").toDF("id", "x", "p").writeTo(
        f"{db}.t"
    ).overwritePartitions()
    assert list(misplaced(table())) == []
    found = {part.values[0]: part.arrangement for part in table().partitions()}
    assert found[0] == own((("new",), ("9",)))
    assert found[1] == ms.ArrangementSpec(AUTO)  # a partition without rows has no known values
    assert found[2] == own((("y",),))
    assert rows(f"SELECT count(*) FROM {db}.t WHERE p = 2 AND x = 'y'") == [(2000,)]

    spark.sql(f"CREATE TABLE {db}.u (id bigint, x double, y date) USING orc")
    whole = f"{db.removeprefix('lake.')}.u"
    auto = ms.SkewMap(("y", "x"), (), True, auto=ms.AutoSkew(0.3, 3))
    arrange(store, whole, auto)
    insert = f"INSERT INTO {db}.u SELECT id, if(id % 2 = 0, double('NaN'), id), if(id % 4 = 0, NULL, DATE'1970-01-03') FROM "
    for _ in range(2):
        spark.sql(f"{insert} range(100)")
    unpartitioned = store.table(*whole.split("."))
    assert list(misplaced(unpartitioned)) == []
    (part,) = unpartitioned.partitions()
    assert part.arrangement.skew is not None
    assert repr(part.arrangement.skew.cells) == "()"
    spark.sql(insert.replace("INTO", "OVERWRITE").replace("id % 4 = 0", "id % 2 = 0") + "range(100)")
    (part,) = store.table(*whole.split(".")).partitions()
    assert part.arrangement.skew is not None
    assert repr(part.arrangement.skew.cells) == "((None, nan),)"


def test_words_of_the_first_statement_suffice(spark: SparkSession, db: str, rows: Rows) -> None:
    """ON AUTO alone makes directories, in a table with partitions, without, and from a query; INSERT INTO is
    the first write.
    """
    source = "SELECT if(id % 2 = 0, 7, id) AS x, id, cast(id >= 50 AS int) AS p FROM range(100)"
    spark.sql(f"CREATE TABLE {db}.a (x bigint, id bigint, p int) PARTITIONED BY (p) SKEWED BY (x) ON AUTO")
    spark.sql(f"CREATE TABLE {db}.b (x bigint, id bigint, p int) SKEWED BY (x) ON AUTO")
    spark.sql(f"CREATE TABLE {db}.c SKEWED BY (x) ON AUTO AS {source}")
    spark.sql(f"CREATE TABLE {db}.d AS {source}")
    spark.sql(f"ALTER TABLE {db}.d SKEWED BY (x) ON AUTO")
    for name, insert, directories in (
        ("a", "INSERT INTO", (2, 4)),
        ("b", "INSERT INTO", (1, 2)),
        ("c", "INSERT INTO", (1, 2)),
        ("d", "INSERT OVERWRITE", (1, 2)),
    ):
        spark.sql(f"{insert} {db}.{name} {source}")
        query = spark.sql(f"SELECT id FROM {db}.{name} WHERE x = 7")
        assert len(query.collect()) == (102 if name == "c" else 51), name
        step = parquetry.report(query).scans[0].step("directories")
        assert step is not None
        assert (step.kept, step.of) == directories, name
        assert "SKEWED BY (x) ON AUTO STORED AS DIRECTORIES" in rows(f"SHOW CREATE TABLE {db}.{name}")[0][0]


@pytest.mark.exhaustive(
    "test_known_distributions shows new heavy values in appends, and without Spark "
    "tests/unit/compaction/test_compaction.py and tests/property/test_growing_maps.py show what follows"
)
def test_maps_follow_the_rows(
    spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value that becomes heavy gets a directory, for its new rows in an append, for all rows in `compact`;
    another value loses its directory.

    Until then, queries on the value alone also read the older files of the default directory.
    """
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(
        f"CREATE TABLE {db}.t (id bigint, x int, p int) PARTITIONED BY (p) SKEWED BY (x) ON AUTO STORED AS DIRECTORIES "
        "CLUSTERED BY (id) INTO 2 BUCKETS TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"
    )
    model: list[tuple[int, int | None, int]] = []

    def table() -> ms.TableSnapshot:
        return store.table(*name.split("."))

    def part() -> ms.PartitionSnapshot:
        found = table().partition((3,))
        assert found is not None
        return found

    def cells() -> tuple[Any, ...]:
        skew = part().arrangement.skew
        assert skew is not None
        return tuple(cell[0] for cell in skew.cells)

    def insert(x: str, first: int, end: int) -> None:
        spark.sql(f"INSERT INTO {db}.t SELECT id, {x} AS x, 3 AS p FROM range({first}, {end})")
        model.extend(
            tuple(row) for row in spark.sql(f"SELECT id, {x}, 3 FROM range({first}, {end})").collect()
        )

    def read(condition: str, of: str = "t") -> tuple[int, int, int]:
        """Return which directories of how many are read, and how many files, once the answer is right."""
        frame = spark.sql(f"SELECT id, x, p FROM {db}.{of} WHERE {condition}")
        step = parquetry.report(frame).scans[0].step("directories")
        files = parquetry.report(frame).scans[0].step("files")
        assert step is not None
        assert files is not None
        if of == "t":
            assert Counter(map(tuple, frame.collect())) == Counter(selected(model, condition))
        return step.kept, step.of, files.kept

    insert("if(id % 2 = 0, 10, if(id = 601, 555, id))", 0, 1000)
    assert cells() == (10,)
    old = [Path(join_location(part().location, file.path).removeprefix("file:")) for file in part().files]
    for path in old:
        path.rename(f"{path}.away")
    insert("555", 1000, 3000)  # 67 %, and no existing file is read for it
    for path in old:
        Path(f"{path}.away").rename(path)
    before = table().version
    assert cells() == (10, 555)
    assert Counter(file.cell_number for file in part().files) == {-3: 2, 0: 2, 1: 2}
    if series.has("described partitions"):
        described = dict(row[:2] for row in rows(f"DESCRIBE EXTENDED {db}.t PARTITION (p = 3)"))
        assert described["Skewed Values"] == "[[10], [555]]"
    assert read("x = 555") == (2, 3, 4)
    assert read("x = 10") == (1, 3, 2)
    assert read("x IN (10, 555)") == (3, 3, 6)
    assert read("x = 777") == (1, 3, 2)
    assert read("x = 555 AND id = 601") == (2, 3, 1)
    insert("id", 3000, 3100)
    assert read("x = 555") == (2, 3, 4)  # the younger files of the default directory have none
    assert read("x = 777") == (1, 3, 2)
    spark.sql(f"UPDATE {db}.t SET x = 10 WHERE id = 601")
    model[601] = (601, 10, 3)
    spark.sql(
        f"MERGE INTO {db}.t USING (SELECT id, 20 AS x FROM range(3099, 3900)) AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET x = s.x WHEN NOT MATCHED THEN INSERT (id, x, p) VALUES (s.id, s.x, 3)"
    )
    model[3099:] = [(number, 20, 3) for number in range(3099, 3900)]
    assert cells() == (10, 555)  # statements that change rows keep the map
    assert list(misplaced(table())) == []
    assert read("x = 20")[:2] == (1, 3)
    monkeypatch.setattr(writes, "collect", meanwhile(writes.collect, lambda: insert("31", 5000, 6000)))
    insert("30", 4000, 5000)
    assert cells() == (10, 555, 31, 30)
    assert read("x IN (30, 31)")[:2] == (3, 5)
    assert list(misplaced(table())) == []
    assert [row for call in ("fsck", "verify") for row in rows(f"CALL lake.system.{call}('{name}')")] == []
    assert [row[0] for row in rows(f"CALL lake.system.compact('{name}')")] == ["p=3"]
    assert cells() == (10, 555, 31, 30, 20)
    assert set(files_by_cell(table())[3,]) == {-1, 0, 1, 2, 3, 4}
    assert list(misplaced(table())) == []
    assert (read("x = 555")[:2], read("x = 20")[:2], read("x = 7")[:2]) == ((1, 6), (1, 6), (1, 6))
    assert rows(f"CALL lake.system.compact('{name}')") == []
    insert("id", 10_000, 30_000)  # a fiftieth of these rows has the value 10
    assert rows(f"ALTER TABLE {db}.t PARTITION (p = 3) CONCATENATE")[0][0] == "p=3"
    assert cells() == (555, 31, 30, 20)
    assert list(misplaced(table())) == []
    assert read("x = 10")[:2] == (1, 5)
    assert read("x = 555", f"t VERSION AS OF {before}") == (2, 3, 4)
    rows(f"CALL lake.system.rollback('{name}', {before})")
    del model[3000:]
    model[601] = (601, 555, 3)
    assert cells() == (10, 555)
    assert read("x = 555") == (2, 3, 4)

    spark.sql(f"CREATE TABLE {db}.u (x decimal(9,2), y string) USING orc")
    whole = f"{db.removeprefix('lake.')}.u"
    arrange(store, whole, ms.SkewMap(("y", "x"), (), True, auto=ms.AutoSkew(0.3, 3)))
    for value, count in ((1, 10), (2, 10), ("NULL", 100)):
        spark.sql(
            f"INSERT INTO {db}.u SELECT {value}, nullif('v', if(id % 10 = 0, 'v', '')) FROM range({count})"
        )
    unpartitioned = store.table(*whole.split("."))
    (only,) = unpartitioned.partitions()
    assert only.arrangement.skew is not None
    assert only.arrangement.skew.cells == (("v", "1"), ("v", "2"), ("v", None))
    assert list(misplaced(unpartitioned)) == []
    assert [each[2] for each in rows(f"CALL lake.system.compact('{whole}')")] == [2]
    (only,) = store.table(*whole.split(".")).partitions()
    assert only.arrangement.skew is not None
    assert only.arrangement.skew.cells == (("v", None),)
    assert rows(f"SELECT count(*), count(x), count(y) FROM {db}.u") == [(120, 20, 108)]


def selected(rows: list[tuple[int, int | None, int]], condition: str) -> list[tuple[Any, ...]]:
    """Return the rows that satisfy a condition, found without Spark."""
    with closing(sqlite3.connect(":memory:")) as known:
        known.execute("CREATE TABLE t (id, x, p)")
        known.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        return known.execute(f"SELECT * FROM t WHERE {condition}").fetchall()


def meanwhile(real: Callable[..., Any], other: Callable[[], None]) -> Callable[..., Any]:
    """Return a function that does something else first, the first time that it is called."""
    others = [other]

    def function(*given: Any) -> Any:
        if others:
            others.pop()()
        return real(*given)

    return function


def test_the_source_runs_once(spark: SparkSession, db: str, store: ms.Metastore) -> None:
    """A write evaluates each row of its source once, with and without measurement of heavy values, and caches
    nothing afterwards.
    """
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(f"CREATE TABLE {db}.t (id bigint, x string, p int) PARTITIONED BY (p)")
    for skew in (None, AUTO, ms.SkewMap(("x",), (("3",),), directories=True)):
        arrange(store, name, skew)
        asked = spark.sparkContext.accumulator(0)

        def counted(number: int, asked: Any = asked) -> tuple[int, str, int]:
            asked.add(1)
            return number, str(number % 5), number % 2

        source = spark.sparkContext.parallelize(range(1000), 4).map(counted)
        cached_rows = spark.sparkContext._jsc.getPersistentRDDs().size()
        spark.createDataFrame(source, "id bigint, x string, p int").writeTo(f"{db}.t").overwritePartitions()
        assert asked.value == 1000
        assert spark.sparkContext._jsc.getPersistentRDDs().size() == cached_rows
        assert list(misplaced(store.table(*name.split(".")))) == []


def test_rows_are_kept_for_one_writer(spark: SparkSession) -> None:
    """Another writer of equal rows, and who has kept them before, lose nothing when the first is done."""
    same = [spark.range(3).selectExpr("id AS a") for _ in range(3)]
    theirs = same[0].persist()
    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    with cached_rows(same[1]) as one:
        with cached_rows(same[2]) as other:
            assert one.collect() == other.collect() == theirs.collect()
        assert (one.storageLevel.useDisk, other.storageLevel.useDisk) == (True, False)
    assert (one.storageLevel.useDisk, theirs.storageLevel.useDisk) == (False, True)
    theirs.unpersist()
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == before


def test_suggestions(spark: SparkSession, db: str, rows: Rows, store: ms.Metastore) -> None:
    """For the requested columns or for all, each partition's heavy values are suggested, with their share and
    the bytes that a query would read.
    """
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(f"CREATE TABLE {db}.t (id bigint, x string, Y int, m map<int, int>, p int) PARTITIONED BY (p)")
    spark.sql(
        f"INSERT INTO {db}.t SELECT id, if(id % 2 = 0, 'it\\'s', concat('u', id)), if(id % 4 = 0, NULL, 7), NULL, "
        "if(id < 200, 1, 2) FROM range(1000)"
    )
    size = {part.values[0]: part.bytes for part in store.table(*name.split(".")).partitions()}
    call = f"CALL lake.system.suggest_skew('{name}'"
    assert rows(f"{call}, columns => array('X'), where => 'p = 1')") == [
        ("x", "p=1", "'it''s'", 100, 0.5, round(size[1] / 2), size[1]),
        ("x", "p=1", None, 100, 0.5, round(size[1] / 2), size[1]),
    ]
    by_pair = rows(f"{call}, columns => array('y', 'x'), share => 0.25)")
    assert sorted(each[:5] for each in by_pair if each[2]) == [
        ("Y, x", f"p={p}", value, count, 0.25)
        for p, count in ((1, 50), (2, 200))
        for value in ("7, 'it''s'", "NULL, 'it''s'")
    ]
    everywhere = rows(f"{call}, values => 1)")
    assert [(each[0], each[1], each[2]) for each in everywhere] == [
        (column, f"p={p}", value)
        for column, heavy in (("x", "'it''s'"), ("Y", "7"))
        for p in (1, 2)
        for value in (heavy, None)
    ]
    arrange(store, name, ms.SkewMap(("Y",), (), True, auto=ms.AutoSkew(0.1, 3)))
    assert {each[0] for each in rows(f"{call})")} == {"Y"}
    for wrong, says in (
        (", columns => array('m')", "cannot be skewed by m"),
        (", columns => array('p')", "cannot be skewed by p"),
        (", columns => array('nope')", "nope"),
        (", columns => array('x', 'X')", "10202.*Duplicate skewed column name: X"),
        (", share => 0D", "a share of 0.0"),
        (", values => 1001", "1001 values"),
        (", where => 'x = 1'", "x"),
    ):
        with pytest.raises(AnalysisException, match=says):
            rows(f"{call}{wrong})")
