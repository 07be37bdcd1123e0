"""Partition columns of type INTERVAL, beside Spark's own tables and its own casts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.intervals import INTERVAL_BITS, interval_from_text, interval_text
from tests.support.tables import filtered

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.mark.parametrize("type", sorted(INTERVAL_BITS))
def test_text_is_what_spark_casts(rows: Rows, type: str) -> None:
    """Texts of intervals of each type convert both ways: zero, small, large and negative."""
    months = INTERVAL_BITS[type] == 32
    numbers = (
        [0, 1, -1, 14, -25, 2**31 - 1, -(2**31)]
        if months
        else [0, 1, 90_061_000_001, -5_400_000_000, 10_000_000, 2**59, -(2**59)]
    )
    made = [
        f"make_ym_interval(0, {number})" if months else f"make_dt_interval(0, 0, 0, {number} / 1000000.0BD)"
        for number in numbers
    ]
    texts = rows(
        f"SELECT s, CAST(s AS {type}) = i FROM (SELECT CAST(i AS STRING) s, i FROM "
        f"(SELECT CAST(e AS {type}) AS i FROM (SELECT explode(array({', '.join(made)})) AS e)))"
    )
    for number, (text, value) in zip(numbers, texts, strict=True):
        assert value
        assert interval_text(type, interval_from_text(type, text)) == text
        left = interval_from_text(type, text)
        assert left == number or abs(left) < abs(number), "what is less than the last unit is left out"


def test_partitions_of_intervals(
    spark: SparkSession, db: str, stock: str, rows: Rows, tmp_path: Path
) -> None:
    """Written, read, pruned, overwritten and dropped as Spark's own are, and in folders of the same names."""
    columns = "id INT, ym INTERVAL YEAR TO MONTH, dt INTERVAL DAY TO SECOND"
    values = (
        "(1, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 02:03:04.5' DAY TO SECOND), (2, INTERVAL '-0-3' YEAR TO MONTH, INTERVAL '-2' DAY), "
        "(3, NULL, INTERVAL '0' SECOND), (4, INTERVAL '1-2' YEAR TO MONTH, NULL)"
    )
    for schema, root in ((db, tmp_path / "ours"), (stock, tmp_path / "theirs")):
        spark.sql(
            f"CREATE TABLE {schema}.t ({columns}) USING parquet PARTITIONED BY (ym, dt) LOCATION '{root}'"
        )
        spark.sql(f"INSERT INTO {schema}.t VALUES {values}")
        spark.sql(
            f"INSERT INTO {schema}.t PARTITION (ym = INTERVAL '0-5' YEAR TO MONTH, dt = INTERVAL '1 00:00:00' DAY TO SECOND) SELECT 5"
        )
        spark.sql(
            f"INSERT OVERWRITE {schema}.t PARTITION (ym = INTERVAL '0-5' YEAR TO MONTH, dt = INTERVAL '1 00:00:00' DAY TO SECOND) SELECT 6"
        )

    def folders(root: Path) -> set[str]:
        return {
            path.parent.relative_to(root).as_posix()
            for path in root.rglob("*.parquet")
            if path.name[0] not in "._"
        }

    assert folders(tmp_path / "ours") == folders(tmp_path / "theirs")
    assert sorted(map(str, rows(f"SHOW PARTITIONS {db}.t"))) == sorted(
        map(str, rows(f"SHOW PARTITIONS {stock}.t"))
    )
    kept = {
        "ym = INTERVAL '1-2' YEAR TO MONTH": 2,
        "ym IN (INTERVAL '14' MONTH, INTERVAL '9' MONTH)": 2,
        "ym > INTERVAL '0' MONTH AND dt IS NOT NULL": 2,
        "dt < INTERVAL '0' DAY": 1,
        "dt BETWEEN INTERVAL '1' DAY AND INTERVAL '26:03:05' HOUR TO SECOND": 2,
        "ym IS NULL": 1,
        "ym + INTERVAL '1' YEAR > INTERVAL '2' YEAR": 2,
        "true": 5,
    }
    key = "struct(id, CAST(ym AS STRING), CAST(dt AS STRING))"
    ours, theirs = (filtered.found(spark, f"{schema}.t", [*kept], key) for schema in (db, stock))
    assert filtered.differences([*kept], ours, theirs) == []
    for where, partitions in kept.items():
        (scan,) = parquetry.report(spark.table(f"{db}.t").where(where)).scans
        step = scan.step("partitions")
        assert step is not None
        assert step.kept == partitions, where
    joined = "SELECT count(*) FROM {0}.t a JOIN {0}.t b ON a.ym = b.ym AND a.dt <=> b.dt"
    assert rows(joined.format(db)) == rows(joined.format(stock)) == [(4,)]
    shown = rows(f"SELECT CAST(ym AS STRING), rows FROM {db}.t.partitions WHERE dt = INTERVAL '1' DAY")
    assert shown == [("INTERVAL '0-5' YEAR TO MONTH", 1)]
    spark.sql(
        f"ALTER TABLE {db}.t DROP PARTITION (ym = INTERVAL '0-5' YEAR TO MONTH, dt = INTERVAL '1 00:00:00' DAY TO SECOND)"
    )
    spark.sql(f"DELETE FROM {db}.t WHERE dt = INTERVAL '-2' DAY")
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(1,), (3,), (4,)]
    spark.sql(
        f"ALTER TABLE {db}.t ADD PARTITION (ym = INTERVAL '0-7' YEAR TO MONTH, dt = INTERVAL '7 00:00:00' DAY TO SECOND)"
    )
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.sql(f"INSERT OVERWRITE {db}.t VALUES (9, INTERVAL '1-2' YEAR TO MONTH, NULL)")
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(1,), (3,), (9,)]


def test_folders_that_spark_wrote(spark: SparkSession, db: str, rows: Rows, tmp_path: Path) -> None:
    """MSCK adopts such folders and reads their names by the column's type; a name that is not an interval is
    reported.
    """
    spark.sql(
        "SELECT 1 AS id, INTERVAL '3' DAY AS d UNION ALL SELECT 2, INTERVAL '-4' DAY UNION ALL SELECT 3, NULL"
    ).write.partitionBy("d").parquet(str(tmp_path / "t"))
    spark.sql(
        f"CREATE TABLE {db}.t (id INT, d INTERVAL DAY) USING parquet PARTITIONED BY (d) LOCATION '{tmp_path}/t'"
    )
    spark.sql(f"MSCK REPAIR TABLE {db}.t")
    assert sorted(rows(f"SELECT id, CAST(d AS STRING) FROM {db}.t")) == [
        (1, "INTERVAL '3' DAY"),
        (2, "INTERVAL '-4' DAY"),
        (3, None),
    ]
    assert rows(f"SELECT id FROM {db}.t WHERE d > INTERVAL '1' DAY") == [(1,)]
    (tmp_path / "t" / "d=tomorrow").mkdir()
    next((tmp_path / "t").glob("d=*3*/*.parquet")).rename(tmp_path / "t" / "d=tomorrow" / "a.parquet")
    told = [row for row in rows(f"CALL lake.system.sync('{db}.t')") if "tomorrow" in str(row)]
    assert "does not fit type interval day: write it as INTERVAL '1' DAY" in str(told)
    with pytest.raises(Exception, match=r"PARTITIONED BY|column p is of type|Partition column p is of type"):
        spark.sql(f"CREATE TABLE {db}.u (id INT, p ARRAY<INT>) USING parquet PARTITIONED BY (p)")


def test_heavy_values(spark: SparkSession, db: str, rows: Rows) -> None:
    """Heavy values are found in partitions of an interval, and rows added to each partition go to its own
    directories.
    """
    table = f"{db}.heavy"
    spark.sql(
        f"CREATE TABLE {table} (x INT, p INTERVAL YEAR TO MONTH) PARTITIONED BY (p) SKEWED BY (x) ON AUTO "
        "STORED AS DIRECTORIES TBLPROPERTIES ('list-bucketing-rules' = 'relaxed', 'auto-skew-share' = '0.6')"
    )
    some = "SELECT x, p FROM VALUES (1, INTERVAL '0-1' YEAR TO MONTH), (2, INTERVAL '-0-2' YEAR TO MONTH), (3, NULL) AS v(x, p)"
    spark.sql(f"INSERT INTO {table} {some}")
    spark.sql(f"ALTER TABLE {table} NOT SKEWED")
    spark.sql(f"INSERT INTO {table} {some}")
    found = rows(f"SELECT _file FROM {table}")
    assert sorted(file.rsplit("/", 2)[1] for (file,) in found) == ["x=1", "x=1", "x=2", "x=2", "x=3", "x=3"]
    assert rows(f"SELECT count(*) FROM {table} WHERE x = 2 AND p = INTERVAL '-0-2' YEAR TO MONTH") == [(2,)]
