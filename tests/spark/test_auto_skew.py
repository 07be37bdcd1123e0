"""Heavy values are found while a partition is loaded, by one run of the source, and are the partition's own from then on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from parquetry.spark.heavy_hitters import kept
from tests.support.skewed_tables import arrange, files_by_cell, misplaced

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


def own(cells: tuple[tuple[Any, ...], ...]) -> ms.Arrangement:
    return ms.Arrangement(ms.SkewMap(("x",), cells, directories=True))


def test_known_distributions(spark: SparkSession, db: str, rows: Rows, store: ms.Metastore) -> None:
    """Each partition gets what is heavy in it; appends keep it, overwritten and new partitions are measured again."""
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
    assert found == {p: own(cells) for p, cells in HEAVY.items()} | {6: own((("other",),)), 8: ms.PLAIN}

    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 0) SELECT id, if(id < 9, 'new', '9') FROM range(10)")
    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 1) SELECT id, 'x' FROM range(10) WHERE id < 0")
    spark.table(f"{db}.t").where("p = 2").selectExpr("id", "'y'", "2").toDF("id", "x", "p").writeTo(
        f"{db}.t"
    ).overwritePartitions()
    assert list(misplaced(table())) == []
    found = {part.values[0]: part.arrangement for part in table().partitions()}
    assert found[0] == own((("new",), ("9",)))
    assert found[1] == ms.Arrangement(AUTO)  # of no rows nothing is known
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


def test_the_source_runs_once(spark: SparkSession, db: str, store: ms.Metastore) -> None:
    """Of a source that counts its rows each is asked for once, measured or not; what was kept of it is gone afterwards."""
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(f"CREATE TABLE {db}.t (id bigint, x string, p int) PARTITIONED BY (p)")
    for skew in (None, AUTO, ms.SkewMap(("x",), (("3",),), directories=True)):
        arrange(store, name, skew)
        asked = spark.sparkContext.accumulator(0)

        def counted(number: int, asked: Any = asked) -> tuple[int, str, int]:
            asked.add(1)
            return number, str(number % 5), number % 2

        source = spark.sparkContext.parallelize(range(1000), 4).map(counted)
        kept = spark.sparkContext._jsc.getPersistentRDDs().size()
        spark.createDataFrame(source, "id bigint, x string, p int").writeTo(f"{db}.t").overwritePartitions()
        assert asked.value == 1000
        assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept
        assert list(misplaced(store.table(*name.split(".")))) == []


def test_rows_are_kept_for_one_writer(spark: SparkSession) -> None:
    """Another writer of equal rows, and who has kept them before, lose nothing when the first is done."""
    same = [spark.range(3).selectExpr("id AS a") for _ in range(3)]
    theirs = same[0].persist()
    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    with kept(same[1]) as one:
        with kept(same[2]) as other:
            assert one.collect() == other.collect() == theirs.collect()
        assert (one.storageLevel.useDisk, other.storageLevel.useDisk) == (True, False)
    assert (one.storageLevel.useDisk, theirs.storageLevel.useDisk) == (False, True)
    theirs.unpersist()
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == before


def test_suggestions(spark: SparkSession, db: str, rows: Rows, store: ms.Metastore) -> None:
    """What is heavy in each partition, its share, and what a query would read, of the columns asked for or of each."""
    name = f"{db.removeprefix('lake.')}.t"
    spark.sql(f"CREATE TABLE {db}.t (id bigint, x string, Y int, m map<int, int>, p int) PARTITIONED BY (p)")
    spark.sql(
        f"INSERT INTO {db}.t SELECT id, if(id % 2 = 0, 'it''s', concat('u', id)), if(id % 4 = 0, NULL, 7), NULL, "
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
