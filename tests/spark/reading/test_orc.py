"""ORC files with few or misleading statistics lose no row, and count no wrong one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pytest
from pyspark.sql import SparkSession

from tests.support.tables import filtered

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.mark.parametrize("setting", ["'orc.create.index' = 'false'", "'orc.row.index.stride' = '0'"])
def test_a_table_without_indexes_has_its_values(
    spark: SparkSession, db: str, rows: Rows, setting: str
) -> None:
    """Such files state no value of any column; that is no column of NULLs, for counts, filters and DELETE."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, s STRING) USING orc TBLPROPERTIES ({setting})")
    spark.sql(f"INSERT INTO {table} SELECT id, concat('v', id) FROM range(100)")
    assert rows(f"SELECT count(*), count(id), min(id), max(s) FROM {table}") == [(100, 100, 0, "v99")]
    assert rows(f"SELECT s FROM {table} WHERE id = 5") == [("v5",)]
    spark.sql(f"DELETE FROM {table} WHERE id IS NULL")
    assert rows(f"SELECT count(*), count(id) FROM {table}") == [(100, 100)]


def test_texts_beyond_the_first_plane_are_found(spark: SparkSession, db: str, rows: Rows) -> None:
    """ORC's reader and Spark order these texts differently; every comparison still finds its rows."""
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} (id INT, s STRING) USING orc TBLPROPERTIES ('orc.row.index.stride' = '1000')"
    )
    values = "CASE id DIV 1000 WHEN 0 THEN if(id % 2 = 0, 'Ａ', '😀') WHEN 1 THEN 'Ａ' WHEN 2 THEN '😀' ELSE 'a' END"
    spark.sql(f"INSERT INTO {table} SELECT id, {values} FROM range(0, 4000, 1, 1)")
    conditions = [
        f"s {op} {text}"
        for text in ("'Ａ'", "'😀'", "'a'")
        for op in ("=", "<=>", "<", "<=", ">", ">=", "<>")
    ]
    conditions += [
        "s IN ('Ａ', 'b')",
        "s IN ('😀', 'b')",
        "s BETWEEN 'b' AND 'Ａ'",
        "NOT (s < '😀' OR s = 'a')",
    ]
    expected = filtered.evaluated(spark, table, conditions)
    assert filtered.differences(conditions, filtered.found(spark, table, conditions), expected) == []
    joined = f"SELECT /*+ BROADCAST(k) */ count(*) FROM {table} t JOIN (SELECT '😀' s UNION SELECT 'b') k ON t.s = k.s"
    assert rows(joined) == [(1500,)]


@pytest.mark.parametrize("place", ["session", "hadoop"])
def test_columns_that_are_read_by_position(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, place: str
) -> None:
    """If the reader goes by position, statistics by name answer no aggregate, filter, join or DELETE, as in
    Spark's own tables.
    """
    po.write_table(pa.table({"x": [1, 2, 3], "y": [10, 20, 30]}), str(tmp_path / "a.orc"))
    spark.sql(f"CREATE TABLE {db}.t (a BIGINT, x BIGINT) USING orc LOCATION '{tmp_path}'")
    rows(f"MSCK REPAIR TABLE {db}.t")
    assert rows(f"SELECT count(a), max(x) FROM {db}.t") == [(0, 3)]
    hadoop = spark._jsc.hadoopConfiguration()
    setting = "orc.force.positional.evolution"
    _ = spark.conf.set(setting, "true") if place == "session" else hadoop.set(setting, "true")
    try:
        assert rows(f"SELECT a, x FROM {db}.t WHERE a = 2") == [(2, 20)]
        assert rows(f"SELECT a FROM {db}.t WHERE x = 20") == [(2,)]
        assert rows(f"SELECT count(a), max(a), min(x), count(*) FROM {db}.t") == [(3, 3, 10, 3)]
        assert rows(f"SELECT t.x FROM {db}.t JOIN (SELECT 3L AS v) k ON t.a = k.v") == [(30,)]
        spark.sql(f"DELETE FROM {db}.t WHERE a IS NULL OR x < 5")
        assert rows(f"SELECT sum(a), sum(x) FROM {db}.t") == [(6, 60)]
    finally:
        _ = spark.conf.unset(setting) if place == "session" else hadoop.unset(setting)
