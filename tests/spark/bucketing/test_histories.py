"""After any random sequence of statements on a bucketed table, each row is in its file's bucket, and none is
missing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from tests.support.tables.bucket_files import files_by_bucket, misplaced, set_arrangement

Rows = Callable[[str], list[tuple[Any, ...]]]
COLUMNS = ("id", "v", "x", "m")
MODEL = tuple[int, int]
"""A row: its partition, and its id, which determines all other values."""


def some_arrangement(chance: random.Random) -> ms.ArrangementSpec:
    """Return buckets of any kind, or none, of rows with directories for heavy values, or without."""
    buckets = None
    if chance.random() < 0.85:
        columns = tuple(chance.sample(COLUMNS, chance.randint(1, 2)))
        sort = tuple(
            ms.SortColumn(name, chance.random() < 0.5)
            for name in chance.sample(COLUMNS, chance.choice((0, 0, 1, 2)))
        )
        buckets = ms.BucketSpec(columns, chance.choice((1, 2, 3, 8)), chance.choice((1, 2, "spark")), sort)
    skew = None
    if chance.random() < 0.3:
        skew = ms.SkewMap(
            ("x",), chance.sample([(0,), (1,), (None,)], chance.randint(0, 3)), directories=True
        )  # type: ignore[arg-type]
    return ms.ArrangementSpec(skew, buckets)


@pytest.mark.parametrize("seed", range(4))
def test_any_history(spark: SparkSession, db: str, rows: Rows, store: ms.Metastore, seed: int) -> None:
    """Inserts, overwrites of three kinds, changes of the buckets, compaction, rebucketing, and going back."""
    chance = random.Random(seed)
    name = f"{db}.t"
    short = name.removeprefix("lake.")
    spark.sql(
        f"CREATE TABLE {name} (id bigint, v string, x int, m double, p int) USING {chance.choice(('parquet', 'orc'))} "
        "PARTITIONED BY (p) TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"
    )
    held: set[MODEL] = set()
    versions: dict[int, set[MODEL]] = {}
    next_id = 0

    def given(count: int) -> tuple[str, set[MODEL]]:
        nonlocal next_id
        first, next_id = next_id, next_id + count
        few = chance.choice((1, 2, 5))
        select = (
            "SELECT id, if(id % 7 = 0, NULL, concat('v', id % 31)) AS v, nullif(cast(id % 4 AS int), 3) AS x, "
            f"if(id % 9 = 0, -0.0D, id % 5) AS m, cast(id % {few} AS int) AS p FROM range({first}, {next_id}, 1, 3)"
        )
        return select, {(i, i % few) for i in range(first, next_id)}

    def table() -> ms.TableSnapshot:
        return store.table(*short.split("."))

    for step in range(16):
        what = chance.choice(
            ("arrange", "insert", "insert", "insert", "truncate", "static", "dynamic", "compact", "rebucket", "rollback")
        )  # fmt: skip
        if what == "arrange":
            set_arrangement(store, short, some_arrangement(chance))
        elif what == "insert":
            select, new = given(chance.choice((1, 60)))
            spark.sql(f"INSERT INTO {name} {select}")
            held |= new
        elif what == "truncate":
            select, held = given(80)
            spark.sql(f"INSERT OVERWRITE {name} {select}")
        elif what == "static":
            select, new = given(20)
            spark.sql(f"INSERT OVERWRITE {name} PARTITION (p = 1) SELECT * EXCEPT (p) FROM ({select})")
            held = {row for row in held if row[1] != 1} | {(i, 1) for i, _ in new}
        elif what == "dynamic":
            select, new = given(20)
            spark.sql(select).writeTo(name).overwritePartitions()
            touched = {p for _, p in new}
            held = {row for row in held if row[1] not in touched} | new
        elif what == "compact":
            spark.sql(f"CALL lake.system.compact('{short}')")
            assert rows(f"CALL lake.system.compact('{short}')") == []
        elif what == "rebucket" and table().metadata.arrangement.buckets is not None:
            spark.sql(f"CALL lake.system.rebucket('{short}')")
            assert rows(f"CALL lake.system.rebucket('{short}')") == []
        elif what == "rollback" and versions:
            version = chance.choice(sorted(versions))
            spark.sql(f"CALL lake.system.rollback('{short}', {version})")
            held = versions[version]
        now = table()
        versions[now.version] = set(held)
        assert list(misplaced(now)) == [], (step, what)
        assert set(map(tuple, rows(f"SELECT id, p FROM {name}"))) == held, (step, what)
        for values, counts in files_by_bucket(now).items():
            spec = now.partition(values).arrangement.buckets  # type: ignore[union-attr]
            assert set(counts) <= {None} if spec is None else set(counts) <= set(range(spec.count))
